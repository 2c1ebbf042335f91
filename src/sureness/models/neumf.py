"""NeuMF: products of factors beside a small network on both embeddings (He et al., 2017); the text calls it NCF."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import torch
from torch import Tensor, nn

from sureness.data.interactions import Interactions
from sureness.errors import DataError
from sureness.models.base import Recommender
from sureness.models.batches import Batch
from sureness.models.losses import embedding_penalty, pointwise_loss
from sureness.models.network import Network, chain, items_against, new_table, rows_of
from sureness.models.settings import Settings

_CACHED_VALUES = 262_144  # hidden values of one user worked on at a time: they stay in the cache


@dataclass(frozen=True, kw_only=True)
class NeuMFSettings(Settings):
    """Settings of NeuMF."""

    l2: float = 0.001
    hidden: tuple[int, ...] = (64, 32)  # widths of the network's layers

    def __post_init__(self) -> None:
        super().__post_init__()
        widths = self.hidden if isinstance(self.hidden, tuple) else ()
        if not widths or not all(isinstance(width, Integral) and width >= 1 for width in widths):
            raise DataError(f"hidden must be at least one width of at least 1, got {self.hidden!r}")
        if any(type(width) is not int for width in widths):  # those of numpy become plain ones
            object.__setattr__(self, "hidden", tuple(int(width) for width in widths))


class NeuMFNetwork(Network):
    """Score = w · [user * item ; layers(user', item')]."""

    settings: NeuMFSettings

    def __init__(self, train: Interactions, settings: NeuMFSettings) -> None:
        super().__init__(train, settings)
        size, scale = settings.n_factors, settings.start_scale
        self.user_factors, self.item_factors = (
            new_table(self.n_users, size, scale),
            new_table(self.n_items, size, scale),
        )
        self.user_inputs, self.item_inputs = new_table(self.n_users, size, scale), new_table(self.n_items, size, scale)
        first = settings.hidden[0]
        self.of_user = nn.Linear(size, first)  # the first layer in two halves, so that all items can share theirs
        self.of_item = nn.Linear(size, first, bias=False)
        self.layers = chain(settings.hidden)
        self.output = nn.Linear(size + settings.hidden[-1], 1)

    def score(self, users: Tensor, items: Tensor) -> Tensor:
        return self._score(*self._rows(users, items))

    def _rows(self, users: Tensor, items: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Embeddings of users (B, 1, d) and items (B, n, d), for the products and for the network."""
        users = users[:, None]
        return (
            rows_of(self.user_factors, users), rows_of(self.item_factors, items),
            rows_of(self.user_inputs, users), rows_of(self.item_inputs, items),
        )  # fmt: skip

    def _score(self, user: Tensor, item: Tensor, user_input: Tensor, item_input: Tensor) -> Tensor:
        deep = self.layers(torch.relu(self.of_user(user_input) + self.of_item(item_input)))  # (B, n, h)
        scores: Tensor = self.output(torch.cat([user * item, deep], dim=-1))
        return scores.squeeze(-1)

    @torch.no_grad()
    def score_block(self, users: Tensor) -> Tensor:
        """All items: the linear part as one matrix product, the layers in pieces that stay in the cache."""
        size = self.settings.n_factors
        weight, of_deep = self.output.weight[0, :size], self.output.weight[0, size:]
        scores = (self.user_factors[users] * weight) @ self.item_factors.T + self.output.bias
        of_user, of_item = self.of_user(self.user_inputs[users]), self.of_item(self.item_inputs)
        step = max(1, _CACHED_VALUES // max(self.settings.hidden))
        for items, columns in zip(torch.split(of_item, step), torch.split(scores, step, dim=1), strict=True):
            for user, column in zip(of_user, columns, strict=True):
                hidden = (user + items).relu_()
                for linear in list(self.layers)[::2]:
                    hidden = linear(hidden).relu_()
                column += hidden @ of_deep
        return scores

    def loss(self, batch: Batch) -> Tensor:
        users, positives, negatives = items_against(batch, self)
        items = torch.cat([positives, negatives], dim=1)
        rows = self._rows(users, items)
        scores = self._score(*rows)
        pull = embedding_penalty(*(row.flatten(1) for row in rows))
        return pointwise_loss(scores[:, :1], scores[:, 1:]) + self.settings.l2 * pull


class NeuMF(Recommender):
    """Neural matrix factorisation: GMF beside a multi-layer perceptron."""

    settings_type: ClassVar[type[Settings]] = NeuMFSettings
    network_type = NeuMFNetwork
