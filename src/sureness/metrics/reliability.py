"""The reliability curve: predicted probability against observed frequency, bin by bin."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import FloatArray
from sureness.errors import SettingError
from sureness.metrics.cells import equal_width_sums, judge
from sureness.metrics.gaps import OBSERVED, PREDICTED, SQUARED_WEIGHT, WEIGHT
from sureness.numerics.checks import check_choice

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
        reading=reading, edges=np.linspace(0, 1, n_bins + 1), weight=sums[:, WEIGHT], confidence=confidence,
        observed=observed, low=low, high=high,
    )  # fmt: skip


def _wilson(frequency: FloatArray, n_pairs: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (frequency + z**2 / (2 * n_pairs)) / (1 + z**2 / n_pairs)
    half = z / (1 + z**2 / n_pairs) * np.sqrt(frequency * (1 - frequency) / n_pairs + z**2 / (4 * n_pairs**2))
    return centre - half, centre + half
