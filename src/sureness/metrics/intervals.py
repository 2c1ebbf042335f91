"""Bootstrap intervals of metrics, with each user as one observation, and tables of metrics by group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, FloatArray, IntArray
from sureness.errors import SettingError
from sureness.metrics.cells import Cells, Judged, Metric, cell_sums, chosen, judge, named_metric, top_mask
from sureness.numerics.checks import check_ids, check_rate, check_scores, same_length
from sureness.numerics.grouping import group_codes

_MOST_RESAMPLES = 1_000_000
_MAX_CLUSTERS = 2_000  # more users than this are merged at random, which does not change the spread of sums


@dataclass(frozen=True)
class Interval:
    """A value and its confidence interval."""

    value: float
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


def interval(
    metric: str,
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    users: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
) -> Interval:
    """A metric with its bootstrap interval.

    Users are drawn with replacement, each with all of their pairs, because pairs of one user are correlated. The
    interval is the *basic* one, ``2 * value - quantiles``: resampling inflates a calibration error as chance inflated
    it in the first place, and the reflection subtracts that.

    Parameters
    ----------
    metric : str
        "ece", "mce", "adaptive_ece", "debiased_ece", "nll" or "brier"; with "@10" over each user's top 10 only.
    labels : array-like of shape (n_pairs,)
    probabilities : array-like of shape (n_pairs,)
    users : array-like of shape (n_pairs,), optional
        Without users, pairs are drawn independently.
    scores : array-like of shape (n_pairs,), optional
        Orders each user's pairs for "@N"; by default the probabilities do.
    sample_weight : array-like of shape (n_pairs,), optional
    n_bins : int
    level : float
    n_resamples : int
    seed : int

    Examples
    --------
    >>> rng = np.random.default_rng(0); p = rng.random(2_000); y = rng.random(2_000) < p
    >>> found = interval("brier", y, p, users=np.arange(2_000) // 10)
    >>> found.low < found.value < found.high
    True
    """
    judged = judge(labels, probabilities, sample_weight)
    ids = None if users is None else check_ids(users, len(judged.labels), "users")
    kind, top = named_metric(metric)
    shown = top_mask(ids, _order(judged, scores), top)
    judged, ids = chosen(judged, shown), None if ids is None else ids[shown]
    return basic_interval(*resampled_metric(kind, judged, ids, n_bins, n_resamples, seed), level)


def by_group(
    metric: str,
    labels: ArrayLike,
    probabilities: ArrayLike,
    groups: ArrayLike,
    *,
    users: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    """A metric for every group of pairs, with intervals; one row per group, in order of first appearance.

    Examples
    --------
    >>> by_group("ece", [0, 1, 1, 0], [0.0, 1.0, 0.5, 0.5], ["a", "a", "b", "b"], n_resamples=10)["ece"].to_list()
    [0.0, 0.0]
    """
    judged = judge(labels, probabilities, sample_weight)
    names = check_ids(groups, len(judged.labels), "groups")
    ids = None if users is None else check_ids(users, len(judged.labels), "users")
    kind, top = named_metric(metric)
    shown = top_mask(ids, _order(judged, scores), top)
    judged, names, ids = chosen(judged, shown), names[shown], None if ids is None else ids[shown]
    codes, n_groups = group_codes(names)
    rows: list[tuple[int, float | None, float | None, float | None]] = []
    for code in range(n_groups):
        inside = np.flatnonzero(codes == code)
        group = chosen(judged, inside)
        if group.weight is not None and not group.weight.any():
            rows.append((len(inside), None, None, None))  # nothing to judge
            continue
        members = None if ids is None else ids[inside]
        found = basic_interval(*resampled_metric(kind, group, members, n_bins, n_resamples, seed), level)
        rows.append((len(inside), found.value, found.low, found.high))
    kinds = {"n_pairs": pl.Int64, metric: pl.Float64, "low": pl.Float64, "high": pl.Float64}
    _, first = np.unique(codes, return_index=True)
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    return table.insert_column(0, pl.Series("group", names[first]))


def resampled_metric(
    metric: Metric, judged: Judged, users: AnyArray | None, n_bins: int, n_resamples: int, seed: int
) -> tuple[float, FloatArray]:
    """The value of a metric, and its values on resampled users; the same seed draws the same users."""
    if n_resamples < 2:
        raise SettingError(f"n_resamples must be at least 2, got {n_resamples}")
    if n_resamples > _MOST_RESAMPLES:
        raise SettingError(f"n_resamples must be at most {_MOST_RESAMPLES:,}, got {n_resamples:,}")
    rng = np.random.default_rng(seed)
    cells = metric.cells(judged, n_bins)
    clusters, n_clusters = clusters_of(users, len(judged.labels), rng)
    sums = cluster_sums(cells, judged.weight, clusters, n_clusters)
    value = float(metric.finish(cell_sums(cells, judged.weight)))
    return value, metric.finish(resample(sums, n_resamples, rng))


def _order(judged: Judged, scores: ArrayLike | None) -> FloatArray:
    if scores is None:
        return judged.probabilities
    order = check_scores(scores)
    same_length(order, len(judged.labels), "scores")
    return order


def basic_interval(value: float, resampled: FloatArray, level: float) -> Interval:
    """The quantiles of the resamples, reflected at the value; not negative, and widened to contain the value."""
    check_rate(level, "level")
    low, high = 2 * value - np.quantile(resampled, [(1 + level) / 2, (1 - level) / 2])
    return Interval(value, max(0.0, min(float(low), value)), max(float(high), value), level)


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
    n_clusters = len(sums)
    counts = rng.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=n_resamples)
    flat = counts.astype(np.float64) @ sums.reshape(n_clusters, -1)
    resampled = flat.reshape(n_resamples, *sums.shape[1:])
    empty = resampled[..., 0].sum(axis=-1) == 0  # only clusters without weight were drawn: use the original sums
    resampled[empty] = sums.sum(axis=0)
    return np.asarray(resampled)
