"""The network of BPR."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from sureness._types import FloatArray
from sureness.models.networks.batches import Batch, GuidedItems, SoftItems
from sureness.models.networks.fused import fused_pairwise_step
from sureness.models.networks.losses import embedding_penalty, pairwise_loss
from sureness.models.networks.network import FactorNetwork, items_against, products, rows_of
from sureness.models.networks.optimiser import RowAdam
from sureness.sources.base import FactorSource


class BPRNetwork(FactorNetwork):
    """Products of embeddings, trained on pairs of a positive and a drawn item."""

    has_fused_step = True
    asks_for_rows: ClassVar[bool] = True
    starts_from_factors: ClassVar[bool] = True
    asks_guides: ClassVar[bool] = True

    def loss(self, batch: Batch) -> Tensor:
        users, positives, negatives = items_against(batch, self)
        user = rows_of(self.user_factors, users)  # (B, d)
        liked, others = rows_of(self.item_factors, positives), rows_of(self.item_factors, negatives)  # (B, 1|n, d)
        loss = pairwise_loss(products(user, liked), products(user, others))
        return loss + self.settings.l2 * embedding_penalty(user[:, None], liked, others)

    def product_tables(self) -> tuple[FloatArray, FloatArray] | None:
        on_cpu = self.user_factors.device.type == "cpu"
        return (self.user_factors.detach().numpy(), self.item_factors.detach().numpy()) if on_cpu else None

    def start_from(self, factors: FactorSource) -> None:
        used = int(np.flatnonzero(np.any(factors.user_factors, axis=0)).max(initial=-1)) + 1
        for own, given in ((self.user_factors, factors.user_factors), (self.item_factors, factors.item_factors)):
            own.data[:, :used].copy_(torch.from_numpy(given[:, :used]))

    def fused_step(self, batch: Batch, optimiser: RowAdam, soft: SoftItems | None = None) -> float:
        return self._pairwise_step(batch, optimiser, soft)

    def guided_step(self, batch: Batch, optimiser: RowAdam, guided: GuidedItems) -> float:
        return self._pairwise_step(batch, optimiser, guided)

    def _pairwise_step(self, batch: Batch, optimiser: RowAdam, soft: SoftItems | GuidedItems | None) -> float:
        return fused_pairwise_step(
            batch, optimiser, "user_factors", "item_factors", self.settings.l2, self.weights_of(batch), soft
        )

    def weights_of(self, batch: Batch) -> FloatArray | None:
        """The weight of each pair and negative in the loss, shape (B, n); None: 1."""
        return None
