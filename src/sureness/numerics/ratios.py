"""What came over what was promised: a ratio with an interval over users, and tests of many groups at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sureness._types import AnyArray, FloatArray

_NORMAL = 1.959963984540054  # of a two-sided interval of 95%
_NONE_CAME = 3.688879454113936  # so many may be expected where none came, by the same interval of a Poisson number


class Ratio(NamedTuple):
    """A ratio of two sums; None where nothing was promised, the interval also where there is one user alone."""

    value: float | None
    low: float | None
    high: float | None


def ratio_of_sums(realised: AnyArray, promised: AnyArray) -> Ratio:
    """Realised over promised hits and its 95% interval, by the spread of each user's realised minus promised hits.

    Parameters
    ----------
    realised, promised : array of shape (n_users,)
        Hits of each user; pairs of one user are not independent, so each user is one observation.

    Examples
    --------
    >>> ratio_of_sums(np.array([1.0, 2.0]), np.array([1.0, 1.0])).value
    1.5
    """
    total, came, n_users = float(promised.sum()), float(realised.sum()), len(promised)
    if total <= 0:
        return Ratio(None, None, None)
    ratio = came / total
    if n_users < 2:
        return Ratio(ratio, None, None)
    away = realised - ratio * promised
    margin = (_NORMAL * float(np.sqrt(away @ away * n_users / (n_users - 1))) if came else _NONE_CAME) / total
    return Ratio(ratio, max(ratio - margin, 0.0), ratio + margin)


def promise_p_value(realised: AnyArray, promised: AnyArray, variance: float) -> float:
    """How likely hits are at least as far from what was promised, if the promise is right; two-sided.

    Hits of one user may depend on each other, so the variance of the sum is the larger one of that which users show
    and that of independent hits. Few hits are not normal but skewed, so the sum is taken for a multiple of a Poisson
    number with this mean and variance.

    Parameters
    ----------
    realised, promised : array of shape (n_users,)
        Hits of each user.
    variance : float
        Of all hits, if they come independently with the promised probabilities: the sum of p (1 - p).

    Examples
    --------
    >>> promise_p_value(np.zeros(50), np.full(50, 0.02), 50 * 0.02 * 0.98) > 0.3  # 1 hit promised, none came
    True
    >>> promise_p_value(np.zeros(50), np.full(50, 0.5), 50 * 0.5 * 0.5) < 1e-6
    True
    """
    from scipy.special import gammainc, gammaincc  # slow to import, and only needed here

    gap = realised - promised
    total, came = float(promised.sum()), float(realised.sum())
    spread = max(float(gap @ gap), variance)
    if spread == 0 or total == 0:
        return float(came == total)
    times = spread / total  # the Poisson number is of so many hits each
    as_few, as_many = gammaincc(came / times + 1, total / times), gammainc(came / times, total / times)
    return min(1.0, 2 * float(min(as_few, as_many)))


def holm(p_values: AnyArray) -> FloatArray:
    """P-values corrected for their number: below 5%, all of them together are wrong in at most 5% of all cases.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    times = np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(times * np.asarray(p_values)[order]), 1.0)
    return corrected
