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


_MOST_GROUPS, _FEWEST_USERS = 20, 50
"""Groups of users with about the same activity: how many at most, and how many users are in each at least."""


def counts_by_activity(counts: IntArray, activity: IntArray) -> FloatArray:
    """The number of items to expect of each user, out of the number that came and how active the user was before.

    As `shrunk_counts`, but each number is drawn towards the mean of users who were about as active. That mean counts
    one more user, an average one, so that some items are expected of everybody.

    Examples
    --------
    >>> activity = np.repeat([2, 20], 100)
    >>> counts_by_activity(np.tile([0, 1], 100) * activity // 2, activity)[[0, 100]].round(1)
    array([0.5, 1. ])
    """
    n_groups = int(np.clip(len(counts) // _FEWEST_USERS, 1, _MOST_GROUPS))
    edges = np.unique(np.quantile(activity, np.arange(1, n_groups) / n_groups))
    group = np.searchsorted(edges, activity, side="right")
    expected = np.empty(len(counts))
    for number in np.unique(group):
        inside = group == number
        own = CountPrior.of(counts[inside])
        mean = (counts[inside].sum() + counts.mean()) / (np.count_nonzero(inside) + 1)
        expected[inside] = own._replace(mean=float(mean)).expected(counts[inside])
    return expected


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
