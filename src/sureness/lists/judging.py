"""What an allocation was worth on held-out labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray
from sureness.errors import DataError
from sureness.lists._allocation_checks import check_shown
from sureness.metrics.differences import paired_difference
from sureness.metrics.utility import Utility, at_sizes, utility_at_every_size

_ROWS = 1 << 16  # lists that are judged at a time


@dataclass(frozen=True, kw_only=True)
class AllocationComparison:
    """Held-out utility of an allocation compared with another one, paired by user."""

    n_users: int
    value: float  # mean over users of the total over their lists
    reference: float  # the same for the reference sizes
    difference: float  # value - reference
    standard_error: float  # of the difference; NaN for a single user
    p_value: float  # of a two-sided paired t-test; NaN for a single user


def evaluate_allocation(
    sizes: ArrayLike,
    reference: ArrayLike,
    hits: ArrayLike,
    n_relevant: ArrayLike,
    *,
    utility: str | Utility = "f1",
) -> AllocationComparison:
    """Compare an allocation with another one, such as equal shares, on held-out labels.

    Parameters
    ----------
    sizes, reference : array-like of shape (n_users, n_domains) or (n_users,)
        Two allocations of the same lists.
    hits : array-like of shape (n_users, n_domains, max_size) or (n_users, max_size)
        Whether the item at each rank turned out to be relevant.
    n_relevant : array-like of the shape of `sizes`
        How many relevant items there were, in the list or not.
    utility : {"ndcg", "pdcg", "f1", "tp", "dcg"} or Utility

    Returns
    -------
    AllocationComparison
        Means over users of the total over domains.

    Examples
    --------
    >>> hits = [[[1, 1, 0], [0, 0, 0]], [[0, 0, 1], [1, 1, 1]]]
    >>> found = evaluate_allocation([[2, 0], [0, 2]], [[1, 1], [1, 1]], hits, [[2, 0], [1, 3]])
    >>> round(found.value, 3), round(found.reference, 3), round(found.difference, 3)
    (0.9, 0.583, 0.317)
    """
    found = np.asarray(hits).astype(bool)
    relevant = np.asarray(n_relevant)
    if found.ndim not in (2, 3) or 0 in found.shape:
        raise DataError(
            f"hits must have shape (n_users, n_domains, max_size) or (n_users, max_size), got {found.shape}"
        )
    chosen, others = (
        check_shown(values, found.shape, name) for name, values in (("sizes", sizes), ("reference", reference))
    )
    if relevant.shape != found.shape[:-1]:
        raise DataError(f"n_relevant must have the shape {found.shape[:-1]} of the sizes, got {relevant.shape}")
    worth = np.empty((2, chosen.size))
    rows, totals = found.reshape(-1, found.shape[-1]), relevant.ravel()
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        values = utility_at_every_size(rows[part], totals[part], utility)
        worth[:, part] = at_sizes(values, chosen.ravel()[part]), at_sizes(values, others.ravel()[part])
    return compare_worth(*worth.reshape(2, len(found), -1).sum(axis=2))


def compare_worth(own: FloatArray, other: FloatArray) -> AllocationComparison:
    """Compare what two allocations were worth to each user."""
    found = paired_difference(own - other)
    return AllocationComparison(
        n_users=len(own), value=float(own.mean()), reference=float(other.mean()), difference=found.value,
        standard_error=found.standard_error, p_value=found.p_value,
    )  # fmt: skip
