"""The trainer of a model that learns from another one: its own loss plus soft labels on drawn items."""

from __future__ import annotations

import numpy as np

from sureness._types import FloatArray
from sureness.data.interactions import Interactions
from sureness.distillation.labels import Guide, SoftLabels
from sureness.distillation.refresh import DrawnItems, Pool, Refreshed
from sureness.distillation.settings import Direction
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.network import Network
from sureness.models.networks.training import Trainer


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
        return super().step(batch, self.labelled(batch, self.pool.take(batch, self.epochs_since_refresh)))

    def labelled(self, batch: Batch, drawn: DrawnItems) -> SoftItems | None:
        """The drawn items of a batch with the guide's soft labels; None to make a plain step."""
        scores = self.guide_scores(batch, drawn) if drawn.scores is None else drawn.scores
        weight = np.float32(self.direction.weight)
        weights = np.full(drawn.items.shape, weight) if drawn.weights is None else weight * drawn.weights
        return SoftItems(
            drawn.items, self.soft_labels.of(scores), weights, self.soft_labels.slope, self.soft_labels.shift
        )

    def guide_scores(self, batch: Batch, drawn: DrawnItems) -> FloatArray:
        """The guide's scores of the drawn items, with its current weights."""
        assert self.guide is not None
        return self.guide.pair_scores(batch.users, drawn.items)
