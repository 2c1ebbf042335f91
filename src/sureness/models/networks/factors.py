"""Networks of two tables, of users and of items: BPR, UBPR and CML."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from torch import Tensor

from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.models.base import product_source
from sureness.models.bpr import UBPRSettings
from sureness.models.cml import CMLSettings, distance_source
from sureness.models.networks.batches import Batch, PairBatches, SoftItems
from sureness.models.networks.network import (
    Network,
    embedding_penalty,
    items_against,
    margin_loss,
    new_table,
    pairwise_loss,
    products,
    rows_of,
    unbiased_pairwise_loss,
)
from sureness.models.networks.optimiser import RowAdam
from sureness.models.settings import Settings
from sureness.numerics.checks import check_propensity
from sureness.propensity import PopularityPropensity
from sureness.sources.base import FactorSource

_NO_NUMBERS: FloatArray = np.empty((0, 0), dtype=np.float32)
_NO_ITEMS = SoftItems(np.empty((0, 0), dtype=np.int64), _NO_NUMBERS, _NO_NUMBERS)


class FactorNetwork(Network):
    """A table of users, a table of items; the score is their product."""

    def __init__(self, train: Interactions, settings: Settings) -> None:
        super().__init__(train, settings)
        self.user_factors = new_table(self.n_users, settings.n_factors, settings.start_scale)
        self.item_factors = new_table(self.n_items, settings.n_factors, settings.start_scale)

    def score(self, users: Tensor, items: Tensor) -> Tensor:
        return products(rows_of(self.user_factors, users), rows_of(self.item_factors, items))

    def pair_scores(self, users: IntArray, items: IntArray) -> FloatArray:
        if self.device.type != "cpu":
            return super().pair_scores(users, items)
        from sureness.models.networks import _kernels  # loads the compiler, which scoring does not need

        scores = np.empty(items.shape, dtype=np.float32)
        tables = self.user_factors.detach().numpy(), self.item_factors.detach().numpy()
        _kernels.row_products(*tables, users, items, scores)
        return scores

    def source(self, users: IdMap, items: IdMap) -> FactorSource:
        return product_source(self.arrays(), users, items)


class BPRNetwork(FactorNetwork):
    """Products of embeddings, trained on pairs of a positive and a drawn item."""

    has_fused_step = True
    starts_from_factors: ClassVar[bool] = True

    def loss(self, batch: Batch) -> Tensor:
        users, positives, negatives = items_against(batch, self)
        user = rows_of(self.user_factors, users)  # (B, d)
        liked, others = rows_of(self.item_factors, positives), rows_of(self.item_factors, negatives)  # (B, 1|n, d)
        loss = pairwise_loss(products(user, liked), products(user, others))
        return loss + self.settings.l2 * embedding_penalty(user[:, None], liked, others)

    def start_from(self, factors: FactorSource) -> None:
        used = int(np.flatnonzero(np.any(factors.user_factors, axis=0)).max(initial=-1)) + 1
        for own, given in ((self.user_factors, factors.user_factors), (self.item_factors, factors.item_factors)):
            own.data[:, :used].copy_(torch.from_numpy(given[:, :used]))

    def fused_step(self, batch: Batch, optimiser: RowAdam, soft: SoftItems | None = None) -> float:
        """Several times faster than autograd: nothing is allocated, and rows are worked on while in the cache."""
        n_pairs = batch.negatives.size
        given = _NO_ITEMS if soft is None else soft
        numbers = tuple(map(np.float32, (self.settings.l2, given.slope, given.shift)))
        weights = self.weights_of(batch)
        task = (*batch[:3], _NO_NUMBERS if weights is None else weights, *given[:3], numbers)
        return optimiser.step_pairs("user_factors", "item_factors", task, 1 / n_pairs) / n_pairs

    def weights_of(self, batch: Batch) -> FloatArray | None:
        """The weight of each pair and negative in the loss, shape (B, n); None: 1."""
        return None


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
