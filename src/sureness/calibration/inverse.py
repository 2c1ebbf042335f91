"""The inverse of a map: the score from which a probability is reached."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sureness._types import FloatArray
from sureness.errors import SettingError
from sureness.numerics.checks import LARGEST, check_rate
from sureness.numerics.logistic import logit, sigmoid

_EXACT = 1e-9  # by which the probability of the found score may differ
_HALVINGS = 1_100  # until two neighbouring numbers are left, from any interval


def scores_for(
    probability: float, log_odds: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, name: str,
    *, bounded: bool = False,
) -> FloatArray:  # fmt: skip
    """The smallest scores with a probability, where log-odds rise with the score.

    Parameters
    ----------
    probability : float
    log_odds : callable
        From scores of shape (n,) to log-odds of shape (n,).
    low, high : arrays of shape (n,)
        Where to look first; further out if that is not enough.
    name : str
        What has no such score, for the sentence that says so.
    bounded : bool
        Whether there are no scores outside low and high.

    Examples
    --------
    >>> found = scores_for(0.5, lambda s: 2 * s - 6, np.array([0.0]), np.array([1.0]), "the map")
    >>> found.round(9)
    array([3.])
    """
    wanted = float(logit(np.array(check_rate(probability, "probability"))))
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if not bounded:
        low, high = _around(wanted, log_odds, low, high)
    ends = sigmoid(np.array([log_odds(low).max(), log_odds(high).min()]))
    if (log_odds(low) > wanted).any() or (log_odds(high) < wanted).any():
        raise SettingError(
            f"{name} never gives the probability {probability:g}: its probabilities lie between {ends[0]:.6g} and "
            f"{ends[1]:.6g}; ask for one of those"
        )
    for _ in range(_HALVINGS):
        middle = low + (high - low) / 2
        if not ((low < middle) & (middle < high)).any():
            break
        reached = log_odds(middle) >= wanted
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    found = sigmoid(log_odds(high))
    if (far := np.abs(found - probability) > _EXACT).any():
        raise SettingError(
            f"{name} steps over the probability {probability:g}, to {found[far][0]:.6g} at the score "
            f"{high[far][0]:.6g}; use a map without steps, such as ShapeCalibrator"
        )
    return high


def _around(
    wanted: float, log_odds: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Scores between which the wanted log-odds are reached, as far as there are any."""
    width = np.maximum(high - low, np.finfo(np.float64).tiny)
    while (width < LARGEST).all():
        too_high, too_low = log_odds(low) > wanted, log_odds(high) < wanted
        if not (too_high.any() or too_low.any()):
            break
        low, high = np.where(too_high, low - width, low), np.where(too_low, high + width, high)
        width = 4 * width
    return low, high
