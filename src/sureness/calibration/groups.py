"""How the scores of a group's candidates lie: their number, mean and spread.

A group is whoever a list is made for: a user, a query, a session or a prompt. Only its best candidates count, as many
as the map for lists looks at, so that a longer table of candidates does not change the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray

HISTORY, SPREAD = "history", "spread"
"""What is known of every group; other levels are traits that the caller gives."""

FEWEST = 10
"""A group with fewer candidates has no place of its own for a score; the score itself has to do."""

SAME = 1e-9
"""Spreads below this share of the size of the scores are rounding."""


@dataclass(frozen=True, eq=False)
class Groups:
    """What a map for lists knows of the group of each row of scores."""

    count: IntArray  # (n,) its best candidates
    mean: FloatArray  # (n,) of their scores
    spread: FloatArray  # (n,) standard deviation of their scores; 0: all are the same
    history: FloatArray | None = None  # (n,) how many items of the group the recommender was trained on
    traits: Mapping[str, Any] = field(default_factory=dict)  # (n,) or the shape of the scores, by name

    __repr__ = fields_repr

    @classmethod
    def of_blocks(cls, best: FloatArray) -> Self:
        """From the best candidates of each group in a row; -inf where there is none.

        Examples
        --------
        >>> Groups.of_blocks(np.array([[3.0, 1.0, -np.inf]])).spread
        array([1.])
        """
        there = np.isfinite(best)
        count = np.count_nonzero(there, axis=1)
        known = np.where(there, best, 0.0)
        mean = known.sum(axis=1) / np.maximum(count, 1)
        away = np.where(there, known - mean[:, None], 0.0)
        spread = np.sqrt(np.einsum("ij,ij->i", away, away) / np.maximum(count, 1))
        return cls(count, mean, _more_than_rounding(spread, np.abs(known).max(axis=1, initial=0.0)))

    @classmethod
    def of_rows(cls, scores: FloatArray, codes: IntArray, best: BoolArray) -> Self:
        """From scores in any order, the number of each one's group, and which of them are among its best.

        Examples
        --------
        >>> found = Groups.of_rows(np.array([3.0, 1.0, 9.0]), np.array([0, 0, 1]), np.ones(3, dtype=bool))
        >>> found.mean, found.spread
        (array([2., 9.]), array([1., 0.]))
        """
        n_groups = int(codes.max(initial=-1)) + 1
        known, of = scores[best], codes[best]
        count = np.bincount(of, minlength=n_groups)
        mean = np.bincount(of, known, n_groups) / np.maximum(count, 1)
        spread = np.sqrt(np.bincount(of, (known - mean[of]) ** 2, n_groups) / np.maximum(count, 1))
        largest = np.zeros(n_groups)
        np.maximum.at(largest, of, np.abs(known))
        return cls(count, mean, _more_than_rounding(spread, largest))

    def take(self, rows: IntArray) -> Groups:
        """The groups of some rows, which may repeat."""
        history = None if self.history is None else self.history[rows]
        return Groups(self.count[rows], self.mean[rows], self.spread[rows], history, self.traits)


def _more_than_rounding(spread: FloatArray, largest: FloatArray) -> FloatArray:
    return np.where(spread > SAME * largest, spread, 0.0)


def among_best(scores: FloatArray, codes: IntArray, most: int) -> BoolArray:
    """Which scores are among the best `most` of their group; of equal ones the first.

    Examples
    --------
    >>> among_best(np.array([1.0, 3.0, 2.0, 5.0]), np.array([0, 0, 0, 1]), 2)
    array([False,  True,  True,  True])
    """
    order = np.lexsort((-scores, codes))
    starts = np.searchsorted(codes[order], np.arange(int(codes.max(initial=-1)) + 1))
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[order] = np.arange(len(scores)) - starts[codes[order]]
    return ranks < most
