"""Correct the level, and where possible the slope, of a fitted map with knowledge from outside its pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._types import FloatArray
from sureness.calibration.anchoring import combine
from sureness.calibration.families import Column, Operations, sigmoid_of
from sureness.numerics.logistic import logit, sigmoid

_SMALLEST = 1e-300  # probability above 0
_LARGEST_LOGIT = 30.0  # of a map's values while its correction is fitted; certain values stay certain


@dataclass(frozen=True)
class Level:
    """A correction on the scale of log-odds: ``logit p -> intercept + slope * logit p``."""

    intercept: float = 0.0
    slope: float = 1.0

    def __call__(self, probability: FloatArray) -> FloatArray:
        """Corrected probabilities; 0 and 1 stay what they are."""
        if self == UNCHANGED:
            return probability
        log_odds = logit(probability)
        scaled = self.slope * log_odds if self.slope else np.where(np.isfinite(log_odds), 0.0, log_odds)
        return np.asarray(sigmoid(self.intercept + scaled))

    def of(self, probability: Column, operations: Operations) -> Column:
        """The same as part of a formula."""
        if self == UNCHANGED:
            return probability
        log_odds = operations.log(probability) - operations.log(1.0 - probability)
        inside = sigmoid_of(log_odds * self.slope + self.intercept, operations)
        return operations.choose(probability, [_SMALLEST, 1.0], [0.0, inside, 1.0])


UNCHANGED = Level()


def level_for_base_rate(probability: FloatArray, weight: FloatArray, base_rate: float) -> Level:
    """The shift after which the weighted mean of the probabilities is the base rate.

    Examples
    --------
    >>> level = level_for_base_rate(np.array([0.1, 0.5]), np.array([1.0, 1.0]), 0.5)
    >>> float(level(np.array([0.1, 0.5])).mean().round(12))
    0.5
    """
    from scipy.optimize import brentq  # slow to import, and rarely needed

    z = _bounded_logit(probability)
    share = weight / weight.sum()
    far = 2 * _LARGEST_LOGIT + abs(float(logit(np.asarray(base_rate))))
    shift = brentq(lambda intercept: float(share @ sigmoid(intercept + z)) - base_rate, -far, far, xtol=1e-13)
    return Level(intercept=float(shift))


def level_from_anchor(probability: FloatArray, labels: FloatArray, weight: FloatArray) -> Level:
    """The correction of level and slope that an anchor asks for; `probability` is the map's for the anchor's scores.

    The slope is shrunk towards 1, which leaves the map as it is, as far as the anchor leaves open; see `combine`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> promised = rng.uniform(0.01, 0.1, 5_000)
    >>> level = level_from_anchor(promised, (rng.random(5_000) < 2 * promised) * 1.0, np.ones(5_000))
    >>> float(level(promised).mean() / promised.mean()).__round__(1)
    2.0
    """
    z = _bounded_logit(probability)
    centre = float(np.average(z, weights=weight))
    if np.ptp(z) <= 1e-9 * max(1.0, abs(centre)):  # one value tells nothing of a slope
        return Level(intercept=float(_bounded_logit(np.array(weight @ labels / weight.sum())) - centre))
    features = np.c_[np.ones(len(z)), z - centre]
    intercept, slope = combine(features, weight, labels, np.array([0.0, 1.0]), np.array([False, True])).theta
    return Level(intercept=float(intercept - slope * centre), slope=float(slope))


def _bounded_logit(probability: FloatArray) -> FloatArray:
    return np.clip(logit(np.asarray(probability, dtype=np.float64)), -_LARGEST_LOGIT, _LARGEST_LOGIT)
