"""The compiled step of NeuMF: rows in compiled loops, layers as matrix products, gradients written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.models.networks.batches import SoftItems
from sureness.models.networks.optimiser import Placed, RowAdam

_Gradients = dict[str, FloatArray]  # of the layers and of the output, by name


class _Entries(NamedTuple):
    """The pairs of users and items whose scores a step compares with labels."""

    users: Placed
    items: Placed
    owners: IntArray  # (E,) the number of each entry's user
    tasks: Sequence[SoftItems]


class NeuMFStep:
    """The steps of a NeuMF on the CPU: gradients of a batch, then Adam on the rows it touched and on all layers.

    Users and items come several times in a batch; their rows are read, multiplied and moved once for each of them.

    Parameters
    ----------
    optimiser : RowAdam
    n_layers : int
        After the first, whose halves for user and item are apart.
    l2, dense_l2 : float
    """

    def __init__(self, optimiser: RowAdam, n_layers: int, l2: float, dense_l2: float) -> None:
        from sureness.models.networks import _layer_kernels, _neumf_kernels, _row_kernels  # loads the compiler

        self.kernels, self.row_kernels, self.layer_kernels = _neumf_kernels, _row_kernels, _layer_kernels
        self.optimiser, self.l2, self.dense_l2 = optimiser, l2, dense_l2
        self.layers = [f"layers.{2 * number}" for number in range(n_layers)]
        self.weights = {name: tensor.detach().numpy() for name, tensor in optimiser.parameters.items()}
        self.weights["of_item.bias"] = np.zeros_like(self.weights["of_user.bias"])
        self.output, self.size = self.weights["output.weight"][0], self.weights["user_factors"].shape[1]

    def run(self, users: IntArray, tasks: Sequence[SoftItems]) -> float:
        """One step on the own labels of a batch, which bear the L2, then soft labels; returns the sum of the losses."""
        self.optimiser.steps += 1
        some, gradients = self._entries(users, tasks), _Gradients()
        inputs = self._inputs("user_inputs", some.users), self._inputs("item_inputs", some.items)
        hidden = self._forward(some, *inputs)
        loss, of_users, of_items, of_last = self._products(some, hidden[-1], gradients)
        of_inputs = self._backward(some, inputs, hidden, of_last, gradients)
        self._move("user", some.users, len(users), of_users, of_inputs[0])
        self._move("item", some.items, len(users), of_items, of_inputs[1])
        self._move_layers(gradients, len(users))
        return loss

    def _entries(self, users: IntArray, tasks: Sequence[SoftItems]) -> _Entries:
        of_users = self.optimiser.placed("user_factors", users, len(users))
        items = [task.items.ravel() for task in tasks]
        owners = [np.repeat(of_users.places, task.items.shape[1]) for task in tasks]
        of_items = self.optimiser.placed("item_factors", _joined(items), len(items[0]))
        return _Entries(of_users, of_items, _joined(owners), tasks)

    def _inputs(self, name: str, some: Placed) -> FloatArray:
        values = _empty(len(some.rows), self.size)
        self.row_kernels.gather_rows(self.weights[name], some.rows, values)
        return values

    def _forward(self, some: _Entries, users: FloatArray, items: FloatArray) -> list[FloatArray]:
        """The values of all layers for each entry (E, w)."""
        of_users, of_items = self._through("of_user", users, False), self._through("of_item", items, False)
        hidden = [_empty(len(some.owners), of_items.shape[1])]
        self.kernels.add_pairs(of_users, of_items, some.owners, some.items.places, hidden[0])
        for name in self.layers:
            hidden.append(self._through(name, hidden[-1], True))
        return hidden

    def _through(self, layer: str, inputs: FloatArray, rectify: bool) -> FloatArray:
        weight, bias = self.weights[f"{layer}.weight"], self.weights[f"{layer}.bias"]
        outputs = _empty(len(inputs), len(bias))
        self.layer_kernels.forward(inputs, weight, bias, rectify, outputs)
        return outputs

    def _products(
        self, some: _Entries, deep: FloatArray, gradients: _Gradients
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """The loss, and the gradients of the factors, and of the last layer before its rectifier."""
        rows, item_rows, size = some.users.rows, some.items.rows, self.size
        users, items, products, last = (
            self.weights["user_factors"], self.weights["item_factors"], self.output[:size], self.output[size:],
        )  # fmt: skip
        weighted, of_output, of_deep = _empty(len(rows), size), np.zeros_like(self.output), np.empty_like(deep)
        self.kernels.weigh_rows(users, rows, products, weighted)
        of_users = self.optimiser.cleared("user_factors", some.users)
        of_items = self.optimiser.cleared("item_factors", some.items)
        start, total, of_level = 0, 0.0, 0.0
        for task in some.tasks:
            part = slice(start, start := start + task.items.size)
            loss, level = self.kernels.product_gradients(
                task, weighted, items, item_rows, some.owners[part], some.items.places[part], deep[part], last,
                self.weights["output.bias"][0], of_users, of_items, of_output[size:], of_deep[part],
                _empty(task.items.size),
            )  # fmt: skip
            total, of_level = total + loss, of_level + level
        self.kernels.unweigh_gradients(users, rows, products, of_users, of_output[:size])
        gradients["output.weight"], gradients["output.bias"] = of_output, np.array([of_level], dtype=np.float32)
        return total, of_users, of_items, of_deep

    def _backward(
        self, some: _Entries, inputs: tuple[FloatArray, FloatArray], hidden: Sequence[FloatArray],
        gradient: FloatArray, gradients: _Gradients,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """Adds to `gradients` those of all layers; returns those of the rows that came in, of users and of items."""
        for name, before in zip(reversed(self.layers), reversed(hidden[:-1]), strict=True):
            gradient = self._back(name, gradient, before, gradients)
            if before is not hidden[0]:
                self.layer_kernels.rectified(gradient, before)
        of_users, of_items = (np.zeros((len(each), gradient.shape[1]), dtype=np.float32) for each in inputs)
        self.kernels.split_pairs(gradient, hidden[0], some.owners, some.items.places, of_users, of_items)
        of_inputs = (
            self._back("of_user", of_users, inputs[0], gradients), self._back("of_item", of_items, inputs[1], gradients)
        )  # fmt: skip
        del gradients["of_item.bias"]  # users and items share one
        return of_inputs

    def _back(self, layer: str, gradient: FloatArray, inputs: FloatArray, gradients: _Gradients) -> FloatArray:
        """Adds to `gradients` those of a layer; returns that of its inputs."""
        weight, of_inputs = self.weights[f"{layer}.weight"], np.empty_like(inputs)
        of_weight, of_bias = np.empty_like(weight), _empty(len(weight))
        self.layer_kernels.backward(gradient, inputs, weight, of_weight, of_bias, of_inputs)
        gradients[f"{layer}.weight"], gradients[f"{layer}.bias"] = of_weight, of_bias
        return of_inputs

    def _move(self, kind: str, some: Placed, n_pairs: int, of_factors: FloatArray, of_inputs: FloatArray) -> None:
        """Move the rows of users or items."""
        pulls = some.counts * np.float32(self.l2)
        self.optimiser.move_placed(f"{kind}_factors", some.rows, of_factors, pulls, 1 / n_pairs)
        self.optimiser.move_placed(f"{kind}_inputs", some.rows, of_inputs, pulls, 1 / n_pairs)

    def _move_layers(self, gradients: _Gradients, n_pairs: int) -> None:
        """Move the layers, all pulled to 0, and the output weights, of which those of products are pulled to 1."""
        of_output, size = gradients["output.weight"], self.size
        of_output[:size] += self.l2 * n_pairs * (self.output[:size] - 1)
        of_output[size:] += self.dense_l2 * n_pairs * self.output[size:]
        pulled = ("of_user.weight", "of_item.weight", *(f"{name}.weight" for name in self.layers))
        self.optimiser.move_dense(gradients, dict.fromkeys(pulled, self.dense_l2 * n_pairs), 1 / n_pairs)


def _empty(*shape: int) -> FloatArray:
    return np.empty(shape, dtype=np.float32)


def _joined(parts: Sequence[IntArray]) -> IntArray:
    """Several arrays as one; a single one stays as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
