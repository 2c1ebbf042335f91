"""Probabilities of a longer or shorter period, if events come at a steady rate."""

from __future__ import annotations

import numpy as np

from sureness._types import FloatArray


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
