"""The compiled step of the factor models: gradients of a batch, then Adam on the rows it touched."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.models.networks.batches import Batch, GuidedItems, SoftItems
from sureness.models.networks.optimiser import RowAdam

_NO_NUMBERS: FloatArray = np.empty((0, 0), dtype=np.float32)
_NO_ITEMS: IntArray = np.empty((0, 0), dtype=np.int32)
_NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


class _Soft(NamedTuple):
    """Soft items as the compiled step reads them; an empty array is one that is not given."""

    items: IntArray  # (rows, n)
    rows: IntArray  # (B,) the row of each pair
    labels: FloatArray  # (B, n), or none: those of the guide
    weights: FloatArray  # (B, n), or none: one weight for all
    guide_users: FloatArray
    guide_items: FloatArray
    numbers: tuple[Any, ...]  # steepness, weight, slope, shift


def fused_pairwise_step(
    batch: Batch, optimiser: RowAdam, users: str, items: str, l2: float, weights: FloatArray | None = None,
    soft: SoftItems | GuidedItems | None = None,
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
    soft : SoftItems or GuidedItems, optional
        Soft labels of another model, whose loss is added; the returned loss includes it.
    """
    given = _soft(soft, len(batch.users))
    if optimiser.waits:
        optimiser.reach(users, batch.users)
        optimiser.reach(items, batch.positives, batch.negatives, given.items[given.rows])
    n_pairs = batch.negatives.size
    weighed = _NO_NUMBERS if weights is None else weights
    task = batch.users, batch.positives, batch.negatives, weighed, np.float32(l2), given
    return optimiser.step_pairs(users, items, task, 1 / n_pairs) / n_pairs


def _soft(given: SoftItems | GuidedItems | None, n_pairs: int) -> _Soft:
    if given is None:
        return _NOTHING
    if isinstance(given, SoftItems):
        numbers = _single(1.0, 1.0, given.slope, given.shift)
        rows, empty = np.arange(n_pairs), (_NO_NUMBERS, _NO_NUMBERS)
        return _Soft(given.items, rows, given.labels, given.weights, *empty, numbers)
    numbers = _single(given.steepness, given.weight, given.slope, given.shift)
    factors = given.user_factors, given.item_factors
    return _Soft(given.items, given.rows, _NO_NUMBERS, _NO_NUMBERS, *factors, numbers)


def _single(*numbers: float) -> tuple[Any, ...]:
    return tuple(map(np.float32, numbers))


_NOTHING = _Soft(_NO_ITEMS, _NO_ROWS, *(_NO_NUMBERS,) * 4, _single(1.0, 1.0, 1.0, 0.0))


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
