"""Counts of many users, each drawn towards the mean as far as chance explains how they differ."""

from __future__ import annotations

import numpy as np

from sureness._types import FloatArray, IntArray


def shrunk_counts(counts: IntArray) -> FloatArray:
    """The number of items to expect of each user, out of the number that came.

    Numbers that scatter as Poisson numbers of one mean do are replaced by that mean; the more they scatter beyond, the
    more each keeps of its own (the posterior mean under a Gamma prior that fits mean and variance).

    Examples
    --------
    >>> shrunk_counts(np.array([0, 10, 20, 90])).round(1)
    array([ 0.7, 10.5, 20.2, 88.6])
    """
    mean, variance = float(np.mean(counts)), float(np.var(counts))
    if variance <= mean:
        return np.full(len(counts), mean)
    excess = variance - mean
    return np.asarray((counts + mean * mean / excess) / (1.0 + mean / excess))
