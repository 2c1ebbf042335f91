"""Counts of many users, each drawn towards the mean as far as chance explains how they differ."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from sureness._types import FloatArray, IntArray


class CountPrior(NamedTuple):
    """How counts of users scatter: their mean, and their variance beyond that of Poisson numbers."""

    mean: float
    excess: float

    @classmethod
    def of(cls, counts: IntArray, n_users: IntArray | None = None) -> Self:
        """Out of the count of each user, or of counts and how many users have each."""
        mean = float(np.average(counts, weights=n_users))
        return cls(mean, float(np.average((counts - mean) ** 2, weights=n_users)) - mean)

    def expected(self, counts: IntArray) -> FloatArray:
        """The number of items to expect of users, out of the number that came."""
        if self.excess <= 0:
            return np.full(len(counts), self.mean)
        return np.asarray((counts + self.mean * self.mean / self.excess) / (1.0 + self.mean / self.excess))


def shrunk_counts(counts: IntArray) -> FloatArray:
    """The number of items to expect of each user, out of the number that came.

    Numbers that scatter as Poisson numbers of one mean do are replaced by that mean; the more they scatter beyond, the
    more each keeps of its own (the posterior mean under a Gamma prior that fits mean and variance).

    Examples
    --------
    >>> shrunk_counts(np.array([0, 10, 20, 90])).round(1)
    array([ 0.7, 10.5, 20.2, 88.6])
    """
    return CountPrior.of(counts).expected(counts)
