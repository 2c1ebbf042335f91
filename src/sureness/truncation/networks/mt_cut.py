"""The network of MtCut."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sureness.truncation.networks.encoder import Attention, ScoreReader, real_mask
from sureness.truncation.networks.inputs import Inputs, Labels
from sureness.truncation.networks.losses import cut_loss, relevance_loss, rerank_loss
from sureness.truncation.networks.network import CutNetwork

TASKS = ("cut", "relevance", "rerank")
CUT = TASKS.index("cut")


class MtCutNetwork(CutNetwork):
    """Bi-LSTM, experts, and for each task a gate that mixes the experts and a tower that reads the mixture."""

    def __init__(
        self, size: int, layers: int, heads: int, dropout: float, experts: int, relevance_weight: float,
        rerank_weight: float,
    ) -> None:  # fmt: skip
        super().__init__()
        self.relevance_weight, self.rerank_weight = relevance_weight, rerank_weight
        self.reader = ScoreReader(size, dropout)
        self.experts = nn.ModuleList(Attention(size, layers, heads, dropout) for _ in range(experts))
        self.gates = nn.Linear(size, experts * len(TASKS))
        self.towers = nn.Linear(size, len(TASKS))

    def forward(self, inputs: Inputs) -> Tensor:
        return self.outputs(inputs)[CUT]

    def outputs(self, inputs: Inputs) -> tuple[Tensor, ...]:
        """The outputs of each task at every rank, in the order of `TASKS`; each (n, K)."""
        states, real = self.reader(inputs.scores, inputs.lengths), real_mask(inputs.scores, inputs.lengths)
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
            cut_loss(cut, labels.target, inputs.allowed)
            + self.relevance_weight * relevance_loss(relevance, labels.hits, real)
            + self.rerank_weight * rerank_loss(rerank, labels.hits, real)
        )
