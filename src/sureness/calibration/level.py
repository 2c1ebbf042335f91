"""Correct the level, and where possible the slope, of a fitted map: by a base rate, or by an anchor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sureness._types import BoolArray, FloatArray
from sureness.calibration.families import Column, Operations, sigmoid_of
from sureness.numerics.logistic import GaussianPrior, fit_logistic, logit, sigmoid

_WIDTHS = np.array([100.0, 10.0, 1.0, 0.1])  # log-odds by which the curve may differ from the assumed one
_LIKELY = _WIDTHS**0.25  # relative prior probability: a log may be badly off, and that is costly to overlook


class Assumption(NamedTuple):
    """How much of the shape of the log's curve holds for the anchor."""

    share: float  # expected
    spread: float  # its standard deviation
    weight: float  # relative prior probability


_ASSUMED = (
    Assumption(share=1.0, spread=0.0, weight=2.0),  # all of it
    Assumption(share=0.5, spread=0.5, weight=4.0),  # it has to be stretched by an unknown factor
    Assumption(share=0.0, spread=0.0, weight=1.0),  # nothing: among uniformly exposed pairs scores may hardly matter
)

_PRIOR = np.outer([assumed.weight for assumed in _ASSUMED], _LIKELY).ravel()
_PRIOR /= _PRIOR.sum()


@dataclass(frozen=True, eq=False)
class Combination:
    """Coefficients learned from both sides, and how well they explain the anchor."""

    theta: FloatArray  # (k,)
    evidence: float  # logarithm of the anchor's likelihood, with the coefficients integrated out


def combine(
    features: FloatArray, weight: FloatArray, labels: FloatArray, of_log: FloatArray, bounded: BoolArray
) -> Combination:
    """Coefficients between those of the log and those that the anchor would have alone.

    The level is the anchor's. The other coefficients are pulled, all of them, towards those of the log, towards a share
    of them, or towards a flat curve, from which the curve of the anchor is assumed to differ by about `width` log-odds
    at a typical score. Which of these holds, and how far the curve may differ, is not set but read from the anchor:
    each assumption and width is weighted with the likelihood that it gives the labels of the anchor (empirical Bayes,
    with a Gaussian in place of the posterior). A small anchor so keeps most of the shape of a log that it cannot
    contradict, and a large one, or one that disagrees, goes its own way.

    Parameters
    ----------
    features : array of shape (n, k)
        Of the anchor's pairs; the first column is all ones.
    weight, labels : arrays of shape (n,)
    of_log : array of shape (k,)
        The coefficients of the log's map.
    bounded : boolean array of shape (k,)
        Coefficients that must not be negative.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=20)
    >>> features = np.c_[np.ones(20), scores]
    >>> found = combine(features, np.ones(20), (scores > 0) * 1.0, np.array([-5.0, 1.0]), np.array([False, True]))
    >>> bool(found.theta[0] > -5 and 1 < found.theta[1] < 100)  # the level moves, the slope stays finite
    True
    """
    linear = (weight * labels) @ features
    pull, usual = _pull(features, weight), _usual_level(features, weight, labels)
    fits, evidence, start = [], [], None
    for assumed in _ASSUMED:
        for width in _WIDTHS:
            prior = _prior(assumed, of_log, pull / width**2, usual)
            fit = fit_logistic(features, weight, linear, bounded=bounded, prior=prior, start=start)
            start = fit.theta
            fits.append(fit.theta)
            evidence.append(-fit.risk + 0.5 * _log_volume(prior.precision[1:, 1:]) - 0.5 * _log_volume(fit.curvature))
    likely = _PRIOR * np.exp(evidence - np.max(evidence))
    theta = (likely / likely.sum()) @ np.array(fits)
    return Combination(theta, float(np.max(evidence) + np.log(likely.sum())))


def _prior(assumed: Assumption, of_log: FloatArray, precision: FloatArray, usual: FloatArray) -> GaussianPrior:
    """Around a share of the log's coefficients; what is unsure about the share adds to what may differ."""
    mean = assumed.share * of_log
    mean[0] = usual[0] - usual[1:] @ mean[1:]  # where the fit starts; the level has no prior
    along = precision @ np.concatenate([[0.0], assumed.spread * of_log[1:]])
    certain = 1.0 + assumed.spread * float(along @ of_log)
    return GaussianPrior(mean, precision - np.outer(along, along) / certain)


def _usual_level(features: FloatArray, weight: FloatArray, labels: FloatArray) -> FloatArray:
    """The log-odds of the anchor's rate of positives, and the mean of each feature but the first."""
    share = weight / weight.sum()
    rate = np.clip(share @ labels, 1e-3, 1.0 - 1e-3)
    return np.concatenate([[np.log(rate / (1.0 - rate))], share @ features[:, 1:]])


def _pull(features: FloatArray, weight: FloatArray) -> FloatArray:
    """The precision under which the curve may differ by one log-odd at a typical score; the level is free."""
    shape = features[:, 1:]
    share = weight / weight.sum()
    away = shape - share @ shape
    spread = (share[:, None] * away).T @ away
    k = spread.shape[0]
    pull = np.zeros((k + 1, k + 1))
    pull[1:, 1:] = k * spread + 1e-6 * max(float((share @ shape**2).max()), 1e-12) * np.eye(k)
    return pull


def _log_volume(matrix: FloatArray) -> float:
    return float(np.linalg.slogdet(matrix)[1])


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
