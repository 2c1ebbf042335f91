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
    exact = probabilities.astype(np.float64, copy=False)  # float32 would round 0.7 up to the next of ten bins
    place = np.minimum((exact * n_bins).astype(np.int64), n_bins - 1)
    weight = np.ones(len(place)) if weight is None else weight
    columns = (weight, weight * weight, weight * exact, weight * labels)
    return np.stack([np.bincount(place, each, n_bins) for each in columns], axis=1)


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
    (array([[0.5, 9.5]]), array([[2., 2.]]))
    """
    means, counts = np.zeros((len(block), n_bins)), np.zeros((len(block), n_bins))
    for place, row in enumerate(rows):
        block[place, seen[starts[row] : starts[row + 1]]] = -np.inf
        scores = block[place][block[place] > -np.inf].astype(np.float64)
        if not len(scores):
            continue
        low, high = scores.min(), scores.max()
        per_score = n_bins / (high - low) if high > low else 0.0
        bins = np.minimum((scores - low) * per_score, n_bins - 1).astype(np.int64)
        counts[place] = np.bincount(bins, minlength=n_bins)
        means[place] = np.bincount(bins, scores, n_bins) / np.maximum(counts[place], 1.0)
    return means, counts
