"""Promised and realised hits of shown items, by rank, by probability or by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._types import FloatArray
from sureness.errors import ColumnError, EmptyError
from sureness.report.figures.style import BLUE, CYCLE, GREY, INK, LIGHT_BLUE, MARKERS, drawing, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PromiseBands:
    """Hits for each shown item, in bands; NaN where a band was not shown, or one user alone was."""

    by: str  # "rank" or "probability"
    names: tuple[str, ...]
    promised: FloatArray  # (n_bands,)
    realised: FloatArray  # (n_bands,)
    low: FloatArray  # (n_bands,) of the 95% interval of what is realised
    high: FloatArray

    __repr__ = fields_repr


def prepare_promise(table: pl.DataFrame) -> PromiseBands:
    """The bands of a table of `sureness.lists.promise`; its first row, the total, is left out.

    Examples
    --------
    >>> from sureness.lists import FixedSize, Lists, promise
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> found = prepare_promise(promise(lists, FixedSize(2), bands=[(1, 1), (2, 2)]))
    >>> found.names, found.promised, found.realised
    (('1', '2'), array([0.5, 0.4]), array([1. , 0.5]))
    """
    column = next((name for name in ("ranks", "probabilities") if name in table.columns), None)
    if column is None:
        raise ColumnError(f"expected a table of promise(lists, policy), got the columns {', '.join(table.columns)}")
    bands = table[1:]
    shown = np.maximum(bands["shown"].to_numpy(), 1)
    empty = bands["shown"].to_numpy() == 0
    promised = np.where(empty, np.nan, bands["promised"].to_numpy() / shown)
    low, high = (promised * bands[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("low", "high"))
    return PromiseBands(
        by="rank" if column == "ranks" else "probability",
        names=tuple(bands[column]),
        promised=promised,
        realised=np.where(empty, np.nan, bands["realised"].to_numpy() / shown),
        low=low,
        high=high,
    )


def draw_promise(bands: PromiseBands, *, ax: Axes | None = None) -> Axes:
    """Draw a bar for what was promised in each band, and a dot with its interval for what came.

    Examples
    --------
    >>> from sureness.lists import FixedSize, Lists, promise
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> draw_promise(prepare_promise(promise(lists, FixedSize(2)))).get_title(loc="left")
    'Promised and realised hits by rank'
    """
    places = np.arange(len(bands.names))
    with drawing(ax, (4.6, 3.4)) as drawn:
        drawn.bar(places, np.nan_to_num(bands.promised), width=0.62, color=LIGHT_BLUE, label="promised")
        known = np.isfinite(bands.low)
        drawn.vlines(places[known], bands.low[known], bands.high[known], colors=INK, linewidth=1.8)
        drawn.plot(
            places,
            bands.realised,
            "o",
            color=BLUE,
            markersize=4.5,
            markeredgecolor="white",
            label="realised, with 95% interval",
        )
        top = np.nanmax([*bands.promised, *bands.realised, *bands.high, 0.01])
        drawn.set(ylim=(0, 1.08 * float(top)), xlabel=bands.by, ylabel="hits for each shown item")
        drawn.set_xticks(places, bands.names)
        drawn.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}" if top > 0.05 else f"{share:.1%}")
        drawn.grid(visible=False, axis="x")
        drawn.set_title(f"Promised and realised hits by {bands.by}")
        legend_above(drawn, 2)
    return drawn


@dataclass(frozen=True, eq=False)
class GroupRatios:
    """Realised over promised hits of groups, once or more often; NaN where nothing was promised."""

    fields: tuple[str, ...]  # of each group
    groups: tuple[str, ...]
    ratios: dict[str, FloatArray]  # by name of the table, (n_groups, 3): ratio and its 95% interval

    __repr__ = fields_repr


def prepare_group_ratios(tables: pl.DataFrame | Mapping[str, pl.DataFrame]) -> GroupRatios:
    """The groups of one table of ``promise(..., by=fields)``, or of several by name; the total comes first.

    Groups that are not in the first table are left out.

    Examples
    --------
    >>> from sureness.calibration import Segments
    >>> from sureness.lists import FixedSize, Lists, promise
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> found = prepare_group_ratios(promise(lists, FixedSize(2), by=Segments(["old", "new"], of="users")))
    >>> found.groups, found.ratios[""][:, 0].round(2)
    (('all', 'new', 'old'), array([1.67, 2.22, 1.11]))
    """
    named = {"": tables} if isinstance(tables, pl.DataFrame) else tables
    for table in named.values():
        if not {"field", "group", "ratio", "low", "high"} <= set(table.columns):
            raise ColumnError(f"expected tables of promise(test, by=fields), got columns {', '.join(table.columns)}")
    if not named:
        raise EmptyError("expected at least one table of promise(test, by=fields), got none")
    groups = next(iter(named.values())).select("field", "group")
    found = {
        name: groups.join(table, on=["field", "group"], how="left", maintain_order="left")
        .select(pl.col("ratio", "low", "high").cast(pl.Float64).fill_null(np.nan))
        .to_numpy()
        for name, table in named.items()
    }
    return GroupRatios(tuple(groups["field"]), tuple(groups["group"]), found)


def draw_group_ratios(found: GroupRatios, *, ax: Axes | None = None) -> Axes:
    """Draw a row for each group: a dot for realised over promised hits, with its interval, for each table.

    Left of the line at 1, a group gets less than it was promised.

    Examples
    --------
    >>> from sureness.calibration import Segments
    >>> from sureness.lists import FixedSize, Lists, promise
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> table = promise(lists, FixedSize(2), by=Segments(["old", "new"], of="users"))
    >>> [each.get_text() for each in draw_group_ratios(prepare_group_ratios(table)).get_yticklabels()]
    ['all', 'segment: new', 'segment: old']
    """
    n_groups, n_tables = len(found.groups), len(found.ratios)
    places = np.arange(n_groups, dtype=float)
    names = [group if field == group == "all" else f"{field}: {group}" for field, group in _pairs(found)]
    with drawing(ax, (6.2, 1.2 + (0.1 + 0.09 * n_tables) * n_groups)) as drawn:
        drawn.axvline(1, color=GREY, linewidth=1)
        for number, (name, ratios) in enumerate(found.ratios.items()):
            height = places + 0.3 * (number - (n_tables - 1) / 2)
            colour = CYCLE[(n_tables - 1 - number) % len(CYCLE)]  # the last one, which is looked for, in blue
            drawn.hlines(height, ratios[:, 1], ratios[:, 2], colors=colour, linewidth=1.6)
            marker = MARKERS[number % len(MARKERS)]
            drawn.plot(ratios[:, 0], height, marker, color=colour, markersize=4.5, markeredgecolor="white", label=name)
        drawn.set_yticks(places, names)
        drawn.set(ylim=(n_groups - 0.4, -0.6), xlabel="realised over promised hits, with 95% interval")
        drawn.grid(visible=False, axis="y")
        drawn.set_title("Who gets less (left) or more than promised")
        if any(found.ratios):
            legend_above(drawn, n_tables)
    return drawn


def _pairs(found: GroupRatios) -> Iterator[tuple[str, str]]:
    return zip(found.fields, found.groups, strict=True)
