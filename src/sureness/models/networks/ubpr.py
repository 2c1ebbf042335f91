"""The network of UBPR."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from torch import Tensor

from sureness._types import FloatArray
from sureness.data.interactions import Interactions
from sureness.models.networks.batches import Batch, PairBatches
from sureness.models.networks.bpr import BPRNetwork
from sureness.models.networks.losses import embedding_penalty, unbiased_pairwise_loss
from sureness.models.networks.network import items_against, products, rows_of
from sureness.models.ubpr import UBPRSettings
from sureness.numerics.checks import check_propensity
from sureness.propensity import PopularityPropensity


class UBPRNetwork(BPRNetwork):
    """BPR whose pairs are weighted by (1 / omega_i) (1 - Y_j / omega_j)."""

    weighs_positives: ClassVar[bool] = True
    settings: UBPRSettings

    def __init__(self, train: Interactions, settings: UBPRSettings, propensity: ArrayLike | None = None) -> None:
        super().__init__(train, settings)
        if propensity is None:
            popularity = PopularityPropensity(power=settings.propensity_power, clip=settings.propensity_clip)
            propensity = popularity.fit(items=train.item_rows).propensity(None, train.item_rows)
        known = check_propensity(propensity, len(train))
        clipped = np.maximum(np.asarray(known, dtype=np.float32), np.float32(settings.propensity_clip))
        self.observed = csr_matrix((clipped, train.item_rows, train.row_starts), shape=train.shape)

    def batches(self, train: Interactions) -> PairBatches:
        return PairBatches(train, self.settings, include_seen=self.settings.seen_negatives)

    def loss(self, batch: Batch) -> Tensor:
        users, positives, negatives = items_against(batch, self)
        user = rows_of(self.user_factors, users)
        liked, others = rows_of(self.item_factors, positives), rows_of(self.item_factors, negatives)
        omega = torch.from_numpy(self.observed.data[batch.places])[:, None].to(self.device)
        of_negatives = torch.from_numpy(self._propensity_of_negatives(batch)).to(self.device)
        observed = (of_negatives > 0).to(omega.dtype)
        loss = unbiased_pairwise_loss(
            products(user, liked),
            products(user, others),
            omega,
            observed,
            torch.where(of_negatives > 0, of_negatives, 1.0),
        )
        return loss + self.settings.l2 * embedding_penalty(user[:, None], liked, others)

    def weights_of(self, batch: Batch) -> FloatArray:
        omega = self._propensity_of_negatives(batch)
        against = 1.0 - np.divide(1.0, omega, out=np.zeros_like(omega), where=omega > 0)
        return np.asarray(against / self.observed.data[batch.places][:, None], dtype=np.float32)

    def _propensity_of_negatives(self, batch: Batch) -> FloatArray:
        """Propensities of the drawn items that were observed, 0 for the others; shape (B, n)."""
        if not self.settings.seen_negatives:
            return np.zeros(batch.negatives.shape, dtype=np.float32)
        users = np.repeat(batch.users, batch.negatives.shape[1])
        return np.asarray(self.observed[users, batch.negatives.ravel()]).reshape(batch.negatives.shape)
