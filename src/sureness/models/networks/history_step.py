"""The compiled step of CDAE: gradients of a batch of users, then Adam on the rows it touched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.models.networks.batches import SoftItems
from sureness.models.networks.optimiser import RowAdam

_TABLES = ("users_in", "items_in", "items_out")


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
        The batch with its own labels, which bears the L2, then soft labels of another model if there are any.
    l2 : float
    """
    from sureness.models.networks import _entropy_kernels as kernels  # loads the compiler

    optimiser.steps += 1
    rows = [optimiser.buffer(name).emptied() for name in _TABLES]
    levels, bias = optimiser.buffer("item_level"), optimiser.parameters["first_bias"].detach().numpy()
    of_bias, loss = np.zeros_like(bias), 0.0
    for number, (task, histories) in enumerate(tasks):
        pull = np.float32(0.0 if number else l2)
        loss += kernels.history_gradients(
            *rows, levels.table, levels.gradient, bias, of_bias, histories, task, pull, optimiser.steps
        )
    for name, touched in zip(_TABLES, rows, strict=True):
        optimiser.move_touched(name, int(touched.n_touched[0]), 1 / n_pairs)
    optimiser.move_rows("item_level", optimiser.touched("items_out", int(rows[-1].n_touched[0])), 1 / n_pairs)
    optimiser.move_dense("first_bias", of_bias, 1 / n_pairs)
    return float(loss) / n_pairs
