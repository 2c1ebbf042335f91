"""The compiled step of the factor models: gradients of a batch, then Adam on the rows it touched."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.optimiser import RowAdam

_UNWEIGHTED: FloatArray = np.empty((0, 0), dtype=np.float32)


def fused_pairwise_step(
    batch: Batch, optimiser: RowAdam, users: str, items: str, l2: float, weights: FloatArray | None = None,
    soft: SoftItems | None = None,
) -> float:  # fmt: skip
    """One step of a pairwise loss on two tables, on the CPU and in one thread; returns the mean loss.

    It does what `loss`, ``backward`` and `RowAdam.step` do, several times faster, because nothing is allocated and each
    row is worked on while it is in the cache. The tables and moments of the optimiser are changed in place.

    Parameters
    ----------
    batch : Batch
    optimiser : RowAdam
    users, items : str
        The names of the two tables.
    l2 : float
    weights : array of shape (B, n), optional
    soft : SoftItems, optional
        Soft labels of another model, whose loss is added; the returned loss includes it.
    """
    from sureness.models.networks import _kernels  # loads the compiler, which scoring does not need

    optimiser.reach(users, batch.users)
    optimiser.reach(items, batch.positives, batch.negatives, *(() if soft is None else (soft.items,)))
    optimiser.steps += 1
    of_users, of_items = optimiser.buffer(users), optimiser.buffer(items)
    gradients: Any = _kernels.pairwise_gradients
    sums = (
        of_users.gradient, of_items.gradient, of_users.stamps, of_items.stamps, of_users.touched, of_items.touched,
    )  # fmt: skip
    loss, n_users, n_items = gradients(
        of_users.table, of_items.table, batch.users, batch.positives, batch.negatives,
        _UNWEIGHTED if weights is None else weights, np.float32(l2), optimiser.steps, *sums,
    )  # fmt: skip
    n_pairs = batch.negatives.size
    if soft is not None:
        per_pair = np.float32(batch.negatives.shape[1])  # the sums are divided by all negatives, not by the pairs
        added, n_users, n_items = _kernels.soft_gradients(
            of_users.table, of_items.table, batch.users, soft.items, soft.labels, soft.weights * per_pair,
            np.float32(soft.slope), np.float32(soft.shift), optimiser.steps, n_users, n_items, *sums,
        )  # fmt: skip
        loss += added
    optimiser.move_touched(users, n_users, 1 / n_pairs)
    optimiser.move_touched(items, n_items, 1 / n_pairs)
    return float(loss) / n_pairs


def drawn_items(batch: Batch, of_negatives: float = 1.0) -> SoftItems:
    """The positives and negatives of a batch as labels of 1 and 0; a negative has this weight."""
    n_pairs, n_negatives = batch.negatives.shape
    items: IntArray = np.empty((n_pairs, 1 + n_negatives), dtype=np.int64)
    items[:, 0], items[:, 1:] = batch.positives, batch.negatives
    return SoftItems(items, *_own_labels(n_pairs, n_negatives, of_negatives))


@lru_cache(maxsize=4)  # most batches of an epoch are of one shape
def _own_labels(n_pairs: int, n_negatives: int, of_negatives: float) -> tuple[FloatArray, FloatArray]:
    """Labels and weights of a positive and its negatives; not to be written to."""
    labels: FloatArray = np.zeros((n_pairs, 1 + n_negatives), dtype=np.float32)
    weights = np.full_like(labels, of_negatives)
    labels[:, 0], weights[:, 0] = 1.0, 1.0
    return labels, weights
