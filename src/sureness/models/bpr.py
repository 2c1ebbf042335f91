"""BPR: each user prefers what was seen to what was not (Rendle et al., 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sureness.models.base import Recommender
from sureness.models.batches import Batch, SoftItems
from sureness.models.fused import fused_pairwise_step
from sureness.models.losses import embedding_penalty, pairwise_loss
from sureness.models.network import FactorNetwork, items_against, products, rows_of
from sureness.models.optimiser import RowAdam
from sureness.models.settings import Settings


@dataclass(frozen=True, kw_only=True)
class BPRSettings(Settings):
    """Settings of BPR."""


class BPRNetwork(FactorNetwork):
    """Products of embeddings, trained on pairs of a positive and a drawn item."""

    has_fused_step: ClassVar[bool] = True

    def loss(self, batch: Batch) -> Tensor:
        users, positives, negatives = items_against(batch, self)
        user = rows_of(self.user_factors, users)  # (B, d)
        liked, others = rows_of(self.item_factors, positives), rows_of(self.item_factors, negatives)  # (B, 1|n, d)
        loss = pairwise_loss(products(user, liked), products(user, others))
        return loss + self.settings.l2 * embedding_penalty(user[:, None], liked, others)

    def fused_step(self, batch: Batch, optimiser: RowAdam, soft: SoftItems | None = None) -> float:
        return fused_pairwise_step(batch, optimiser, "user_factors", "item_factors", self.settings.l2, soft=soft)


class BPR(Recommender):
    """Bayesian personalised ranking with factors.

    Examples
    --------
    >>> import numpy as np
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.interactions import Interactions
    >>> world = simulate(SimulatorSettings(n_users=200, n_items=60))
    >>> model = BPR(n_factors=8, epochs=5).fit(Interactions.from_matrix(world.train))
    >>> model.score_block(np.array([0, 1])).shape
    (2, 60)
    """

    settings_type = BPRSettings
    network_type = BPRNetwork
