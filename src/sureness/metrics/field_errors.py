"""Calibration errors by the values of a field, such as an advertiser or a query, with intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import AnyArray, FloatArray
from sureness.errors import DataError
from sureness.metrics.cells import Cells, judge
from sureness.metrics.gaps import OBSERVED, PREDICTED, WEIGHT, debiased_gaps, total_gap_bounds, weighted_gaps
from sureness.metrics.intervals import Interval
from sureness.metrics.resampling import cluster_sums, clusters_of, resample
from sureness.numerics.checks import check_ids, check_rate
from sureness.numerics.grouping import group_codes

_N_DRAWS = 1_000
_N_RESAMPLES = 300
_MOST_FIELDS = 500  # values whose noise is drawn together; rarer ones are joined


def field_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, field: ArrayLike, *, users: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None, level: float = 0.95, seed: int = 0, debiased: bool = False,
) -> Interval:  # fmt: skip
    """Mean distance between observed frequency and mean probability over the values of a field (F-ECE).

    Parameters
    ----------
    labels, probabilities, field : array-like of shape (n_pairs,)
        The field is of ids: the advertiser, market or query of each pair.
    users : array-like of shape (n_pairs,), optional
        A user with all of their pairs is one observation; without users each pair is one.
    sample_weight : array-like of shape (n_pairs,), optional
        Such as a bid or a price, so that the error is of value.
    level : float
    seed : int
    debiased : bool
        Subtract what chance adds to values with few pairs.

    Returns
    -------
    Interval
        For the error of the population; the value is widened by chance unless it is debiased. Of more than 500 values
        the rarest are joined.

    Examples
    --------
    >>> found = field_calibration_error([0, 1, 1, 1], [0.2, 0.4, 0.9, 0.9], ["a", "a", "b", "b"])
    >>> round(found.value, 12)
    0.15
    """
    sums, rng = _sums(labels, probabilities, field, users, sample_weight, level, seed)
    value = float((debiased_gaps if debiased else weighted_gaps)(sums.sum(axis=0)))
    low, high = total_gap_bounds(sums, level, _N_DRAWS, rng)
    return Interval(value, min(low, value), max(high, value), level)


def field_relative_error(
    labels: ArrayLike, probabilities: ArrayLike, field: ArrayLike, *, users: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None, level: float = 0.95, seed: int = 0,
) -> Interval:  # fmt: skip
    """Mean over pairs of ``|observed - predicted| / observed`` of the values of a field (Field-RCE).

    The arguments are those of `field_calibration_error`. Values without positives have no relative error and are left
    out. The interval is that of the mean over resampled users.

    Examples
    --------
    >>> round(field_relative_error([0, 1, 1, 1], [0.2, 0.4, 0.9, 0.9], ["a", "a", "b", "b"]).value, 12)
    0.25
    """
    sums, rng = _sums(labels, probabilities, field, users, sample_weight, level, seed)
    total = sums.sum(axis=0)
    if not total[:, OBSERVED].any():
        raise DataError("a relative error needs positives, got none; give more pairs")
    value = float(_relative(total))
    resampled = _relative(resample(sums, _N_RESAMPLES, rng))
    resampled = resampled[np.isfinite(resampled)]
    # chance makes the resamples larger than the value as it made the value larger than the truth
    low, high = 2 * value - np.quantile(resampled, [(1 + level) / 2, (1 - level) / 2])
    return Interval(value, max(0.0, min(float(low), value)), max(float(high), value), level)


def _relative(sums: FloatArray) -> FloatArray:
    there = sums[..., OBSERVED] > 0
    observed = np.where(there, sums[..., OBSERVED], 1.0)
    errors = np.abs(sums[..., OBSERVED] - sums[..., PREDICTED]) / observed
    weight = np.where(there, sums[..., WEIGHT], 0.0)
    total = weight.sum(axis=-1)
    return np.asarray((errors * weight).sum(axis=-1) / np.where(total > 0, total, np.nan))


def _sums(
    labels: ArrayLike, probabilities: ArrayLike, field: ArrayLike, users: ArrayLike | None,
    sample_weight: ArrayLike | None, level: float, seed: int,
) -> tuple[FloatArray, np.random.Generator]:  # fmt: skip
    """Sums of every value of the field in every cluster of pairs, shape (n_clusters, n_values, 4)."""
    check_rate(level, "level")
    judged = judge(labels, probabilities, sample_weight)
    n, rng = len(judged.labels), np.random.default_rng(seed)
    codes, n_values = _codes(check_ids(field, n, "field"))
    ids = None if users is None else check_ids(users, n, "users")
    clusters, n_clusters = clusters_of(ids, n, rng)
    cells = Cells(codes, n_values, judged.probabilities, judged.labels)
    return cluster_sums(cells, judged.weight, clusters, n_clusters), rng


def _codes(values: AnyArray) -> tuple[AnyArray, int]:
    codes, n_values = group_codes(values)
    if n_values <= _MOST_FIELDS:
        return codes, n_values
    order = np.argsort(-np.bincount(codes), kind="stable")
    place = np.empty(n_values, dtype=np.int64)
    place[order] = np.minimum(np.arange(n_values), _MOST_FIELDS - 1)
    return place[codes], _MOST_FIELDS
