"""Confidence intervals of metrics, with each user as one observation, and tables of metrics by group."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray, FloatArray
from sureness.errors import SettingError
from sureness.metrics.cells import Cells, Judged, Metric, cell_sums, chosen, judge, named_metric, top_mask
from sureness.metrics.resampling import cluster_sums, clusters_of, resample
from sureness.numerics.checks import check_ids, check_rate, check_scores, check_weight, same_length
from sureness.numerics.grouping import group_codes

_MOST_RESAMPLES = 1_000_000
_MOST_CELLS = 2_000  # the noise of cells is drawn together, from a covariance of all of them


@dataclass(frozen=True)
class Interval:
    """A value and its confidence interval.

    Examples
    --------
    >>> print(Interval(0.0071, 0.0, 0.0092))
    0.0071 [0.0000, 0.0092]
    >>> print(Interval(0.000062, 0.0, 0.00041))  # of rare events
    0.00006 [0.00000, 0.00041]
    """

    value: float
    low: float
    high: float
    level: float = 0.95

    def __str__(self) -> str:
        largest = max(abs(self.value), abs(self.low), abs(self.high))
        digits = 4 if not 0 < largest < 1e-3 else 1 - math.floor(math.log10(largest))
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


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
    """A metric with its confidence interval, for the value that it has in the population that users are drawn from.

    A user with all of their pairs is one observation, because pairs of one user are correlated. "nll" and "brier" are
    means, with the bounds of Student's t.

    Chance makes every calibration error too large, above all near 0, so these have bounds of their own. The interval is
    for the error that an endless sample would show in the same bins (for equal-mass bins, in those of this sample). Its
    low end is 0 unless the pairs contradict perfect calibration. "ece" and "debiased_ece" estimate the same error and
    share its bounds. An interval is widened to contain the value if that lies outside.

    Parameters
    ----------
    metric : str
        "ece", "mce", "adaptive_ece", "debiased_ece", "nll", "brier", "normalised_entropy" (nll over that of the base
        rate) or "calibration_ratio" (predicted over observed); with "@10" over each user's top 10 only.
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
        How often the noise of the bins is drawn.
    seed : int

    Examples
    --------
    >>> rng = np.random.default_rng(0); p = rng.random(2_000); y = rng.random(2_000) < p
    >>> found = interval("brier", y, p, users=np.arange(2_000) // 10)
    >>> found.low < found.value < found.high
    True
    """
    judged, kind, _, ids = _judged(metric, labels, probabilities, users, scores, sample_weight)
    check_weight(judged.weight, len(judged.labels))
    cells = kind.cells(judged, n_bins)
    return interval_of_cells(kind, cells, judged.weight, ids, level=level, n_resamples=n_resamples, seed=seed)


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
    judged, kind, shown, ids = _judged(metric, labels, probabilities, users, scores, sample_weight)
    names = check_ids(groups, len(np.asarray(labels)), "groups")[shown]
    codes, n_groups = group_codes(names)
    rows: list[tuple[int, float | None, float | None, float | None]] = []
    for code in range(n_groups):
        inside = np.flatnonzero(codes == code)
        group = chosen(judged, inside)
        if group.weight is not None and not group.weight.any():
            rows.append((len(inside), None, None, None))  # nothing to judge
            continue
        members = None if ids is None else ids[inside]
        cells = kind.cells(group, n_bins)
        found = interval_of_cells(kind, cells, group.weight, members, level=level, n_resamples=n_resamples, seed=seed)
        rows.append((len(inside), found.value, found.low, found.high))
    kinds = {"n_pairs": pl.Int64, metric: pl.Float64, "low": pl.Float64, "high": pl.Float64}
    _, first = np.unique(codes, return_index=True)
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    return table.insert_column(0, pl.Series("group", names[first]))


def interval_of_cells(
    metric: Metric,
    cells: Cells,
    weight: FloatArray | None,
    users: AnyArray | None,
    *,
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
) -> Interval:
    """The value of a metric on pairs in cells, and its interval; the same seed draws the same users."""
    check_rate(level, "level")
    rng, sums = _sums_by_user(cells, weight, users, n_resamples, seed)
    value = float(metric.finish(cell_sums(cells, weight)))
    low, high = metric.bounds(sums, level, n_resamples, rng)
    return Interval(value, min(low, value), max(high, value), level)


def resampled_metric(
    metric: Metric, cells: Cells, weight: FloatArray | None, users: AnyArray | None, n_resamples: int, seed: int
) -> tuple[float, FloatArray]:
    """The value of a metric, and its values on resampled users; the same seed draws the same users."""
    rng, sums = _sums_by_user(cells, weight, users, n_resamples, seed)
    return float(metric.finish(cell_sums(cells, weight))), metric.finish(resample(sums, n_resamples, rng))


def _sums_by_user(
    cells: Cells, weight: FloatArray | None, users: AnyArray | None, n_resamples: int, seed: int
) -> tuple[np.random.Generator, FloatArray]:
    """A random generator, and the sums of every cell of every user, or of random groups of many users."""
    if n_resamples < 2:
        raise SettingError(f"n_resamples must be at least 2, got {n_resamples}")
    if n_resamples > _MOST_RESAMPLES:
        raise SettingError(f"n_resamples must be at most {_MOST_RESAMPLES:,}, got {n_resamples:,}")
    if cells.n_cells > _MOST_CELLS:
        raise SettingError(f"an interval is for at most {_MOST_CELLS:,} bins, got {cells.n_cells:,}; give fewer n_bins")
    rng = np.random.default_rng(seed)
    clusters, n_clusters = clusters_of(users, len(cells.place), rng)
    return rng, cluster_sums(cells, weight, clusters, n_clusters)


def _judged(
    metric: str,
    labels: ArrayLike,
    probabilities: ArrayLike,
    users: ArrayLike | None,
    scores: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[Judged, Metric, BoolArray | slice, AnyArray | None]:
    """The pairs that a metric is taken over, the metric, which of all pairs these are, and their users."""
    judged = judge(labels, probabilities, sample_weight)
    ids = None if users is None else check_ids(users, len(judged.labels), "users")
    kind, top = named_metric(metric)
    order = judged.probabilities if scores is None else check_scores(scores)
    same_length(order, len(judged.labels), "scores")
    shown = top_mask(ids, order, top)
    return chosen(judged, shown), kind, shown, None if ids is None else ids[shown]
