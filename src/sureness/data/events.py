"""Every row of a log with times, and how rows become distinct pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, IntArray


class Older(NamedTuple):
    """Rows of a log that repeat a pair, but for the latest one of each pair."""

    pairs: IntArray  # (m,) position of each row's pair among the pairs of the log
    times: AnyArray  # (m,)
    ratings: AnyArray | None = None  # (m,)

    def __repr__(self) -> str:
        return fields_repr(self)

    def keep(self, chosen: BoolArray) -> Older | None:
        """The chosen rows; None if there are none."""
        if not chosen.any():
            return None
        return Older(self.pairs[chosen], self.times[chosen], None if self.ratings is None else self.ratings[chosen])

    def moved(self, places: IntArray) -> Older | None:
        """The same rows where pairs have other positions; those of pairs at -1 are gone.

        Examples
        --------
        >>> Older(np.array([0, 1]), np.array([5, 7])).moved(np.array([-1, 0]))
        Older(pairs=int64 array (1,), times=int64 array (1,))
        """
        return self._replace(pairs=places[self.pairs]).keep(places[self.pairs] >= 0)


class Events(NamedTuple):
    """Rows of a log: who took what, and when; a pair is there as often as it was taken."""

    user_rows: IntArray  # (n,)
    item_rows: IntArray  # (n,)
    times: AnyArray  # (n,) NaN where there is none, which counts as older than all others
    ratings: AnyArray | None = None  # (n,)

    def __repr__(self) -> str:
        return fields_repr(self)

    def keep(self, chosen: BoolArray | IntArray) -> Events:
        """The chosen rows."""
        return Events(*(None if column is None else column[chosen] for column in self))  # type: ignore[arg-type]

    def in_order(self) -> Events:
        """The oldest first; rows of one time stay in their order."""
        times = self.times
        if times.dtype.kind == "f":
            times = np.where(np.isnan(times), -np.inf, times)
        return self.keep(np.argsort(times, kind="stable"))

    def distinct(self, n_items: int) -> tuple[Events, Older | None]:
        """The latest row of each pair, in the order of users and items, and the older rows; these must be in order.

        Examples
        --------
        >>> latest, older = Events(np.array([0, 1, 0]), np.array([2, 0, 2]), np.array([5, 6, 7])).distinct(3)
        >>> latest.times.tolist(), older
        ([7, 6], Older(pairs=int64 array (1,), times=int64 array (1,)))
        """
        keys = self.user_rows * n_items + self.item_rows
        order = np.argsort(keys, kind="stable")
        last = np.ones(len(keys), dtype=bool)
        last[:-1] = keys[order[1:]] != keys[order[:-1]]
        if last.all():
            return self.keep(order), None
        older = self.keep(order[~last])
        return self.keep(order[last]), Older((np.cumsum(last) - last)[~last], older.times, older.ratings)
