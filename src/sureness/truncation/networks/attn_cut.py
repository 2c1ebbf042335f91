"""The network of AttnCut."""

from __future__ import annotations

from torch import Tensor, nn

from sureness.truncation.networks.encoder import Attention, ScoreReader, real_mask
from sureness.truncation.networks.inputs import Inputs, Labels
from sureness.truncation.networks.losses import cut_loss
from sureness.truncation.networks.network import CutNetwork


class AttnCutNetwork(CutNetwork):
    """Logit of size k = w · attention(Bi-LSTM(scores)) at rank k."""

    def __init__(self, size: int, layers: int, heads: int, dropout: float, *, n_features: int = 0) -> None:
        super().__init__()
        self.reader = ScoreReader(size, dropout, n_features)
        self.attention = Attention(size, layers, heads, dropout)
        self.output = nn.Linear(size, 1)

    def forward(self, inputs: Inputs) -> Tensor:
        states = self.reader(inputs.scores, inputs.lengths, inputs.features)  # (n, K, size)
        states = self.attention(states, real_mask(inputs.scores, inputs.lengths))
        logits: Tensor = self.output(states)
        return logits.squeeze(-1)

    def loss(self, inputs: Inputs, labels: Labels) -> Tensor:
        return cut_loss(self(inputs), labels.target, inputs.allowed)
