"""The network of CML."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sureness.data.ids import IdMap
from sureness.models.cml import CMLSettings, distance_source
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.losses import embedding_penalty, margin_loss
from sureness.models.networks.network import FactorNetwork, Network, items_against, rows_of
from sureness.sources.base import FactorSource


class CMLNetwork(FactorNetwork):
    """Embeddings in a ball; the score is minus the squared distance, so that higher is better."""

    settings: CMLSettings

    def score(self, users: Tensor, items: Tensor) -> Tensor:
        return -_squared_distance(rows_of(self.user_factors, users), rows_of(self.item_factors, items))

    pair_scores = Network.pair_scores  # the compiled form of the base class computes products

    def loss(self, batch: Batch) -> Tensor:
        users, positives, negatives = items_against(batch, self)
        user = rows_of(self.user_factors, users)
        liked, others = rows_of(self.item_factors, positives), rows_of(self.item_factors, negatives)
        loss = margin_loss(_squared_distance(user, liked), _squared_distance(user, others), self.settings.margin)
        return loss + self.settings.l2 * embedding_penalty(user[:, None], liked, others)

    @torch.no_grad()
    def after_step(self, batch: Batch, soft: SoftItems | None = None) -> None:
        others = batch.negatives if soft is None else np.column_stack([batch.negatives, soft.items])
        touched = np.unique(np.concatenate([batch.positives, others.ravel()]))
        touched = touched[touched >= 0]
        for table, rows in ((self.user_factors, np.unique(batch.users)), (self.item_factors, touched)):
            some = self.tensor(rows)
            table[some] = torch.renorm(table[some], p=2, dim=0, maxnorm=self.settings.radius)

    def source(self, users: IdMap, items: IdMap) -> FactorSource:
        return distance_source(self.arrays(), users, items)


def _squared_distance(users: Tensor, items: Tensor) -> Tensor:
    """Squared distances of users (B, d) to their items (B, n, d); shape (B, n)."""
    return (users.unsqueeze(1) - items).square().sum(dim=-1)
