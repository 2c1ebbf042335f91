"""How far probabilities are from what happened.

Every metric is a function of sums over *cells* of pairs (bins of the probability, or one cell for all). That makes each
one weighted, cheap to bootstrap and easy to split by group; `METRICS` names them for `interval` and `by_group`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.errors import DataError
from sureness.numerics.binning import calibration_sums
from sureness.numerics.checks import (
    check_ids,
    check_labels,
    check_probabilities,
    check_scores,
    check_weight,
    same_length,
)
from sureness.numerics.grouping import top_n

WEIGHT, SQUARED_WEIGHT, PREDICTED, OBSERVED = range(4)
"""Columns of the sums of a cell."""

_SMALLEST = 1e-15  # probabilities of 0 and 1 are moved by this much, so that one surprise is costly, not infinite


class Judged(NamedTuple):
    """Labels (or targets: labels over propensities) and probabilities of the same pairs, checked."""

    labels: BoolArray | FloatArray
    probabilities: FloatArray
    weight: FloatArray | None


class Cells(NamedTuple):
    """Which cell each pair belongs to, and what it adds to the sums of that cell."""

    place: IntArray  # (n,)
    n_cells: int
    predicted: FloatArray  # (n,)
    observed: AnyArray  # (n,)


class Metric(NamedTuple):
    """A metric as two pure functions: pairs to cells, sums of cells to a number."""

    title: str
    cells: Callable[[Judged, int], Cells]  # (pairs, n_bins)
    finish: Callable[[FloatArray], FloatArray]  # (..., n_cells, 4) -> (...)


def judge(labels: ArrayLike, probabilities: ArrayLike, sample_weight: ArrayLike | None = None) -> Judged:
    """Check labels, probabilities and weights of the same pairs."""
    checked = check_probabilities(probabilities)
    checked_labels = check_labels(labels)
    same_length(checked_labels, len(checked), "labels")
    return Judged(checked_labels, checked, check_weight(sample_weight, len(checked)))


def cell_sums(cells: Cells, weight: FloatArray | None) -> FloatArray:
    """Weight, squared weight, and weighted sums of predicted and observed in every cell; shape (n_cells, 4)."""
    weight = np.ones(len(cells.place)) if weight is None else weight
    columns = (weight, weight**2, weight * cells.predicted, weight * cells.observed)
    return np.stack([np.bincount(cells.place, column, cells.n_cells) for column in columns], axis=1)


# --- the public functions ------------------------------------------------------------------------------------------


def expected_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> float:
    """Mean distance between observed frequency and mean probability over equally wide bins (ECE).

    Parameters
    ----------
    labels : array-like of shape (n_pairs,)
    probabilities : array-like of shape (n_pairs,)
    n_bins : int
        A probability of exactly 1 belongs to the last bin; empty bins are skipped.
    sample_weight : array-like of shape (n_pairs,), optional

    Examples
    --------
    >>> round(expected_calibration_error([0, 1, 1, 1], [0.2, 0.2, 0.8, 1.0], n_bins=2), 12)
    0.2
    """
    return float(_weighted_gaps(_equal_width_sums(judge(labels, probabilities, sample_weight), n_bins)))


def maximum_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> float:
    """Largest distance between observed frequency and mean probability over equally wide bins (MCE).

    Examples
    --------
    >>> round(maximum_calibration_error([0, 1, 1, 1], [0.2, 0.2, 0.8, 1.0], n_bins=2), 12)
    0.3
    """
    return float(_largest_gap(_equal_width_sums(judge(labels, probabilities, sample_weight), n_bins)))


def adaptive_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> float:
    """ECE over bins that hold equally many pairs, which looks closer where probabilities crowd.

    Examples
    --------
    >>> round(adaptive_calibration_error([0, 0, 0, 1], [0.1, 0.1, 0.2, 0.2], n_bins=2), 12)
    0.2
    """
    return _value(METRICS["adaptive_ece"], judge(labels, probabilities, sample_weight), n_bins)


def debiased_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> float:
    """ECE less what chance alone adds to it.

    Even perfect probabilities show a gap in every bin, because labels are drawn. Given a bin's gap and its standard
    error, the expected absolute value of a normal variable tells how much of it that is; at least 0 remains. Weights
    count as importance here: doubling all of them changes nothing.

    Examples
    --------
    >>> rng = np.random.default_rng(0); p = rng.random(1_000); y = rng.random(1_000) < p
    >>> debiased_calibration_error(y, p) < expected_calibration_error(y, p)
    True
    """
    return float(_debiased_gaps(_equal_width_sums(judge(labels, probabilities, sample_weight), n_bins)))


def top_n_calibration_error(
    labels: ArrayLike,
    probabilities: ArrayLike,
    users: ArrayLike,
    *,
    n: int = 10,
    scores: ArrayLike | None = None,
    n_bins: int = 15,
    sample_weight: ArrayLike | None = None,
) -> float:
    """ECE over each user's top n pairs alone (ECE@N): what people see.

    Parameters
    ----------
    users : array-like of shape (n_pairs,)
    n : int
    scores : array-like of shape (n_pairs,), optional
        What orders each user's pairs; by default the probabilities.

    Examples
    --------
    >>> round(top_n_calibration_error([1, 0, 1, 0], [0.9, 0.1, 0.8, 0.1], ["a", "a", "b", "b"], n=1), 12)
    0.15
    """
    judged = judge(labels, probabilities, sample_weight)
    ids = check_ids(users, len(judged.labels), "users")
    order = judged.probabilities if scores is None else check_scores(scores)
    same_length(order, len(judged.labels), "scores")
    shown = chosen(judged, top_n(ids, order, n))
    check_weight(shown.weight, len(shown.labels))
    return float(_weighted_gaps(_equal_width_sums(shown, n_bins)))


def negative_log_likelihood(
    labels: ArrayLike, probabilities: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean surprise ``-log p(what happened)`` (NLL, log loss).

    Examples
    --------
    >>> round(negative_log_likelihood([1, 0], [0.5, 0.5]), 6)
    0.693147
    """
    return _value(METRICS["nll"], judge(labels, probabilities, sample_weight), 1)


def brier_score(labels: ArrayLike, probabilities: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean squared distance between probability and label.

    Examples
    --------
    >>> round(brier_score([1, 0], [0.8, 0.4]), 12)
    0.1
    """
    return _value(METRICS["brier"], judge(labels, probabilities, sample_weight), 1)


@dataclass(frozen=True)
class BrierSplit:
    """The Brier score in parts: ``brier = reliability - resolution + uncertainty + within_bins``."""

    brier: float
    reliability: float  # how far frequencies are from probabilities; 0 is best
    resolution: float  # how different the frequencies of the bins are; more is better
    uncertainty: float  # what the base rate alone leaves open
    within_bins: float  # what the bins hide: spread of probabilities inside them


def brier_split(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> BrierSplit:
    """The Brier score split into reliability, resolution and uncertainty (Murphy).

    Examples
    --------
    >>> split = brier_split([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=4)
    >>> split.reliability, split.resolution, split.uncertainty, split.within_bins
    (0.0625, 0.25, 0.25, 0.0)
    """
    judged = judge(labels, probabilities, sample_weight)
    sums = _equal_width_sums(judged, n_bins)
    sums = sums[sums[:, WEIGHT] > 0]
    share = sums[:, WEIGHT] / sums[:, WEIGHT].sum()
    predicted, observed = sums[:, PREDICTED] / sums[:, WEIGHT], sums[:, OBSERVED] / sums[:, WEIGHT]
    rate = float(share @ observed)
    brier = _value(METRICS["brier"], judged, 1)
    reliability = float(share @ (predicted - observed) ** 2)
    resolution = float(share @ (observed - rate) ** 2)
    uncertainty = rate * (1 - rate)
    return BrierSplit(brier, reliability, resolution, uncertainty, brier - reliability + resolution - uncertainty)


# --- from pairs to cells -------------------------------------------------------------------------------------------


def equal_width_place(probabilities: FloatArray, n_bins: int) -> IntArray:
    """Number of the equally wide bin of [0, 1]; 1 belongs to the last."""
    exact = probabilities.astype(np.float64, copy=False)  # float32 would round 0.7 up to the next of ten bins
    return np.minimum((exact * n_bins).astype(np.int64), n_bins - 1)


def chosen(judged: Judged, mask: BoolArray | IntArray | slice) -> Judged:
    """The chosen pairs only."""
    weight = None if judged.weight is None else judged.weight[mask]
    return Judged(judged.labels[mask], judged.probabilities[mask], weight)


def _equal_width_sums(judged: Judged, n_bins: int) -> FloatArray:
    _check_bins(n_bins)
    return calibration_sums(judged.probabilities, judged.labels, judged.weight, n_bins)


def _equal_width(judged: Judged, n_bins: int) -> Cells:
    _check_bins(n_bins)
    return Cells(equal_width_place(judged.probabilities, n_bins), n_bins, judged.probabilities, judged.labels)


def _equal_mass(judged: Judged, n_bins: int) -> Cells:
    _check_bins(n_bins)
    values, which = np.unique(judged.probabilities, return_inverse=True)  # equal probabilities share a bin
    mass = np.bincount(which, judged.weight, len(values)).astype(np.float64)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    return Cells(equal_width_place(middle, n_bins)[which], n_bins, judged.probabilities, judged.labels)


def _log_losses(judged: Judged, _: int) -> Cells:
    p = np.clip(judged.probabilities.astype(np.float64), _SMALLEST, 1 - _SMALLEST)
    return _one_cell(-(judged.labels * np.log(p) + (1.0 - judged.labels) * np.log1p(-p)))


def _squared_losses(judged: Judged, _: int) -> Cells:
    targets = judged.labels.astype(np.float64)
    # the last term is 0 for labels; it keeps the mean right for targets, which are labels over propensities
    return _one_cell((judged.probabilities - targets) ** 2 + targets * (1.0 - targets))


def _one_cell(losses: FloatArray) -> Cells:
    return Cells(np.zeros(len(losses), dtype=np.int64), 1, losses, np.zeros(len(losses)))


def _check_bins(n_bins: int) -> None:
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise DataError(f"n_bins must be at least 1 and whole, got {n_bins}")


# --- from sums of cells to numbers ---------------------------------------------------------------------------------


def _weighted_gaps(sums: FloatArray) -> FloatArray:
    gaps = np.abs(sums[..., OBSERVED] - sums[..., PREDICTED]).sum(axis=-1)
    return np.asarray(gaps / sums[..., WEIGHT].sum(axis=-1))


def _largest_gap(sums: FloatArray) -> FloatArray:
    weight = sums[..., WEIGHT]
    gaps = np.abs(sums[..., OBSERVED] - sums[..., PREDICTED]) / np.where(weight > 0, weight, 1.0)
    return np.asarray(gaps.max(axis=-1))


def _debiased_gaps(sums: FloatArray) -> FloatArray:
    from scipy.special import ndtr  # slow to import, and only needed here

    weight = np.where(sums[..., WEIGHT] > 0, sums[..., WEIGHT], 1.0)
    frequency = sums[..., OBSERVED] / weight
    gap = np.abs(frequency - sums[..., PREDICTED] / weight)
    pairs = np.maximum(weight**2 / np.where(sums[..., SQUARED_WEIGHT] > 0, sums[..., SQUARED_WEIGHT], 1.0), 1.0)
    error = np.sqrt(np.clip(frequency * (1 - frequency), 0, None) / np.maximum(pairs - 1, 1.0))
    ratio = gap / np.where(error > 0, error, 1.0)
    # mean of |N(gap, error)|, the folded normal
    folded = error * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + gap * (1 - 2 * ndtr(-ratio))
    bare = np.where(error > 0, 2 * gap - folded, gap)
    total = (bare * sums[..., WEIGHT]).sum(axis=-1) / sums[..., WEIGHT].sum(axis=-1)
    return np.asarray(np.maximum(total, 0.0))  # of the sum, not of each bin: clipping bins would bring the bias back


def _mean(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 0, PREDICTED] / sums[..., 0, WEIGHT])


METRICS: dict[str, Metric] = {
    "ece": Metric("expected calibration error", _equal_width, _weighted_gaps),
    "mce": Metric("maximum calibration error", _equal_width, _largest_gap),
    "adaptive_ece": Metric("adaptive calibration error", _equal_mass, _weighted_gaps),
    "debiased_ece": Metric("debiased calibration error", _equal_width, _debiased_gaps),
    "nll": Metric("negative log-likelihood", _log_losses, _mean),
    "brier": Metric("Brier score", _squared_losses, _mean),
}
"""All metrics by the name that `interval`, `by_group` and the command line use."""


def named_metric(name: str) -> tuple[Metric, int | None]:
    """A metric by name, and how many of each user's top pairs it looks at: "ece@10" is the ECE of the top 10."""
    bare, at, number = name.partition("@")
    if bare not in METRICS:
        raise DataError(f"metric must be one of {', '.join(METRICS)} or one of them @N, got {name!r}")
    if not at:
        return METRICS[bare], None
    if not number.isdigit() or int(number) == 0:
        raise DataError(f"a metric of each user's top N needs a whole number N, got {name!r}; for example 'ece@10'")
    return METRICS[bare], int(number)


def top_mask(users: AnyArray | None, order: FloatArray, top: int | None) -> BoolArray | slice:
    """Which pairs a metric looks at: all, or each user's top N by the given order."""
    if top is None:
        return slice(None)
    if users is None:
        raise DataError("a metric of each user's top N needs to know the users; give users=")
    return top_n(users, order, top)


def _value(metric: Metric, judged: Judged, n_bins: int) -> float:
    return float(metric.finish(cell_sums(metric.cells(judged, n_bins), judged.weight)))
