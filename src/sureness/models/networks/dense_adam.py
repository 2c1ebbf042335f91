"""Adam that moves every row in every step, as `torch.optim.Adam` does, without visiting every row in every step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sureness._types import FloatArray, IntArray
from sureness.models.networks.network import Network
from sureness.models.networks.optimiser import FIRST, SECOND, SMALL, RowAdam

_WINDOW = 256  # steps after which an old gradient moves a row no more: 0.9 ** 256 is 2e-12
_EARLY = 1024  # steps whose corrections change too fast for a mean of them


class DenseAdam(RowAdam):
    """Adam on whole tables: old gradients and weight decay also move the rows that a batch does not touch.

    A row without a gradient moves in a way that its moments and weight decay decide alone. So the compiled form lets
    rows wait, and makes up for their missed steps when somebody asks for them (`reach`). Networks that do not ask
    have all rows moved in every step.

    Parameters
    ----------
    network : Network
    learning_rate : float
    weight_decay : float
        Added to the gradient, times the value of each parameter.
    compiled : bool
    """

    def __init__(
        self, network: Network, learning_rate: float, *, weight_decay: float = 0.0, compiled: bool = True
    ) -> None:
        super().__init__(network, learning_rate, compiled=compiled)
        self.weight_decay = weight_decay
        self.waits = self.compiled and network.asks_for_rows
        self.reached = {name: np.zeros(len(p), dtype=np.int64) for name, p in self.parameters.items() if p.ndim > 1}
        self.coasting = _Coasting()

    def reach(self, name: str, *rows: IntArray) -> None:
        for some in rows:
            self._make_up(name, some.ravel())

    def settle(self) -> None:
        for name in self.buffers:
            self._make_up(name, np.arange(len(self.parameters[name])))

    def move_rows(self, name: str, rows: IntArray, scale: float = 1.0) -> None:
        self._step_rows(name, rows, self.buffer(name).gradient, rows, scale)

    def step_pairs(self, users: str, items: str, task: tuple[Any, ...], scale: float) -> float:
        from sureness.models.networks import _kernels  # loads the compiler, which scoring does not need

        self.steps += 1
        tables = {name: self.buffer(name).sums for name in (users, items)}
        loss = _kernels.pairwise_gradients(*tables.values(), *task)
        for name, sums in tables.items():
            rows = sums.touched[: sums.counts[1]]
            self._step_rows(name, rows, sums.gradient, np.arange(len(rows)), scale)
        return float(loss)

    def _step_rows(self, name: str, rows: IntArray, gradient: FloatArray, places: IntArray, scale: float) -> None:
        """One step of rows of a table, whose gradients stand at these places."""
        from sureness.models.networks import _dense_kernels  # loads the compiler, which scoring does not need

        buffer = self.buffer(name)
        numbers = (scale * self.times, self.weight_decay, self.learning_rate, *self.corrections, FIRST, SECOND, SMALL)
        _dense_kernels.step_rows(
            buffer.table, buffer.first, buffer.second, gradient, places, rows, self.reached[name],
            self.steps, *(np.float32(number) for number in numbers),
        )  # fmt: skip
        if not self.waits:
            self._make_up(name, np.arange(len(buffer.table)))

    def move_placed(self, name: str, rows: IntArray, gradient: FloatArray, pulls: FloatArray, scale: float) -> None:
        buffer = self.buffer(name)
        buffer.gradient[rows] = gradient + pulls[:, None] * buffer.table[rows]
        gradient[:] = 0.0
        self.move_rows(name, rows, scale)

    @torch.no_grad()
    def move_dense(self, gradients: Mapping[str, FloatArray], pulls: Mapping[str, float], scale: float) -> None:
        for name, gradient in gradients.items():
            parameter = self.parameters[name]
            summed = torch.from_numpy(gradient).view_as(parameter) + pulls.get(name, 0.0) * parameter
            self._move_all(name, summed * scale)

    def state(self) -> dict[str, Tensor]:
        self.settle()
        return super().state()

    def restore(self, state: dict[str, Tensor], steps: int) -> None:
        super().restore(state, steps)
        for reached in self.reached.values():
            reached[:] = steps
        self.coasting = _Coasting(steps)

    def _make_up(self, name: str, rows: IntArray) -> None:
        """The missed steps of some rows; rows below 0 are none."""
        from sureness.models.networks import _dense_kernels  # loads the compiler, which scoring does not need

        buffer, reached = self.buffer(name), self.reached[name]
        tables = buffer.table, buffer.first, buffer.second, rows, reached, self.steps
        rate, *keep = (np.float32(number) for number in (self.learning_rate, FIRST, SECOND, SMALL))
        if self.weight_decay or self.steps < _EARLY:
            _dense_kernels.decay_rows(*tables, np.float32(self.weight_decay), rate, *keep)
        else:
            self.coasting.advance(self.steps)
            _dense_kernels.coast_rows(*tables, self.coasting.ways, self.coasting.roots, rate, *keep)

    def _move_compiled(self, name: str, gradient: Tensor) -> None:
        super()._move_compiled(name, gradient)
        self._make_up(name, np.arange(len(self.parameters[name])))  # autograd did not ask

    def _move_rows(self, name: str, rows: Tensor, gradient: Tensor) -> None:
        self._move_all(name, torch.zeros_like(self.parameters[name]).index_add_(0, rows, gradient))

    def _moved(self, values: Tensor, first: Tensor, second: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return super()._moved(values, first, second, self.times * gradient + self.weight_decay * values)


class _Coasting:
    """How far old moments carry a row, by the step that it reached last.

    A row with moments m and v that gets no gradient moves by ``m * a / (sqrt(v) * b + SMALL)`` in every step, where a
    falls by a tenth in each step and b hardly changes. The moves of all steps are one move with the sum of a (`ways`)
    and a mean of b (`roots`); which mean only matters where sqrt(v) is near SMALL.
    """

    def __init__(self, start: int = 0) -> None:
        self.ways, self.inverse, self.roots = (np.zeros(start + 4 * _WINDOW) for _ in range(3))
        self.step = start
        idle = np.arange(_WINDOW, 0, -1)
        self.means: FloatArray = FIRST**idle
        self.ratios: FloatArray = (FIRST / np.sqrt(SECOND)) ** idle

    def advance(self, steps: int) -> None:
        """Add all steps up to this one, each for the rows that reached one of the last steps before it."""
        for step in range(self.step + 1, steps + 1):
            self._add(step)
        self.step = steps

    def _add(self, step: int) -> None:
        if step >= len(self.ways):
            self.ways, self.inverse, self.roots = (
                np.concatenate([each, np.zeros(len(each))]) for each in (self.ways, self.inverse, self.roots)
            )
        n = min(step, _WINDOW)
        last, of_first, of_second = slice(step - n, step), 1 - FIRST**step, 1 - SECOND**step
        self.ways[last] += self.means[-n:] / of_first
        self.inverse[last] += self.ratios[-n:] * (of_second**0.5 / of_first)
        self.roots[last] = self.ways[last] / self.inverse[last]
