"""The networks of AttnCut and MtCut: a Bi-LSTM reads the scores, attention compares the ranks with each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sureness.lists import Lists
from sureness.numerics import check_scores
from sureness_reproduction.truncation.losses import cut_loss, divergence_loss, means_loss, relevance_loss, rerank_loss

TASKS = ("cut", "relevance", "rerank")
CUT = TASKS.index("cut")
_LSTM_LAYERS = 2
_INNER = 2  # the inner width of a layer's network, in multiples of its outer width
_FARTHEST = 100.0  # deviations from the mean, where every gate of an LSTM is long shut or open

# -- what networks read -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreScale:
    """Brings scores near 0 with one mean and one deviation, those of the users that are learned from.

    Scaling every user's scores by themselves would hide the height and the spread of the list, and a user whose
    scores are all high is a user with many relevant items.

    Examples
    --------
    >>> ScoreScale.of(np.array([1.0, 3.0]))([5.0, 2.0])
    array([3., 0.], dtype=float32)
    """

    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: NDArray[Any]) -> Self:
        spread = float(scores.std())
        return cls(float(scores.mean()), spread if spread > 0 else 1.0)  # equal scores tell nothing, at any scale

    def __call__(self, scores: NDArray[Any]) -> NDArray[np.float32]:
        most = _FARTHEST * self.deviation
        near = np.clip(np.asarray(scores, dtype=np.float64) - self.mean, -most, most)
        return np.asarray(near / self.deviation, dtype=np.float32)


Scales = tuple[ScoreScale, ScoreScale | None]
"""Of the scores, and of the features where they are read."""


def checked_scores(lists: Lists, width: int, by: object) -> NDArray[Any]:
    """The scores of the first `width` ranks in one row, those beyond the end of a list left out; finite or refused."""
    return check_scores(lists.needed("scores", by)[:, :width][real_ranks(lists, width)])


def real_ranks(lists: Lists, width: int) -> NDArray[np.bool_]:
    """Where there is a candidate; shape (n, width)."""
    return np.asarray(np.arange(width) < lists.lengths[:, None])


def allowed_sizes(lengths: NDArray[Any], width: int, min_size: int) -> NDArray[np.bool_]:
    """The sizes from `min_size` to the length of each list; a list that is shorter can only be shown whole.

    Examples
    --------
    >>> allowed_sizes(np.array([3, 1]), 4, min_size=2).astype(int)
    array([[0, 1, 1, 0],
           [1, 0, 0, 0]])
    """
    sizes, most = np.arange(1, width + 1), lengths[:, None]
    return np.asarray((sizes >= np.minimum(min_size, most)) & (sizes <= most))


class Inputs(NamedTuple):
    """What is known about n lists before they are shown."""

    scores: Tensor  # (n, width) scaled; 0 beyond the end of a list
    lengths: Tensor  # (n,) from 1 to width
    allowed: Tensor  # (n, width) the sizes that may be chosen, column k - 1 for size k
    features: Tensor | None = None  # (n, width, d) scaled; 0 beyond the end of a list

    @classmethod
    def of(cls, lists: Lists, scales: Scales, *, width: int, min_size: int, by: object) -> Self:
        """The first `width` ranks of lists; with a second scale, their features too."""
        scale, feature_scale = scales
        real = real_ranks(lists, width)
        scores = np.where(real, lists.needed("scores", by)[:, :width], scale.mean)
        lengths = np.clip(lists.lengths, 1, width)  # a list without candidates counts as one; it is cut to 0 later
        features = None
        if feature_scale is not None:
            known = np.where(real[:, :, None], lists.needed("features", by)[:, :width], feature_scale.mean)
            features = torch.from_numpy(feature_scale(known))
        allowed = allowed_sizes(lengths, width, min_size)
        return cls(torch.from_numpy(scale(scores)), torch.from_numpy(lengths), torch.from_numpy(allowed), features)

    def rows(self, which: Tensor | slice) -> Self:
        """Some of the lists."""
        features = None if self.features is None else self.features[which]
        return type(self)(self.scores[which], self.lengths[which], self.allowed[which], features)

    @property
    def real(self) -> Tensor:
        """Where a list has a candidate; shape (n, width)."""
        return torch.arange(self.scores.shape[1]) < self.lengths[:, None]


class Labels(NamedTuple):
    """What turned out about n lists."""

    target: Tensor  # (n, width) the distribution over sizes to learn
    hits: Tensor  # (n, width) 1 where the item was relevant, 0 elsewhere

    def rows(self, which: Tensor | slice) -> Self:
        """Some of the lists."""
        return type(self)(*(column[which] for column in self))


# -- layers -----------------------------------------------------------------------------------------------------------


class ScoreReader(nn.Module):
    """A two-layer Bi-LSTM over the scores of a list: (n, K) scores become (n, K, size) states.

    Half of a state comes from each direction; the LSTM counts ranks by itself, so no position is added. Features of
    the items (n, K, d) are read with the scores.
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


# -- networks ---------------------------------------------------------------------------------------------------------


class CutNetwork(nn.Module, ABC):
    """Reads lists and gives one logit per size."""

    block: int = 512  # lists that are read at a time when nothing is learned

    @abstractmethod
    def forward(self, inputs: Inputs) -> Tensor:
        """Logits of the sizes 1 to K; shape (n, K)."""

    @abstractmethod
    def loss(self, inputs: Inputs, labels: Labels) -> Tensor:
        """The loss of each list; shape (n,)."""

    @torch.no_grad()
    def sizes(self, inputs: Inputs) -> NDArray[np.int64]:
        """The likeliest allowed size of each list, the smallest of equals; shape (n,)."""
        self.eval()
        starts = range(0, len(inputs.lengths), self.block)
        blocks = [inputs.rows(slice(start, start + self.block)) for start in starts]
        logits = [self(block).masked_fill(~block.allowed, -torch.inf) for block in blocks]
        return np.concatenate([block.argmax(dim=1).numpy() for block in logits]) + 1


class AttnCutNetwork(CutNetwork):
    """Logit of size k = w · attention(Bi-LSTM(scores)) at rank k."""

    def __init__(self, size: int, layers: int, heads: int, dropout: float, *, n_features: int = 0) -> None:
        super().__init__()
        self.reader = ScoreReader(size, dropout, n_features)
        self.attention = Attention(size, layers, heads, dropout)
        self.output = nn.Linear(size, 1)

    def forward(self, inputs: Inputs) -> Tensor:
        states = self.reader(inputs.scores, inputs.lengths, inputs.features)  # (n, K, size)
        logits: Tensor = self.output(self.attention(states, inputs.real))
        return logits.squeeze(-1)

    def loss(self, inputs: Inputs, labels: Labels) -> Tensor:
        return cut_loss(self(inputs), labels.target, inputs.allowed)


class MtCutNetwork(CutNetwork):
    """Bi-LSTM, experts, and for each task a gate that mixes the experts and a tower that reads the mixture."""

    cut_loss = staticmethod(cut_loss)
    rerank_loss = staticmethod(rerank_loss)

    def __init__(
        self,
        size: int,
        layers: int,
        heads: int,
        dropout: float,
        experts: int,
        relevance_weight: float,
        rerank_weight: float,
        *,
        n_features: int = 0,
    ) -> None:
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
        states, real = self.reader(inputs.scores, inputs.lengths, inputs.features), inputs.real
        # A tower is linear, so it may read every expert before they are mixed: the same, without mixing whole states.
        read = torch.stack([self.towers(expert(states, real)) for expert in self.experts], dim=1)  # (n, experts, K, 3)
        return (read * self.mixing(states, real)[:, :, None, :]).sum(dim=1).unbind(dim=-1)

    def mixing(self, states: Tensor, real: Tensor) -> Tensor:
        """The weight of each expert in each task, from the mean state of a list; shape (n, experts, 3)."""
        mean = states.sum(dim=1) / real.sum(dim=1, keepdim=True)  # states beyond the end of a list are 0
        return torch.softmax(self.gates(mean).view(len(states), -1, len(TASKS)), dim=1)

    def loss(self, inputs: Inputs, labels: Labels) -> Tensor:
        cut, relevance, rerank = self.outputs(inputs)
        return (
            self.cut_loss(cut, labels.target, inputs.allowed)
            + self.relevance_weight * relevance_loss(relevance, labels.hits, inputs.real)
            + self.rerank_weight * self.rerank_loss(rerank, labels.hits, inputs.real)
        )


class PublicMtCutNetwork(MtCutNetwork):
    """MtCut as its public code has it.

    Its attention runs over the lists of a batch instead of the ranks of a list, so the size of a list depends on those
    it is read with; lists are read in batches as large as those of training. Gates read the states of all ranks.
    """

    cut_loss = staticmethod(divergence_loss)
    rerank_loss = staticmethod(means_loss)

    def __init__(
        self,
        size: int,
        layers: int,
        heads: int,
        dropout: float,
        experts: int,
        *weights: float,
        width: int,
        batch_size: int,
        n_features: int = 0,
    ) -> None:
        super().__init__(size, layers, heads, dropout, experts, *weights, n_features=n_features)
        self.width, self.block = width, batch_size
        self.experts = nn.ModuleList(Attention(size, layers, heads, dropout, across=True) for _ in range(experts))
        self.gates = nn.Linear(width * size, experts * len(TASKS))

    def mixing(self, states: Tensor, real: Tensor) -> Tensor:
        """The weight of each expert in each task, from the states of all ranks; shape (n, experts, 3)."""
        flat = functional.pad(states, (0, 0, 0, self.width - states.shape[1])).flatten(start_dim=1)
        return torch.softmax(self.gates(flat).view(len(states), -1, len(TASKS)), dim=1)
