"""Adam: on the rows that a batch touched, or on whole tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sureness._types import FloatArray, IntArray

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # decay of the two moments; what keeps the division finite


class RowSums(NamedTuple):
    """Gradients of the rows that a step touches, in the order of their first touch, so that they stay in the cache."""

    table: FloatArray
    first: FloatArray  # its moments
    second: FloatArray
    gradient: FloatArray  # one row for each touched row, from the first on
    slots: IntArray  # for each row of the table, where its gradient stood last; slots are counted over all steps
    touched: IntArray  # the touched rows of this step
    counts: IntArray  # slots used before this step, and in this step


class RowAdam:
    """Adam for tables of embeddings: a step costs what its batch touches, not what the tables hold.

    Rows without a gradient keep their values and their moments, so old gradients do not move a rare item.
    Dense parameters get plain Adam; L2 is part of the loss. On the CPU the rows are moved by compiled code, elsewhere
    (and with `compiled=False`) by torch.

    Parameters
    ----------
    network : nn.Module
    learning_rate : float
    compiled : bool
    """

    weight_decay: float = 0.0  # of dense Adam alone

    def __init__(self, network: nn.Module, learning_rate: float, *, compiled: bool = True) -> None:
        self.parameters = dict(network.named_parameters())
        self.learning_rate = learning_rate
        self.compiled = compiled and all(p.device.type == "cpu" for p in self.parameters.values())
        self.steps = 0
        self.moments = {name: (torch.zeros_like(p), torch.zeros_like(p)) for name, p in self.parameters.items()}
        self._sums: dict[str, RowSums] = {}

    @torch.no_grad()
    def step(self, times: float = 1.0) -> None:
        """Move every parameter that has a gradient, then clear the gradients.

        `times` multiplies all gradients, which only weight decay can tell.
        """
        self.steps += 1
        for name, parameter in self.parameters.items():
            if parameter.grad is not None:
                self._move(name, parameter.grad if times == 1 else parameter.grad * times)
                parameter.grad = None

    def step_pairs(self, users: str, items: str, task: tuple[Any, ...], scale: float) -> float:
        """One compiled step of a pairwise loss on two tables, gradients times `scale`; returns the summed loss."""
        from sureness.models.networks import _kernels  # loads the compiler, which scoring does not need

        self.steps += 1
        sums = self._sums_of(users), self._sums_of(items)
        return float(_kernels.pairwise_step(*sums, *task, np.float32(scale), self._numbers()))

    def state(self) -> dict[str, Tensor]:
        """The moments, by name."""
        return dict(self._named_moments())

    def restore(self, state: dict[str, Tensor], steps: int) -> None:
        """Resume from saved moments."""
        self.steps = steps
        for name, tensor in self._named_moments():
            tensor.copy_(state[name])

    def _move(self, name: str, gradient: Tensor) -> None:
        parameter, (first, second) = self.parameters[name], self.moments[name]
        if not gradient.is_sparse:
            self._adam(parameter, first, second, gradient)
        elif self.compiled:
            from sureness.models.networks import _kernels  # loads the compiler, which scoring does not need

            rows, values = gradient._indices()[0].numpy(), gradient._values().numpy()
            _kernels.sparse_step(self._sums_of(name), rows, values, self._numbers())
        else:
            rows, place = torch.unique(gradient._indices()[0], return_inverse=True)
            summed = torch.zeros_like(parameter[rows]).index_add_(0, place, gradient._values())
            parameter[rows], first[rows], second[rows] = self._adam(parameter[rows], first[rows], second[rows], summed)

    def _adam(self, values: Tensor, first: Tensor, second: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of Adam in place; returns the three tensors that moved."""
        of_first, of_second = self._corrections()
        first.lerp_(gradient, 1 - FIRST)
        second.mul_(SECOND).addcmul_(gradient, gradient, value=1 - SECOND)
        spread = second.sqrt().div_(of_second**0.5).add_(SMALL)
        return values.addcdiv_(first, spread, value=-self.learning_rate / of_first), first, second

    def _corrections(self) -> tuple[float, float]:
        """What Adam divides the moments by, to correct their start at 0."""
        return 1 - FIRST**self.steps, 1 - SECOND**self.steps

    def _numbers(self) -> tuple[np.float32, ...]:
        """What the compiled steps compute with."""
        return tuple(map(np.float32, (self.learning_rate, *self._corrections(), FIRST, SECOND, SMALL)))

    def _sums_of(self, name: str) -> RowSums:
        """Where the compiled steps sum the gradients of a table; memory is only taken for the rows of a step."""
        if name not in self._sums:
            table, first, second = (each.detach().numpy() for each in (self.parameters[name], *self.moments[name]))
            slots, touched = np.full(len(table), -1, dtype=np.int64), np.empty(len(table), dtype=np.int64)
            counts = np.zeros(2, dtype=np.int64)
            self._sums[name] = RowSums(table, first, second, np.empty_like(table), slots, touched, counts)
        return self._sums[name]

    def _named_moments(self) -> Iterator[tuple[str, Tensor]]:
        for name, pair in self.moments.items():
            yield from zip((f"first.{name}", f"second.{name}"), pair, strict=True)


class DenseAdam(RowAdam):
    """Adam as `torch.optim.Adam`: old gradients and weight decay also move the rows that a batch does not touch.

    Parameters
    ----------
    network : nn.Module
    learning_rate : float
    weight_decay : float
        Added to the gradient, times the value of each parameter.
    """

    def __init__(self, network: nn.Module, learning_rate: float, *, weight_decay: float = 0.0) -> None:
        super().__init__(network, learning_rate)
        self.weight_decay = weight_decay

    def _move(self, name: str, gradient: Tensor) -> None:
        dense = gradient.to_dense() if gradient.is_sparse else gradient
        super()._move(name, dense.add(self.parameters[name], alpha=self.weight_decay))
