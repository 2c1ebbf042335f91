"""The utility that is reached when the sum over the number of relevant items stops at M."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sureness.errors import DataError
from sureness.plots import BLUE, INK, drawing, legend_above, require_columns
from sureness_reproduction.types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXACT = "exact"


@dataclass(frozen=True, eq=False)
class SummationBound:
    """Mean utility for every M over runs, with the lowest and the highest, and that of the exact sum."""

    metric: str
    terms: IntArray  # (n,) rising
    value: FloatArray  # (n,)
    low: FloatArray
    high: FloatArray
    exact: float  # NaN where it is not known


def prepare_summation_bound(table: pl.DataFrame, metric: str) -> SummationBound:
    """Put the runs of a study of M in order.

    Parameters
    ----------
    table : DataFrame with M and value, one row per run
        M is a number as text, or "exact".
    metric : str
        What the value is called.

    Examples
    --------
    >>> table = pl.DataFrame({"M": ["50", "5", "5", "exact"], "value": [0.25, 0.2, 0.1, 0.26]})
    >>> found = prepare_summation_bound(table, "NDCG")
    >>> found.terms, found.value.round(2), found.low, found.exact
    (array([ 5, 50]), array([0.15, 0.25]), array([0.1 , 0.25]), 0.26)
    """
    require_columns(table, ("M", "value"), "a study of M")
    runs = table.filter(pl.col("M") != EXACT).with_columns(pl.col("M").cast(pl.Int64))
    if not runs.height:
        raise DataError("a study of M needs at least one run with a number of terms, got none")
    by = runs.group_by("M").agg(
        mean=pl.col("value").mean(), low=pl.col("value").min(), high=pl.col("value").max()
    ).sort("M")  # fmt: skip
    exact = table.filter(pl.col("M") == EXACT)["value"].to_numpy()
    return SummationBound(
        metric=metric, terms=by["M"].to_numpy(), value=by["mean"].to_numpy(), low=by["low"].to_numpy(),
        high=by["high"].to_numpy(), exact=float(exact.mean()) if len(exact) else float("nan"),
    )  # fmt: skip


def draw_summation_bound(study: SummationBound, *, ax: Axes | None = None) -> Axes:
    """Draw the utility by M, the range of the runs, and the exact sum as a dashed line.

    Examples
    --------
    >>> table = pl.DataFrame({"M": ["5", "2000", "exact"], "value": [0.1, 0.2, 0.21]})
    >>> ax = draw_summation_bound(prepare_summation_bound(table, "F1"))
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['5', '2,000']
    """
    with drawing(ax, (4.6, 3.7)) as drawn:
        drawn.vlines(study.terms, study.low, study.high, color=BLUE, alpha=0.45, linewidth=2.0)
        drawn.plot(study.terms, study.value, "o-", color=BLUE, linewidth=1.6, markersize=5, label="summed up to M")
        if np.isfinite(study.exact):
            drawn.axhline(study.exact, color=INK, linewidth=1.2, linestyle=(0, (5, 2)), label="exact")
        drawn.set_xscale("log")
        drawn.set_xticks(study.terms, [f"{m:,}" for m in study.terms])
        drawn.minorticks_off()
        drawn.set(xlabel="M, the most relevant items that are thought of", ylabel=study.metric)
        drawn.set_title(f"{study.metric} by M")
        legend_above(drawn, len(drawn.get_legend_handles_labels()[1]))
    return drawn
