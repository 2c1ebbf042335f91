"""The compiled step of NeuMF: rows in compiled loops, layers as matrix products, gradients written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sureness._types import FloatArray, IntArray
from sureness.models.networks.batches import SoftItems
from sureness.models.networks.optimiser import RowAdam, Rows

_FACTORS, _INPUTS = ("user_factors", "item_factors"), ("user_inputs", "item_inputs")


class NeuMFStep:
    """One step of a NeuMF, on the CPU; sums up gradients over one or two tasks, then moves everything.

    Parameters
    ----------
    optimiser : RowAdam
    n_layers : int
        After the first, whose halves for user and item are apart.
    l2, dense_l2 : float
    """

    def __init__(self, optimiser: RowAdam, n_layers: int, l2: float, dense_l2: float) -> None:
        from sureness.models.networks import _entropy_kernels  # loads the compiler, which scoring does not need

        optimiser.steps += 1
        self.optimiser, self.kernels, self.l2, self.dense_l2 = optimiser, _entropy_kernels, np.float32(l2), dense_l2
        self.rows: dict[str, Rows] = {name: optimiser.buffer(name).emptied() for name in (*_FACTORS, *_INPUTS)}
        self.layers = [f"layers.{2 * number}" for number in range(n_layers)]
        self.dense = {name: tensor.detach() for name, tensor in optimiser.parameters.items() if name not in self.rows}
        self.gradients = {name: torch.zeros_like(tensor) for name, tensor in self.dense.items()}

    def add(self, users: IntArray, task: SoftItems, *, pull: bool) -> float:
        """Add the gradients of a batch, with the L2 of its rows or without; returns the sum of its losses."""
        l2 = self.l2 if pull else np.float32(0.0)
        user_inputs, item_inputs = (
            self._gathered(name, rows) for name, rows in zip(_INPUTS, (users, task.items.ravel()), strict=True)
        )
        hidden = self._forward(user_inputs, item_inputs)
        loss, of_last = self._last(users, task, hidden[-1], l2)
        of_users, of_items = self._backward(user_inputs, item_inputs, hidden, of_last)
        self._scatter("user_inputs", users, of_users, l2)
        self._scatter("item_inputs", task.items.ravel(), of_items, l2)
        return loss

    def move(self, n_pairs: int) -> None:
        """Move every weight by the mean over pairs."""
        for name, rows in self.rows.items():
            self.optimiser.move_touched(name, int(rows.n_touched[0]), 1 / n_pairs)
        size = self.rows["user_factors"].table.shape[1]
        for name, gradient in self.gradients.items():
            weight = self.dense[name]
            if name == "output.weight":
                gradient[:, :size].add_(weight[:, :size] - 1, alpha=float(self.l2) * n_pairs)
                gradient[:, size:].add_(weight[:, size:], alpha=self.dense_l2 * n_pairs)
            elif name.endswith("weight"):
                gradient.add_(weight, alpha=self.dense_l2 * n_pairs)
            self.optimiser.move_dense(name, gradient.numpy(), 1 / n_pairs)

    def _gathered(self, name: str, rows: IntArray) -> Tensor:
        table = self.rows[name].table
        values = torch.empty(len(rows), table.shape[1])
        self.kernels.gather_rows(table, rows, values.numpy())
        return values

    def _forward(self, user_inputs: Tensor, item_inputs: Tensor) -> list[Tensor]:
        """The values of all layers for each pair (B * n, w)."""
        of_users = torch.addmm(self.dense["of_user.bias"], user_inputs, self.dense["of_user.weight"].T)
        of_items = item_inputs @ self.dense["of_item.weight"].T
        first = torch.empty_like(of_items)
        self.kernels.add_pairs(of_users.numpy(), of_items.numpy(), first.numpy())
        hidden = [first]
        for name in self.layers:
            weight, bias = self.dense[f"{name}.weight"], self.dense[f"{name}.bias"]
            hidden.append(torch.addmm(bias, hidden[-1], weight.T).relu_())
        return hidden

    def _last(self, users: IntArray, task: SoftItems, deep: Tensor, l2: Any) -> tuple[float, Tensor]:
        """The losses, and the gradient of the last layer before its rectifier."""
        of_deep = torch.empty_like(deep)
        weight, bias = self.dense["output.weight"].numpy()[0], self.dense["output.bias"].numpy()[0]
        loss, of_level = self.kernels.product_gradients(
            *(self.rows[name] for name in _FACTORS), users, task, deep.numpy(), weight, bias, l2,
            self.optimiser.steps, self.gradients["output.weight"].numpy()[0], of_deep.numpy(),
        )  # fmt: skip
        self.gradients["output.bias"] += float(of_level)
        return float(loss), of_deep

    def _backward(
        self, user_inputs: Tensor, item_inputs: Tensor, hidden: Sequence[Tensor], gradient: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Add the gradients of all layers; returns those of the rows that came in, of users and of items."""
        for name, before in zip(reversed(self.layers), reversed(hidden[:-1]), strict=True):
            self.gradients[f"{name}.weight"].addmm_(gradient.T, before)
            self.gradients[f"{name}.bias"] += gradient.sum(dim=0)
            gradient = (gradient @ self.dense[f"{name}.weight"]).mul_(before > 0)
        of_users = gradient.reshape(len(user_inputs), -1, gradient.shape[1]).sum(dim=1)
        self.gradients["of_user.bias"] += of_users.sum(dim=0)
        self.gradients["of_user.weight"].addmm_(of_users.T, user_inputs)
        self.gradients["of_item.weight"].addmm_(gradient.T, item_inputs)
        return of_users @ self.dense["of_user.weight"], gradient @ self.dense["of_item.weight"]

    def _scatter(self, name: str, rows: IntArray, values: Tensor, l2: Any) -> None:
        self.kernels.scatter_rows(self.rows[name], rows, values.numpy(), l2, self.optimiser.steps)


def filled_up(layers: Sequence[tuple[FloatArray, FloatArray]], widest: int) -> tuple[FloatArray, FloatArray]:
    """Weights and biases of layers in one array each, zeros where a layer is narrower than the widest."""
    weights = np.zeros((len(layers), widest, widest), dtype=np.float32)
    biases = np.zeros((len(layers), widest), dtype=np.float32)
    for number, (weight, bias) in enumerate(layers):
        weights[number, : weight.shape[0], : weight.shape[1]] = weight
        biases[number, : len(bias)] = bias
    return weights, biases
