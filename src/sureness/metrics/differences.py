"""How much larger one mean is than another that was measured on the same users."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sureness.errors import EmptyError
from sureness.numerics.checks import check_rate, check_scores

_NO_CHANCE = 1e-12  # standard error of a difference that is the same in every resample


class Difference(NamedTuple):
    """A difference of two means; everything but the value is NaN with a single user."""

    value: float
    standard_error: float
    low: float  # ends of the confidence interval
    high: float
    p_value: float  # of no difference, two-sided


def paired_difference(gains: ArrayLike, *, level: float = 0.95) -> Difference:
    """The mean of paired differences with the interval and the test of Student's t.

    Parameters
    ----------
    gains : array-like of shape (n_users,)
        By how much the first is larger than the second for each user.
    level : float
        Of the confidence interval.

    Examples
    --------
    >>> found = paired_difference([0.3, 0.1, 0.2, 0.2])
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2), round(found.p_value, 3)
    (0.2, 0.07, 0.33, 0.016)
    """
    from scipy.special import stdtr, stdtrit

    gains = check_scores(gains, "gains")
    check_rate(level, "level")
    if not len(gains):
        raise EmptyError("expected the differences of at least one user, got none")
    mean, free = float(gains.mean()), len(gains) - 1
    if not free:
        return Difference(mean, *[float("nan")] * 4)
    if not np.ptp(gains):  # the same for everybody
        return Difference(mean, 0.0, mean, mean, 0.0 if mean else 1.0)
    error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
    half = float(stdtrit(free, (1 + level) / 2)) * error
    return Difference(mean, error, mean - half, mean + half, float(2 * stdtr(free, -abs(mean / error))))


def resampled_difference(value: float, resampled: ArrayLike, *, level: float = 0.95) -> Difference:
    """A difference of two metrics on the same resampled users, with its basic bootstrap interval.

    The p-value is that of a normal distribution with the spread of the resamples: shares of a few hundred resamples are
    too coarse where many p-values are corrected.

    Parameters
    ----------
    value : float
        The difference on all users.
    resampled : array-like of shape (n_resamples,)
        The differences on users drawn with replacement.
    level : float
        Of the confidence interval.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(0.2, 0.05, size=500)
    >>> found = resampled_difference(0.2, draws)
    >>> 0.05 < found.low < 0.15, 0.25 < found.high < 0.35, found.p_value < 0.001
    (True, True, True)
    """
    from scipy.special import ndtr

    check_rate(level, "level")
    reflected = 2 * value - check_scores(resampled, "resampled")
    low, high = np.quantile(reflected, [(1 - level) / 2, (1 + level) / 2])
    error = float(reflected.std(ddof=1))
    if error <= _NO_CHANCE:
        return Difference(value, error, float(low), float(high), float(abs(value) <= _NO_CHANCE))
    in_errors = float(abs(reflected.mean()) / error)
    return Difference(value, error, float(low), float(high), float(2 * ndtr(-in_errors)))
