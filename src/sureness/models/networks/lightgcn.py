"""The network of LightGCN."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import bmat, csr_matrix
from torch import Tensor

from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.models.lightgcn import LightGCNSettings, smoothed_source
from sureness.models.networks.batches import Batch
from sureness.models.networks.network import (
    Network,
    as_numpy,
    embedding_penalty,
    items_against,
    new_table,
    pairwise_loss,
    products,
)
from sureness.sources.base import FactorSource


class Smoothing(torch.autograd.Function):
    """The mean of A^0 X ... A^L X; A is symmetric, so the gradient is smoothed in the same way."""

    @staticmethod
    def forward(context: Any, graph: Tensor, layers: int, values: Tensor) -> Tensor:
        context.graph, context.layers = graph, layers
        return _smoothed(graph, layers, values)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        return None, None, _smoothed(context.graph, context.layers, gradients[0])


def _smoothed(graph: Tensor, layers: int, values: Tensor) -> Tensor:
    total, current = values.clone(), values
    for _ in range(layers):
        current = graph @ current
        total += current
    return total / (layers + 1)


class LightGCNNetwork(Network):
    """One table for users and items, smoothed over the normalised graph; the score is a product of smoothed rows."""

    settings: LightGCNSettings

    def __init__(self, train: Interactions, settings: LightGCNSettings) -> None:
        super().__init__(train, settings)
        self.factors = new_table(self.n_users + self.n_items, settings.n_factors, settings.start_scale)
        self.register_buffer("smooth", torch.zeros_like(self.factors))
        self.register_buffer("graph", normalised_graph(train, settings.divided_by), persistent=False)
        self.graph: Tensor
        self.smooth: Tensor

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copies share the graph: it never changes, and torch cannot copy its format."""
        copied = type(self).__new__(type(self))
        memo |= {id(self): copied, id(self.graph): self.graph}
        copied.__dict__ = copy.deepcopy(self.__dict__, memo)
        return copied

    def score(self, users: Tensor, items: Tensor) -> Tensor:
        """While training from the current embeddings, afterwards from what `settle` kept: no graph is saved."""
        return self._score(self._smoothed() if self.training else self.smooth, users, items)

    def _smoothed(self) -> Tensor:
        smoothed: Tensor = Smoothing.apply(self.graph, self.settings.layers, self.factors)  # type: ignore[no-untyped-call]
        return smoothed

    def _score(self, smooth: Tensor, users: Tensor, items: Tensor) -> Tensor:
        return products(smooth[users], smooth[self.n_users + items])

    def loss(self, batch: Batch) -> Tensor:
        users, positives, negatives = items_against(batch, self)
        items = torch.cat([positives, negatives], dim=1)
        scores = self._score(self._smoothed(), users, items)
        pull = embedding_penalty(
            self.factors[users][:, None], self.factors[self.n_users + positives], self.factors[self.n_users + negatives]
        )
        return pairwise_loss(scores[:, :1], scores[:, 1:]) + self.settings.l2 * pull

    @torch.no_grad()
    def settle(self) -> None:
        self.smooth.copy_(self._smoothed())

    def source(self, users: IdMap, items: IdMap) -> FactorSource:
        return smoothed_source({"smooth": as_numpy(self.smooth)}, users, items)


def normalised_graph(train: Interactions, divided_by: str = "root") -> Tensor:
    """Edges of users and items, divided by both degrees or their roots, as compressed rows of 32-bit numbers."""
    power = -0.5 if divided_by == "root" else -1.0
    of_users, of_items = (_powers(degree, power) for degree in (train.user_degree, train.item_degree))
    values = (of_users[train.user_rows] * of_items[train.item_rows]).astype(np.float32)
    edges = csr_matrix((values, train.item_rows, train.row_starts), shape=train.shape)
    blocks: Any = [[None, edges], [edges.T, None]]
    graph = csr_matrix(bmat(blocks))
    graph.sort_indices()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse", category=UserWarning)  # torch calls the format a beta
        return torch.sparse_csr_tensor(
            torch.from_numpy(graph.indptr.astype(np.int32)),
            torch.from_numpy(graph.indices.astype(np.int32)),
            torch.from_numpy(graph.data),
            graph.shape,
        )


def _powers(degree: IntArray, power: float) -> FloatArray:
    """Powers of degrees; 0 for those without edges."""
    return np.power(degree, power, out=np.zeros(len(degree)), where=degree > 0, dtype=np.float64)
