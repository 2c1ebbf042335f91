"""What training expects of a network."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor, nn

from sureness._types import IntArray
from sureness.truncation.networks.inputs import Inputs, Labels

_BLOCK = 512  # lists that are read at a time when nothing is learned


class CutNetwork(nn.Module, ABC):
    """Reads lists and gives one logit per size."""

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
        blocks = [inputs.rows(slice(start, start + _BLOCK)) for start in range(0, len(inputs.lengths), _BLOCK)]
        logits = [self(block).masked_fill(~block.allowed, -torch.inf) for block in blocks]
        return np.concatenate([block.argmax(dim=1).numpy() for block in logits]) + 1
