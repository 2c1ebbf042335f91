"""MtCut (MMoECut): three tasks share several attention experts, mixed by a gate for each task (Wang et al., 2022)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from sureness.metrics.utility import Utility
from sureness.truncation.base import CutPolicy
from sureness.truncation.encoder import Attention, ScoreReader, real_mask
from sureness.truncation.inputs import Inputs, Labels
from sureness.truncation.losses import cut_loss, relevance_loss, rerank_loss
from sureness.truncation.network import CutNetwork

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
        """What each task says of every rank, in the order of `TASKS`; each (n, K)."""
        states, real = self.reader(inputs.scores, inputs.lengths), real_mask(inputs.scores, inputs.lengths)
        # A tower is linear, so it may read every expert before they are mixed: the same, without mixing whole states.
        read = torch.stack([self.towers(expert(states, real)) for expert in self.experts], dim=1)  # (n, experts, K, 3)
        return (read * self.mixing(states, real)[:, :, None, :]).sum(dim=1).unbind(dim=-1)

    def mixing(self, states: Tensor, real: Tensor) -> Tensor:
        """How much each task listens to each expert, from the mean state of a list; shape (n, experts, 3)."""
        mean = states.sum(dim=1) / real.sum(dim=1, keepdim=True)  # states behind the end of a list are 0
        return torch.softmax(self.gates(mean).view(len(states), -1, len(TASKS)), dim=1)

    def loss(self, inputs: Inputs, labels: Labels) -> Tensor:
        (cut, relevance, rerank), real = self.outputs(inputs), real_mask(inputs.scores, inputs.lengths)
        return (
            cut_loss(cut, labels.target, inputs.allowed)
            + self.relevance_weight * relevance_loss(relevance, labels.hits, real)
            + self.rerank_weight * rerank_loss(rerank, labels.hits, real)
        )


class MtCut(CutPolicy):
    """AttnCut that learns two more tasks: which items are relevant, and to rank those first.

    The other tasks only shape what is shared; sizes come from the cut alone. Parameters that are not listed are those
    of `AttnCut`.

    Parameters
    ----------
    experts : int
        Attention stacks that the tasks share.
    relevance_weight, rerank_weight : float
        What the other tasks count beside the cut.

    Examples
    --------
    >>> MtCut("ndcg", experts=2, max_size=20)
    MtCut(utility='ndcg', max_size=20, experts=2)
    """

    kind: ClassVar[str] = "mt-cut"
    _whole = (*CutPolicy._whole, "experts")
    _weights = (*CutPolicy._weights, "relevance_weight", "rerank_weight")

    def __init__(
        self, utility: str | Utility = "f1", *, min_size: int = 1, max_size: int = 50, n_factors: int = 64,
        layers: int = 1, heads: int = 1, dropout: float = 0.2, tau: float = 0.95, learning_rate: float = 0.001,
        weight_decay: float = 0.0, batch_size: int = 64, epochs: int = 50, patience: int = 5,
        selection_share: float = 0.2, experts: int = 3, relevance_weight: float = 0.5, rerank_weight: float = 0.5,
        seed: int = 0, threads: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(
            utility, min_size=min_size, max_size=max_size, n_factors=n_factors, layers=layers, heads=heads,
            dropout=dropout, tau=tau, learning_rate=learning_rate, weight_decay=weight_decay, batch_size=batch_size,
            epochs=epochs, patience=patience, selection_share=selection_share, seed=seed, threads=threads,
        )  # fmt: skip
        self.experts, self.relevance_weight, self.rerank_weight = experts, relevance_weight, rerank_weight

    def _new_network(self) -> CutNetwork:
        return MtCutNetwork(
            self.n_factors, self.layers, self.heads, self.dropout, self.experts, self.relevance_weight,
            self.rerank_weight,
        )  # fmt: skip
