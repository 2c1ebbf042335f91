"""The trainer of one participant: its own loss plus the soft labels of its guide."""

from __future__ import annotations

import numpy as np

from sureness._types import IntArray
from sureness.data.interactions import Interactions
from sureness.distillation.labels import Guide, SoftLabels
from sureness.distillation.pools import DrawnItems, Pool, Refreshed
from sureness.distillation.settings import Direction
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.network import Network
from sureness.models.networks.training import Trainer
from sureness.numerics.ranking import members


class Learner(Trainer):
    """A trainer that also imitates a guide: L_CF + weight * L_BD on the items of its pool."""

    def __init__(self, network: Network, train: Interactions, direction: Direction) -> None:
        super().__init__(network, train)
        self.direction = direction
        self.pool: Pool | None = None
        self.guide: Guide | None = None
        self.soft_labels = SoftLabels(direction)
        self.epochs_since_refresh = 0

    def imitate(self, guide: Guide, refreshed: Refreshed, labels: SoftLabels) -> None:
        """Train on these drawn items and soft labels until the next refresh."""
        if refreshed.log is not self.batches.log:
            self.batches = self.network.batches(refreshed.log)
        self.pool, self.guide, self.soft_labels = refreshed.pool, guide, labels

    def step(self, batch: Batch, soft: SoftItems | None = None) -> float:
        if self.pool is None:
            return super().step(batch, soft)
        drawn = self.pool.take(batch, self.epochs_since_refresh)
        if self.direction.reuse:
            batch = _with_negatives(batch, self._unseen(batch, drawn.items))
        return super().step(batch, self._labelled(batch, drawn) if self.direction.weight else None)

    def _unseen(self, batch: Batch, items: IntArray) -> IntArray:
        """The drawn items, -1 where one is among the learner's positives by now."""
        log = self.batches.log
        return np.where(members(items, batch.users, log.row_starts, log.item_rows), -1, items)

    def _labelled(self, batch: Batch, drawn: DrawnItems) -> SoftItems:
        assert self.guide is not None
        items = drawn.items
        scores = drawn.scores
        if scores is None:
            scores = self.guide.pair_scores(batch.users, items, dropout=self.direction.dropout)
        weight = np.float32(self.direction.weight)
        weights = np.full(items.shape, weight) if drawn.weights is None else weight * drawn.weights
        labels = self.soft_labels.of(scores, items >= 0)
        return SoftItems(items, labels, weights, self.soft_labels.slope, self.soft_labels.shift)


def _with_negatives(batch: Batch, items: IntArray) -> Batch:
    """The batch with drawn items in place of its own negatives, as far as there are any."""
    negatives = batch.negatives.copy()
    n = min(items.shape[1], negatives.shape[1])
    negatives[:, :n] = np.where(items[:, :n] >= 0, items[:, :n], negatives[:, :n])
    return batch._replace(negatives=negatives)
