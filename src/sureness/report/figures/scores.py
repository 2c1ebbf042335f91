"""Scores and what calibrators make of them: densities by label, fitted curves, and methods compared by one metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray
from sureness.calibration.list_terms import Groups
from sureness.calibration.maps import ProbabilityMap, Who
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import EmptyError, SettingError
from sureness.metrics.intervals import Interval
from sureness.numerics.checks import check_scores, check_weight
from sureness.report.figures.style import (
    BLUE,
    CYCLE,
    DASHES,
    GREY,
    INK,
    LIGHT_BLUE,
    LIGHT_GREY,
    MARKERS,
    ORANGE,
    SETTINGS,
    drawing,
    error_text,
    legend_above,
    new_axes,
    new_figure,
    percent_axis,
    require_matplotlib,
    short_name,
    strip_below,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEADROOM = 1.3  # for the legend, in heights of the tallest bar
_GROUP_COLOURS = (BLUE, ORANGE, GREY, INK)
_N_BINS = 60
_N_POINTS = 400  # of a curve
_LOW = 0.3  # highest probability up to which the axis ends below 100%


def draw_score_distributions(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_bins: int = _N_BINS,
    names: tuple[str, str] = ("negative", "positive"),
    ax: Axes | None = None,
) -> Axes:
    """Draw the densities of the scores of both classes in one figure.

    The bins cover the middle 99.9% of the scores; the few outside are counted in the end bins. `names` are those of
    the two classes, such as ("not bought", "bought").

    Examples
    --------
    >>> ax = draw_score_distributions([0.0, 1.0, 1.0, 3.0], [0, 0, 1, 1])
    >>> [text.get_text() for text in ax.get_legend().get_texts()][1]
    'positive: mean 2, std 1'
    """
    pairs = ScoredPairs.of(scores, labels, sample_weight=sample_weight)
    edges = _spread_edges(pairs.scores, n_bins)
    with drawing(ax, (4.6, 4.0)) as drawn:
        for inside, name, colour in ((~pairs.labels, names[0], ORANGE), (pairs.labels, names[1], BLUE)):
            _draw_class(drawn, pairs.take(inside), edges, name, colour)
        drawn.set(xlabel="score", ylabel="density")
        drawn.set_yticks([])
        drawn.set_ylim(0, _HEADROOM * drawn.dataLim.y1)
        drawn.legend(loc="upper right", handlelength=1.4)
        drawn.set_title(f"Scores: {names[1]} and {names[0]}")
    return drawn


def _draw_class(ax: Axes, pairs: ScoredPairs, edges: FloatArray, name: str, colour: str) -> None:
    scores = pairs.scores.astype(np.float64)
    density, label, mean = _weights_in_bins(scores, pairs.weight, edges), f"{name}: no pairs", None
    if density.sum():
        density = density / (density.sum() * np.diff(edges))
        mean = float(np.average(scores, weights=pairs.weight))
        std = float(np.sqrt(np.average((scores - mean) ** 2, weights=pairs.weight)))
        label = f"{name}: mean {mean:.3g}, std {std:.3g}"
    ax.stairs(density, edges, fill=True, color=colour, alpha=0.22)
    ax.stairs(density, edges, color=colour, linewidth=1.6, label=label)
    if mean is not None:
        ax.axvline(mean, ymax=1 / _HEADROOM, color=colour, linewidth=1.1, linestyle=(0, (4, 3)))


def _spread_edges(values: FloatArray, n_bins: int) -> FloatArray:
    """Edges of equal bins over the middle 99.9% of the values, so that one outlier cannot flatten the rest."""
    low, high = (float(edge) for edge in np.quantile(values, [0.0005, 0.9995]))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, n_bins + 1)


def _weights_in_bins(values: FloatArray, weight: FloatArray | None, edges: FloatArray) -> FloatArray:
    """Weight of the values in every bin; values outside count in the end bins."""
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges, weights=weight)
    return counts.astype(np.float64)


def draw_fitted_curves(
    calibrators: Mapping[str, ProbabilityMap],
    scores: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw probability against score over the middle 99.9% of the scores, and where the scores are.

    The first calibrator is the main one; the range that it was fitted on is shaded. A map that differs between users
    or segments is drawn for an unknown user and segment, a map for lists for a user with too few candidates to compare.

    Examples
    --------
    >>> from sureness.calibration.nonparametric import SigmoidCalibrator
    >>> fitted = SigmoidCalibrator().fit([-1.0, 1.0], [0, 1])
    >>> draw_fitted_curves({"sigmoid": fitted}, [-1.0, 0.0, 2.0]).get_ylabel()
    'probability'
    """
    if not calibrators:
        raise EmptyError("fitted curves need at least one calibrator, got none; give a dictionary of name: calibrator")
    checked = check_scores(scores).astype(np.float64)
    edges = _spread_edges(checked, _N_BINS)
    weight = _weights_in_bins(checked, check_weight(sample_weight, len(checked)), edges)
    grid = np.linspace(edges[0], edges[-1], _N_POINTS)
    main, fitted_range = _curves(calibrators, grid), getattr(next(iter(calibrators.values())), "score_range_", None)
    with drawing(ax, (4.6, 4.0)) as drawn:
        if fitted_range is not None:
            low, high = np.clip(fitted_range, grid[0], grid[-1])
            drawn.axvspan(low, high, color=LIGHT_BLUE, alpha=0.16, linewidth=0, label="fitted range")
        for place, (name, probability) in enumerate(main.items()):
            _draw_curve(drawn, place, name, grid, probability)
        drawn.set(xlim=(grid[0], grid[-1]), ylabel="probability")
        _fit_axis(drawn, next(iter(main.values())))
        strip = strip_below(drawn, "pairs")
        strip.stairs(weight, edges, fill=True, color=LIGHT_GREY)
        strip.set(xlabel="score", ylim=(0, 1.05 * weight.max()))
        drawn.legend(loc="upper left", ncols=1 + (len(calibrators) > 7), handlelength=2.2)
        drawn.set_title("Fitted curves")
    return drawn


def _curves(calibrators: Mapping[str, ProbabilityMap], grid: FloatArray) -> dict[str, FloatArray]:
    """The probability that each calibrator gives to a score of anybody."""
    unknown = np.full(len(grid), -1)
    alone = Groups(np.zeros(len(grid), dtype=np.int64), np.zeros(len(grid)), np.zeros(len(grid)))
    anyone = Who(len(grid), users=unknown, segments=unknown, groups=alone)
    return {name: calibrator.probability_of(grid, anyone) for name, calibrator in calibrators.items()}


def _fit_axis(ax: Axes, main: FloatArray) -> None:
    """From 0% to 100%, or to where the main curve ends if it stays low: rare events would be a line at the bottom."""
    top = 1.15 * float(main.max())
    if top > _LOW:
        ax.set_ylim(0, 1)
        percent_axis(ax.yaxis)
    else:
        ax.set_ylim(0, max(top, 1e-9))
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")


def _draw_curve(ax: Axes, place: int, name: str, grid: FloatArray, probability: FloatArray) -> None:
    """The main curve thick and blue and on top, the others thin, in other colours and dashes."""
    others = CYCLE[1:]
    colour = BLUE if place == 0 else others[(place - 1) % len(others)]
    dash = DASHES[0] if place == 0 else DASHES[(1 + (place - 1) + (place - 1) // len(others)) % len(DASHES)]
    width, order = (2.6, 4) if place == 0 else (1.5, 3)
    ax.plot(grid, probability, color=colour, linestyle=dash, linewidth=width, zorder=order, label=short_name(name))


def draw_metric_comparison(
    intervals: Mapping[str, Interval],
    *,
    groups: Mapping[str, str] | None = None,
    metric: str = "ECE",
    bars: str = "95% interval",
    ax: Axes | None = None,
) -> Axes:
    """Draw a dot with its interval per method, the smallest value on top.

    Parameters
    ----------
    intervals : mapping of method to Interval
    groups : mapping of method to group, optional
        Such as naive and unbiased methods; each group has its colour, in the order of their first methods.
    metric : str
        Label of the axis.
    bars : str
        What the intervals are.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> ax = draw_metric_comparison({"platt": Interval(0.03, 0.02, 0.04), "beta": Interval(0.01, 0.0, 0.02)})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['beta', 'platt']
    """
    if not intervals:
        raise EmptyError("a comparison needs at least one method, got none; give a dictionary of name: Interval")
    if lacking := [name for name in intervals if groups is not None and name not in groups]:
        raise SettingError(f"every method needs a group, got none for {', '.join(lacking)}; name it or give no groups")
    found = dict(sorted(intervals.items(), key=lambda each: each[1].value))
    own = {name: "" if groups is None else groups[name] for name in intervals}
    kinds = list(dict.fromkeys(own.values()))
    with drawing(ax, (4.6, 1.2 + 0.27 * max(len(found), 2))) as drawn:
        for number, kind in enumerate(kinds):
            rows = [row for row, name in enumerate(found) if own[name] == kind]
            _draw_group(drawn, rows, [list(found.values())[row] for row in rows], number, kind)
        for row, each in enumerate(found.values()):
            text = error_text(each.value)
            drawn.annotate(text, (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=8.5)
        drawn.set_yticks(range(len(found)), [short_name(name) for name in found], color=INK)
        drawn.set(ylim=(len(found) - 0.5, -0.5), xlabel=f"{metric} with {bars}")
        _scale(drawn, list(found.values()))
        drawn.grid(visible=False, axis="y")
        drawn.tick_params(axis="y", length=0)
        drawn.set_title(f"{metric} of every method")
        if groups is not None:
            legend_above(drawn, len(kinds))
    return drawn


def _draw_group(ax: Axes, rows: Sequence[int], found: Sequence[Interval], number: int, kind: str) -> None:
    colour, label = _GROUP_COLOURS[number % len(_GROUP_COLOURS)], short_name(kind, 20) or None
    ax.hlines(rows, [each.low for each in found], [each.high for each in found], colors=colour, linewidth=1.8)
    marker = MARKERS[number % len(MARKERS)]
    ax.plot([each.value for each in found], rows, marker, color=colour, markersize=6, label=label)


def _scale(ax: Axes, found: Sequence[Interval]) -> None:
    """An axis from 0, with a square-root scale if methods differ by an order of magnitude, to tell the best apart."""
    top = 1.05 * max(*(max(each.high, each.value) for each in found), 1e-9)
    ax.set_xlim(0, top)
    ax.locator_params(axis="x", nbins=5)
    if top > 8 * min(each.value for each in found):
        ax.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
        ticks = [first * 10.0**power for power in range(-9, 2) for first in (1, 4)]
        shown = [0.0, *(tick for tick in ticks if 0.015 * top < tick < top)]
        ax.set_xticks(shown, [f"{tick:g}" for tick in shown])
        ax.set_xlabel(f"{ax.get_xlabel()} (square-root scale)")


def draw_side_by_side(
    draws: Sequence[Callable[..., Axes]], *, panel: tuple[float, float] = (4.6, 3.7), n_rows: int = 1
) -> Figure:
    """One figure of several panels, each drawn by a function that takes `ax`, in one or more rows.

    Examples
    --------
    >>> found = {"platt": Interval(0.03, 0.02, 0.04)}
    >>> figure = draw_side_by_side([lambda ax: draw_metric_comparison(found, ax=ax)] * 2)
    >>> len(figure.axes)
    2
    """
    if not draws:
        raise EmptyError("a figure needs at least one panel, got none; give functions that take ax")
    with require_matplotlib().rc_context(SETTINGS):
        figure = new_figure((panel[0] * -(-len(draws) // n_rows), panel[1] * n_rows))
        for ax, draw in zip(new_axes(figure, len(draws), n_rows), draws, strict=True):
            draw(ax=ax)
    return figure
