"""Fits without a histogram: slow, and right to rounding."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from benchmarks.samples import Pairs
from sureness.calibration import NUMPY, ParametricCalibrator
from sureness.numerics import fit_logistic


def exact_quadratic(pairs: Pairs) -> np.ndarray:
    """Probabilities of the unconstrained ``sigmoid(a s**2 + b s + c)``: plain Newton, none of our code."""
    s = (pairs.scores - pairs.scores.mean()) / pairs.scores.std()
    features = np.stack([np.ones_like(s), s, s * s - 1.0], axis=1)
    theta = np.array([np.log(pairs.labels.mean() / (1 - pairs.labels.mean())), 0.0, 0.0])
    for _ in range(50):
        p = expit(features @ theta)
        gradient = features.T @ (p - pairs.labels)
        step = np.linalg.solve((features.T * (p * (1 - p))) @ features, gradient)
        theta -= step
        if np.abs(step).max() < 1e-11:
            return expit(features @ theta)
    raise RuntimeError("Newton did not converge")


def exact_family(fitted: ParametricCalibrator, pairs: Pairs) -> np.ndarray:
    """Probabilities of the same family and bounds as a fitted calibrator, fitted to every single pair."""
    family, over = fitted.family, fitted.fitted_range_
    features = family.design(pairs.scores, over)
    bounded = np.full(features.shape[1], fitted.monotone)
    bounded[0] &= not family.has_intercept
    solution = fit_logistic(features, np.ones(len(features)), pairs.labels @ features, bounded=bounded)
    intercept, coef = family.split(solution.theta)
    return expit(family.logit(pairs.scores, intercept, coef, over, NUMPY))
