"""The network of NeuMF."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sureness.data.interactions import Interactions
from sureness.models.networks.batches import Batch
from sureness.models.networks.network import (
    Network,
    chain,
    embedding_penalty,
    items_against,
    new_table,
    pointwise_loss,
    rows_of,
)
from sureness.models.neumf import NeuMFSettings


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
        widths = settings.widths
        self.of_user = nn.Linear(size, widths[0])  # the first layer in two halves: all users share that of the items
        self.of_item = nn.Linear(size, widths[0], bias=False)
        self.layers = chain(widths)
        self.output = nn.Linear(size + widths[-1], 1)
        self.output.weight.data[:, :size] = 1.0  # of the products

    @property
    def linear_layers(self) -> list[nn.Linear]:
        """The layers after the first."""
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]

    def score(self, users: Tensor, items: Tensor) -> Tensor:
        return self._score(*self._rows(users, items))

    def _rows(self, users: Tensor, items: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Embeddings of users (B, 1, d) and items (B, n, d), for the products and for the network."""
        users = users[:, None]
        return (
            rows_of(self.user_factors, users),
            rows_of(self.item_factors, items),
            rows_of(self.user_inputs, users),
            rows_of(self.item_inputs, items),
        )

    def _score(self, user: Tensor, item: Tensor, user_input: Tensor, item_input: Tensor) -> Tensor:
        deep = self.layers(torch.relu(self.of_user(user_input) + self.of_item(item_input)))  # (B, n, h)
        scores: Tensor = self.output(torch.cat([user * item, deep], dim=-1))
        return scores.squeeze(-1)

    @torch.no_grad()
    def score_block(self, users: Tensor) -> Tensor:
        """All items: the products of factors, then the layers, one user at a time."""
        size, weight = self.settings.n_factors, self.output.weight[0]
        scores = (self.user_factors[users] * weight[:size]) @ self.item_factors.T + self.output.bias
        of_item = self.of_item(self.item_inputs)
        for user, row in zip(self.of_user(self.user_inputs[users]), scores, strict=True):
            row += self.layers(torch.relu(user + of_item)) @ weight[size:]
        return scores

    def loss(self, batch: Batch) -> Tensor:
        users, positives, negatives = items_against(batch, self)
        items = torch.cat([positives, negatives], dim=1)
        rows = self._rows(users, items)
        scores = self._score(*rows)
        return pointwise_loss(scores[:, :1], scores[:, 1:]) + self.penalty(*rows)

    def penalty(self, *rows: Tensor) -> Tensor:
        """The pull on all weights of a pair, given its rows of embeddings (B, n, d); shape (B,).

        Embeddings and the output weights of their products can be traded for each other without changing a score, as
        can embeddings and layers. So all of them are pulled, or the pull would only change their proportions.
        """
        size, settings = self.settings.n_factors, self.settings
        weight = self.output.weight[0]
        shallow = embedding_penalty(*(row.flatten(1) for row in rows)) + embedding_penalty(weight[:size] - 1)
        layers = [self.of_user, self.of_item, *self.linear_layers]
        deep = embedding_penalty(weight[size:], *(layer.weight.flatten() for layer in layers))
        return settings.l2 * shallow + settings.dense_l2 * deep
