"""Sums of probabilities and labels in equally wide bins, which calibration errors are made of."""

from __future__ import annotations

import numpy as np

from sureness._types import AnyArray, FloatArray


def calibration_sums(probabilities: FloatArray, labels: AnyArray, weight: FloatArray | None, n_bins: int) -> FloatArray:
    """Sums over equally wide bins of [0, 1]; a probability of exactly 1 belongs to the last bin.

    Returns
    -------
    array of shape (n_bins, 4)
        Weight, squared weight, weight * probability and weight * label.

    Examples
    --------
    >>> calibration_sums(np.array([0.25, 0.75, 1.0]), np.array([0, 1, 1]), None, 2)
    array([[1.  , 1.  , 0.25, 0.  ],
           [2.  , 2.  , 1.75, 2.  ]])
    """
    from sureness.numerics import _kernels  # loads the compiler

    return np.asarray(
        _kernels.calibration_bins(probabilities, labels, np.empty(0) if weight is None else weight, n_bins)
    )
