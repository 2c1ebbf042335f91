"""What training expects of a network."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor, nn

from sureness._types import IntArray
from sureness.truncation.networks.inputs import Inputs, Labels


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
    def sizes(self, inputs: Inputs) -> IntArray:
        """The likeliest allowed size of each list, the smallest of equals; shape (n,)."""
        self.eval()
        starts = range(0, len(inputs.lengths), self.block)
        blocks = [inputs.rows(slice(start, start + self.block)) for start in starts]
        logits = [self(block).masked_fill(~block.allowed, -torch.inf) for block in blocks]
        return np.concatenate([block.argmax(dim=1).numpy() for block in logits]) + 1
