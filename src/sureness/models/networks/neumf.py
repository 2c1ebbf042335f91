"""The network of NeuMF."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from sureness._types import FloatArray
from sureness.data.interactions import Interactions
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.fused import drawn_items
from sureness.models.networks.losses import embedding_penalty, pointwise_loss
from sureness.models.networks.network import Network, as_numpy, chain, items_against, new_table, rows_of
from sureness.models.networks.neumf_step import NeuMFStep
from sureness.models.networks.optimiser import RowAdam
from sureness.models.neumf import NeuMFSettings

_NOTHING: FloatArray = np.empty(0, dtype=np.float32)


class NeuMFNetwork(Network):
    """Score = w · [user * item ; layers(user', item')]."""

    has_fused_step = True
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
            rows_of(self.user_factors, users), rows_of(self.item_factors, items),
            rows_of(self.user_inputs, users), rows_of(self.item_inputs, items),
        )  # fmt: skip

    def _score(self, user: Tensor, item: Tensor, user_input: Tensor, item_input: Tensor) -> Tensor:
        deep = self.layers(torch.relu(self.of_user(user_input) + self.of_item(item_input)))  # (B, n, h)
        scores: Tensor = self.output(torch.cat([user * item, deep], dim=-1))
        return scores.squeeze(-1)

    @torch.no_grad()
    def score_block(self, users: Tensor) -> Tensor:
        """All items: the products of factors, then the layers; compiled on the CPU."""
        size, weight = self.settings.n_factors, self.output.weight[0]
        weighted, of_user = self.user_factors[users] * weight[:size], self.of_user(self.user_inputs[users])
        of_item = self.of_item(self.item_inputs)
        if self.device.type == "cpu":
            return self._compiled_scores(weighted, of_user, of_item)
        scores = weighted @ self.item_factors.T + self.output.bias
        for user, row in zip(of_user, scores, strict=True):
            row += self.layers(torch.relu(user + of_item)) @ weight[size:]
        return scores

    def _compiled_scores(self, weighted: Tensor, of_user: Tensor, of_item: Tensor) -> Tensor:
        from sureness.models.networks import _scoring_kernels as kernels  # loads the compiler

        between = self.linear_layers[:-1]
        weights, biases = (
            np.concatenate([as_numpy(getattr(layer, name)).ravel() for layer in between] or [_NOTHING])
            for name in ("weight", "bias")
        )
        widths = self.settings.widths[: max(1, len(self.settings.widths) - 1)]
        factors, items = (_tiles(rows, kernels.TILE).numpy() for rows in (self.item_factors, of_item))
        buffers, scores = torch.empty(2, max(widths), kernels.TILE), torch.empty(len(of_user), self.n_items)
        kernels.score_rows(
            weighted.numpy(), factors, of_user.numpy(), items, weights, biases, np.array(widths),
            self._last_layer(kernels.OUTPUTS), as_numpy(self.output.bias)[0], buffers.numpy(), scores.numpy(),
        )  # fmt: skip
        return scores

    def _last_layer(self, multiple: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weight, bias and weight in the score of the last layer, filled up with outputs that are always 0."""
        output = self.output.weight[0, self.settings.n_factors :]
        if not self.linear_layers:
            return _NOTHING.reshape(0, 0), _NOTHING, as_numpy(output)
        layer = self.linear_layers[-1]
        more = -layer.out_features % multiple
        weight, bias, output = (functional.pad(each, (0, more)) for each in (layer.weight.T, layer.bias, output))
        return as_numpy(weight), as_numpy(bias), as_numpy(output)

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

    def fused_step(self, batch: Batch, optimiser: RowAdam, soft: SoftItems | None = None) -> float:
        step = optimiser.keep(
            lambda: NeuMFStep(optimiser, len(self.settings.widths) - 1, self.settings.l2, self.settings.dense_l2)
        )
        own = drawn_items(batch, 1 / batch.negatives.shape[1])
        return step.run(batch.users, [own] if soft is None else [own, soft]) / len(batch.users)


def _tiles(rows: Tensor, size: int) -> Tensor:
    """Rows (n, w) as columns of tiles (n / size, w, size), the last of which is filled up with zeros."""
    n_tiles = -(-len(rows) // size)
    filled = functional.pad(rows, (0, 0, 0, n_tiles * size - len(rows)))
    return filled.reshape(n_tiles, size, -1).transpose(1, 2).contiguous()
