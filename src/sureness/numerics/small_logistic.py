"""Many small logistic regressions at once, one per user, each with the same Gaussian prior.

A user's risk is ``sum_i weight_i * softplus(x_i @ theta) - linear @ theta`` plus the prior, which keeps every fit
finite, also where all labels are equal. All parameters but the first, the intercept, must not be negative.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from sureness._types import BoolArray, FloatArray
from sureness.numerics.logistic import GaussianPrior, sigmoid

_MAX_STEPS = 200
_CONVERGED = 1e-10  # Newton decrement: twice the distance to the smallest risk
_SHORTEST = 1e-9  # share of a step below which only rounding is left,
_ROUNDED = 1e-9  # if the decrement is so small a share of the risk


class _State(NamedTuple):
    """Parameters of users and the risk there."""

    theta: FloatArray  # (n, k)
    risk: FloatArray  # (n,)
    gradient: FloatArray  # (n, k)
    curvature: FloatArray  # (n, k, k)

    def take(self, places: BoolArray) -> _State:
        return _State(*(values[places] for values in self))

    def put(self, places: BoolArray, other: _State) -> None:
        for values, new in zip(self, other, strict=True):
            values[places] = new[places]


class _Problems(NamedTuple):
    """The data of users."""

    features: FloatArray  # (n, k, points)
    weight: FloatArray  # (n, points)
    linear: FloatArray  # (n, k)

    def take(self, places: BoolArray) -> _Problems:
        return _Problems(*(values[places] for values in self))

    def at(self, theta: FloatArray, prior: GaussianPrior) -> _State:
        """Risk, gradient and curvature of every user."""
        z = (theta[:, None, :] @ self.features)[:, 0]
        p = sigmoid(z)
        away = theta - prior.mean
        pull = away @ prior.precision
        loss = (self.weight * (np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))))).sum(axis=1)
        risk = loss - (self.linear * theta).sum(axis=1) + 0.5 * (away * pull).sum(axis=1)
        gradient = (self.features @ (self.weight * p)[..., None])[..., 0] - self.linear + pull
        curved = self.features * (self.weight * p * (1.0 - p))[:, None]
        return _State(theta, risk, gradient, curved @ self.features.swapaxes(1, 2) + prior.precision)


def fit_small_logistics(
    features: FloatArray, weight: FloatArray, linear: FloatArray, prior: GaussianPrior
) -> tuple[FloatArray, BoolArray]:
    """The most likely parameters of each user under the prior.

    Parameters
    ----------
    features : array of shape (n, k, points)
        The first of the k is all ones.
    weight : array of shape (n, points)
        0 where a user has no point.
    linear : array of shape (n, k)
        Sum over the user's positives of their features.
    prior : GaussianPrior
        Its precision must be positive definite.

    Returns
    -------
    theta : array of shape (n, k)
    converged : boolean array of shape (n,)

    Notes
    -----
    Newton's method for all users side by side. A step minimises the quadratic model inside the bounds; where the risk
    does not fall, the step is halved. Users who have converged are left out of the next steps.

    Examples
    --------
    >>> features = np.array([[[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0]]])
    >>> prior = GaussianPrior(np.zeros(2), 1e-6 * np.eye(2))
    >>> theta, _ = fit_small_logistics(features, np.ones((1, 3)), np.array([[1.0, 0.0]]), prior)  # the middle one is 1
    >>> theta.round(3) + 0.0
    array([[-0.693,  0.   ]])
    """
    problems = _Problems(features, weight, linear)
    result = np.repeat(prior.mean[None], len(features), axis=0)
    converged = np.zeros(len(features), dtype=bool)
    active = np.arange(len(features))
    state = problems.at(result.copy(), prior)
    step = _bounded_steps(state)
    share = np.ones(len(active))
    for _ in range(_MAX_STEPS):
        decrement = -(state.gradient * step).sum(axis=1)
        done = (decrement <= _CONVERGED) | (share < _SHORTEST)
        if done.any():
            result[active[done]] = (state.theta + share[:, None] * step)[done]
            converged[active[done]] = decrement[done] <= _ROUNDED * np.maximum(1.0, state.risk[done])
            left = ~done
            active, step, share, decrement = (values[left] for values in (active, step, share, decrement))
            problems, state = problems.take(left), state.take(left)
        if not len(active):
            break
        trial = problems.at(state.theta + share[:, None] * step, prior)
        falls = trial.risk <= state.risk - 1e-4 * share * decrement
        state.put(falls, trial)
        step[falls] = _bounded_steps(state.take(falls))
        share = np.where(falls, 1.0, 0.5 * share)
    result[active] = state.theta
    return np.concatenate([result[:, :1], np.maximum(result[:, 1:], 0.0)], axis=1), converged


def _bounded_steps(state: _State) -> FloatArray:
    """Steps to the minimum of each user's quadratic model; all parameters but the first stay non-negative.

    The minimum lies inside the bounds or on one of their faces, where some parameters are 0: of the faces whose own
    minimum is inside the bounds, it is the one with the lowest risk.
    """
    k = state.theta.shape[1]
    linear = state.gradient - (state.curvature @ state.theta[..., None])[..., 0]
    lowest, best = np.full(len(linear), np.inf), np.zeros_like(linear)
    for inside in product((True, False), repeat=k - 1):
        free = np.array([True, *inside])
        matrix = np.where(np.outer(free, free), state.curvature, np.eye(k))
        found = np.linalg.solve(matrix, np.where(free, -linear, 0.0)[..., None])[..., 0]
        risk = np.where(np.all(found[:, 1:] >= 0, axis=1), 0.5 * (linear * found).sum(axis=1), np.inf)
        better = risk < lowest
        lowest[better], best[better] = risk[better], found[better]
    return best - state.theta
