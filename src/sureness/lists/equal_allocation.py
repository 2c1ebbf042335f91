"""Allocations that treat all domains or all users alike, as baselines."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness.lists._allocation_checks import (
    check_budget,
    check_costs,
    check_lengths,
    check_limits,
    check_minimum,
    check_room,
    check_whole,
    cost_rows,
    paid,
    within,
)
from sureness.lists.ragged import Ragged


def equal_shares(
    slots: ArrayLike, lengths: ArrayLike, *, min_size: ArrayLike = 0, max_size: ArrayLike | None = None
) -> IntArray:
    """Give all domains equally many items and leave no slot free, as a baseline.

    Slots that a domain with few candidates cannot use go to the others; earlier domains get the remainder.

    Parameters
    ----------
    slots : int or array-like of shape (n_users,)
    lengths : array-like of shape (n_users, n_domains)
        Number of candidates.
    min_size, max_size : int or array-like of shape (n_domains,)

    Returns
    -------
    array of shape (n_users, n_domains)

    Examples
    --------
    >>> equal_shares(10, [[50, 50, 50], [50, 2, 50]])
    array([[4, 3, 3],
           [4, 2, 4]])
    """
    known = check_lengths(lengths, ("n_users", "n_domains"))
    n_users, n_domains = known.shape
    pages = check_whole(slots, "slots", n_users, "user")
    lows, highs = within(*check_limits(min_size, max_size, n_domains, None, "domain"), known)
    check_room(lows, pages)
    level, beyond = np.zeros(n_users, dtype=np.int64), np.full(n_users, int(highs.max(initial=0)) + 1)
    while np.any(beyond - level > 1):  # the largest level that fits lies in [level, beyond)
        middle = (level + beyond) // 2
        fits = np.clip(middle[:, None], lows, highs).sum(axis=1) <= pages
        level, beyond = np.where(fits, middle, level), np.where(fits, beyond, middle)
    sizes = np.clip(level[:, None], lows, highs)
    growing = (highs > level[:, None]) & (lows <= level[:, None])
    odd = growing & (np.cumsum(growing, axis=1) <= (pages - sizes.sum(axis=1))[:, None])
    return np.asarray(sizes + odd, dtype=np.int64)


def equal_budget(
    budget: float,
    lengths: ArrayLike,
    *,
    cost: ArrayLike | None = None,
    min_size: ArrayLike = 0,
    max_size: ArrayLike | None = None,
) -> IntArray:
    """Give all users the same number of items, as a baseline.

    It is the largest number that the budget covers; the rest gives earlier users one more item.

    Parameters
    ----------
    budget : float
    lengths : array-like of shape (n_users,)
        Number of candidates.
    cost : float or array-like that broadcasts to (n_users, max_size), optional
    min_size, max_size : int or array-like of shape (n_users,)

    Returns
    -------
    array of shape (n_users,)

    Examples
    --------
    >>> equal_budget(8, [50, 50, 1, 50])
    array([3, 2, 1, 2])
    """
    known = check_lengths(lengths, ("n_users",))
    lows, highs = within(*check_limits(min_size, max_size, len(known), None, "user"), known)
    width = int(highs.max(initial=0))
    n_ranks = max((width, *np.shape(1 if cost is None else cost)[-1:]))  # costs may cover longer lists
    return spread_budget(budget, cost_rows(cost, (len(known), n_ranks)), lows, highs)


def spread_budget(budget: float, cost: Ragged, lows: IntArray, highs: IntArray) -> IntArray:
    """`equal_budget` for costs of lists that need not be equally long, with bounds that their candidates allow."""
    costs, limit, unit = check_costs(cost, check_budget(budget))
    check_minimum(paid(costs, lows), limit, unit, budget)
    level, beyond = 0, int(highs.max(initial=0)) + 1
    while beyond - level > 1:
        middle = (level + beyond) // 2
        if paid(costs, np.clip(middle, lows, highs)) <= limit:
            level = middle
        else:
            beyond = middle
    sizes = np.clip(level, lows, highs)
    growing = (highs > level) & (lows <= level)
    if growing.any():
        more = np.where(growing, _costs_at(costs, level, len(lows)), 0)
        sizes += growing & (np.cumsum(more) <= limit - paid(costs, sizes))
    return np.asarray(sizes, dtype=np.int64)


def _costs_at(costs: Ragged, rank: int, n_users: int) -> FloatArray:
    """What each user's item at a rank costs, counted from 0; that of the last rank where there are fewer."""
    starts = costs.starts if len(costs.starts) else np.array([0, len(costs.values)])
    places = np.minimum(starts[:-1] + rank, starts[1:] - 1)
    return np.broadcast_to(costs.values[np.maximum(places, 0)], (n_users,))
