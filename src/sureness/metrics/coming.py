"""How far the next window of a log may be from what is promised for it, by the windows before."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray
from sureness.errors import DataError
from sureness.metrics.intervals import Interval
from sureness.numerics.checks import check_rate, number_array, same_length

_USUAL, _WIDTH = 0.15, 0.7  # spread of log ratios between windows: its median over logs, and how much logs differ in it
_SHARED = 0.5  # of this spread is what all windows of a log have in common: a promise that is always too high
_GRID = np.exp(np.log(_USUAL) + _WIDTH * np.linspace(-3.0, 3.0, 25))
_STEPS = 40
_FEW = 0.5  # is added to hits, so that windows without any have a logarithm


def coming_ratio(
    promised: ArrayLike,
    realised: ArrayLike,
    *,
    variances: ArrayLike | None = None,
    coming: float | None = None,
    level: float = 0.9,
) -> Interval:
    """An interval of realised over promised for the window that comes next, from past windows that were judged.

    Windows differ by more than the sampling of users. The logarithm of each ratio is taken for the sum of what all
    windows of the log share, of what is new in each window, and of sampling. The spread between windows is estimated
    together with a prior, since there are few of them; the prior was learned on seven logs. All windows count alike.

    Parameters
    ----------
    promised, realised : array-like of shape (n_windows,)
        Numbers of hits, or of users who were there, in windows that were promised from what came before them. Without
        windows the interval is that of the prior.
    variances : array-like of shape (n_windows,), optional
        Of the realised numbers, by the sampling of users; by default those of Poisson numbers.
    coming : float, optional
        The promised number of the coming window; by default that of the last one.
    level : float
        How often the ratio of the coming window is inside.

    Examples
    --------
    >>> print(coming_ratio([900, 1000, 1100], [880, 1050, 1040]))
    0.9966 [0.8483, 1.1696]
    >>> steady, moving = coming_ratio([500] * 8, [510] * 8), coming_ratio([500] * 4, [300, 800, 350, 700])
    >>> steady.high / steady.low < 1.5 < 3 < moving.high / moving.low
    True
    """
    expected, came = (number_array(each, name).astype(np.float64) for each, name in (
        (promised, "promised"), (realised, "realised")))  # fmt: skip
    same_length(came, len(expected), "realised")
    spent = came if variances is None else number_array(variances, "variances").astype(np.float64)
    same_length(spent, len(expected), "variances")
    check_rate(level, "level")
    if not all(np.isfinite(each).all() and (each >= 0).all() for each in (expected, came, spent)):
        raise DataError("promised, realised and variances must be numbers that are not negative; drop other windows")
    log_ratio = np.log((came + _FEW) / (expected + _FEW))
    noise = (spent + _FEW) / (came + _FEW) ** 2
    ahead = coming if coming is not None else (float(expected[-1]) if len(expected) else np.inf)
    dispersion = float((spent + _FEW).sum() / (came + _FEW).sum()) if len(came) else 1.0
    weight, mean, variance = _ahead(log_ratio, noise)
    spread = np.sqrt(variance + dispersion / (ahead + _FEW))
    low, middle, high = (math.exp(_quantile(share, weight, mean, spread)) for share in
                         ((1 - level) / 2, 0.5, (1 + level) / 2))  # fmt: skip
    return Interval(middle, low, high, level)


def _ahead(log_ratio: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each spread of the grid how likely it is, and the mean and variance of the next log ratio."""
    between, shared = _GRID**2, (_SHARED * _GRID) ** 2
    precision = 1.0 / (between[:, None] + noise)  # (n_grid, n_windows)
    posterior = 1.0 / (1.0 / shared + precision.sum(axis=1))
    pulled = precision @ log_ratio
    evidence = 0.5 * (np.log(precision).sum(axis=1) - precision @ log_ratio**2 + pulled**2 * posterior)
    evidence += 0.5 * np.log(posterior / shared) - 0.5 * (np.log(_GRID / _USUAL) / _WIDTH) ** 2
    weight = np.exp(evidence - evidence.max())
    return weight / weight.sum(), pulled * posterior, posterior + between


def _quantile(share: float, weight: FloatArray, mean: FloatArray, spread: FloatArray) -> float:
    """Of a mixture of normal distributions, by bisection."""
    low, high = float((mean - 9 * spread).min()), float((mean + 9 * spread).max())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = sum(
            w * 0.5 * math.erfc((m - middle) / (s * math.sqrt(2))) for w, m, s in zip(weight, mean, spread, strict=True)
        )
        low, high = (middle, high) if below < share else (low, middle)
    return (low + high) / 2
