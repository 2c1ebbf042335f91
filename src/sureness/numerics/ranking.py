"""Top entries and ranks of rows, membership in sparse rows, and random columns: absent ones, or by ranks."""

from __future__ import annotations

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError, SettingError

NOTHING: IntArray = np.empty(0, dtype=np.int64)

_FIRST = 1 << 20  # entries of a process that are sorted without the compiled loop, which takes seconds to compile
_n_ranked = 0  # entries so far


def top_k(
    block: FloatArray, k: int, *, rows: IntArray | None = None, starts: IntArray | None = None,
    seen: IntArray = NOTHING,
) -> tuple[IntArray, FloatArray]:  # fmt: skip
    """The k highest unseen entries of each row, highest first; -1 where there are too few.

    Ties go to the earlier column. Seen entries of the block are set to -inf in place.

    Parameters
    ----------
    block : array of shape (n, n_columns)
    k : int
    rows, starts, seen : arrays
        Entries to leave out, as sparse rows: those of row i of the block are
        ``seen[starts[rows[i]] : starts[rows[i] + 1]]``.

    Returns
    -------
    columns, values : arrays of shape (n, k)

    Examples
    --------
    >>> top_k(np.array([[0.1, 0.9, 0.5, 0.9]]), 2)[0]
    array([[1, 3]])
    >>> seen = {"rows": np.array([0]), "starts": np.array([0, 1]), "seen": np.array([1])}
    >>> top_k(np.array([[0.1, 0.9, 0.5]]), 3, **seen)[0]
    array([[ 2,  0, -1]])
    """
    global _n_ranked
    if k < 1:
        raise SettingError(f"k must be at least 1, got {k}")
    n = block.shape[0]
    if rows is None or starts is None:
        rows, starts = np.zeros(n, dtype=np.int64), np.zeros(2, dtype=np.int64)
    columns, values = np.empty((n, k), dtype=np.int64), np.empty((n, k), dtype=block.dtype)
    _n_ranked += block.size
    if _n_ranked <= _FIRST:
        _sort_rows(block, rows, starts, seen, columns, values)
    else:
        from sureness.numerics import _kernels  # loads the compiler

        _kernels.top_rows(block, rows, starts, seen, columns, values)
    return columns, values


def _sort_rows(
    block: FloatArray, rows: IntArray, starts: IntArray, seen: IntArray, columns: IntArray, values: FloatArray
) -> None:
    """What the compiled loop does, by sorting whole rows."""
    for place, row in enumerate(rows):
        block[place, seen[starts[row] : starts[row + 1]]] = -np.inf
    k = min(columns.shape[1], block.shape[1])
    known = np.where(np.isnan(block), -np.inf, block)
    order = np.argsort(-known, axis=1, kind="stable")[:, :k]
    columns[:], values[:] = -1, -np.inf
    values[:, :k] = np.take_along_axis(known, order, axis=1)
    columns[:, :k] = np.where(values[:, :k] > -np.inf, order, -1)


def members(lists: IntArray, rows: IntArray, starts: IntArray, values: IntArray) -> BoolArray:
    """Which entries of each list are among the sorted values of its sparse row.

    Examples
    --------
    >>> members(np.array([[4, 2]]), np.array([0]), np.array([0, 2]), np.array([1, 2]))
    array([[False,  True]])
    """
    from sureness.numerics import _kernels  # loads the compiler

    found = np.empty(lists.shape, dtype=bool)
    _kernels.mark_members(lists, rows, starts, values, found)
    return found


def draw_absent(
    rows: IntArray, starts: IntArray, values: IntArray, n_columns: int, rng: np.random.Generator
) -> IntArray:
    """Draw for each row number a column that its sorted sparse row does not hold, uniformly and without rejection.

    Examples
    --------
    >>> drawn = draw_absent(np.zeros(100, dtype=int), np.array([0, 2]), np.array([1, 2]), 4, np.random.default_rng(0))
    >>> sorted(set(drawn.tolist()))
    [0, 3]
    """
    from sureness.numerics import _kernels  # loads the compiler

    absent = n_columns - (starts[rows + 1] - starts[rows])
    if len(absent) and absent.min() < 1:
        raise DataError(
            f"every row must lack at least one of the {counted(n_columns, 'column')}, but one has them all; leave it "
            "out"
        )
    drawn = np.empty(len(rows), dtype=np.int64)
    places = (rng.random(len(rows)) * absent).astype(np.int64)
    _kernels.nth_absent(rows, places, starts, values, drawn)
    return drawn


def exact_ranks(
    scores: FloatArray, *, rows: IntArray | None = None, starts: IntArray | None = None, seen: IntArray = NOTHING
) -> IntArray:
    """Ranks within each row, 1 for the highest, 0 for entries left out; ties are in any order.

    Parameters
    ----------
    scores : array of shape (n, n_columns)
        -inf where an entry is left out.
    rows, starts, seen : arrays, optional
        More entries to leave out, as sparse rows; see `top_k`.

    Examples
    --------
    >>> exact_ranks(np.array([[0.1, 0.9, -np.inf, 0.5]]))
    array([[3, 1, 0, 2]], dtype=int32)
    """
    shown = -scores
    if rows is not None and starts is not None:
        for place, row in enumerate(rows):
            shown[place, seen[starts[row] : starts[row + 1]]] = np.inf
    ranks = np.empty(scores.shape, dtype=np.int32)
    np.put_along_axis(ranks, np.argsort(shown, axis=1), np.arange(1, scores.shape[1] + 1, dtype=np.int32)[None], axis=1)
    ranks[np.isposinf(shown)] = 0
    return ranks


def ranks_of(scores: FloatArray, rows: IntArray, columns: IntArray) -> IntArray:
    """The exact ranks of some entries: one more than the number of higher scores in the row.

    Examples
    --------
    >>> ranks_of(np.array([[0.1, 0.9, 0.5]]), np.array([0, 0]), np.array([1, 0])).tolist()
    [1, 3]
    """
    return np.asarray(1 + np.count_nonzero(scores[rows] > scores[rows, columns][:, None], axis=1))


def draw_by_ranks(
    mine: IntArray,
    other: IntArray,
    table: FloatArray,
    counts: IntArray,
    rng: np.random.Generator,
    *,
    compared: bool = True,
    relative: bool = False,
) -> IntArray:
    """Draw columns for each row with replacement, weighted by the difference of two ranks.

    Parameters
    ----------
    mine, other : arrays of shape (n, n_columns)
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
    n_columns = mine.shape[1]
    if other.shape != mine.shape or table.shape != (2 * n_columns + 1,) or len(counts) != len(mine):
        raise DataError(
            "both ranks must have one shape, counts one number per row and the table one weight per difference, got "
            f"{mine.shape}, {other.shape}, {len(counts)} and {table.shape}"
        )
    weights = table / (table.max(initial=0.0) or 1.0)
    drawn = np.full(int(np.sum(counts)), -1, dtype=np.int32)
    stops = np.cumsum(counts)
    for row, stop in enumerate(stops):
        there = np.flatnonzero((mine[row] > 0) & (other[row] > 0))
        if not len(there) or not counts[row]:
            continue
        gaps = (mine[row, there] if compared else 0) - other[row, there]
        if relative and compared:
            gaps = gaps + (n_columns - gaps.max())
        sums = np.cumsum(weights[gaps + n_columns])
        if sums[-1] == 0:
            sums = np.arange(1.0, len(there) + 1)
        places = np.searchsorted(sums, rng.random(counts[row]) * sums[-1], side="right")
        last = np.searchsorted(sums, sums[-1])  # rounding must not reach entries without weight after it
        drawn[stop - counts[row] : stop] = there[np.minimum(places, last)]
    return drawn
