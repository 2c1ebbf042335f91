"""How the lists of all users look, found step by step while nobody asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.errors import EmptyError
from sureness.recommender import ConfidentRecommender
from sureness.service.messages import Order
from sureness.sources import id_maps

MOST_USERS = 100_000
_IN_STEP = 1_000_000  # scores of one step
_CURVES = 20_000  # users whose expected utilities are kept, for budgets


class Surveyed(NamedTuple):
    """One entry for each user that was looked at, in the order of the rows."""

    sizes: IntArray
    expected: FloatArray
    hits: FloatArray
    unsure: BoolArray


class UserSurvey:
    """The lists of up to 100,000 users of a recommender, in numbers."""

    def __init__(self, recommender: ConfidentRecommender) -> None:
        self._recommender = recommender
        self.n_users = recommender.source.n_users
        self.n_known = 0
        n = min(self.n_users, MOST_USERS)
        self._found = Surveyed(np.zeros(n, np.int64), np.zeros(n), np.zeros(n), np.zeros(n, np.bool_))
        longest = recommender.policy_.max_size
        self._curves = np.zeros((min(n, _CURVES), longest), np.float32)
        self._lengths = np.zeros(len(self._curves), np.int64)
        self._orders: dict[Order, IntArray] = {}
        self._words: pl.Series | None = None

    def steps(self) -> Iterator[int]:
        """Look at some users more in each step; yields how many are known."""
        recommender, n_users = self._recommender, len(self._found.sizes)
        users, in_step = id_maps(recommender.source)[0], max(1, min(256, _IN_STEP // recommender.source.n_items))
        for start in range(0, n_users, in_step):
            stop = min(start + in_step, n_users)
            lists = recommender.decide(users.at(np.arange(start, stop)))
            sizes = lists.needed("sizes", self)
            values = sizes, lists.needed("expected", self), lists.expected_hits(sizes), lists.needed("unsure", self)
            for column, own in zip(self._found, values, strict=True):
                column[start:stop] = own
            if stop <= len(self._curves):
                expected = recommender.policy_.expected(lists)
                self._curves[start:stop, : expected.shape[1]] = expected
                self._lengths[start:stop] = np.minimum(lists.lengths, expected.shape[1])
            self.n_known = stop
            yield stop

    @property
    def known(self) -> Surveyed:
        """What is known by now."""
        sizes, expected, hits, unsure = self._found
        n = self.n_known
        return Surveyed(sizes[:n], expected[:n], hits[:n], unsure[:n])

    def curves(self) -> tuple[FloatArray, IntArray]:
        """The expected utility of every list size of the users known by now, and how many candidates they have."""
        n = min(self.n_known, len(self._curves))
        if not n:
            raise EmptyError("no user has been looked at yet; ask again in a moment")
        return self._curves[:n], self._lengths[:n]

    def rows(self, search: str, order: Order) -> IntArray:
        """The rows of the known users whose id has a text in it, in an order."""
        rows = self._ordered(order)
        return rows if not search else rows[self._matching(search)[rows]]

    def _matching(self, search: str) -> BoolArray:
        if self._words is None or len(self._words) < self.n_known:
            self._words = id_maps(self._recommender.source)[0].at(np.arange(self.n_known)).cast(pl.String)
        return self._words.str.to_lowercase().str.contains(search.lower(), literal=True).to_numpy()

    def _ordered(self, order: Order) -> IntArray:
        if order not in self._orders or len(self._orders[order]) < self.n_known:
            self._orders[order] = np.argsort(self._key(order), kind="stable")
        return self._orders[order]

    def _key(self, order: Order) -> AnyArray:
        known = self.known
        keys: dict[Order, AnyArray] = {
            "user_id": np.arange(self.n_known), "unsure": np.where(known.unsure, -1.0, known.expected),
            "longest": -known.sizes, "shortest": known.sizes,
            "most_expected": -known.hits, "least_expected": known.hits,
        }  # fmt: skip
        return keys[order]
