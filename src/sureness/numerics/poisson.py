"""Poisson regression with a ridge."""

from __future__ import annotations

import numpy as np

from sureness._types import FloatArray, IntArray

_STEPS = 50
_LONGEST = 2.0  # step in a coefficient, so that the exponential stays within reach
_FAR = 30.0


def fit_poisson(
    columns: FloatArray, counts: FloatArray | IntArray, penalty: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """Coefficients of the logarithm of expected counts; the first column is all ones and has no penalty.

    Parameters
    ----------
    columns : array of shape (n, k)
    counts : array of shape (n,)
    penalty : array of shape (k,)
        Precision of a Gaussian prior around 0, in the units of the weights.
    weight : array of shape (n,), optional

    Examples
    --------
    >>> columns = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> np.exp(columns @ fit_poisson(columns, np.array([2, 6]), np.zeros(2))).round(6).tolist()
    [2.0, 6.0]
    """
    weight = np.ones(len(counts)) if weight is None else weight
    penalty = np.where(np.arange(columns.shape[1]) > 0, penalty, 0.0)
    theta = np.zeros(columns.shape[1])
    theta[0] = np.log(max(float(weight @ counts / weight.sum()), 1e-6))
    for _ in range(_STEPS):
        mean = weight * np.exp(np.clip(columns @ theta, -_FAR, _FAR))
        gradient = columns.T @ (mean - weight * counts) + penalty * theta
        curvature = columns.T @ (columns * mean[:, None]) + np.diag(np.maximum(penalty, 1e-9))
        step = -np.linalg.solve(curvature, gradient)
        theta = theta + step * min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-9))
        if np.abs(step).max() < 1e-10:
            break
    return theta
