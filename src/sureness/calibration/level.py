"""Correct the level, and where possible the slope, of a fitted map with knowledge from outside its pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._types import FloatArray
from sureness.numerics.histogram import WeightedScores
from sureness.numerics.logistic import GaussianPrior, fit_logistic, logit, sigmoid

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
        return np.asarray(sigmoid(self.intercept + self.slope * logit(probability)))


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


def level_from_anchor(
    anchor_probability: FloatArray,
    anchor_labels: FloatArray,
    anchor_weight: FloatArray | None,
    fitted: WeightedScores,
    fitted_probability: FloatArray,
) -> Level:
    """Level from the anchor alone; slope from anchor and fitted pairs, each in proportion to what it can tell.

    The anchor's own slope is an estimate with a known variance; 1 (leave the map as it is) is the estimate of the
    fitted pairs, whose variance is that of their slope plus the squared bias that the distance between the two betrays
    (the moment estimate of random-effects meta-analysis). The two are averaged with inverse variances.
    """
    z = _bounded_logit(anchor_probability)
    weight = np.ones(len(z)) if anchor_weight is None else anchor_weight
    centre = float(np.average(z, weights=weight))
    features = np.c_[np.ones(len(z)), z - centre]
    linear = (weight * anchor_labels) @ features
    bounded = np.array([False, True])
    # a weak prior keeps the slope finite when a small anchor happens to be separated
    own = fit_logistic(
        features, weight, linear, bounded=bounded, prior=GaussianPrior(np.array([0.0, 1.0]), np.array([0.0, 1e-2]))
    )
    own_variance = float(np.linalg.inv(own.curvature)[1, 1])
    distance = float(own.theta[1]) - 1.0
    fitted_variance = _slope_variance(fitted, fitted_probability)
    bias = max(0.0, distance**2 - own_variance - fitted_variance)
    slope = 1.0 + distance * (fitted_variance + bias) / (fitted_variance + bias + own_variance)
    certain = GaussianPrior(np.array([0.0, slope]), np.array([0.0, 1e12]))
    level = fit_logistic(features, weight, linear, bounded=bounded, prior=certain)
    return Level(intercept=float(level.theta[0]) - slope * centre, slope=slope)


def _slope_variance(fitted: WeightedScores, probability: FloatArray) -> float:
    """How well the fitted pairs know the slope of their own map, counting only their effective positives."""
    z = _bounded_logit(probability)
    curvature = fitted.weight * probability * (1 - probability)
    mean = np.average(z, weights=curvature)
    information = float(curvature @ (z - mean) ** 2) * fitted.effective_positives / float(fitted.target.sum())
    return 1.0 / max(information, 1e-12)


def _bounded_logit(probability: FloatArray) -> FloatArray:
    return np.clip(logit(np.asarray(probability, dtype=np.float64)), -_LARGEST_LOGIT, _LARGEST_LOGIT)
