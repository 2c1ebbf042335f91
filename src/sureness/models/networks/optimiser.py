"""Adam that touches only the rows a batch touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from sureness._types import FloatArray, IntArray

Kept = TypeVar("Kept")
FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8  # decay of the two moments; what keeps the division finite
_MANY = 16  # rows are sorted if more than one in 16 was touched


class Placed(NamedTuple):
    """The distinct rows of a table that a step touches, numbered in the order in which they first come."""

    rows: IntArray  # (V,)
    counts: IntArray  # (V,) int32, how often each one comes among those that bear L2
    places: IntArray  # (E,) int32, the number of each entry's row, 0 where there is none


class RowSums(NamedTuple):
    """Gradients of the rows that a step touches, in the order of their first touch, so that they stay in the cache."""

    table: FloatArray
    first: FloatArray  # its moments
    second: FloatArray
    gradient: FloatArray  # one row for each touched row, from the first on
    slots: IntArray  # for each row of the table, where its gradient stood last; slots are counted over all steps
    touched: IntArray  # the touched rows of this step
    counts: IntArray  # slots used before this step, and in this step


class RowBuffer:
    """One table and its moments as arrays, and a buffer that sums its gradients; only touched rows are ever cleared."""

    def __init__(self, table: Tensor, moments: tuple[Tensor, Tensor]) -> None:
        self.table, self.first, self.second = (tensor.detach().numpy() for tensor in (table, *moments))
        self.moments: FloatArray | None = None  # (n, 2, d) once they stand beside each other
        self.gradient: FloatArray = np.empty(table.shape, dtype=np.float32)
        self.stamps: IntArray = np.zeros(len(table), dtype=np.int64)  # the step that touched each row last
        self.touched: IntArray = np.empty(len(table), dtype=np.int64)
        self.where: IntArray = np.full(len(table), -1, dtype=np.int32)  # the number of each row while rows are placed

    @cached_property
    def sums(self) -> RowSums:
        """Where the steps of factor models sum their gradients; memory is only taken for the rows of a step."""
        slots, counts = np.full(len(self.table), -1, dtype=np.int64), np.zeros(2, dtype=np.int64)
        return RowSums(self.table, self.first, self.second, np.empty_like(self.table), slots, self.touched, counts)

    @cached_property
    def cleared(self) -> FloatArray:
        """A gradient of placed rows in which all is 0 between steps; `move_placed` clears it."""
        return np.zeros_like(self.table)


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
    waits: bool = False  # whether rows may wait for steps, so that `reach` must be called before they are read

    def __init__(self, network: nn.Module, learning_rate: float, *, compiled: bool = True) -> None:
        self.parameters = dict(network.named_parameters())
        self.learning_rate = learning_rate
        self.compiled = compiled and all(p.device.type == "cpu" for p in self.parameters.values())
        self.steps = 0
        self.times = 1.0  # what gradients are multiplied by; only weight decay tells the difference
        self.moments = {name: (torch.zeros_like(p), torch.zeros_like(p)) for name, p in self.parameters.items()}
        self.buffers: dict[str, RowBuffer] = {}
        self._dense: dict[str, tuple[FloatArray, ...]] = {}
        self._kept: object = None
        self._numbers_of: tuple[int, float] | None = None

    @property
    def corrections(self) -> tuple[float, float]:
        """What Adam divides the moments by, to correct their start at 0."""
        return 1 - FIRST**self.steps, 1 - SECOND**self.steps

    def reach(self, name: str, *rows: IntArray) -> None:
        """Called before rows of a table are read; none of them waits for anything here."""

    def settle(self) -> None:
        """Called before whole tables are read."""

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient, then clear the gradients."""
        self.steps += 1
        for name, parameter in self.parameters.items():
            gradient = parameter.grad
            if gradient is None:
                continue
            if not gradient.is_sparse:
                self._move_all(name, gradient)
            elif self.compiled:
                self._move_compiled(name, gradient)
            else:
                self._move_rows(name, *_summed_rows(gradient))
            parameter.grad = None

    def keep(self, make: Callable[[], Kept]) -> Kept:
        """What the compiled step of a network needs in every step: made by the first, then kept."""
        if self._kept is None:
            self._kept = make()
        return cast(Kept, self._kept)

    def buffer(self, name: str) -> RowBuffer:
        """The buffer of a table."""
        if name not in self.buffers:
            self.buffers[name] = RowBuffer(self.parameters[name], self.moments[name])
        return self.buffers[name]

    def step_pairs(self, users: str, items: str, task: tuple[Any, ...], scale: float) -> float:
        """One compiled step of a pairwise loss on two tables, gradients times `scale`; returns the summed loss."""
        from sureness.models.networks import _kernels  # loads the compiler, which scoring does not need

        self.steps += 1
        sums = self.buffer(users).sums, self.buffer(items).sums
        return float(_kernels.pairwise_step(*sums, *task, np.float32(scale), self._numbers()))

    def move_touched(self, name: str, count: int, scale: float = 1.0) -> None:
        """Move the first `count` touched rows of a table by what its buffer holds, times `scale`."""
        self.move_rows(name, self.touched(name, count), scale)

    def touched(self, name: str, count: int) -> IntArray:
        """The first `count` touched rows of a table; if they are many in their order, so as to meet on fewer pages."""
        buffer = self.buffers[name]
        many = count * _MANY > len(buffer.touched)
        return np.flatnonzero(buffer.stamps == self.steps) if many else buffer.touched[:count]

    def move_rows(self, name: str, rows: IntArray, scale: float = 1.0) -> None:
        """Move rows of a table by what its buffer holds for them, times `scale`."""
        buffer = self.buffer(name)
        self._adam((buffer.table, buffer.first, buffer.second, buffer.gradient), rows, scale)

    def placed(self, name: str, rows: IntArray, n_counted: int) -> Placed:
        """Number the distinct rows of a table among `rows`, of which the first `n_counted` bear L2; below 0 is none."""
        from sureness.models.networks import _row_kernels  # loads the compiler, which scoring does not need

        distinct: IntArray = np.empty(len(rows), dtype=np.int64)
        counts, places = np.empty((2, len(rows)), dtype=np.int32)
        n = _row_kernels.place_rows(rows, n_counted, self.buffer(name).where, distinct, places, counts)
        return Placed(distinct[:n], counts[:n], places)

    def cleared(self, name: str, some: Placed) -> FloatArray:
        """A gradient (V, d) of 0 for placed rows of a table, to be summed up and given to `move_placed`."""
        return self.buffer(name).cleared[: len(some.rows)]

    def move_placed(self, name: str, rows: IntArray, gradient: FloatArray, pulls: FloatArray, scale: float) -> None:
        """Move rows of a table by a gradient (V, d) and an L2 of `pulls` (V,), both times `scale`; clears it."""
        from sureness.models.networks import _row_kernels  # loads the compiler, which scoring does not need

        buffer = self.buffer(name)
        if buffer.moments is None:  # both moments of a row beside each other, for fewer waits
            together = torch.stack(self.moments[name], dim=1)
            first, second = self.moments[name] = together[:, 0], together[:, 1]
            buffer.first, buffer.second, buffer.moments = first.numpy(), second.numpy(), together.numpy()
        _row_kernels.adam_placed(
            buffer.table, buffer.moments, rows, gradient, pulls, np.float32(scale), self._numbers()
        )

    def move_dense(self, gradients: Mapping[str, FloatArray], pulls: Mapping[str, float], scale: float) -> None:
        """Move dense parameters by gradients and an L2, both times `scale`, in one compiled pass.

        They are small, and torch would take a dozen operations for each.
        """
        from sureness.models.networks import _row_kernels  # loads the compiler, which scoring does not need

        rows = [(*self._dense_rows(name), gradient.ravel()) for name, gradient in gradients.items()]
        l2 = np.array([pulls.get(name, 0.0) for name in gradients], dtype=np.float32)
        _row_kernels.adam_dense(*zip(*rows, strict=True), l2, np.float32(scale), self._numbers())

    def _dense_rows(self, name: str) -> tuple[FloatArray, ...]:
        """A dense parameter and its two moments, flat."""
        if name not in self._dense:
            tensors = (self.parameters[name], *self.moments[name])
            self._dense[name] = tuple(tensor.detach().numpy().reshape(-1) for tensor in tensors)
        return self._dense[name]

    def _adam(self, arrays: Sequence[FloatArray], rows: IntArray, scale: float) -> None:
        """One step of Adam on rows of a table, its two moments and its gradient, which stand in this order."""
        from sureness.models.networks import _kernels  # loads the compiler, which scoring does not need

        _kernels.adam_rows(*arrays, rows, np.float32(scale), self._numbers())

    def _numbers(self) -> tuple[np.float32, ...]:
        """What a step of Adam computes with, the same for all tables; a step moves several."""
        if self._numbers_of != (self.steps, self.learning_rate):
            self._numbers_of = self.steps, self.learning_rate
            numbers = (self.learning_rate, *self.corrections, FIRST, SECOND, SMALL)
            self._last_numbers = tuple(map(np.float32, numbers))
        return self._last_numbers

    def _move_compiled(self, name: str, gradient: Tensor) -> None:
        from sureness.models.networks import _kernels  # loads the compiler, which scoring does not need

        buffer = self.buffer(name)
        rows, values = gradient._indices()[0].numpy(), gradient._values().numpy()
        count = _kernels.sum_rows(rows, values, self.steps, buffer.gradient, buffer.stamps, buffer.touched)
        self.move_touched(name, count)

    def _move_rows(self, name: str, rows: Tensor, gradient: Tensor) -> None:
        parameter, (first, second) = self.parameters[name], self.moments[name]
        parameter[rows], first[rows], second[rows] = self._moved(parameter[rows], first[rows], second[rows], gradient)

    def _move_all(self, name: str, gradient: Tensor) -> None:
        tensors = (self.parameters[name], *self.moments[name])
        for old, new in zip(tensors, self._moved(*tensors, gradient), strict=True):
            old.copy_(new)

    def _moved(self, values: Tensor, first: Tensor, second: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        first = FIRST * first + (1 - FIRST) * gradient
        second = SECOND * second + (1 - SECOND) * gradient.square()
        of_first, of_second = self.corrections
        step = self.learning_rate * (first / of_first) / ((second / of_second).sqrt() + SMALL)
        return values - step, first, second

    def state(self) -> dict[str, Tensor]:
        """The moments, by name."""
        return {name: tensor.contiguous() for name, tensor in self._named_moments()}

    def restore(self, state: dict[str, Tensor], steps: int) -> None:
        """Resume from saved moments."""
        self.steps = steps
        for name, tensor in self._named_moments():
            tensor.copy_(state[name])

    def _named_moments(self) -> Iterator[tuple[str, Tensor]]:
        for name, pair in self.moments.items():
            yield from zip((f"first.{name}", f"second.{name}"), pair, strict=True)


def _summed_rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of a sparse gradient, each once, and the sum of what came for each."""
    rows, place = torch.unique(gradient._indices()[0], return_inverse=True)
    values = gradient._values()
    return rows, values.new_zeros(len(rows), *values.shape[1:]).index_add_(0, place, values)
