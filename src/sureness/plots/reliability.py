"""The reliability diagram: predicted against observed frequency, with the gap in orange."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sureness.metrics.calibration import ReliabilityCurve
from sureness.plots.style import (
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
        middle, gap, 0.92 * width, bottom=observed, facecolor="none", edgecolor=ORANGE, hatch="////",
        label="gap",
    )  # fmt: skip
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
