"""Many small logistic fits at once, one per user, with a common Gaussian prior whose width can be estimated.

The prior keeps every fit finite, also for users whose labels are all equal.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import SurenessWarning

EM_STEPS = 25
_WIDEST = 1e8  # variance of a parameter between users, in standardised scores: no such prior says anything
_EM_DONE = 1e-3  # relative change of the covariance


@dataclass(frozen=True, eq=False)
class Rows:
    """Weighted points of each user, and the positives among them."""

    features: FloatArray  # (n, points, d), the first column all ones
    weight: FloatArray  # (n, points)
    positives: FloatArray  # (m, d) features of the positives, grouped by user
    starts: IntArray  # (n + 1,) where the positives of each user start
    unlabelled_positives: bool = False  # whether the points hold as many positives again, without a label

    __repr__ = fields_repr

    def pooled(self) -> Rows:
        """All users pooled into one."""
        d = self.features.shape[-1]
        ends = np.array([0, len(self.positives)])
        features, weight = self.features.reshape(1, -1, d), self.weight.reshape(1, -1)
        return Rows(features, weight, self.positives, ends, self.unlabelled_positives)


@dataclass(frozen=True, eq=False)
class Prior:
    """The Gaussian distribution of parameters over users."""

    mean: FloatArray  # (d,)
    covariance: FloatArray  # (d, d)
    trend: FloatArray | None = None  # (m, d) how the mean changes with what else is known of a user

    __repr__ = fields_repr

    def centres(self, known: FloatArray | None, n: int) -> FloatArray:
        """The mean of each user; shape (n, d)."""
        centres = np.repeat(self.mean[None], n, axis=0)
        return centres if known is None or self.trend is None else np.asarray(centres + known @ self.trend)


def fit_rows(
    rows: Rows,
    prior: Prior,
    bounded: BoolArray,
    known: FloatArray | None = None,
    *,
    start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """The most likely parameters of each user under the prior, and the curvature there.

    A user's risk is ``sum_i weight_i softplus(x_i @ theta) - sum over positives of x @ theta``, a logistic regression
    in which every other point is a negative. With ``rows.unlabelled_positives`` the fitted probability p is that of a
    positive *among the points without a label*: the labelled positives are a random half of all, the other half is
    still among the points, and a point is a labelled positive with probability ``p / (1 + p)``.

    Parameters
    ----------
    rows : Rows
    prior : Prior
    bounded : boolean array of shape (d,)
        Parameters that must not be negative.
    known : array of shape (n, m), optional
        What else is known of each user, for a prior with a trend.
    start : array of shape (n, d), optional
        Where the search starts; by default at the prior's mean.

    Returns
    -------
    theta : array of shape (n, d)
    curvature : array of shape (n, d, d)
        Its inverse is the covariance of theta given the user's data.
    """
    from sureness.numerics import _logistic_kernels  # loads the compiler

    n, _, d = rows.features.shape
    centres = prior.centres(known, n)
    theta = np.array(centres if start is None else start)
    curvature, converged = np.empty((n, d, d)), np.empty(n, dtype=bool)
    _logistic_kernels.fit_rows(
        rows.features, rows.weight, rows.positives, rows.starts, rows.unlabelled_positives, centres,
        np.linalg.inv(prior.covariance), bounded, theta, curvature, converged,
    )  # fmt: skip
    if n_left := n - np.count_nonzero(converged):
        warnings.warn(
            f"{n_left:,} of {counted(n, 'fit')} did not converge, so their probabilities may be off; check the scores "
            "of those users for values far outside all others",
            SurenessWarning,
            stacklevel=3,
        )
    return theta, curvature


def estimate_prior(
    rows: Rows, start: Prior, bounded: BoolArray, known: FloatArray | None = None, *, steps: int = EM_STEPS
) -> Prior:
    """The prior under which the labels of these users are most likely, and its trend in what else is known of them.

    Expectation-maximisation with a Gaussian in place of each user's posterior. The posterior covariance of users with
    little data enters the estimate, so that noise is not mistaken for differences between users.
    """
    prior, n = start, len(rows.features)
    given = np.empty((n, 0)) if known is None else known
    design = np.c_[np.ones(n), given]
    theta = None
    for _ in range(steps):
        theta, curvature = fit_rows(rows, prior, bounded, given if given.shape[1] else None, start=theta)
        weights = np.linalg.lstsq(design, theta, rcond=None)[0]
        away = theta - design @ weights
        with np.errstate(over="ignore", invalid="ignore"):
            covariance = away.T @ away / n + np.linalg.inv(curvature).mean(axis=0)
        largest = np.abs(covariance).max()
        if not largest < _WIDEST:  # some user's scores lie so far outside that the fit diverges; also NaN
            break
        change = np.abs(covariance - prior.covariance).max() / largest
        ridge = 1e-8 * max(1.0, largest)  # so that the inverse exists
        prior = Prior(
            weights[0], covariance + ridge * np.eye(len(covariance)), weights[1:] if len(weights) > 1 else None
        )
        if change < _EM_DONE:
            break
    return prior


def bin_scores(
    block: FloatArray, n_bins: int, *, rows: IntArray, starts: IntArray, seen: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and number of unseen scores in equally wide bins of each row; the block is overwritten.

    Parameters
    ----------
    block : float32 array of shape (n, n_columns)
        -inf where there is no score.
    n_bins : int
    rows, starts, seen : arrays
        Entries to leave out, as sparse rows; see `sureness.numerics.ranking.top_k`.

    Examples
    --------
    >>> nothing = {"rows": np.array([0]), "starts": np.array([0, 0]), "seen": np.empty(0, dtype=np.int64)}
    >>> bin_scores(np.array([[0.0, 1.0, 9.0, 10.0]], dtype=np.float32), 2, **nothing)
    (array([[0.64516129, 9.51612903]]), array([[2., 2.]]))
    """
    from sureness.numerics import _bin_kernels  # loads the compiler

    lows, highs = block.min(axis=1), block.max(axis=1)
    if not np.isfinite(lows).all():
        lows = np.where(np.isneginf(block), np.float32(np.inf), block).min(axis=1)
    means, counts = np.empty((len(block), n_bins)), np.empty((len(block), n_bins))
    _bin_kernels.bin_rows(block, rows, starts, seen, lows, highs, means, counts)
    return means, counts
