"""Probabilities to expect when the parameters of a map are themselves uncertain."""

from __future__ import annotations

import numpy as np

from sureness._types import BoolArray, FloatArray
from sureness.numerics.logistic import sigmoid
from sureness.numerics.row_logistic import Rows

_NODES, _SHARES = (-(3.0**0.5), 0.0, 3.0**0.5), (1 / 6, 2 / 3, 1 / 6)  # of a Gaussian, exact to the fifth moment
_STAY = 1e-6  # of the curvature: what holds parameters that points tell nothing about


def predictive_rows(rows: Rows, theta: FloatArray, curvature: FloatArray, bounded: BoolArray) -> FloatArray:
    """The parameters whose probabilities come closest to those expected under each user's posterior; shape (n, d).

    A probability is not that of the most likely parameters: where it is small, it rises faster with the parameters
    than it falls, and the mean is above it. The means are put on the line again, where positives are expected.

    Parameters
    ----------
    rows : Rows
    theta, curvature : arrays of shape (n, d) and (n, d, d)
        The most likely parameters of each user and the curvature there; see `fit_rows`.
    bounded : boolean array of shape (d,)
        Parameters that must not be negative.
    """
    covariance = np.linalg.inv(curvature)
    log_odds = np.einsum("npd,nd->np", rows.features, theta)
    spread = np.sqrt(np.maximum(np.einsum("npd,nde,npe->np", rows.features, covariance, rows.features), 0.0))
    mean = np.zeros_like(log_odds)
    for node, share in zip(_NODES, _SHARES, strict=True):
        mean += share * sigmoid(log_odds + node * spread)
    left = 1.0 - mean
    moved = np.where(mean * left > 0, np.log(np.maximum(mean, 1e-300) / np.maximum(left, 1e-300)) - log_odds, 0.0)
    importance = rows.weight * mean * left
    weighted = rows.features * importance[:, :, None]
    matrix = np.einsum("npd,npe->nde", weighted, rows.features) + _STAY * curvature
    shift = np.linalg.solve(matrix, np.einsum("npd,np->nd", weighted, moved)[..., None])[..., 0]
    return np.where(bounded, np.maximum(theta + shift, 0.0), theta + shift)
