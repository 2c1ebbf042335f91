"""Promised and realised hits of shown items, by rank or by probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._types import FloatArray
from sureness.errors import ColumnError
from sureness.plots.style import BLUE, INK, LIGHT_BLUE, drawing, legend_above

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
    """The bands of a table of `sureness.list_size.promise`; its first row, the total, is left out.

    Examples
    --------
    >>> from sureness.list_size import FixedSize, Lists, promise
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
    >>> from sureness.list_size import FixedSize, Lists, promise
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> draw_promise(prepare_promise(promise(lists, FixedSize(2)))).get_title(loc="left")
    'Promised and realised hits by rank'
    """
    places = np.arange(len(bands.names))
    with drawing(ax, (4.6, 3.4)) as drawn:
        drawn.bar(places, np.nan_to_num(bands.promised), width=0.62, color=LIGHT_BLUE, label="promised")
        known = np.isfinite(bands.low)
        drawn.vlines(places[known], bands.low[known], bands.high[known], colors=INK, linewidth=1.8)
        drawn.plot(places, bands.realised, "o", color=BLUE, markersize=4.5, markeredgecolor="white",
                   label="realised, with 95% interval")  # fmt: skip
        top = np.nanmax([*bands.promised, *bands.realised, *bands.high, 0.01])
        drawn.set(ylim=(0, 1.08 * float(top)), xlabel=bands.by, ylabel="hits for each shown item")
        drawn.set_xticks(places, bands.names)
        drawn.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}" if top > 0.05 else f"{share:.1%}")
        drawn.grid(visible=False, axis="x")
        drawn.set_title(f"Promised and realised hits by {bands.by}")
        legend_above(drawn, 2)
    return drawn
