"""Ranks within rows, exact or with a known error, and random columns weighted by the difference of two ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import DataError, SettingError
from sureness.numerics.ranking import NOTHING

_BINS_PER_QUANTILE = 16  # finer than the quantiles, so that few rows have a bin that is too full
_TILE = 512  # columns of a product computed at a time
_BEYOND = 8  # entries sampled for the range, per entry that a bin may hold; rarely do too many entries lie beyond it
_MARGIN = 0.125  # share of the range added on both sides


@dataclass(frozen=True, eq=False)
class RowRanks:
    """Ranks within each row, 1 for the highest, 0 for entries left out; stored as codes and the rank of each code."""

    codes: IntArray  # (n, n_columns), unsigned
    places: IntArray  # (n, n_codes) int32, or one row for all

    __repr__ = fields_repr

    def at(self, rows: IntArray, columns: IntArray) -> IntArray:
        """The ranks of some entries."""
        return np.asarray(self.places[rows % len(self.places), self.codes[rows, columns]])

    def dense(self) -> IntArray:
        """The ranks of all entries; shape (n, n_columns)."""
        rows = np.arange(len(self.codes))[:, None]
        return self.at(rows, np.arange(self.codes.shape[1])[None])


def exact_ranks(
    scores: FloatArray, *, rows: IntArray | None = None, starts: IntArray | None = None, seen: IntArray = NOTHING
) -> RowRanks:
    """Ranks by sorting each row; ties are in any order.

    Parameters
    ----------
    scores : array of shape (n, n_columns)
        -inf where an entry is left out.
    rows, starts, seen : arrays, optional
        More entries to leave out, as sparse rows: those of row i are
        ``seen[starts[rows[i]] : starts[rows[i] + 1]]``.

    Examples
    --------
    >>> exact_ranks(np.array([[0.1, 0.9, -np.inf, 0.5]])).dense()
    array([[3, 1, 0, 2]], dtype=int32)
    """
    shown = scores.copy()
    for place, (first, last) in enumerate(_spans(len(scores), rows, starts)):
        shown[place, seen[first:last]] = -np.inf
    order = np.argsort(shown, axis=1)[:, ::-1]
    codes = np.empty(scores.shape, dtype=_code_type(scores.shape[1]))
    np.put_along_axis(codes, order, np.arange(1, scores.shape[1] + 1, dtype=codes.dtype)[None], axis=1)
    codes[np.isneginf(shown)] = 0
    return RowRanks(codes, np.arange(scores.shape[1] + 1, dtype=np.int32)[None])


def sketched_ranks(
    scores: FloatArray, n_quantiles: int = 256, *, rows: IntArray | None = None, starts: IntArray | None = None,
    seen: IntArray = NOTHING,
) -> RowRanks:  # fmt: skip
    """Ranks that are off by at most n_columns / n_quantiles, without sorting.

    Scores are counted in fine bins over the range of a sample of their row, and all entries of a bin get its middle
    rank. A row with a bin that holds more entries than the error allows is sorted after all.

    Parameters
    ----------
    scores : float32 array of shape (n, n_columns)
        -inf where an entry is left out.
    n_quantiles : int
    rows, starts, seen : arrays, optional
        More entries to leave out, see `exact_ranks`.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=(3, 10_000)).astype(np.float32)
    >>> int(np.abs(sketched_ranks(scores, 100).dense() - exact_ranks(scores).dense()).max()) <= 100
    True
    """
    sketch = _Sketch.of(scores.shape, n_quantiles)
    if sketch is None:
        return exact_ranks(scores, rows=rows, starts=starts, seen=seen)
    sketch.spread(scores[:, :: sketch.stride])
    sketch.code(scores, 0)
    return sketch.ranks(scores.__getitem__, rows, starts, seen)


def product_ranks(
    left: FloatArray, right: FloatArray, n_quantiles: int = 256, *, rows: IntArray | None = None,
    starts: IntArray | None = None, seen: IntArray = NOTHING,
) -> RowRanks:  # fmt: skip
    """`sketched_ranks` of ``left @ right``, computed a few columns at a time, so that scores never leave the cache.

    Parameters
    ----------
    left : float32 array of shape (n, n_factors)
    right : float32 array of shape (n_factors, n_columns)
        The factors of users and items; finite, and so are their products.
    n_quantiles : int
    rows, starts, seen : arrays, optional
        Entries to leave out, see `exact_ranks`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(4, 10_000)).astype(np.float32)
    >>> int(np.abs(product_ranks(left, right, 100).dense() - exact_ranks(left @ right).dense()).max()) <= 100
    True
    """
    n = len(left)
    return next(product_rank_parts(left, right, n_quantiles, n, n, rows=rows, starts=starts, seen=seen))


def product_rank_parts(
    left: FloatArray, right: FloatArray, n_quantiles: int, block: int, size: int, *, rows: IntArray | None = None,
    starts: IntArray | None = None, seen: IntArray = NOTHING,
) -> Iterator[RowRanks]:  # fmt: skip
    """The ranks of `product_ranks`, multiplied for `block` rows at once and given for `size` of them after the other.

    Those of a few rows are used from the cache. They are good until the next block, which takes their memory: new
    memory for each would take the system as long as filling it.
    """
    n, block, size = len(left), max(1, block), max(1, size)
    sketch = _Sketch.of((min(block, n), right.shape[1]), n_quantiles)
    for start in range(0, n or 1, block):
        some, given = left[start : start + block], None if rows is None else rows[start : start + block]
        if sketch is not None:
            sketch.fill(some, right)
        for first in range(0, len(some) or 1, size):
            part = slice(first, min(first + size, len(some)))
            mine, of_mine = some[part], None if given is None else given[part]
            if sketch is None:
                yield exact_ranks(mine @ right, rows=of_mine, starts=starts, seen=seen)
            else:
                yield sketch.ranks(partial(_product_of, mine, right), of_mine, starts, seen, part)


def _product_of(left: FloatArray, right: FloatArray, rows: BoolArray) -> FloatArray:
    return np.asarray(left[rows] @ right)


class _Sketch:
    """Bins for the scores of a block of rows, filled a few columns at a time."""

    def __init__(self, shape: tuple[int, int], allowed: int, n_bins: int) -> None:
        self.allowed, self.n_bins = allowed, n_bins
        self.stride = max(1, allowed // _BEYOND)
        self.sample: FloatArray | None = None  # columns of a product that the range is taken from
        self.codes: IntArray = np.empty(shape, dtype=_code_type(max(shape[1], n_bins)))

    @classmethod
    def of(cls, shape: tuple[int, int], n_quantiles: int) -> Self | None:
        """None if there are more bins than entries, because sorting is faster then."""
        if n_quantiles < 1:
            raise SettingError(f"n_quantiles must be at least 1, got {n_quantiles}")
        allowed, n_bins = shape[1] // n_quantiles, _BINS_PER_QUANTILE * n_quantiles
        return None if allowed <= 1 or shape[1] < n_bins else cls(shape, allowed, n_bins)

    def fill(self, left: FloatArray, right: FloatArray) -> None:
        """Put ``left @ right`` into bins, a few columns at a time."""
        if self.sample is None:
            self.sample = np.ascontiguousarray(right[:, :: self.stride])
        self.spread(left @ self.sample)
        tile = np.empty((len(left), _TILE), dtype=np.float32)
        for first in range(0, right.shape[1], _TILE):
            columns = right[:, first : first + _TILE]
            self.code(np.matmul(left, columns, out=tile if columns.shape[1] == _TILE else None), first)

    def spread(self, some: FloatArray) -> None:
        """Place the bins over the range of some scores of each row, with a margin."""
        low, high = some.min(axis=1), some.max(axis=1)
        if np.isneginf(low).any():
            low = np.where(np.isneginf(some), np.float32(np.inf), some).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            margin = (high - low) * np.float32(_MARGIN)
            self.high = high + margin
            self.scale = np.float32(self.n_bins - 1) / (self.high - low + margin)  # not finite: all in one bin

    def code(self, scores: FloatArray, first: int) -> None:
        """Put scores into bins; `first` is the number of their first column."""
        from sureness.numerics import _rank_kernels  # loads the compiler

        _rank_kernels.code_rows(scores, self.high, self.scale, self.n_bins, first, self.codes)

    def ranks(
        self, scores_of: Callable[[BoolArray], FloatArray], rows: IntArray | None, starts: IntArray | None,
        seen: IntArray, part: slice = slice(None),
    ) -> RowRanks:  # fmt: skip
        """The ranks of the binned scores, or of part of the rows; rows with a bin that is too full are sorted."""
        from sureness.numerics import _rank_kernels  # loads the compiler

        codes = self.codes[part]
        n, n_columns = codes.shape
        done, places = np.zeros(n, dtype=bool), np.empty((n, self.n_bins + 1), dtype=np.int32)
        given_rows, given_starts = _or_nothing(n, rows, starts)
        _rank_kernels.place_rows(codes, given_rows, given_starts, seen, self.allowed, places, done)
        if done.all():
            return RowRanks(codes, places)
        exact = exact_ranks(scores_of(~done), rows=given_rows[~done], starts=given_starts, seen=seen)
        codes[~done] = exact.codes
        wider = np.zeros(
            (n, max(places.shape[1], n_columns + 1)), dtype=np.int32
        )  # sorted rows have a code for each entry
        wider[:, : places.shape[1]] = places
        wider[~done, : n_columns + 1] = exact.places
        return RowRanks(codes, wider)


def draw_by_ranks(
    mine: RowRanks, other: RowRanks, table: FloatArray, counts: IntArray, rng: np.random.Generator, *,
    compared: bool = True, relative: bool = False,
) -> IntArray:  # fmt: skip
    """Draw columns for each row with replacement, weighted by the difference of two ranks.

    Entries are drawn by rejection; where that takes too long, the weights of the row are summed instead.

    Parameters
    ----------
    mine, other : RowRanks
        Two ranks of the same entries; entries with rank 0 in either are never drawn.
    table : array of shape (2 * n_columns + 1,)
        The weight of each difference ``mine - other`` from -n_columns to n_columns, on any common scale.
    counts : array of shape (n,)
        How many columns to draw for each row.
    rng : numpy.random.Generator
    compared : bool
        False: the weight depends on ``-other`` alone.
    relative : bool
        Whether ratios of weights depend only on differences of gaps, as for exp. Weights are then taken relative to
        the row's largest gap, so that they never underflow.

    Returns
    -------
    int32 array of shape (counts.sum(),)
        Grouped by row; drawn uniformly where no entry has weight, -1 where nothing can be drawn.

    Examples
    --------
    >>> mine, other = exact_ranks(np.array([[3.0, 2.0, 1.0]])), exact_ranks(np.array([[1.0, 2.0, 3.0]]))
    >>> table = np.maximum(np.arange(-3.0, 4.0), 0)  # only entries that the other ranks higher
    >>> draw_by_ranks(mine, other, table, np.array([4]), np.random.default_rng(0))
    array([2, 2, 2, 2], dtype=int32)
    """
    from sureness.numerics import _rank_kernels  # loads the compiler

    shape = mine.codes.shape
    if other.codes.shape != shape or table.shape != (2 * shape[1] + 1,) or len(counts) != shape[0]:
        raise DataError(f"both ranks must have one shape, counts one number per row and the table one weight per "
                        f"difference, got {shape}, {other.codes.shape}, {len(counts)} and {table.shape}")  # fmt: skip
    starts = np.concatenate([[0], np.cumsum(counts)])
    drawn = np.empty(starts[-1], dtype=np.int32)
    weights = chances_of(table)
    seeds = rng.integers(0, 2**64, size=shape[0], dtype=np.uint64)
    ranks = mine.codes, mine.places, other.codes, other.places
    _rank_kernels.draw_rows(*ranks, weights, compared, relative and compared, starts, seeds, drawn)
    return drawn


def chances_of(weights: FloatArray) -> FloatArray:
    """Weights in single precision, the largest 1.

    Examples
    --------
    >>> chances_of(np.array([0.0, 2.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    largest = weights.max(initial=0.0)
    return np.asarray(weights if largest in (0.0, 1.0) else weights / largest, dtype=np.float32)


def ranks_of(scores: FloatArray, rows: IntArray, columns: IntArray) -> IntArray:
    """The exact ranks of some entries: one more than the number of higher scores in the row.

    Examples
    --------
    >>> ranks_of(np.array([[0.1, 0.9, 0.5]]), np.array([0, 0]), np.array([1, 0])).tolist()
    [1, 3]
    """
    return np.asarray(1 + np.count_nonzero(scores[rows] > scores[rows, columns][:, None], axis=1))


def _code_type(highest: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that holds all codes, so that a row of them stays in the cache."""
    return np.uint16 if highest < 2**16 else np.uint32


def _or_nothing(n: int, rows: IntArray | None, starts: IntArray | None) -> tuple[IntArray, IntArray]:
    if rows is None or starts is None:
        return np.zeros(n, dtype=np.int64), np.zeros(2, dtype=np.int64)
    return rows, starts


def _spans(n: int, rows: IntArray | None, starts: IntArray | None) -> list[tuple[int, int]]:
    given_rows, given_starts = _or_nothing(n, rows, starts)
    return list(zip(given_starts[given_rows].tolist(), given_starts[given_rows + 1].tolist(), strict=True))
