"""What a refresh leaves behind: the drawn items of each direction, until the next refresh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sureness._printing import fields_repr
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.data.interactions import Interactions
from sureness.models.networks.batches import Batch


class DrawnItems(NamedTuple):
    """The drawn items of a batch, one row per pair."""

    items: IntArray  # (B, n), -1 where there is none
    scores: FloatArray | None  # (B, n) of the guide, where they were stored
    weights: FloatArray | None  # (B, n) of each item in the loss; None: all weigh the same


@dataclass(frozen=True, eq=False)
class Pool:
    """The items that a guide labels until the next refresh, in the order of the learner's pairs or by user.

    Examples
    --------
    >>> pool = Pool(np.array([[[4, 7]], [[2, -1]]], dtype=np.int32), by_user=True)
    >>> batch = Batch(np.array([1, 0]), np.array([3, 3]), np.array([[5], [5]]), np.array([8, 2]))
    >>> pool.take(batch, 0).items.tolist()
    [[2, -1], [4, 7]]
    """

    items: IntArray  # (rows, rounds, n) int32, -1 where there is none; each epoch takes the next round
    by_user: bool  # whether rows are users; otherwise they are the learner's pairs
    scores: FloatArray | None = None  # (rows, rounds, n) of a guide that cannot score single pairs later
    weights: FloatArray | None = None  # (rows, n)

    __repr__ = fields_repr

    def take(self, batch: Batch, epoch: int) -> DrawnItems:
        """The drawn items of a batch in an epoch, counted from the last refresh."""
        rows = self.rows(batch, epoch)
        return DrawnItems(
            self.flat(self.items).take(rows, axis=0).astype(np.int64),
            None if self.scores is None else self.flat(self.scores).take(rows, axis=0),
            None if self.weights is None else self.weights[batch.users if self.by_user else batch.places],
        )

    def rows(self, batch: Batch, epoch: int) -> IntArray:
        """The row of each pair of a batch in a `flat` table."""
        rounds = self.items.shape[1]
        rows = batch.users if self.by_user else batch.places
        return rows if rounds == 1 else rows * rounds + epoch % rounds

    @staticmethod
    def flat(table: AnyArray) -> AnyArray:
        """A table of the pool as rows of items, round after round; whole rows are several times faster to take."""
        return table.reshape(-1, table.shape[2])


class Refreshed(NamedTuple):
    """What one direction trains on until the next refresh."""

    log: Interactions  # the learner's positives
    pool: Pool | None  # None: this direction draws nothing

    def __repr__(self) -> str:
        return fields_repr(self)
