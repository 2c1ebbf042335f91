"""CML: users near the items they like (Hsieh et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from sureness.data.ids import IdMap
from sureness.models.base import Recommender
from sureness.models.batches import Batch, SoftItems
from sureness.models.losses import embedding_penalty, margin_loss
from sureness.models.network import FactorNetwork, Network, as_numpy, items_against, rows_of
from sureness.models.settings import Settings
from sureness.sources.base import FactorSource, ScoreSource


@dataclass(frozen=True, kw_only=True)
class CMLSettings(Settings):
    """Settings of CML."""

    margin: float = 0.5  # how much nearer a liked item must be, in squared distance
    l2: float = 0.0  # seldom needed: embeddings stay inside a ball
    radius: float = 1.0  # of that ball

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_number("above 0", "margin", "radius")


class CMLNetwork(FactorNetwork):
    """Embeddings in a ball; the score is minus the squared distance, so that higher is better."""

    settings: CMLSettings

    def score(self, users: Tensor, items: Tensor) -> Tensor:
        return -_squared_distance(rows_of(self.user_factors, users), rows_of(self.item_factors, items))

    opinions = Network.opinions  # not the products of a factor model

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

    def source(self, users: IdMap, items: IdMap) -> ScoreSource:
        user, item = as_numpy(self.user_factors), as_numpy(self.item_factors)
        return FactorSource(
            2 * user, item, user_bias=-np.square(user).sum(axis=1), item_bias=-np.square(item).sum(axis=1),
            users=users, items=items,
        )  # fmt: skip


def _squared_distance(users: Tensor, items: Tensor) -> Tensor:
    """Of users (B, d) to their items (B, n, d); shape (B, n)."""
    return (users.unsqueeze(1) - items).square().sum(dim=-1)


class CML(Recommender):
    """Collaborative metric learning."""

    settings_type: ClassVar[type[Settings]] = CMLSettings
    network_type = CMLNetwork
