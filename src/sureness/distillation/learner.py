"""The trainer of one participant: its own loss plus the soft labels of its guide."""

from __future__ import annotations

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.data.interactions import Interactions
from sureness.distillation.labels import Guide, SoftLabels
from sureness.distillation.pools import DrawnItems, Pool, Refreshed
from sureness.distillation.settings import Direction
from sureness.models.networks.batches import Batch, GuidedItems, SoftItems
from sureness.models.networks.network import Network
from sureness.models.networks.training import Trainer
from sureness.numerics.ranking import NOTHING, members


class Learner(Trainer):
    """A trainer that also imitates a guide: L_CF + weight * L_BD on the items of its pool."""

    def __init__(self, network: Network, train: Interactions, direction: Direction) -> None:
        super().__init__(network, train)
        self.direction = direction
        self.pool: Pool | None = None
        self.guide: Guide | None = None
        self.guided: GuidedItems | None = None
        self.soft_labels = SoftLabels(direction)
        self.epochs_since_refresh = 0

    def imitate(self, guide: Guide, refreshed: Refreshed, labels: SoftLabels) -> None:
        """Train on these drawn items and soft labels until the next refresh."""
        if refreshed.log is not self.batches.log:
            self.batches = self.network.batches(refreshed.log)
        self.pool, self.guide, self.soft_labels = refreshed.pool, guide, labels
        self.guided = None if refreshed.pool is None else self._guided(guide, refreshed.pool, labels)

    def step(self, batch: Batch, soft: SoftItems | None = None) -> float:
        if self.pool is None:
            return super().step(batch, soft)
        if self.guided is not None:
            rows = self.pool.rows(batch, self.epochs_since_refresh)
            return self.guided_step(batch, self.guided._replace(rows=rows))
        drawn = self.pool.take(batch, self.epochs_since_refresh)
        if self.direction.reuse:
            batch = _with_negatives(batch, self._unseen(batch, drawn.items))
        return super().step(batch, self._labelled(batch, drawn) if self.direction.weight else None)

    def pair_scores(self, users: IntArray, items: IntArray, *, dropout: bool = False) -> FloatArray:
        """The scores with which it guides the other model, whose steps come between its own."""
        self.network.reach(self.optimiser, users, items)
        return self.network.pair_scores(users, items, dropout=dropout)

    def product_tables(self) -> tuple[FloatArray, FloatArray] | None:
        """The tables whose products are its scores; None while some of their rows wait for steps."""
        return None if self.optimiser.waits else self.network.product_tables()

    def _guided(self, guide: Guide, pool: Pool, labels: SoftLabels) -> GuidedItems | None:
        """All drawn items, for steps that compute the labels of their rows themselves; None if they cannot."""
        asks = self.fused and self.network.asks_guides and self.direction.weight > 0 and not self.direction.reuse
        if not asks or labels.steepness is None or pool.scores is not None or pool.weights is not None:
            return None
        tables = guide.product_tables()
        if tables is None:
            return None
        numbers = labels.steepness, self.direction.weight, labels.slope, labels.shift
        return GuidedItems(pool.flat(pool.items), NOTHING, *tables, *numbers)

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
