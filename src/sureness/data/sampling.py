"""Random negatives: items that a user has not interacted with."""

from __future__ import annotations

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.data.interactions import Interactions
from sureness.errors import SettingError
from sureness.numerics.ranking import draw_absent, members

_MOST_REJECTIONS = 50


class NegativeSampler:
    """Draws unseen items for users, uniformly or weighted by popularity.

    Parameters
    ----------
    log : Interactions
        What users have seen.
    power : float
        With 0 all unseen items are equally likely. Otherwise an item is drawn in proportion to
        (number of interactions + 1) ** power, and seen items are rejected. Users who have seen nearly all popular
        items fall back to uniform draws.
    include_seen : bool
        Draw from all items, including seen ones, as UBPR does.

    Examples
    --------
    >>> log = Interactions.of([0, 0, 1], ["a", "b", "c"])
    >>> sampler = NegativeSampler(log)
    >>> log.items.at(sampler.draw(np.array([0, 0, 0]), np.random.default_rng(0))).to_list()
    ['c', 'c', 'c']
    """

    def __init__(self, log: Interactions, power: float = 0.0, *, include_seen: bool = False) -> None:
        if power < 0:
            raise SettingError(f"power must be 0 or more, got {power}")
        self.log, self.include_seen = log, include_seen
        self.shares: FloatArray | None = None
        if power:
            mass = np.cumsum((log.item_degree + 1.0) ** power)
            self.shares = mass / mass[-1]  # ends at exactly 1, above every draw

    def draw(self, users: IntArray, rng: np.random.Generator) -> IntArray:
        """One unseen item for each of the users."""
        if self.shares is None:
            return self._uniform(users, rng)
        drawn = np.empty(len(users), dtype=np.int64)
        waiting = np.arange(len(users))
        for _ in range(_MOST_REJECTIONS):
            drawn[waiting] = np.searchsorted(self.shares, rng.random(len(waiting)), side="right")
            if self.include_seen:
                return drawn
            waiting = waiting[self.seen(users[waiting], drawn[waiting])]
            if not len(waiting):
                return drawn
        drawn[waiting] = self._uniform(users[waiting], rng)
        return drawn

    def seen(self, users: IntArray, items: IntArray) -> BoolArray:
        """Whether each pair is in the log."""
        return members(items[:, None], users, self.log.row_starts, self.log.item_rows)[:, 0]

    def _uniform(self, users: IntArray, rng: np.random.Generator) -> IntArray:
        if self.include_seen:
            return rng.integers(0, self.log.n_items, len(users))
        return draw_absent(users, self.log.row_starts, self.log.item_rows, self.log.n_items, rng)
