"""Users as the observations of a bootstrap: their sums, and how these vary when users are drawn with replacement."""

from __future__ import annotations

import numpy as np

from sureness._types import AnyArray, FloatArray, IntArray
from sureness.metrics.cells import Cells, cell_sums
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
