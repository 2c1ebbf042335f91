"""Many small logistic fits at once, one a user, with a common Gaussian prior whose width can be estimated.

The prior makes every fit finite, whatever the labels of a user are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray

_EM_STEPS = 25
_EM_DONE = 1e-3  # relative change of the covariance


@dataclass(frozen=True, eq=False)
class Rows:
    """Weighted points of each user, and the positives among them."""

    features: FloatArray  # (n, points, d), the first column all ones
    weight: FloatArray  # (n, points)
    positives: FloatArray  # (m, d) features of the positives, user after user
    starts: IntArray  # (n + 1,) where the positives of each user start
    hidden: bool = False  # whether as many positives again are hidden among the points

    def pooled(self) -> Rows:
        """All users as one."""
        d = self.features.shape[-1]
        ends = np.array([0, len(self.positives)])
        return Rows(self.features.reshape(1, -1, d), self.weight.reshape(1, -1), self.positives, ends, self.hidden)


@dataclass(frozen=True, eq=False)
class Prior:
    """Where the parameters of users lie: a Gaussian."""

    mean: FloatArray  # (d,)
    covariance: FloatArray  # (d, d)


def fit_rows(rows: Rows, prior: Prior, bounded: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The most likely parameters of each user under the prior, and the curvature there.

    A user's risk is ``sum_i weight_i softplus(x_i @ theta) - sum over positives of x @ theta``, a logistic regression
    in which every point that is no positive is a negative. With `hidden` the map is that of a positive *among what
    remains when the known positives are gone*: the known positives are one half of all, drawn at random, the other half
    is still there, and a point is a known positive with the chance ``p / (1 + p)``.

    Parameters
    ----------
    rows : Rows
    prior : Prior
    bounded : boolean array of shape (d,)
        Parameters that must not be negative.

    Returns
    -------
    theta : array of shape (n, d)
    curvature : array of shape (n, d, d)
        The inverse of it is the covariance of what is not known about theta.
    """
    from sureness.numerics import _logistic_kernels  # loads the compiler

    n, _, d = rows.features.shape
    theta, curvature = np.empty((n, d)), np.empty((n, d, d))
    _logistic_kernels.fit_rows(
        rows.features, rows.weight, rows.positives, rows.starts, rows.hidden, prior.mean,
        np.linalg.inv(prior.covariance), bounded, theta, curvature,
    )  # fmt: skip
    return theta, curvature


def estimate_prior(rows: Rows, start: Prior, bounded: BoolArray) -> Prior:
    """The prior under which the labels of these users are most likely.

    Expectation-maximisation with a Gaussian in place of each user's posterior: a user who tells little about the
    parameters adds what is not known to the covariance, so that noise is not taken for differences between users.
    """
    prior = start
    for _ in range(_EM_STEPS):
        theta, curvature = fit_rows(rows, prior, bounded)
        mean = theta.mean(axis=0)
        spread = (theta - mean).T @ (theta - mean) / len(theta)
        covariance = spread + np.linalg.inv(curvature).mean(axis=0)
        change = np.abs(covariance - prior.covariance).max() / np.abs(covariance).max()
        prior = Prior(mean, covariance + 1e-8 * np.eye(len(mean)))
        if change < _EM_DONE:
            break
    return prior


def bin_scores(
    block: FloatArray, n_bins: int, *, rows: IntArray, starts: IntArray, excluded: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Mean score and number of scores in equal bins of each row, excluded entries left out; the block is used up.

    Parameters
    ----------
    block : float32 array of shape (n, n_columns)
        -inf where there is no score.
    n_bins : int
    rows, starts, excluded : arrays
        Entries that do not count, as sparse rows; see `sureness.numerics.ranking.top_k`.

    Examples
    --------
    >>> nothing = {"rows": np.array([0]), "starts": np.array([0, 0]), "excluded": np.empty(0, dtype=np.int64)}
    >>> bin_scores(np.array([[0.0, 1.0, 9.0, 10.0]], dtype=np.float32), 2, **nothing)
    (array([[0.64516129, 9.51612903]]), array([[2., 2.]]))
    """
    from sureness.numerics import _logistic_kernels  # loads the compiler

    lows, highs = block.min(axis=1), block.max(axis=1)
    if not np.isfinite(lows).all():
        lows = np.where(np.isneginf(block), np.float32(np.inf), block).min(axis=1)
    means, counts = np.empty((len(block), n_bins)), np.empty((len(block), n_bins))
    _logistic_kernels.bin_rows(block, rows, starts, excluded, lows, highs, means, counts)
    return means, counts
