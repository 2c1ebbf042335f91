"""The network of MtCut."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from sureness.truncation.networks.encoder import Attention, ScoreReader, real_mask
from sureness.truncation.networks.inputs import Inputs, Labels
from sureness.truncation.networks.losses import cut_loss, divergence_loss, means_loss, relevance_loss, rerank_loss
from sureness.truncation.networks.network import CutNetwork

TASKS = ("cut", "relevance", "rerank")
CUT = TASKS.index("cut")


class MtCutNetwork(CutNetwork):
    """Bi-LSTM, experts, and for each task a gate that mixes the experts and a tower that reads the mixture."""

    def __init__(
        self, size: int, layers: int, heads: int, dropout: float, experts: int, relevance_weight: float,
        rerank_weight: float, *, n_features: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.relevance_weight, self.rerank_weight = relevance_weight, rerank_weight
        self.reader = ScoreReader(size, dropout, n_features)
        self.experts = nn.ModuleList(Attention(size, layers, heads, dropout) for _ in range(experts))
        self.gates = nn.Linear(size, experts * len(TASKS))
        self.towers = nn.Linear(size, len(TASKS))

    def forward(self, inputs: Inputs) -> Tensor:
        return self.outputs(inputs)[CUT]

    def outputs(self, inputs: Inputs) -> tuple[Tensor, ...]:
        """The outputs of each task at every rank, in the order of `TASKS`; each (n, K)."""
        states = self.reader(inputs.scores, inputs.lengths, inputs.features)
        real = real_mask(inputs.scores, inputs.lengths)
        # A tower is linear, so it may read every expert before they are mixed: the same, without mixing whole states.
        read = torch.stack([self.towers(expert(states, real)) for expert in self.experts], dim=1)  # (n, experts, K, 3)
        return (read * self.mixing(states, real)[:, :, None, :]).sum(dim=1).unbind(dim=-1)

    def mixing(self, states: Tensor, real: Tensor) -> Tensor:
        """The weight of each expert in each task, from the mean state of a list; shape (n, experts, 3)."""
        mean = states.sum(dim=1) / real.sum(dim=1, keepdim=True)  # states behind the end of a list are 0
        return torch.softmax(self.gates(mean).view(len(states), -1, len(TASKS)), dim=1)

    def loss(self, inputs: Inputs, labels: Labels) -> Tensor:
        (cut, relevance, rerank), real = self.outputs(inputs), real_mask(inputs.scores, inputs.lengths)
        return (
            self.cut_loss(cut, labels.target, inputs.allowed)
            + self.relevance_weight * relevance_loss(relevance, labels.hits, real)
            + self.rerank_weight * self.rerank_loss(rerank, labels.hits, real)
        )

    cut_loss = staticmethod(cut_loss)
    rerank_loss = staticmethod(rerank_loss)


class PublicMtCutNetwork(MtCutNetwork):
    """MtCut as its public code has it.

    Its attention runs over the lists of a batch instead of the ranks of a list, so the size of a list depends on those
    it is read with; lists are read in batches as large as those of training. Gates read the states of all ranks.
    """

    cut_loss = staticmethod(divergence_loss)
    rerank_loss = staticmethod(means_loss)

    def __init__(
        self, size: int, layers: int, heads: int, dropout: float, experts: int, relevance_weight: float,
        rerank_weight: float, *, width: int, batch_size: int, n_features: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(
            size, layers, heads, dropout, experts, relevance_weight, rerank_weight, n_features=n_features
        )  # fmt: skip
        self.width, self.block = width, batch_size
        self.experts = nn.ModuleList(Attention(size, layers, heads, dropout, across=True) for _ in range(experts))
        self.gates = nn.Linear(width * size, experts * len(TASKS))

    def mixing(self, states: Tensor, real: Tensor) -> Tensor:
        """The weight of each expert in each task, from the states of all ranks; shape (n, experts, 3)."""
        flat = functional.pad(states, (0, 0, 0, self.width - states.shape[1])).flatten(start_dim=1)
        return torch.softmax(self.gates(flat).view(len(states), -1, len(TASKS)), dim=1)
