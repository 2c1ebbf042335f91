"""Predicted against observed: the reliability diagram, and bands of probabilities that fit rare events."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.metrics.calibration import ReliabilityCurve
from sureness.metrics.cells import Judged, judge
from sureness.numerics.grouping import group_codes
from sureness.numerics.ratios import Ratio, ratio_of_sums
from sureness.report.figures.style import (
    BLUE,
    GREY,
    INK,
    LIGHT_GREY,
    ORANGE,
    drawing,
    error_text,
    legend_above,
    percent_axis,
    short_count,
    short_name,
    strip_below,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {
    "frequency": ("probability", "observed frequency"),
    "accuracy": ("probability (below 50%, the event is not predicted)", "accuracy"),
}


def draw_reliability(
    curve: ReliabilityCurve,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    error: float | None = None,
    compact: bool = False,
) -> Axes:
    """Draw a reliability curve as bars, with the gap to the prediction.

    Parameters
    ----------
    curve : ReliabilityCurve
        From `sureness.reliability_curve`, as frequency or accuracy.
    ax : matplotlib Axes, optional
        By default those of a new figure.
    title : str, optional
        What was judged; the ECE is added.
    error : float, optional
        The ECE to show, if it was measured with other bins than the diagram's.
    compact : bool
        A small version without legend, for many diagrams side by side.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sureness.metrics import reliability_curve
    >>> ax = draw_reliability(reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2), title="platt")
    >>> ax.get_title(loc="left")
    'platt · ECE 0.1750'
    """
    shown_error = curve.calibration_error if error is None else error
    with drawing(ax, (2.9, 3.0) if compact else (4.6, 4.6)) as drawn:
        _draw_bars(drawn, curve)
        _draw_reference(drawn, curve)
        name = f"{short_name(title, 17 if compact else 36)} · " if title else ""
        drawn.set_title(f"{name}ECE {error_text(shown_error)}", fontsize=9.5 if compact else None)
        drawn.set(xlim=(0, 1), ylim=(0, 1))
        percent_axis(drawn.yaxis, step=0.5 if compact else 0.2)
        _draw_strip(drawn, curve, compact=compact)
        if not compact:
            drawn.set_ylabel(_LABELS[curve.reading][1])
            legend_above(drawn, 4)
    return drawn


def _draw_bars(ax: Axes, curve: ReliabilityCurve) -> None:
    held = curve.weight > 0
    left, width = curve.edges[:-1][held], np.diff(curve.edges)[held]
    observed, promised = curve.observed[held], curve.confidence[held]
    middle = left + width / 2
    ax.bar(middle, observed, 0.92 * width, color=BLUE, alpha=0.85, label="observed")
    gap = promised - observed
    ax.bar(middle, gap, 0.92 * width, bottom=observed, color=ORANGE, alpha=0.2)
    ax.bar(  # SVG gives fill and hatching one opacity, so the hatching is drawn by itself
        middle,
        gap,
        0.92 * width,
        bottom=observed,
        facecolor="none",
        edgecolor=ORANGE,
        hatch="////",
        label="gap",
    )
    reach = np.clip([observed - curve.low[held], curve.high[held] - observed], 0, None)
    ax.errorbar(middle, observed, reach, fmt="none", ecolor=INK, elinewidth=1.1, capsize=2.5, label="95% interval")


def _draw_reference(ax: Axes, curve: ReliabilityCurve) -> None:
    """Where the bars of perfect probabilities end: the diagonal, folded at 50% for the accuracy."""
    x = np.array([0.0, 0.5, 1.0])
    y = x if curve.reading == "frequency" else np.maximum(x, 1 - x)
    ax.plot(x, y, color=GREY, linewidth=1.1, linestyle=(0, (4, 3)), label="perfect")


def _draw_strip(ax: Axes, curve: ReliabilityCurve, *, compact: bool) -> None:
    strip = strip_below(ax, "" if compact else "pairs")
    middle, width = (curve.edges[:-1] + curve.edges[1:]) / 2, np.diff(curve.edges)
    top = curve.weight.max()
    strip.bar(middle, curve.weight, 0.92 * width, color=LIGHT_GREY)
    strip.set_ylim(0, top if compact else 1.75 * top)
    percent_axis(strip.xaxis, step=0.5 if compact else 0.2)
    if not compact:
        strip.set_xlabel(_LABELS[curve.reading][0])
        for x, weight in zip(middle, curve.weight, strict=True):
            strip.text(x, weight + 0.08 * top, short_count(weight), ha="center", fontsize=7.5, color=GREY)


SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Where bands end, as shares of all pairs counted from the most likely one."""

_FEWEST = 50  # pairs of the smallest band
_WIDE = 20  # largest over smallest probability from which the axes are logarithmic


@dataclass(frozen=True, eq=False)
class ProbabilityBands:
    """Bands of pairs by their probability, the most likely first; bounds are NaN where one user alone is in a band."""

    names: tuple[str, ...]
    weight: FloatArray  # (n_bands,) of the pairs; their number without weights
    promised: FloatArray  # (n_bands,) mean probability
    realised: FloatArray  # (n_bands,) share that came
    low: FloatArray  # (n_bands,) of the 95% interval of what is realised
    high: FloatArray
    base_rate: float  # share that came among all pairs

    __repr__ = fields_repr

    @property
    def ratio(self) -> FloatArray:
        """Realised over promised; NaN where nothing was promised."""
        return self.realised / np.where(self.promised > 0, self.promised, np.nan)

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        """Realised over promised with its 95% interval, the most likely band first."""
        rows = zip(self.promised, self.realised, self.low, self.high, strict=True)
        return tuple(
            Ratio(None, None, None)
            if promised <= 0
            else Ratio(realised / promised, *(None if np.isnan(end) else end / promised for end in ends))
            for promised, realised, *ends in rows
        )

    @property
    def lift(self) -> FloatArray:
        """Realised over the base rate; NaN if nothing came at all."""
        return np.asarray(self.realised / (self.base_rate or np.nan))


def prepare_bands(
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    users: AnyArray | None = None,
    sample_weight: ArrayLike | None = None,
) -> ProbabilityBands:
    """Promised and realised share in bands of pairs, narrower towards the most likely ones.

    Equally wide bins put nearly all pairs of rare events into one bin, and equally full bins hide the top, where lists
    are made. Pairs with equal probabilities share a band. Bands of fewer than 50 pairs are not made.

    Parameters
    ----------
    labels, probabilities : array-like of shape (n_pairs,)
    users : array of shape (n_pairs,), optional
        Whose pairs these are; intervals treat each user as one observation, and each pair without users.
    sample_weight : array-like of shape (n_pairs,), optional

    Examples
    --------
    >>> p = np.r_[np.full(400, 0.01), np.full(100, 0.2)]
    >>> bands = prepare_bands(np.arange(500) >= 480, p)
    >>> bands.names, bands.promised.round(3), bands.realised, bands.lift
    (('top 20%', '20–100%'), array([0.2 , 0.01]), array([0.2, 0. ]), array([5., 0.]))
    """
    judged = judge(labels, probabilities, sample_weight)
    weight = np.ones(len(judged.labels)) if judged.weight is None else judged.weight
    judged = Judged(judged.labels, judged.probabilities, weight)
    clusters = np.arange(len(weight)) if users is None else group_codes(users)[0]
    ends = np.array([share for share in SHARES if share * len(weight) >= _FEWEST or share == 1.0])
    place = _places(judged, ends)
    held = np.flatnonzero(np.bincount(place, weight, len(ends)) > 0)
    weights, promised, realised, low, high = np.array(
        [_band(judged, clusters, np.flatnonzero(place == band)) for band in held]
    ).T
    base_rate = float(np.average(judged.labels, weights=weight))
    return ProbabilityBands(_names(weights), weights, promised, realised, low, high, base_rate)


def _names(mass: FloatArray) -> tuple[str, ...]:
    """The share of all pairs that each band spans, counted from the most likely pair."""
    ends = [f"{100 * share:.2g}" if share < 0.995 else "100" for share in np.cumsum(mass) / mass.sum()]
    return (f"top {ends[0]}%", *(f"{first}–{last}%" for first, last in pairwise(ends)))


def _places(judged: Judged, ends: FloatArray) -> IntArray:
    """The band of every pair, by the share of the weight above the middle of the pairs with its probability."""
    values, which = np.unique(judged.probabilities, return_inverse=True)
    mass = np.bincount(which, judged.weight, len(values))
    above = 1 - (np.cumsum(mass) - mass / 2) / mass.sum()
    return np.asarray(np.minimum(np.searchsorted(ends, above), len(ends) - 1)[which])


def _band(judged: Judged, clusters: IntArray, rows: IntArray) -> tuple[float, ...]:
    """Weight, promised and realised share, and the bounds of the latter."""
    weight = np.ones(len(rows)) if judged.weight is None else judged.weight[rows]
    _, owner = np.unique(clusters[rows], return_inverse=True)
    promised = np.bincount(owner, weight * judged.probabilities[rows])
    realised = np.bincount(owner, weight * judged.labels[rows])
    total = weight.sum()
    mean = promised.sum() / total
    ratio = ratio_of_sums(realised, promised)
    low, high = (np.nan if bound is None else bound * mean for bound in (ratio.low, ratio.high))
    return float(total), float(mean), float(realised.sum() / total), low, float(np.minimum(high, 1.0))


def draw_bands(
    bands: ProbabilityBands, *, title: str | None = None, compact: bool = False, ax: Axes | None = None
) -> Axes:
    """Draw the realised against the promised share of every band; perfect probabilities lie on the dashed line.

    Parameters
    ----------
    bands : ProbabilityBands
    title : str, optional
    compact : bool
        A small version without legend, for many diagrams side by side.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> p = np.r_[np.full(400, 0.01), np.full(100, 0.2)]
    >>> ax = draw_bands(prepare_bands(np.arange(500) >= 480, p), title="platt")
    >>> bool(ax.get_xlim()[1] < 0.5), ax.get_title(loc="left")
    (True, 'platt')
    """
    with drawing(ax, (2.9, 3.0) if compact else (4.6, 4.4)) as drawn:
        low, high = _scale(drawn, bands)
        drawn.plot([low, high], [low, high], color=GREY, linewidth=1.1, linestyle=(0, (4, 3)), label="perfect")
        drawn.vlines(
            bands.promised, np.clip(bands.low, low, high), np.clip(bands.high, low, high), colors=INK, linewidth=1.3
        )
        came = bands.realised > 0
        for inside, face, label in ((came, BLUE, "realised, with 95% interval"), (~came, "white", "none came")):
            if inside.any():
                drawn.plot(
                    bands.promised[inside],
                    np.maximum(bands.realised[inside], low),
                    "o",
                    color=BLUE,
                    markerfacecolor=face,
                    markersize=5.5,
                    clip_on=False,
                    label=label,
                )
        drawn.set_title(short_name(title or "Promised and realised", 22 if compact else 36))
        if not compact:
            drawn.set(xlabel="promised: mean probability of the band", ylabel="realised share")
            legend_above(drawn, 3)
    return drawn


def _scale(ax: Axes, bands: ProbabilityBands) -> tuple[float, float]:
    """The same range on both axes, logarithmic where probabilities differ by more than a factor of 20."""
    shares = np.concatenate([bands.promised, bands.realised])
    smallest, largest = float(shares[shares > 0].min(initial=1.0)), float(shares.max())
    logarithmic = largest > _WIDE * smallest
    low = smallest / 1.8 if logarithmic else 0.0
    high = min(1.0, 1.8 * largest if logarithmic else 1.12 * max(largest, 1e-9))
    if logarithmic:
        ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    ax.set(xlim=(low, high), ylim=(low, high))
    ax.minorticks_off()
    return low, high
