"""Users as the observations: resampled sums, and how much larger one mean is than another on the same users."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import AnyArray, FloatArray, IntArray
from sureness.errors import EmptyError
from sureness.metrics.cells import Cells, cell_sums
from sureness.numerics.checks import check_rate, check_scores
from sureness.numerics.grouping import group_codes

_MAX_CLUSTERS = 2_000  # more users than this are merged at random, which does not change the spread of sums


def clusters_of(users: AnyArray | None, n_pairs: int, rng: np.random.Generator) -> tuple[IntArray, int]:
    """The cluster that each pair is resampled with, and the number of clusters."""
    codes, n_groups = (np.arange(n_pairs), n_pairs) if users is None else group_codes(users)
    if n_groups <= _MAX_CLUSTERS:
        return codes, n_groups
    return np.asarray((rng.permutation(n_groups) % _MAX_CLUSTERS)[codes]), _MAX_CLUSTERS


def cluster_sums(cells: Cells, weight: FloatArray | None, clusters: IntArray, n_clusters: int) -> FloatArray:
    """Sums of every cell in every cluster; shape (n_clusters, n_cells, 4)."""
    split = cells._replace(place=clusters * cells.n_cells + cells.place, n_cells=n_clusters * cells.n_cells)
    return cell_sums(split, weight).reshape(n_clusters, cells.n_cells, 4)


def resample(sums: FloatArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Sums of resampled clusters; shape (n_resamples, n_cells, 4)."""
    flat = _drawn_sums(sums.reshape(len(sums), -1), n_resamples, rng)
    resampled = flat.reshape(n_resamples, *sums.shape[1:])
    empty = resampled[..., 0].sum(axis=-1) == 0  # only clusters without weight were drawn: use the original sums
    resampled[empty] = sums.sum(axis=0)
    return np.asarray(resampled)


def resampled_means(values: FloatArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Means of rows that are drawn with replacement; shape (n_resamples, n_columns).

    Of many rows, random groups are drawn, so that memory is bounded and time grows with one pass over the rows.
    """
    clusters, n_clusters = clusters_of(None, len(values), rng)
    columns = [*values.T, np.ones(len(values))]
    sums = np.stack([np.bincount(clusters, column, n_clusters).astype(np.float64) for column in columns], axis=1)
    drawn = _drawn_sums(sums, n_resamples, rng)
    return np.asarray(drawn[:, :-1] / drawn[:, -1:])


def confidence_in_gains(gains: FloatArray, resampled: FloatArray) -> FloatArray:
    """How sure it is that each gain is more than chance, given that the best of several is looked at.

    The largest of several gains is positive by chance more often than any one of them. So each is compared with the
    largest gain that resampling alone produces, in standard errors (White's reality check, studentised).

    Parameters
    ----------
    gains : array of shape (n_candidates,)
    resampled : array of shape (n_resamples, n_candidates)

    Examples
    --------
    >>> values = np.random.default_rng(0).normal([0.0, 0.5], size=(100, 2))
    >>> confidence_in_gains(values.mean(axis=0), resampled_means(values, 1_000, np.random.default_rng(1))) > 0.9
    array([False,  True])
    """
    spread = resampled.std(axis=0)
    varies = spread > 1e-12 * np.abs(resampled).max(axis=0, initial=0)  # else only rounding differs
    spread = np.where(varies, spread, 1.0)
    chance = np.where(varies, (resampled - resampled.mean(axis=0)) / spread, -np.inf).max(axis=1)
    ratio = np.where(varies, gains / spread, np.where(gains > 0, np.inf, -np.inf))
    return np.asarray((chance[:, None] < ratio).mean(axis=0))


def _drawn_sums(sums: FloatArray, n_resamples: int, rng: np.random.Generator) -> FloatArray:
    """Sums of rows that are drawn with replacement; shape (n_resamples, n_columns)."""
    counts = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=n_resamples)
    return np.asarray(counts.astype(np.float64) @ sums)


class Difference(NamedTuple):
    """A difference of two means; everything but the value is NaN with a single user."""

    value: float
    standard_error: float
    low: float  # ends of the confidence interval
    high: float
    p_value: float  # of no difference, two-sided


def paired_difference(gains: ArrayLike, *, level: float = 0.95) -> Difference:
    """The mean of paired differences with the interval and the test of Student's t.

    Parameters
    ----------
    gains : array-like of shape (n_users,)
        By how much the first is larger than the second for each user.
    level : float
        Of the confidence interval.

    Examples
    --------
    >>> found = paired_difference([0.3, 0.1, 0.2, 0.2])
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2), round(found.p_value, 3)
    (0.2, 0.07, 0.33, 0.016)
    """
    from scipy.special import stdtr, stdtrit

    gains = check_scores(gains, "gains")
    check_rate(level, "level")
    if not len(gains):
        raise EmptyError("expected the differences of at least one user, got none")
    mean, free = float(gains.mean()), len(gains) - 1
    if not free:
        return Difference(mean, *[float("nan")] * 4)
    if not np.ptp(gains):  # the same for everybody
        return Difference(mean, 0.0, mean, mean, 0.0 if mean else 1.0)
    error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
    half = float(stdtrit(free, (1 + level) / 2)) * error
    return Difference(mean, error, mean - half, mean + half, float(2 * stdtr(free, -abs(mean / error))))
