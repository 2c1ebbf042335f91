"""One of the two models while it learns: its own loss, and the labels of the other."""

from __future__ import annotations

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.data.interactions import Interactions
from sureness.distillation.labels import Guide, Labelling
from sureness.distillation.pools import Lesson, Pool
from sureness.distillation.settings import Direction
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.network import Network
from sureness.models.networks.training import Trainer
from sureness.numerics.ranking import members


class Learner(Trainer):
    """A trainer that also listens to a guide: L_CF + weight * L_BD on the items of its pool."""

    def __init__(self, network: Network, train: Interactions, direction: Direction) -> None:
        super().__init__(network, train)
        self.direction = direction
        self.pool: Pool | None = None
        self.guide: Guide | None = None
        self.labelling = Labelling(direction)
        self.turn = 0  # epochs since the last refresh

    def listen(self, lesson: Lesson, guide: Guide, labelling: Labelling) -> None:
        """Take what was drawn at a refresh."""
        if lesson.log is not self.batches.log:
            self.batches = self.network.batches(lesson.log)
        self.pool, self.guide, self.labelling = lesson.pool, guide, labelling

    def step(self, batch: Batch, soft: SoftItems | None = None) -> float:
        if self.pool is None:
            return super().step(batch, soft)
        items, scores, weights = self.pool.take(batch, self.turn)
        if self.direction.reuse:
            batch = _against(batch, self._unseen(batch, items))
        return super().step(batch, self._soft(batch, items, scores, weights) if self.direction.weight else None)

    def _unseen(self, batch: Batch, items: IntArray) -> IntArray:
        """The drawn items, -1 where one counts as liked by now."""
        log = self.batches.log
        return np.where(members(items, batch.users, log.row_starts, log.item_rows), -1, items)

    def _soft(self, batch: Batch, items: IntArray, scores: FloatArray | None, weights: FloatArray | None) -> SoftItems:
        assert self.guide is not None
        known = self.guide.opinions(batch.users, items) if scores is None else scores
        weight = np.float32(self.direction.weight)
        weighed = np.full(items.shape, weight) if weights is None else weight * weights
        labels = self.labelling.labels(known, items >= 0)
        return SoftItems(items, labels, weighed, self.labelling.slope, self.labelling.shift)


def _against(batch: Batch, items: IntArray) -> Batch:
    """The batch with drawn items in the place of its own negatives, as many as there are."""
    negatives = batch.negatives.copy()
    n = min(items.shape[1], negatives.shape[1])
    negatives[:, :n] = np.where(items[:, :n] >= 0, items[:, :n], negatives[:, :n])
    return batch._replace(negatives=negatives)
