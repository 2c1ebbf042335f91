"""Pairs in Spark as sums over cells of scores: two passes of Spark's own aggregation, without Python on executors.

The first pass finds where the scores lie, and whether all values can be used. The second sums moments over cells as
narrow as the bins of one machine; scores far outside are in wider cells, so that there are never many. Where outliers
hid the width of the others, the second pass is made again with what it has found.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.numerics.checks import LARGEST
from sureness.numerics.histogram import MAX_BINS, ScoreHistogram, exponent_for
from sureness.numerics.masking import core_of
from sureness.spark.frames import column, created, fetched

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BAD = object()
"""The key of pairs that cannot be used."""

_REACH = 2.0**16  # cells of the first level on each side of the centre
_STEP = 16.0  # how much wider the cells of the next level are
_LEVEL = 2**55  # numbers of cells of one level; there are less than 200
_MOST_CELLS = 4_000_000  # that the driver should receive, with five folds
_FOLDS = 5
_PASSES = 4
_CORE = 5.15  # standard deviations in the core, 99%, of Gaussian scores
_WINDOW = ("sureness_centre", "sureness_reach", "sureness_inverse")
_PER_CELL = ("keys", "narrow", "positive", "count", "weight", "target", "lows", "highs")


@dataclass(frozen=True, eq=False)
class Summed:
    """The columns of pairs as Spark sums them."""

    rows: DataFrame
    score: Column  # double
    label: Column  # boolean
    weight: Column | None  # None: all 1
    target: Column | None  # of the positives; None: 1
    usable: Column | None  # boolean; None: where label and score are

    def held(self) -> DataFrame:
        """The pairs that have a weight."""
        return self.rows if self.weight is None else self.rows.filter(self.weight > 0)

    def sums(self) -> dict[str, Column]:
        """What is summed over a cell; what equals another sum is left out."""
        from pyspark.sql import functions as sf

        def moments(mass: Column | None) -> list[Column]:
            first = self.score if mass is None else mass * self.score
            return [sf.sum(each) for each in (first, first * self.score)]

        weight, target = self.weight, self.target
        found = {"count": sf.count(sf.lit(1))} | dict(zip(("first", "second"), moments(weight), strict=True))
        if weight is not None:
            found |= {"weight": sf.sum(weight), "square": sf.sum(weight * weight)}
        if target is not None:
            hit = target if weight is None else weight * target
            found |= {"target": sf.sum(hit), "square": sf.sum(hit * hit), "noise": sf.sum(hit * target)}
            found |= dict(zip(("target_first", "target_second"), moments(hit), strict=True))
        return found


class ScoreSpread(NamedTuple):
    """Where the scores of some pairs lie."""

    n_pairs: int
    low: float
    high: float
    mean: float
    square: float  # mean of squares

    @property
    def deviation(self) -> float:
        """Standard deviation, as far as sums tell."""
        return float(np.sqrt(max(self.square - self.mean**2, 1e-15 * self.square)))


def survey(pairs: Summed, by: str | None = None) -> dict[Hashable, ScoreSpread]:
    """Where the scores lie that have a weight, by the values of a column, or by None.

    The key `BAD` means that some pairs cannot be used: counts and extremes tell that scores are missing or
    infinite, which is faster than to look at each.
    """
    from pyspark.sql import functions as sf

    score = pairs.score if pairs.weight is None else sf.when(pairs.weight > 0, pairs.score)
    groups = [] if by is None else [column(by)]
    good = sf.col("label") if pairs.usable is None else sf.when(pairs.usable, 1)
    found = (
        pairs.rows.groupBy(*groups)
        .agg(
            *(sf.count(each) for each in (sf.lit(1), pairs.score, good, score)),
            sf.min(score),
            sf.max(score),
            sf.sum(score),
            sf.sum(score * score),
        )
        .toArrow()
    )
    columns = [each.to_pylist() for each in found.columns]
    names = [None] * found.num_rows if by is None else columns.pop(0)
    surveys: dict[Hashable, ScoreSpread] = {}
    for name, rows, scored, usable, n_pairs, low, high, first, second in zip(names, *columns, strict=True):
        if min(scored, usable) < rows or (n_pairs and not max(abs(low), abs(high)) <= LARGEST):  # NaN is largest there
            return {BAD: ScoreSpread(0, 0.0, 0.0, 0.0, 0.0)}
        if n_pairs:
            surveys[name] = ScoreSpread(n_pairs, low, high, first / n_pairs, second / n_pairs)
    return surveys


class Window(NamedTuple):
    """Where the narrow cells are."""

    centre: float
    exponent: int  # of their width

    @classmethod
    def of(cls, found: ScoreSpread, max_bins: int) -> Window:
        """ScoreCells as wide as bins, or twice, unless outliers hide where the others lie."""
        return cls(found.mean, exponent_for(_CORE * found.deviation, found.low, found.high, max_bins))

    @property
    def reach(self) -> float:
        """How far the narrow cells reach from the centre."""
        return float(_REACH * 2.0**self.exponent)

    @property
    def inverse(self) -> float:
        """Narrow cells per unit of the score."""
        return float(2.0**-self.exponent)

    def holds(self, found: ScoreSpread) -> bool:
        """Whether all scores are in narrow cells."""
        return max(found.high - self.centre, self.centre - found.low) < self.reach


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Sums over the cells of some pairs; positives and negatives have cells of their own."""

    exponent: int  # of the width of narrow cells
    keys: IntArray  # (n,) in widths
    narrow: BoolArray  # (n,) the others are outside the window, and wider
    positive: BoolArray  # (n,)
    count: FloatArray  # (n,)
    weight: FloatArray  # (n, 3) weight, weight * score, weight * score**2
    target: FloatArray  # (n, 5) the same of weight * target; (weight * target)**2, weight * target**2
    low: float  # lowest score
    high: float
    lows: FloatArray | None  # (n,) lowest score of each cell, where some are outside the window
    highs: FloatArray | None
    max_bins: int

    @property
    def means(self) -> FloatArray:
        """The mean score of each cell."""
        return self.weight[:, 1] / self.weight[:, 0]

    def bounds(self) -> tuple[float, float]:
        """Bounds between the scores and what lies far outside."""
        return core_of(np.sort(self.means)) or (-np.inf, np.inf)

    def core(self) -> tuple[float, float]:
        """Scores between which 99% lie, without what lies far outside; to the spread of a cell."""
        low, high = self.bounds()
        means = self.means
        order = np.argsort(means, kind="stable")
        order = order[(means[order] >= low) & (means[order] <= high)]
        share = np.cumsum(self.count[order])
        first, last = (order[np.searchsorted(share, at * share[-1])] for at in (0.005, 0.995))
        if first == last:
            first, last = order[0], order[-1]
        spread = np.sqrt(np.maximum(self.weight[:, 2] / self.weight[:, 0] - means**2, 0.0))
        spread = np.where(self.narrow, np.minimum(spread, 2.0**self.exponent / 2), spread)  # far from 0 it is noise
        return float(means[first] - 2 * spread[first]), float(means[last] + 2 * spread[last])

    def wanted(self) -> Window:
        """The window in which cells are narrow enough."""
        low, high = self.core()
        return Window((low + high) / 2, self._exponent())

    def are_done(self) -> bool:
        """Whether cells are narrow enough, and the extremes of the real scores are known."""
        if self.low == self.high:
            return True
        found_all = self.lows is not None or self.bounds() == (-np.inf, np.inf)
        return found_all and self.exponent <= self._exponent() + 1

    def _exponent(self) -> int:
        """Of the width of bins."""
        low, high = self.core()
        return exponent_for(high - low, low, high, self.max_bins)

    def histogram(self, negative: float) -> ScoreHistogram:
        """The pairs as a histogram; each negative weighs so much."""
        weight = np.where(self.positive, 1.0, negative)[:, None] * self.weight
        target = np.where(self.positive[:, None], self.target, 0.0)
        hits = np.where(self.positive, self.count, 0.0)
        sums = np.column_stack([self.count, weight, target[:, :3], hits, target[:, 3:]])
        exponent = max(self.exponent, self._exponent()) if self.low < self.high else self.exponent
        means = self.means
        keys = np.where(self.narrow, self.keys >> (exponent - self.exponent), np.floor(means * 2.0**-exponent))
        bounds = self.bounds()
        apart = (means < bounds[0]) | (means > bounds[1])
        low, high = self.low, self.high
        if self.lows is not None and self.highs is not None:
            low, high = float(self.lows[~apart].min()), float(self.highs[~apart].max())
        return ScoreHistogram.of_cells(keys, sums, apart, exponent=exponent, minimum=low, maximum=high)

    def sums_by_label(self, low: float, high: float) -> FloatArray:
        """Weights and targets of the positives and weights of the negatives between two scores."""
        inside = (self.means > low) & (self.means < high)
        positive, negative = inside & self.positive, inside & ~self.positive
        weight, target = self.weight[:, 0], self.target[:, 0]
        return np.array([weight[positive].sum(), target[positive].sum(), weight[negative].sum()])


def count_cells(
    pairs: Summed, found: dict[Hashable, ScoreSpread], by: str | None = None, fold: Column | None = None
) -> dict[Hashable, ScoreCells]:
    """The cells of pairs by the values of a column, and by fold; keys are values, or values with folds, or None."""
    most = _MOST_CELLS / len(found) / (2 if fold is None else 2 * _FOLDS)
    max_bins = int(np.clip(most, 256, MAX_BINS))
    windows = {key: Window.of(each, max_bins) for key, each in found.items()}
    extremes = not all(windows[key].holds(each) for key, each in found.items())
    for _ in range(_PASSES):
        cells = _one_pass(pairs, found, windows, by, fold, extremes=extremes, max_bins=max_bins)
        whole = cells if fold is None else _without_folds(cells)
        wanted = {key: each.wanted() for key, each in whole.items() if not each.are_done()}
        if not wanted:
            break
        windows, extremes = windows | wanted, True
    return cells


def _one_pass(
    pairs: Summed,
    found: dict[Hashable, ScoreSpread],
    windows: dict[Hashable, Window],
    by: str | None,
    fold: Column | None,
    *,
    extremes: bool,
    max_bins: int,
) -> dict[Hashable, ScoreCells]:
    from pyspark.sql import functions as sf

    sums = pairs.sums()
    if extremes:
        sums |= {"low": sf.min(pairs.score), "high": sf.max(pairs.score)}
    rows, groups = pairs.held(), {} if by is None else {"name": column(by)}
    if by is None:
        window = windows[None]
        centre, reach, inverse = (sf.lit(each) for each in (window.centre, window.reach, window.inverse))
    else:
        rows = rows.join(sf.broadcast(_as_frame(rows, windows, by)), by)
        centre, reach, inverse = (sf.col(name) for name in _WINDOW)
    if fold is not None:
        groups["fold"] = fold
    bins = _bin(pairs.score, centre, reach, inverse) if extremes else sf.floor(pairs.score * inverse)
    groups["key"] = bins * 2 + pairs.label.cast("bigint")
    summed = rows.groupBy(*(each.alias(name) for name, each in groups.items()))
    table = fetched(summed.agg(*(each.alias(name) for name, each in sums.items())))
    parts = {None: table} if by is None else table.partition_by(*list(groups)[:-1], as_dict=True)
    keys = {key: key[0] if isinstance(key, tuple) else key for key in parts}  # of their windows
    return {
        key if fold is not None else keys[key]: _cells(part, found[keys[key]], windows[keys[key]], max_bins)
        for key, part in parts.items()
    }


def _as_frame(rows: DataFrame, windows: dict[Hashable, Window], by: str) -> DataFrame:
    """The windows as a DataFrame, to be joined."""
    numbers = zip(*((each.centre, each.reach, each.inverse) for each in windows.values()), strict=True)
    table = pl.DataFrame({by: list(windows)} | {name: list(each) for name, each in zip(_WINDOW, numbers, strict=True)})
    return created(rows.sparkSession, table)


def _bin(score: Column, centre: Column, reach: Column, inverse: Column) -> Column:
    """The number of a score's cell: its bin, and the level far above it.

    Neighbours have neighbouring numbers, which Spark's aggregation finds more than twice as fast as others.
    """
    from pyspark.sql import functions as sf

    away = sf.abs(score - centre)
    level = sf.ceil(sf.log(away / reach) / float(np.log(_STEP)))
    wide = sf.floor(score * inverse * sf.pow(sf.lit(_STEP), -level.cast("double"))) + level * (_LEVEL // 2)
    return sf.when(away <= reach, sf.floor(score * inverse)).otherwise(wide)


def _cells(table: pl.DataFrame, found: ScoreSpread, window: Window, max_bins: int) -> ScoreCells:
    known = {name: table[name].to_numpy() for name in table.columns if name not in ("name", "fold")}
    numbers, count = known["key"], known["count"].astype(np.float64)
    levels = (numbers + _LEVEL // 2) // _LEVEL
    weight = np.column_stack([known.get("weight", count), known["first"], known["second"]])
    target = weight
    if "target" in known:
        target = np.column_stack([known["target"], known["target_first"], known["target_second"]])
    square, noise = known.get("square", count), known.get("noise", weight[:, 0])
    return ScoreCells(
        exponent=window.exponent,
        keys=(numbers - levels * _LEVEL) // 2,
        narrow=levels == 0,
        positive=numbers % 2 == 1,
        count=count,
        weight=weight,
        target=np.column_stack([target, square, noise]),
        low=found.low,
        high=found.high,
        lows=known.get("low"),
        highs=known.get("high"),
        max_bins=max_bins,
    )


def _without_folds(cells: dict[Any, ScoreCells]) -> dict[Hashable, ScoreCells]:
    """The cells of all folds of each value together."""
    parts: dict[Hashable, list[ScoreCells]] = {}
    for (name, _), each in cells.items():
        parts.setdefault(name, []).append(each)
    return {name: _joined(own) for name, own in parts.items()}


def _joined(parts: list[ScoreCells]) -> ScoreCells:
    first = parts[0]
    names = [name for name in _PER_CELL if getattr(first, name) is not None]
    joined: dict[str, Any] = {name: np.concatenate([getattr(each, name) for each in parts]) for name in names}
    return replace(first, **joined)
