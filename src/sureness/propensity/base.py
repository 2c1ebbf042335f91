"""The protocol of propensity models, and the effective sample size of weights."""

from __future__ import annotations

import warnings
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray
from sureness.errors import SurenessWarning
from sureness.numerics.checks import check_scores

_SMALL_SAMPLE = 50.0


@runtime_checkable
class PropensityModel(Protocol):
    """Anything that estimates the probability that a user saw an item."""

    def propensity(self, users: ArrayLike, items: ArrayLike) -> FloatArray:
        """Probabilities in (0, 1], one for each pair."""
        ...


def effective_sample_size(weight: ArrayLike) -> float:
    """The number of equally weighted pairs that carry as much information (Kish).

    Examples
    --------
    >>> effective_sample_size([1, 1, 1, 1]), round(effective_sample_size([1, 1, 1, 10]), 2)
    (4.0, 1.64)
    """
    checked = check_scores(weight, "weight").astype(np.float64)
    squared = float(checked @ checked)
    return float(checked.sum() ** 2 / squared) if squared else 0.0


def check_effective_sample_size(effective: float, n_positive: float) -> None:
    """Warn if inverse propensities leave a small effective sample."""
    if n_positive and (effective < _SMALL_SAMPLE or effective < 0.1 * n_positive):
        warnings.warn(
            f"inverse propensities leave an effective sample of {effective:,.0f} from {n_positive:,.0f} positives; "
            "the probabilities will be uncertain: clip the propensities higher or collect more positives",
            SurenessWarning,
            stacklevel=4,
        )
