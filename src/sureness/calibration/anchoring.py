"""Combine what a large, biased log and a small anchor of uniformly exposed pairs tell about one map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._types import BoolArray, FloatArray
from sureness.numerics.logistic import GaussianPrior, fit_logistic

_WIDTHS = np.geomspace(0.1, 300.0, 8)  # log-odds by which the shape of the log's map may be off
_LIKELY = _WIDTHS**0.25  # relative prior probability: a log may be badly off, and that is costly to overlook


@dataclass(frozen=True, eq=False)
class Combination:
    """Coefficients learned from both sides, and how well they explain the anchor."""

    theta: FloatArray  # (k,)
    evidence: float  # logarithm of the anchor's likelihood, with the coefficients integrated out


def combine(
    features: FloatArray, weight: FloatArray, labels: FloatArray, of_log: FloatArray, bounded: BoolArray
) -> Combination:
    """Coefficients between those of the log and those that the anchor would have alone.

    The level is the anchor's. The other coefficients are pulled towards those of the log, all of them: the curve of
    the anchor is assumed to differ from that of the log by about `width` log-odds at a typical score. How far it may
    differ is not set but read from the anchor: each width is weighted with the likelihood that it gives the labels of
    the anchor (empirical Bayes, with a Gaussian in place of the posterior). A small anchor so keeps the shape of a log
    that it cannot contradict, and a large one, or one that disagrees, goes its own way.

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
    pull = _pull(features, weight)
    fits, evidence = [], []
    for width in _WIDTHS:
        precision = pull / width**2
        fit = fit_logistic(features, weight, linear, bounded=bounded, prior=GaussianPrior(of_log, precision))
        fits.append(fit.theta)
        evidence.append(-fit.risk + 0.5 * _log_volume(precision[1:, 1:]) - 0.5 * _log_volume(fit.curvature))
    likely = _LIKELY / _LIKELY.sum() * np.exp(evidence - np.max(evidence))
    theta = (likely / likely.sum()) @ np.array(fits)
    return Combination(theta, float(np.max(evidence) + np.log(likely.sum())))


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
