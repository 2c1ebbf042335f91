"""What changes when one setting of the distillation does: sizes, weights, smoothness, how often ranks are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness.errors import DataError
from sureness.plots import (
    BLUE,
    CYCLE,
    DASHES,
    INK,
    MARKERS,
    ORANGE,
    ROLE_COLOURS,
    ROLE_MARKERS,
    drawing,
    legend_above,
    require_columns,
    require_matplotlib,
    short_name,
)
from sureness_reproduction.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALONE = "alone"
_WIDE = 50  # how many times larger the last value may be than the first on an even axis

_WORDS = {
    "partner": "size of the other model",
    "rank_gap_scale": "smoothness ε",
    "refresh_every": "epochs between two looks at the ranks, p",
}


@dataclass(frozen=True, eq=False)
class Sweep:
    """A metric for every value of a setting, one line per model: the mean over runs, with lowest and highest."""

    setting: str
    metric: str
    ticks: tuple[str, ...]  # names of the values
    place: FloatArray  # (n_values,) where they are on the axis
    log: bool  # whether the axis is logarithmic
    joined: bool  # numbers are joined by lines, names are not
    value: dict[str, FloatArray]  # model -> (n_values,) NaN where there is none
    low: dict[str, FloatArray]
    high: dict[str, FloatArray]
    alone: dict[str, float]  # model -> its value without any distillation, where it is known


def prepare_sweep(table: pl.DataFrame, setting: str, metric: str = "hit@50") -> Sweep:
    """Put the runs of a sweep in order.

    Parameters
    ----------
    table : DataFrame, one row per run
        The setting (numbers, or names such as S, M, T and fixed, in their order), the metric, and perhaps `model`;
        rows whose setting is "alone" (for numbers: missing) are models that were trained alone.
    setting : str
        The column that changes, for example "partner", "rank_gap_scale" or "refresh_every".
    metric : str
        The column that is judged.

    Examples
    --------
    >>> table = pl.DataFrame({"partner": ["S", "M", "S", "alone"], "hit@50": [0.3, 0.2, 0.5, 0.1]})
    >>> found = prepare_sweep(table, "partner")
    >>> found.ticks, found.value["model"], found.low["model"], found.alone
    (('S', 'M'), array([0.4, 0.2]), array([0.3, 0.2]), {'model': 0.1})
    """
    require_columns(table, (setting, metric), "a sweep")
    rows = table if "model" in table.columns else table.with_columns(model=pl.lit("model"))
    rows = rows.filter(pl.col(metric).is_not_null())
    numeric = rows.schema[setting].is_numeric()
    known = pl.col(setting).is_not_null() if numeric else pl.col(setting).is_not_null() & (pl.col(setting) != ALONE)
    tried = rows.filter(known)
    if not tried.height:
        raise DataError(f"a sweep over {setting} needs at least one run that has it, got none")
    values = tried[setting].unique(maintain_order=True).to_list()
    values = sorted(values) if numeric else values
    runs = {
        str(name): [tried.filter(pl.col("model") == name, pl.col(setting) == value)[metric] for value in values]
        for name in rows["model"].unique(maintain_order=True)
    }
    log = numeric and values[0] > 0 and values[-1] / values[0] > _WIDE
    return Sweep(
        setting=setting, metric=metric, ticks=tuple(_written(value) for value in values), log=log, joined=numeric,
        place=np.asarray(values, dtype=np.float64) if numeric else np.arange(len(values), dtype=np.float64),
        value={name: _each(parts, "mean") for name, parts in runs.items()},
        low={name: _each(parts, "min") for name, parts in runs.items()},
        high={name: _each(parts, "max") for name, parts in runs.items()},
        alone={str(name): float(mean) for name, mean in _means(rows.filter(~known.fill_null(False)), metric)},
    )  # fmt: skip


def draw_sweep(sweep: Sweep, *, ax: Axes | None = None) -> Axes:
    """Draw the points of a sweep, with the range of its runs; dashed lines are the models alone.

    Examples
    --------
    >>> table = pl.DataFrame({"refresh_every": [1, 10, 20], "hit@50": [0.30, 0.31, 0.29]})
    >>> draw_sweep(prepare_sweep(table, "refresh_every")).get_xlabel()
    'epochs between two looks at the ranks, p'
    """
    several = len(sweep.value) > 1
    with drawing(ax, (4.6, 3.7)) as drawn:
        for number, name in enumerate(sweep.value):
            _draw_model(drawn, sweep, name, number, several)
        if sweep.log:
            drawn.set_xscale("log")
            drawn.minorticks_off()
        else:
            drawn.set_xlim(*_room(sweep.place))
        drawn.set_xticks(sweep.place, sweep.ticks)
        drawn.set(xlabel=_WORDS.get(sweep.setting, sweep.setting), ylabel=sweep.metric)
        drawn.margins(y=0.12)
        drawn.set_title(f"{sweep.metric} by {_WORDS.get(sweep.setting, sweep.setting).split(',')[0]}")
        handles = drawn.get_legend_handles_labels()[1]
        if handles:
            legend_above(drawn, len(handles))
    return drawn


def _draw_model(ax: Axes, sweep: Sweep, name: str, number: int, several: bool) -> None:
    colour = ROLE_COLOURS.get(name, CYCLE[number % len(CYCLE)]) if several else BLUE
    marker = ROLE_MARKERS.get(name, MARKERS[number % len(MARKERS)]) if several else "o"
    there = np.isfinite(sweep.value[name])
    place = sweep.place[there]
    ax.vlines(place, sweep.low[name][there], sweep.high[name][there], colors=colour, linewidth=1.6, alpha=0.5)
    ax.plot(
        place, sweep.value[name][there], marker, color=colour, markersize=6, linewidth=1.6,
        linestyle="-" if sweep.joined else "none", label=short_name(name, 18) if several else None,
    )  # fmt: skip
    if name in sweep.alone:
        label = f"{short_name(name, 12)} alone" if several else ALONE
        ax.axhline(sweep.alone[name], color=colour if several else INK, linewidth=1.4, linestyle=DASHES[1], label=label)


@dataclass(frozen=True, eq=False)
class WeightMap:
    """A metric of one model for pairs of weights: of the teacher's labels and of the student's."""

    to_student: FloatArray  # (n,) weights of the teacher's labels, rising; columns
    to_teacher: FloatArray  # (m,) weights of the student's labels, rising; rows
    value: FloatArray  # (m, n) NaN where it was not tried
    metric: str
    model: str | None


def prepare_weight_map(table: pl.DataFrame, metric: str = "hit@50", *, model: str | None = None) -> WeightMap:
    """Lay out a grid over both weights; runs with the same weights are averaged.

    Parameters
    ----------
    table : DataFrame with to_student, to_teacher, the metric and perhaps `model`
    metric : str
    model : str, optional
        Whose rows to take: "teacher" or "student".

    Examples
    --------
    >>> table = pl.DataFrame({"to_student": [0.1, 0.5], "to_teacher": [0.1, 0.1], "hit@50": [0.2, 0.3]})
    >>> prepare_weight_map(table).value
    array([[0.2, 0.3]])
    """
    require_columns(table, ("to_student", "to_teacher", metric, *(["model"] if model else [])), "a weight map")
    rows = table.filter(pl.col("model") == model) if model else table
    cells = rows.group_by("to_student", "to_teacher").agg(pl.col(metric).mean()).drop_nulls()
    if not cells.height:
        raise DataError(f"a weight map needs at least one run{f' of the {model}' if model else ''}, got none")
    columns, column = np.unique(cells["to_student"].to_numpy(), return_inverse=True)
    lines, line = np.unique(cells["to_teacher"].to_numpy(), return_inverse=True)
    value = np.full((len(lines), len(columns)), np.nan)
    value[line, column] = cells[metric].to_numpy()
    return WeightMap(columns, lines, value, metric, model)


def draw_weight_map(grid: WeightMap, *, ax: Axes | None = None) -> Axes:
    """Draw the grid, darker for better, every cell with its value and the best one framed.

    Examples
    --------
    >>> table = pl.DataFrame({"to_student": [0.1, 0.5], "to_teacher": [0.1, 0.1], "hit@50": [0.2, 0.3]})
    >>> [text.get_text() for text in draw_weight_map(prepare_weight_map(table)).texts]
    ['0.2000', '0.3000']
    """
    shape = grid.value.shape
    low, high = float(np.nanmin(grid.value)), float(np.nanmax(grid.value))
    with drawing(ax, (1.4 + 0.75 * max(3, shape[1]), 1.5 + 0.5 * max(3, shape[0]))) as drawn:
        colours = require_matplotlib().colors.LinearSegmentedColormap.from_list("weights", ["#f4f7fb", BLUE])
        top = high if high > low else low + 1.0
        edges = np.arange(shape[1] + 1) - 0.5, np.arange(shape[0] + 1) - 0.5
        cells = np.ma.masked_invalid(grid.value)
        drawn.pcolormesh(*edges, cells, cmap=colours, vmin=low, vmax=top, edgecolors="white", linewidth=1.5)
        for (line, column), value in np.ndenumerate(grid.value):
            if np.isfinite(value):
                dark = (value - low) / (top - low) > 0.6
                drawn.text(column, line, f"{value:.4f}", ha="center", va="center", fontsize=8,
                           color="white" if dark else INK)  # fmt: skip
        _frame_best(drawn, grid.value)
        drawn.set_xticks(range(shape[1]), [_written(weight) for weight in grid.to_student])
        drawn.set_yticks(range(shape[0]), [_written(weight) for weight in grid.to_teacher])
        drawn.set(xlabel="λ teacher → student", ylabel="λ student → teacher")
        drawn.grid(visible=False)
        drawn.tick_params(length=0)
        drawn.spines[["left", "bottom"]].set_visible(False)
        drawn.set_title(f"{grid.metric}{f' of the {grid.model}' if grid.model else ''}")
    return drawn


def _frame_best(ax: Axes, value: FloatArray) -> None:
    line, column = np.unravel_index(int(np.nanargmax(value)), value.shape)
    patch: Any = require_matplotlib().patches.Rectangle(
        (column - 0.48, line - 0.46), 0.96, 0.92, fill=False, edgecolor=ORANGE, linewidth=2.2
    )
    ax.add_patch(patch)


def _each(parts: list[pl.Series], how: str) -> FloatArray:
    return np.array([getattr(part, how)() if len(part) else np.nan for part in parts], dtype=np.float64)


def _means(rows: pl.DataFrame, metric: str) -> list[tuple[Any, ...]]:
    return rows.group_by("model", maintain_order=True).agg(pl.col(metric).mean()).rows()


def _written(value: Any) -> str:
    """A value of a setting as people write it.

    Examples
    --------
    >>> _written(0.5), _written(1e-4), _written(10), _written("fixed")
    ('0.5', '1e-4', '10', 'fixed')
    """
    if not isinstance(value, int | float):
        return str(value)
    return (f"{value:.3g}" if not 0 < abs(value) < 1e-3 else f"{value:.0e}").replace("e-0", "e-")


def _room(place: FloatArray) -> tuple[float, float]:
    """A little space on both sides of the first and the last value."""
    span = float(place[-1] - place[0])
    side = 0.08 * span if span else 0.5
    return float(place[0]) - side, float(place[-1]) + side
