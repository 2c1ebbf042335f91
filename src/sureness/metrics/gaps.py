"""Calibration errors from sums over cells of pairs: the distances between what was observed and what was predicted."""

from __future__ import annotations

import numpy as np

from sureness._types import FloatArray

WEIGHT, SQUARED_WEIGHT, PREDICTED, OBSERVED = range(4)
"""The columns of the sums of a cell."""


def weighted_gaps(sums: FloatArray) -> FloatArray:
    """Mean distance between observed frequency and mean probability, weighted by the cells."""
    gaps = np.abs(sums[..., OBSERVED] - sums[..., PREDICTED]).sum(axis=-1)
    return np.asarray(gaps / sums[..., WEIGHT].sum(axis=-1))


def largest_gap(sums: FloatArray) -> FloatArray:
    """Largest distance between observed frequency and mean probability of a cell."""
    weight = sums[..., WEIGHT]
    gaps = np.abs(sums[..., OBSERVED] - sums[..., PREDICTED]) / np.where(weight > 0, weight, 1.0)
    return np.asarray(gaps.max(axis=-1))


def debiased_gaps(sums: FloatArray) -> FloatArray:
    """`weighted_gaps` minus what sampling noise adds to them; see `debiased_calibration_error`."""
    from scipy.special import ndtr  # slow to import, and only needed here

    weight = np.where(sums[..., WEIGHT] > 0, sums[..., WEIGHT], 1.0)
    frequency = sums[..., OBSERVED] / weight
    gap = np.abs(frequency - sums[..., PREDICTED] / weight)
    pairs = np.maximum(weight**2 / np.where(sums[..., SQUARED_WEIGHT] > 0, sums[..., SQUARED_WEIGHT], 1.0), 1.0)
    error = np.sqrt(np.clip(frequency * (1 - frequency), 0, None) / np.maximum(pairs - 1, 1.0))
    ratio = gap / np.where(error > 0, error, 1.0)
    # mean of |N(gap, error)|, the folded normal
    folded = error * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + gap * (1 - 2 * ndtr(-ratio))
    bare = np.where(error > 0, 2 * gap - folded, gap)
    total = (bare * sums[..., WEIGHT]).sum(axis=-1) / sums[..., WEIGHT].sum(axis=-1)
    return np.asarray(np.maximum(total, 0.0))  # the sum is clipped, not each bin, which would bring the bias back
