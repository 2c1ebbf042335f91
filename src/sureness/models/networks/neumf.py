"""The network of NeuMF."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sureness.data.interactions import Interactions
from sureness.models.networks.batches import Batch
from sureness.models.networks.losses import embedding_penalty, pointwise_loss
from sureness.models.networks.network import Network, chain, items_against, new_table, rows_of
from sureness.models.neumf import NeuMFSettings

_CACHED_VALUES = 262_144  # hidden values of one user worked on at a time, so that they stay in the cache


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
        first = settings.layer_widths[0]
        self.of_user = nn.Linear(
            size, first
        )  # the first layer in two halves, so that all users share that of the items
        self.of_item = nn.Linear(size, first, bias=False)
        self.layers = chain(settings.layer_widths)
        self.output = nn.Linear(size + settings.layer_widths[-1], 1)

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
        step = max(1, _CACHED_VALUES // max(self.settings.layer_widths))
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
