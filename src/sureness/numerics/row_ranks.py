"""Where each entry of a row stands, exactly or to a known error, and draws by the difference of two such ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import DataError
from sureness.numerics.ranking import NOTHING

_BINS_PER_QUANTILE = 16  # finer than asked for, so that few rows have a bin that is too full
_TILE = 512  # columns of a product at a time
_BEYOND = 8  # the range is that of so many entries for each that a bin may hold: hardly ever do too many lie beyond it
_MARGIN = 0.125  # of the range, added on both sides


@dataclass(frozen=True, eq=False)
class RowRanks:
    """Ranks within each row, 1 for the highest and 0 for what does not count, as codes with the rank of each."""

    codes: IntArray  # (n, n_columns), unsigned
    places: IntArray  # (n, n_codes) int32, or one row for all

    def at(self, rows: IntArray, columns: IntArray) -> IntArray:
        """The ranks of some entries."""
        return np.asarray(self.places[rows % len(self.places), self.codes[rows, columns]])

    def dense(self) -> IntArray:
        """The ranks of all entries; shape (n, n_columns)."""
        rows = np.arange(len(self.codes))[:, None]
        return self.at(rows, np.arange(self.codes.shape[1])[None])


def exact_ranks(
    scores: FloatArray, *, rows: IntArray | None = None, starts: IntArray | None = None, hidden: IntArray = NOTHING
) -> RowRanks:
    """Ranks by sorting each row; equal scores stand in any order.

    Parameters
    ----------
    scores : array of shape (n, n_columns)
        -inf where an entry does not count.
    rows, starts, hidden : arrays, optional
        More entries that do not count, as sparse rows: those of row i are
        ``hidden[starts[rows[i]] : starts[rows[i] + 1]]``.

    Examples
    --------
    >>> exact_ranks(np.array([[0.1, 0.9, -np.inf, 0.5]])).dense()
    array([[3, 1, 0, 2]], dtype=int32)
    """
    shown = scores.copy()
    for place, (first, last) in enumerate(_spans(len(scores), rows, starts)):
        shown[place, hidden[first:last]] = -np.inf
    order = np.argsort(shown, axis=1)[:, ::-1]
    codes = np.empty(scores.shape, dtype=_code_type(scores.shape[1]))
    np.put_along_axis(codes, order, np.arange(1, scores.shape[1] + 1, dtype=codes.dtype)[None], axis=1)
    codes[np.isneginf(shown)] = 0
    return RowRanks(codes, np.arange(scores.shape[1] + 1, dtype=np.int32)[None])


def sketched_ranks(
    scores: FloatArray, n_quantiles: int = 256, *, rows: IntArray | None = None, starts: IntArray | None = None,
    hidden: IntArray = NOTHING,
) -> RowRanks:  # fmt: skip
    """Ranks that are off by at most n_columns / n_quantiles, without sorting.

    Scores are counted in fine bins between the lowest and the highest of some in their row; all entries of a bin get
    its middle rank. Where a bin would hold more than the error allows, the row is sorted after all.

    Parameters
    ----------
    scores : float32 array of shape (n, n_columns)
        -inf where an entry does not count.
    n_quantiles : int
    rows, starts, hidden : arrays, optional
        More entries that do not count, see `exact_ranks`.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=(3, 10_000)).astype(np.float32)
    >>> int(np.abs(sketched_ranks(scores, 100).dense() - exact_ranks(scores).dense()).max()) <= 100
    True
    """
    sketch = _Sketch.of(scores.shape, n_quantiles)
    if sketch is None:
        return exact_ranks(scores, rows=rows, starts=starts, hidden=hidden)
    sketch.spread(scores[:, :: sketch.stride])
    sketch.code(scores, 0)
    return sketch.ranks(lambda some: scores[some], rows, starts, hidden)


def product_ranks(
    left: FloatArray, right: FloatArray, n_quantiles: int = 256, *, rows: IntArray | None = None,
    starts: IntArray | None = None, hidden: IntArray = NOTHING,
) -> RowRanks:  # fmt: skip
    """`sketched_ranks` of ``left @ right``, which is never held: a few columns at a time, while they are in the cache.

    Parameters
    ----------
    left : float32 array of shape (n, n_factors)
    right : float32 array of shape (n_factors, n_columns)
        The factors of users and items; finite, and so are their products.
    n_quantiles : int
    rows, starts, hidden : arrays, optional
        Entries that do not count, see `exact_ranks`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> left, right = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(4, 10_000)).astype(np.float32)
    >>> int(np.abs(product_ranks(left, right, 100).dense() - exact_ranks(left @ right).dense()).max()) <= 100
    True
    """
    sketch = _Sketch.of((len(left), right.shape[1]), n_quantiles)
    if sketch is None:
        return exact_ranks(left @ right, rows=rows, starts=starts, hidden=hidden)
    sketch.spread(left @ np.ascontiguousarray(right[:, :: sketch.stride]))
    tile = np.empty((len(left), _TILE), dtype=np.float32)
    for first in range(0, right.shape[1], _TILE):
        columns = right[:, first : first + _TILE]
        sketch.code(np.matmul(left, columns, out=tile if columns.shape[1] == _TILE else None), first)
    return sketch.ranks(lambda some: left[some] @ right, rows, starts, hidden)


class _Sketch:
    """Bins for the scores of some rows, filled with some columns at a time."""

    def __init__(self, shape: tuple[int, int], allowed: int, n_bins: int) -> None:
        self.allowed, self.n_bins = allowed, n_bins
        self.stride = max(1, allowed // _BEYOND)
        self.codes: IntArray = np.empty(shape, dtype=_code_type(max(shape[1], n_bins)))

    @classmethod
    def of(cls, shape: tuple[int, int], n_quantiles: int) -> Self | None:
        """None where sorting is faster: where bins outnumber entries."""
        if n_quantiles < 1:
            raise DataError(f"n_quantiles must be at least 1, got {n_quantiles}")
        allowed, n_bins = shape[1] // n_quantiles, _BINS_PER_QUANTILE * n_quantiles
        return None if allowed <= 1 or shape[1] < n_bins else cls(shape, allowed, n_bins)

    def spread(self, some: FloatArray) -> None:
        """Lay the bins over the range of some scores of each row, and a little beyond."""
        low, high = some.min(axis=1), some.max(axis=1)
        if np.isneginf(low).any():
            low = np.where(np.isneginf(some), np.float32(np.inf), some).min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            margin = (high - low) * np.float32(_MARGIN)
            self.high = high + margin
            self.scale = np.float32(self.n_bins - 1) / (self.high - low + margin)  # not finite: all in one bin

    def code(self, scores: FloatArray, first: int) -> None:
        """Put the scores of the columns from `first` on into bins."""
        from sureness.numerics import _rank_kernels  # loads the compiler

        _rank_kernels.code_rows(scores, self.high, self.scale, self.n_bins, first, self.codes)

    def ranks(
        self, scores_of: Callable[[BoolArray], FloatArray], rows: IntArray | None, starts: IntArray | None,
        hidden: IntArray,
    ) -> RowRanks:  # fmt: skip
        """What has been coded, as ranks; rows with a bin that is too full are sorted."""
        from sureness.numerics import _rank_kernels  # loads the compiler

        n, n_columns = self.codes.shape
        codes, done, places = self.codes, np.zeros(n, dtype=bool), np.empty((n, self.n_bins + 1), dtype=np.int32)
        given_rows, given_starts = _or_nothing(n, rows, starts)
        _rank_kernels.place_rows(codes, given_rows, given_starts, hidden, self.allowed, places, done)
        if done.all():
            return RowRanks(codes, places)
        exact = exact_ranks(scores_of(~done), rows=given_rows[~done], starts=given_starts, hidden=hidden)
        codes[~done] = exact.codes
        wider = np.zeros((n, max(places.shape[1], n_columns + 1)), dtype=np.int32)  # sorted: a code for each entry
        wider[:, : places.shape[1]] = places
        wider[~done, : n_columns + 1] = exact.places
        return RowRanks(codes, wider)


def draw_by_ranks(
    mine: RowRanks, other: RowRanks, table: FloatArray, counts: IntArray, rng: np.random.Generator, *,
    compared: bool = True, relative: bool = False,
) -> IntArray:  # fmt: skip
    """Draw columns for each row, with replacement, as likely as the table says of the difference of two ranks.

    Entries are proposed and accepted by their weight; a row in which that takes too long has its weights summed.

    Parameters
    ----------
    mine, other : RowRanks
        Two ranks of the same entries; what has rank 0 in either is never drawn.
    table : array of shape (2 * n_columns + 1,)
        The weight of each difference ``mine - other`` from -n_columns to n_columns, of any common scale.
    counts : array of shape (n,)
        How many to draw for each row.
    rng : numpy.random.Generator
    compared : bool
        False: the weight depends on ``-other`` alone.
    relative : bool
        Whether the table's shares depend on differences of gaps alone, as those of exp do; then they are taken
        relative to the row's own largest gap, and never vanish.

    Returns
    -------
    int32 array of shape (counts.sum(),)
        Row after row; uniform where no entry has weight, -1 where nothing may be drawn.

    Examples
    --------
    >>> mine, other = exact_ranks(np.array([[3.0, 2.0, 1.0]])), exact_ranks(np.array([[1.0, 2.0, 3.0]]))
    >>> table = np.maximum(np.arange(-3.0, 4.0), 0)  # only what the other ranks higher
    >>> draw_by_ranks(mine, other, table, np.array([4]), np.random.default_rng(0))
    array([2, 2, 2, 2], dtype=int32)
    """
    from sureness.numerics import _rank_kernels  # loads the compiler

    shape = mine.codes.shape
    if other.codes.shape != shape or table.shape != (2 * shape[1] + 1,) or len(counts) != shape[0]:
        raise DataError(f"both ranks must have one shape, counts a number for each row and the table a weight for each "
                        f"difference, got {shape}, {other.codes.shape}, {len(counts)} and {table.shape}")  # fmt: skip
    starts = np.concatenate([[0], np.cumsum(counts)])
    drawn = np.empty(starts[-1], dtype=np.int32)
    weights = np.asarray(table, dtype=np.float64)
    weights = weights / (weights.max() or 1.0)
    seeds = rng.integers(0, 2**64, size=shape[0], dtype=np.uint64)
    ranks = mine.codes, mine.places, other.codes, other.places
    _rank_kernels.draw_rows(*ranks, weights, compared, relative and compared, starts, seeds, drawn)
    return drawn


def ranks_of(scores: FloatArray, rows: IntArray, columns: IntArray) -> IntArray:
    """The exact ranks of some entries: one more than the number of higher scores in the row.

    Examples
    --------
    >>> ranks_of(np.array([[0.1, 0.9, 0.5]]), np.array([0, 0]), np.array([1, 0])).tolist()
    [1, 3]
    """
    return np.asarray(1 + np.count_nonzero(scores[rows] > scores[rows, columns][:, None], axis=1))


def _code_type(highest: int) -> type[np.unsignedinteger[Any]]:
    """Codes as small as can be, so that a row of them stays in the cache."""
    return np.uint16 if highest < 2**16 else np.uint32


def _or_nothing(n: int, rows: IntArray | None, starts: IntArray | None) -> tuple[IntArray, IntArray]:
    if rows is None or starts is None:
        return np.zeros(n, dtype=np.int64), np.zeros(2, dtype=np.int64)
    return rows, starts


def _spans(n: int, rows: IntArray | None, starts: IntArray | None) -> list[tuple[int, int]]:
    given_rows, given_starts = _or_nothing(n, rows, starts)
    return list(zip(given_starts[given_rows].tolist(), given_starts[given_rows + 1].tolist(), strict=True))
