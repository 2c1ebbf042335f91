"""Probabilities of another period, or of another share of what was split at random."""

from __future__ import annotations

import numpy as np

from sureness._types import FloatArray
from sureness.numerics.logistic import logit, sigmoid

_SHARPNESS = 4.0  # how closely odds are followed before they bend towards 1


def over_periods(probabilities: FloatArray, times: float) -> FloatArray:
    """The probability of at least one event in `times` periods like the one that probabilities are about.

    Events come at a steady rate, so the expected number grows with the period: ``1 - (1 - p) ** times``.

    Examples
    --------
    >>> over_periods(np.array([0.0, 0.1, 0.5, 1.0]), 2.0)
    array([0.  , 0.19, 0.75, 1.  ])
    """
    with np.errstate(divide="ignore"):  # p = 1 stays 1
        return np.asarray(-np.expm1(times * np.log1p(-probabilities)))


def once_gone(log_odds: FloatArray, times: float = 1.0) -> FloatArray:
    """Chance to be in the next random part of a log, for candidates that are not in the part that was held out.

    If p is the chance to be held out, then ``p / (1 - p)`` is the chance to be in the next part of the same size, given
    that the held-out ones are gone; `times` as much in a part `times` as large. The odds bend towards 1 where they come
    close to it: ``o / (1 + o ** 4) ** (1 / 4)``.

    Examples
    --------
    >>> once_gone(np.log([0.1, 0.5, 2.0])).round(3)
    array([0.1  , 0.492, 0.985])
    """
    with np.errstate(divide="ignore"):
        moved = np.asarray(log_odds + np.log(times))
    return np.asarray(sigmoid(_SHARPNESS * moved) ** (1.0 / _SHARPNESS))


def over_shares(probabilities: FloatArray, times: float) -> FloatArray:
    """Probabilities of `once_gone` for a part that is `times` as large.

    Examples
    --------
    >>> over_shares(np.array([0.1, 0.4]), 0.5).round(3)
    array([0.05 , 0.201])
    """
    return once_gone(logit(np.asarray(probabilities) ** _SHARPNESS) / _SHARPNESS, times)
