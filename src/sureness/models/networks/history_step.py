"""The compiled step of CDAE: gradients of a batch of users, then Adam on the rows it touched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.models.networks.batches import SoftItems
from sureness.models.networks.optimiser import Placed, RowAdam

_TABLES = ("users_in", "items_in", "items_out", "item_level")


class Histories(NamedTuple):
    """Users of a batch, their pairs and their histories."""

    users: IntArray  # (U,)
    pairs: IntArray  # (U + 1,) where the pairs of each user begin in the batch
    starts: IntArray  # (U + 1,) where the history of each user begins in `items`
    items: IntArray  # (H,)
    weights: FloatArray  # (H,) float32, 0 for items that are dropped


def fused_history_step(
    n_pairs: int, optimiser: RowAdam, tasks: Sequence[tuple[SoftItems, Histories]], l2: float
) -> float:
    """One step of CDAE with one hidden layer, on the CPU and in one thread; returns the mean loss without L2.

    Parameters
    ----------
    n_pairs : int
        By which the sums are divided.
    optimiser : RowAdam
    tasks : sequence of (SoftItems, Histories)
        The batch with its own labels, which bears the L2, then soft labels of another model if there are any. Both are
        of the same users. The first item of a pair with its own labels is its positive.
    l2 : float
    """
    from sureness.models.networks import _history_kernels as kernels  # loads the compiler

    optimiser.steps += 1
    users, inputs, outputs, _ = touched = _touched(optimiser, tasks)
    bias: FloatArray = optimiser.parameters["first_bias"].detach().numpy()
    tables = [optimiser.buffer(name).table for name in _TABLES]
    gradients = [optimiser.cleared(name, some) for name, some in zip(_TABLES, touched, strict=True)]
    of_bias, loss, read, drawn = np.zeros_like(bias), 0.0, n_pairs, 0
    for task, histories in tasks:
        of_read, of_drawn = slice(read, read + len(histories.items)), slice(drawn, drawn + task.items.size)
        read, drawn = of_read.stop, of_drawn.stop
        loss += kernels.history_gradients(
            *tables, bias, histories, users.places[histories.pairs[:-1]], inputs.places[of_read], task,
            outputs.places[of_drawn], *gradients, of_bias, *np.empty((2, len(bias)), dtype=np.float32),
        )  # fmt: skip
    for name, some, gradient, pull in zip(_TABLES, touched, gradients, (l2, l2, l2, 0.0), strict=True):
        optimiser.move_placed(name, some.rows, gradient, some.counts * np.float32(pull), 1 / n_pairs)
    optimiser.move_dense({"first_bias": of_bias}, {}, 1 / n_pairs)
    return float(loss) / n_pairs


def _touched(optimiser: RowAdam, tasks: Sequence[tuple[SoftItems, Histories]]) -> tuple[Placed, ...]:
    """The rows of each table that are touched, and how often L2 pulls them.

    Items are read as positives, which bear the L2, and as histories; the places of the histories follow in this order.
    """
    own, histories = tasks[0]
    positives = own.items[:, 0]
    users = optimiser.placed("users_in", np.repeat(histories.users, np.diff(histories.pairs)), len(positives))
    read = np.concatenate([positives, *(each.items for _, each in tasks)])
    inputs = optimiser.placed("items_in", read, len(positives))
    scored = own.items.ravel() if len(tasks) == 1 else np.concatenate([task.items.ravel() for task, _ in tasks])
    outputs = optimiser.placed("items_out", scored, own.items.size)
    return users, inputs, outputs, outputs
