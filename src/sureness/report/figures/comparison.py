"""Several methods or models compared by one metric, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.errors import EmptyError, SettingError
from sureness.metrics.intervals import Interval
from sureness.report.figures.style import (
    BLUE,
    GREY,
    INK,
    MARKERS,
    ORANGE,
    SETTINGS,
    drawing,
    error_text,
    legend_above,
    new_axes,
    new_figure,
    require_matplotlib,
    short_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GROUP_COLOURS = (BLUE, ORANGE, GREY, INK)


@dataclass(frozen=True, eq=False)
class MetricComparison:
    """One value with its interval per method, the best first."""

    metric: str
    names: tuple[str, ...]
    value: FloatArray  # (n_methods,)
    low: FloatArray
    high: FloatArray
    group_names: tuple[str, ...]  # empty without groups
    group: IntArray  # (n_methods,) index into `group_names`; zeros without groups

    __repr__ = fields_repr


def prepare_metric_comparison(
    intervals: Mapping[str, Interval],
    *,
    groups: Mapping[str, str] | None = None,
    metric: str = "ECE",
    larger_is_better: bool = False,
) -> MetricComparison:
    """Sort methods by a metric, the best value first.

    Parameters
    ----------
    intervals : mapping of method to Interval
    groups : mapping of method to group, optional
        Such as naive and unbiased methods; each group has its colour, in the order of their first methods.
    metric : str
        Label of the axis.
    larger_is_better : bool

    Examples
    --------
    >>> found = prepare_metric_comparison({"platt": Interval(0.03, 0.02, 0.04), "beta": Interval(0.01, 0.0, 0.02)})
    >>> found.names, found.value
    (('beta', 'platt'), array([0.01, 0.03]))
    """
    if not intervals:
        raise EmptyError("a comparison needs at least one method, got none; give a dictionary of name: Interval")
    lacking = [name for name in intervals if groups is not None and name not in groups]
    if lacking:
        raise SettingError(f"every method needs a group, got none for {', '.join(lacking)}; name it or give no groups")
    names = sorted(intervals, key=lambda name: intervals[name].value, reverse=larger_is_better)
    group_names = tuple(dict.fromkeys(groups[name] for name in intervals)) if groups else ()
    return MetricComparison(
        metric=metric,
        names=tuple(names),
        value=np.array([intervals[name].value for name in names]),
        low=np.array([intervals[name].low for name in names]),
        high=np.array([intervals[name].high for name in names]),
        group_names=group_names,
        group=np.array([group_names.index(groups[name]) if groups else 0 for name in names]),
    )


def draw_metric_comparison(
    comparison: MetricComparison, *, bars: str = "95% interval", what: str = "method", ax: Axes | None = None
) -> Axes:
    """Draw a dot with its interval per method, the best on top.

    Parameters
    ----------
    comparison : MetricComparison
    bars : str
        What the intervals are.
    what : str
        What is compared: methods, models and so on, in the singular.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> comparison = prepare_metric_comparison({"platt": Interval(0.03, 0.02, 0.04)})
    >>> [label.get_text() for label in draw_metric_comparison(comparison).get_yticklabels()]
    ['platt']
    """
    n_methods = len(comparison.names)
    with drawing(ax, (4.6, 1.2 + 0.27 * max(n_methods, 2))) as drawn:
        for group in np.unique(comparison.group):
            _draw_group(drawn, comparison, int(group))
        for row, value in enumerate(comparison.value):
            drawn.annotate(
                error_text(value), (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=8.5
            )
        drawn.set_yticks(range(n_methods), [short_name(name) for name in comparison.names], color=INK)
        drawn.set(ylim=(n_methods - 0.5, -0.5), xlabel=f"{comparison.metric} with {bars}")
        _scale(drawn, comparison)
        drawn.grid(visible=False, axis="y")
        drawn.tick_params(axis="y", length=0)
        drawn.set_title(f"{comparison.metric} of every {what}")
        if comparison.group_names:
            legend_above(drawn, len(comparison.group_names))
    return drawn


def _draw_group(ax: Axes, comparison: MetricComparison, group: int) -> None:
    rows = np.flatnonzero(comparison.group == group)
    value = comparison.value[rows]
    colour = _GROUP_COLOURS[group % len(_GROUP_COLOURS)]
    ax.hlines(rows, comparison.low[rows], comparison.high[rows], colors=colour, linewidth=1.8)
    ax.plot(
        value,
        rows,
        MARKERS[group % len(MARKERS)],
        color=colour,
        markersize=6,
        label=short_name(comparison.group_names[group], 20) if comparison.group_names else None,
    )


def _scale(ax: Axes, comparison: MetricComparison) -> None:
    """An axis from 0, with a square-root scale if methods differ by an order of magnitude, to tell the best apart."""
    top = 1.05 * float(max(comparison.high.max(), comparison.value.max(), 1e-9))
    ax.set_xlim(0, top)
    ax.locator_params(axis="x", nbins=5)
    if top > 8 * comparison.value.min():
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
    >>> found = prepare_metric_comparison({"platt": Interval(0.03, 0.02, 0.04)})
    >>> figure = draw_side_by_side([lambda ax: draw_metric_comparison(found, ax=ax)] * 2)
    >>> len(figure.axes)
    2
    """
    if not draws:
        raise EmptyError("a figure needs at least one panel, got none; give functions that take ax")
    matplotlib = require_matplotlib()
    with matplotlib.rc_context(SETTINGS):
        figure = new_figure((panel[0] * -(-len(draws) // n_rows), panel[1] * n_rows))
        for ax, draw in zip(new_axes(figure, len(draws), n_rows), draws, strict=True):
            draw(ax=ax)
    return figure
