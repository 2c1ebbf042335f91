"""Items that users have taken before: how often, how long ago, and which of them are candidates again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

import numpy as np

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.activity import Activity
from sureness.data.interactions import Interactions

Repeats: TypeAlias = Literal["skip", "count"]
"""What was taken before: "skip" does not show it again, "count" keeps it among the candidates."""

REPEATS: tuple[Repeats, ...] = get_args(Repeats)

MOST_OWN = 20
"""Items that a user has taken which are candidates in any case; others are if their score is among the best."""

FEWEST_ITEMS = 1e-6
"""Expected items of a user who is there are at least this many."""


@dataclass(frozen=True, eq=False)
class Taken:
    """What users took before a time, by rows of users and items. Build it with `of`."""

    keys: IntArray  # (n,) user * n_items + item, rising
    times: IntArray  # (n,) how often
    since: FloatArray  # (n,) windows since the last time
    own: IntArray  # (n_users, MOST_OWN) items, those taken often and lately first; -1: there are no more
    n_items: int

    __repr__ = fields_repr

    @classmethod
    def of(cls, log: Interactions, start: float, length: float) -> Self:
        """From a log with times, for a window that begins at a time and is this long.

        Examples
        --------
        >>> log = Interactions.of(["ann"] * 4, [7, 7, 3, 3], times=[0, 10, 1, 2])
        >>> taken = Taken.of(log, 11, 1)
        >>> taken.times.tolist(), taken.own[0, :3].tolist()
        ([2, 2], [1, 0, -1])
        """
        rows = log.every_row()
        keys, place = np.unique(rows.user_rows * log.n_items + rows.item_rows, return_inverse=True)
        ages = np.nan_to_num(np.maximum(start - rows.times, 0.0) / length, nan=np.inf)
        since = np.full(len(keys), np.inf)
        np.minimum.at(since, place, ages)
        often = np.bincount(place, 1.0 / (1.0 + ages), len(keys))
        users = keys // log.n_items
        order = np.lexsort((-often, users))
        starts = np.searchsorted(users, np.arange(log.n_users))
        rank = np.arange(len(keys)) - starts[users[order]]
        first = rank < MOST_OWN
        own = np.full((log.n_users, MOST_OWN), -1)
        own[users[order][first], rank[first]] = (keys % log.n_items)[order][first]
        return cls(keys, np.bincount(place, minlength=len(keys)), since, own, log.n_items)

    def found(self, users: IntArray, items: IntArray) -> tuple[IntArray, FloatArray]:
        """How often users took each of their items, (n, width), and how long ago; 0 and NaN where they did not."""
        if not len(self.keys):
            return np.zeros(items.shape, dtype=np.int64), np.full(items.shape, np.nan)
        asked = users[:, None] * self.n_items + items
        places = np.minimum(np.searchsorted(self.keys, asked), len(self.keys) - 1)
        there = (items >= 0) & (users >= 0)[:, None] & (self.keys[places] == asked)
        return np.where(there, self.times[places], 0), np.where(there, self.since[places], np.nan)

    def own_of(self, users: IntArray) -> IntArray:
        """Items that users, who may be unknown (-1), took often and lately."""
        nobody = np.full((1, MOST_OWN), -1)
        return np.concatenate([self.own, nobody])[users]


def pair_traits(taken: Taken, activity: Activity, users: IntArray, items: IntArray) -> dict[str, AnyArray]:
    """What a map for lists is told of each pair of users and their candidates, arrays of shape (n, width)."""
    times, since = taken.found(users, items)
    again = times > 0
    new, repeated = (np.append(values, values.mean())[users][:, None] for values in (activity.new, activity.repeated))
    return {
        "repeat": np.where(again, "yes", "no"),
        "times": np.where(again, np.log(np.maximum(times, 1)), np.nan),
        "since": np.log1p(np.minimum(since, 1e6)),
        "expected": np.log(np.maximum(np.where(again, repeated, new), FEWEST_ITEMS)),
    }


def with_own(items: IntArray, scores: FloatArray, every: FloatArray, own: IntArray) -> tuple[IntArray, FloatArray]:
    """The best items of a block of users and their own ones, by score, -1 and -inf where there are no more.

    Parameters
    ----------
    items, scores : arrays of shape (n, width)
    every : array of shape (n, n_items)
        All scores.
    own : array of shape (n, n_own)

    Examples
    --------
    >>> every = np.array([[3.0, 2.0, 1.0, 0.0]])
    >>> with_own(np.array([[0, 1]]), np.array([[3.0, 2.0]]), every, np.array([[3, 1, -1]]))[0].tolist()
    [[0, 1, 3, -1, -1]]
    """
    own_scores = np.take_along_axis(every, np.maximum(own, 0), axis=1).astype(scores.dtype)
    listed = np.stack([(items == column[:, None]).any(axis=1) for column in own.T], axis=1)
    added = np.where(listed | (own < 0) | ~np.isfinite(own_scores), -1, own)
    together = np.concatenate([items, added], axis=1)
    values = np.concatenate([scores, np.where(added < 0, -np.inf, own_scores)], axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(together, order, axis=1), np.take_along_axis(values, order, axis=1)
