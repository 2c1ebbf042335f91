"""Where each entry of a row stands, exactly or to a known error, and draws by the difference of two such ranks."""

from __future__ import annotations

import numpy as np

from sureness import numerics
from sureness._types import FloatArray, IntArray
from sureness.errors import DataError

_BINS_PER_QUANTILE = 16  # finer than asked for, so that few rows have a bin that is too full


def hide(scores: FloatArray, rows: IntArray, starts: IntArray, hidden: IntArray) -> None:
    """Set entries that do not count to -inf: those of row i are ``hidden[starts[rows[i]] : starts[rows[i] + 1]]``."""
    numerics._rank_kernels.hide_rows(scores, rows, starts, hidden)


def exact_ranks(scores: FloatArray) -> IntArray:
    """Ranks within each row, 1 for the highest; 0 where the score is -inf. Equal scores stand in any order.

    Examples
    --------
    >>> exact_ranks(np.array([[0.1, 0.9, -np.inf, 0.5]]))
    array([[3, 1, 0, 2]], dtype=int32)
    """
    order = np.argsort(scores, axis=1)[:, ::-1]
    ranks = np.empty(scores.shape, dtype=np.int32)
    places = np.broadcast_to(np.arange(1, scores.shape[1] + 1, dtype=np.int32), scores.shape)
    np.put_along_axis(ranks, order, places, axis=1)
    ranks[np.isneginf(scores)] = 0
    return ranks


def sketched_ranks(scores: FloatArray, n_quantiles: int = 256) -> IntArray:
    """Ranks within each row that are off by at most n_columns / n_quantiles, without sorting.

    Scores are counted in fine bins between the lowest and the highest of their row; all entries of a bin get its
    middle rank. Where a bin would hold more than the error allows, the row is sorted after all.

    Parameters
    ----------
    scores : float32 array of shape (n, n_columns)
        -inf where an entry does not count; its rank is 0.
    n_quantiles : int

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=(3, 10_000)).astype(np.float32)
    >>> int(np.abs(sketched_ranks(scores, 100) - exact_ranks(scores)).max()) <= 100
    True
    """
    if n_quantiles < 1:
        raise DataError(f"n_quantiles must be at least 1, got {n_quantiles}")
    ranks, done = np.empty(scores.shape, dtype=np.int32), np.zeros(len(scores), dtype=bool)
    allowed = scores.shape[1] // n_quantiles
    if allowed > 1:
        numerics._rank_kernels.sketch_rows(scores, _BINS_PER_QUANTILE * n_quantiles, allowed, ranks, done)
    if not done.all():
        ranks[~done] = exact_ranks(scores[~done])
    return ranks


def draw_by_ranks(
    mine: IntArray, other: IntArray, table: FloatArray, counts: IntArray, rng: np.random.Generator, *,
    compared: bool = True,
) -> IntArray:  # fmt: skip
    """Draw columns for each row, with replacement, as likely as the table says of the difference of two ranks.

    Parameters
    ----------
    mine, other : int32 arrays of shape (n, n_columns)
        Two ranks of the same entries; what has rank 0 in either is never drawn.
    table : array of shape (2 * n_columns + 1,)
        The weight of each difference ``mine - other`` from -n_columns to n_columns.
    counts : array of shape (n,)
        How many to draw for each row.
    rng : numpy.random.Generator
    compared : bool
        False: the weight depends on ``-other`` alone.

    Returns
    -------
    int32 array of shape (counts.sum(),)
        Row after row; uniform where no entry has weight, -1 where nothing may be drawn.

    Examples
    --------
    >>> mine, other = np.array([[1, 2, 3]], dtype=np.int32), np.array([[3, 2, 1]], dtype=np.int32)
    >>> table = np.maximum(np.arange(-3.0, 4.0), 0)  # only what the other ranks higher
    >>> draw_by_ranks(mine, other, table, np.array([4]), np.random.default_rng(0))
    array([2, 2, 2, 2], dtype=int32)
    """
    if mine.shape != other.shape or table.shape != (2 * mine.shape[1] + 1,):
        raise DataError(f"both ranks must have one shape and the table a weight for each difference, got {mine.shape}, "
                        f"{other.shape} and {table.shape}")  # fmt: skip
    starts = np.concatenate([[0], np.cumsum(counts)])
    drawn = np.empty(starts[-1], dtype=np.int32)
    weights = np.asarray(table, dtype=np.float64)
    numerics._rank_kernels.draw_rows(mine, other, weights, compared, starts, rng.random(starts[-1]), drawn)
    return drawn


def ranks_of(scores: FloatArray, rows: IntArray, columns: IntArray) -> IntArray:
    """The exact ranks of some entries: one more than the number of higher scores in the row.

    Examples
    --------
    >>> ranks_of(np.array([[0.1, 0.9, 0.5]]), np.array([0, 0]), np.array([1, 0])).tolist()
    [1, 3]
    """
    return np.asarray(1 + np.count_nonzero(scores[rows] > scores[rows, columns][:, None], axis=1))
