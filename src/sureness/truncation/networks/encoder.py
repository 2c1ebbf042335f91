"""What AttnCut and MtCut share: a Bi-LSTM reads the scores, attention compares the ranks with each other."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

_LSTM_LAYERS = 2
_INNER = 2  # the inner width of a layer's network, in multiples of its outer width


class ScoreReader(nn.Module):
    """A two-layer Bi-LSTM over the scores of a list: (n, K) scores become (n, K, size) states.

    Half of a state comes from each direction; the LSTM counts ranks by itself, so no position is added. Features of
    the items (n, K, d) are read beside the scores.
    """

    def __init__(self, size: int, dropout: float, n_features: int = 0) -> None:
        super().__init__()
        self.lstm = nn.LSTM(
            1 + n_features, size // 2, _LSTM_LAYERS, batch_first=True, bidirectional=True, dropout=dropout
        )

    def forward(self, scores: Tensor, lengths: Tensor, features: Tensor | None = None) -> Tensor:
        width = scores.shape[1]
        read = scores[:, :, None] if features is None else torch.cat([scores[:, :, None], features], dim=2)
        if int(lengths.min()) == width:  # three times faster than packing
            states: Tensor = self.lstm(read)[0]
            return states
        packed = pack_padded_sequence(read, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=width)[0]


class AttentionLayer(nn.Module):
    """Self-attention, then a small network at each rank; each is added to its input and the sum normalised.

    With `across`, the lists of a batch look at each other at every rank instead of the ranks of a list.
    """

    def __init__(self, size: int, heads: int, dropout: float, *, across: bool = False) -> None:
        super().__init__()
        self.heads, self.across = heads, across
        self.inputs, self.output = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.inner = nn.Sequential(nn.Linear(size, _INNER * size), nn.ReLU(), nn.Linear(_INNER * size, size))
        self.after_attention, self.after_inner = nn.LayerNorm(size), nn.LayerNorm(size)
        self.dropout = ListDropout(dropout)

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """States (n, K, size) of the ranks that are `real` (n, K) look at each other."""
        if self.across:
            seen = real | ~real.any(dim=0)  # a rank that no list has looks at anything, and nothing looks at it
            attended = self._attended(states.transpose(0, 1), seen.T).transpose(0, 1)
        else:
            attended = self._attended(states, real)
        states = self.after_attention(states + self.dropout(attended))
        result: Tensor = self.after_inner(states + self.dropout(self.inner(states)))
        return result

    def _attended(self, states: Tensor, real: Tensor) -> Tensor:
        n, width, size = states.shape
        split = self.inputs(states).view(n, width, 3, self.heads, size // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)  # each (n, heads, K, size / heads)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=real[:, None, None, :])
        result: Tensor = self.output(mixed.transpose(1, 2).reshape(n, width, size))
        return result


class Attention(nn.Module):
    """Attention layers on top of each other."""

    def __init__(self, size: int, layers: int, heads: int, dropout: float, *, across: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(AttentionLayer(size, heads, dropout, across=across) for _ in range(layers))

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        for layer in self.layers:
            states = layer(states, real)
        return states


class ListDropout(nn.Module):
    """Drops parts of a state at all ranks of a list alike.

    The usual dropout draws a number for each rank as well, which takes as long as the attention itself on a CPU.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, states: Tensor) -> Tensor:
        if not (self.training and self.rate):
            return states
        kept = states.new_ones(states.shape[0], 1, states.shape[2])
        return states * functional.dropout(kept, self.rate)


def real_mask(scores: Tensor, lengths: Tensor) -> Tensor:
    """Where a list has a candidate; shape (n, K)."""
    return torch.arange(scores.shape[1]) < lengths[:, None]
