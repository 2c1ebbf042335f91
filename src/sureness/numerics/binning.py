"""Equally wide bins: of probabilities and labels, for calibration errors; of the scores of each user, for maps."""

from __future__ import annotations

import numpy as np

from sureness._types import AnyArray, FloatArray, IntArray


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
