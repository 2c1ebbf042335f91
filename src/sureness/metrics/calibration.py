"""How far probabilities are from what happened: calibration errors, likelihood, Brier score, reliability curve."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import FloatArray
from sureness.errors import SettingError
from sureness.metrics.cells import METRICS, chosen, equal_width_sums, judge, value_of
from sureness.metrics.gaps import OBSERVED, PREDICTED, SQUARED_WEIGHT, WEIGHT, debiased_gaps, largest_gap, weighted_gaps
from sureness.numerics.checks import check_choice, check_ids, check_scores, check_weight, same_length
from sureness.numerics.grouping import top_n


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
    return float(weighted_gaps(equal_width_sums(judge(labels, probabilities, sample_weight), n_bins)))


def maximum_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> float:
    """Largest distance between observed frequency and mean probability over equally wide bins (MCE).

    Examples
    --------
    >>> round(maximum_calibration_error([0, 1, 1, 1], [0.2, 0.2, 0.8, 1.0], n_bins=2), 12)
    0.3
    """
    return float(largest_gap(equal_width_sums(judge(labels, probabilities, sample_weight), n_bins)))


def adaptive_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> float:
    """ECE over bins with equal numbers of pairs, which are narrower where probabilities are dense.

    Examples
    --------
    >>> round(adaptive_calibration_error([0, 0, 0, 1], [0.1, 0.1, 0.2, 0.2], n_bins=2), 12)
    0.2
    """
    return value_of(METRICS["adaptive_ece"], judge(labels, probabilities, sample_weight), n_bins)


def debiased_calibration_error(
    labels: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> float:
    """ECE minus what sampling noise adds to it.

    Even perfect probabilities show a gap in every bin, because labels are random. From a bin's gap and its standard
    error, the mean of a folded normal distribution is how much of the gap is noise. The result is at least 0.
    Weights are importance weights: doubling all of them changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0); p = rng.random(1_000); y = rng.random(1_000) < p
    >>> debiased_calibration_error(y, p) < expected_calibration_error(y, p)
    True
    """
    return float(debiased_gaps(equal_width_sums(judge(labels, probabilities, sample_weight), n_bins)))


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
    """ECE over each user's top n pairs only (ECE@N), the pairs that are shown.

    Parameters
    ----------
    users : array-like of shape (n_pairs,)
    n : int
    scores : array-like of shape (n_pairs,), optional
        Orders each user's pairs; by default the probabilities do.

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
    return float(weighted_gaps(equal_width_sums(shown, n_bins)))


def negative_log_likelihood(
    labels: ArrayLike, probabilities: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean surprise ``-log p(what happened)`` (NLL, log loss).

    Examples
    --------
    >>> round(negative_log_likelihood([1, 0], [0.5, 0.5]), 6)
    0.693147
    """
    return value_of(METRICS["nll"], judge(labels, probabilities, sample_weight), 1)


def brier_score(labels: ArrayLike, probabilities: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean squared distance between probability and label.

    Examples
    --------
    >>> round(brier_score([1, 0], [0.8, 0.4]), 12)
    0.1
    """
    return value_of(METRICS["brier"], judge(labels, probabilities, sample_weight), 1)


Reading = Literal["frequency", "accuracy"]


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Equally wide bins of the probability; empty bins hold NaN."""

    reading: Reading
    edges: FloatArray  # (n_bins + 1,)
    weight: FloatArray  # (n_bins,)
    confidence: FloatArray  # (n_bins,) mean probability, or mean probability of the predicted class
    observed: FloatArray  # (n_bins,) frequency of positives, or accuracy
    low: FloatArray  # (n_bins,) 95% interval of `observed` (Wilson)
    high: FloatArray

    __repr__ = fields_repr

    @property
    def calibration_error(self) -> float:
        """Weighted mean gap: the ECE with these bins, in either reading."""
        held = self.weight > 0
        return float(np.average(np.abs(self.observed - self.confidence)[held], weights=self.weight[held]))


def reliability_curve(
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    n_bins: int = 10,
    reading: Reading = "frequency",
    sample_weight: ArrayLike | None = None,
) -> ReliabilityCurve:
    """Mean probability and observed frequency in equally wide bins.

    Parameters
    ----------
    labels : array-like of shape (n_pairs,)
    probabilities : array-like of shape (n_pairs,)
    n_bins : int
    reading : {"frequency", "accuracy"}
        Frequency of positives against mean probability; or, as in the dissertation's diagram, accuracy against
        confidence: below 1/2 the negative class is predicted, so both become their complement. The gap of a bin is
        the same in both. Accuracy needs an even number of bins, so that none mixes the two classes.
    sample_weight : array-like of shape (n_pairs,), optional

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2)
    >>> curve.confidence.round(2), curve.observed
    (array([0.15, 0.8 ]), array([0., 1.]))
    >>> reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2, reading="accuracy").observed
    array([1., 1.])
    """
    check_choice(reading, "reading", ("frequency", "accuracy"))
    if reading == "accuracy" and n_bins % 2:
        raise SettingError(f"the accuracy reading needs an even number of bins, got {n_bins}; use 10")
    sums = equal_width_sums(judge(labels, probabilities, sample_weight), n_bins)
    with np.errstate(invalid="ignore", divide="ignore"):
        confidence = sums[:, PREDICTED] / sums[:, WEIGHT]
        observed = sums[:, OBSERVED] / sums[:, WEIGHT]
        low, high = _wilson(observed, sums[:, WEIGHT] ** 2 / sums[:, SQUARED_WEIGHT])
    if reading == "accuracy":
        negative = np.arange(n_bins) < n_bins // 2
        confidence = np.where(negative, 1 - confidence, confidence)
        observed = np.where(negative, 1 - observed, observed)
        low, high = np.where(negative, 1 - high, low), np.where(negative, 1 - low, high)
    return ReliabilityCurve(
        reading=reading,
        edges=np.linspace(0, 1, n_bins + 1),
        weight=sums[:, WEIGHT],
        confidence=confidence,
        observed=observed,
        low=low,
        high=high,
    )


def _wilson(frequency: FloatArray, n_pairs: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (frequency + z**2 / (2 * n_pairs)) / (1 + z**2 / n_pairs)
    half = z / (1 + z**2 / n_pairs) * np.sqrt(frequency * (1 - frequency) / n_pairs + z**2 / (4 * n_pairs**2))
    return centre - half, centre + half
