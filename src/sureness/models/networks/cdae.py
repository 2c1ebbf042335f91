"""The network of CDAE."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sureness._types import IntArray
from sureness.data.interactions import Interactions
from sureness.models.cdae import CDAESettings
from sureness.models.networks.batches import Batch, UserBatches
from sureness.models.networks.network import Network, embedding_penalty, new_table, rows_of


class CDAENetwork(Network):
    """History and user through one hidden layer, or three, to a score for each item.

    Both outer layers are tables of items, of which a batch touches only its own rows.
    """

    draws_dropout = True
    settings: CDAESettings

    def __init__(self, train: Interactions, settings: CDAESettings) -> None:
        super().__init__(train, settings)
        size, scale = settings.n_factors, settings.start_scale
        self.users_in = new_table(self.n_users, size, scale)
        self.items_in, self.items_out = new_table(self.n_items, size, scale), new_table(self.n_items, size, scale)
        self.item_level = new_table(self.n_items, 1, 1e-6)
        self.first_bias = nn.Parameter(torch.zeros(size))
        if settings.deep:
            self.encoder, self.decoder = nn.Linear(size, size), nn.Linear(size, size)
        self.row_starts, self.item_rows = train.row_starts.astype(np.int64), train.item_rows.astype(np.int64)
        self.register_buffer("history_starts", torch.from_numpy(self.row_starts))  # so that histories are saved
        self.register_buffer("history_items", torch.from_numpy(self.item_rows))

    def batches(self, train: Interactions) -> UserBatches:
        return UserBatches(train, self.settings)

    def hidden(self, users: Tensor, user_rows: Tensor | None = None) -> Tensor:
        """What the last layer sees of each user; dropout hides part of the history while training."""
        items, starts, weights = self._weighted_histories(users.cpu().numpy())
        history = functional.embedding_bag(
            self.tensor(items),
            self.items_in,
            self.tensor(starts[:-1]),
            mode="sum",
            sparse=True,
            per_sample_weights=weights,
        )
        user = rows_of(self.users_in, users) if user_rows is None else user_rows
        first = history + user + self.first_bias
        if not self.settings.deep:
            return torch.sigmoid(first)
        return torch.tanh(self.decoder(torch.tanh(self.encoder(torch.tanh(first)))))

    def _weighted_histories(self, users: IntArray) -> tuple[IntArray, IntArray, Tensor]:
        """All items of users one after the other, where those of each user begin, and the weight of each item."""
        first, lengths = self.row_starts[users], self.row_starts[users + 1] - self.row_starts[users]
        starts = _ends(lengths)
        places = np.arange(starts[-1]) + np.repeat(first - starts[:-1], lengths)
        weights = torch.ones(len(places), device=self.device)
        if self.settings.history == "root":
            roots = np.sqrt(np.maximum(lengths, 1).astype(np.float32))
            weights = torch.from_numpy(np.repeat(1 / roots, lengths)).to(self.device)
        if self.training:
            weights = functional.dropout(weights, self.settings.dropout)
        return self.item_rows[places], starts, weights

    def score(self, users: Tensor, items: Tensor) -> Tensor:
        some, owners = torch.unique_consecutive(
            users, return_inverse=True
        )  # in training, pairs of a user stand together
        return self._score(self.hidden(some)[owners], rows_of(self.items_out, items), rows_of(self.item_level, items))

    def _score(self, hidden: Tensor, outputs: Tensor, levels: Tensor) -> Tensor:
        return (hidden[:, None] * outputs).sum(dim=-1) + levels.squeeze(-1)

    def score_block(self, users: Tensor) -> Tensor:
        return self.hidden(users) @ self.items_out.T + self.item_level[:, 0]

    def loss(self, batch: Batch) -> Tensor:
        some, place = _runs(batch.users)
        users, items = self.tensor(some), self.tensor(np.column_stack([batch.positives, batch.negatives]))
        user, outputs = rows_of(self.users_in, users), rows_of(self.items_out, items)
        owners = self.tensor(place)  # of each positive, its user among those of the batch
        scores = self._score(self.hidden(users, user)[owners], outputs, rows_of(self.item_level, items))
        loss = functional.softplus(-scores[:, 0]) + functional.softplus(scores[:, 1:]).sum(dim=1)
        inputs = rows_of(self.items_in, items[:, 0])
        return loss + self.settings.l2 * embedding_penalty(outputs.flatten(1), inputs, user[owners])


def _runs(users: IntArray) -> tuple[IntArray, IntArray]:
    """Users of a batch once each, in order, and the place of each pair's user among them."""
    new = np.concatenate([[True], users[1:] != users[:-1]])
    return users[new], np.cumsum(new) - 1


def _ends(lengths: IntArray) -> IntArray:
    """0, and where each of several runs ends."""
    return np.concatenate([[0], np.cumsum(lengths)])
