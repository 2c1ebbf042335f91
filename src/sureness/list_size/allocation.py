"""Slots that lists compete for: domains on one page, users under one budget, trending items in what remains.

Every function looks at what lists are expected to be worth, one value for each size, as `expected_utility` gives it; a
list of 0 items is worth 0. Nothing is assumed of the values: they may fall, rise again or be negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import DataError
from sureness.list_size._allocation_checks import (
    check_budget,
    check_costs,
    check_finite,
    check_items,
    check_lengths,
    check_limits,
    check_minimum,
    check_room,
    check_seen,
    check_shown,
    check_trending,
    check_utilities,
    check_whole,
    kernels,
    within,
)
from sureness.metrics.utility import Utility, at_sizes, utility_at_every_size

_EXACT_CELLS = 4_000_000  # of the dynamic programme that solves small budgets exactly
_ROWS = 1 << 16  # lists that are judged at once


@dataclass(frozen=True, eq=False, kw_only=True)
class DomainAllocation:
    """How many items of each domain stand on each user's page."""

    sizes: IntArray  # (n_users, n_domains)
    values: FloatArray  # (n_users, n_domains) what each part is expected to be worth

    @property
    def value(self) -> FloatArray:
        """What each page is expected to be worth; shape (n_users,)."""
        return np.asarray(self.values.sum(axis=1))


@dataclass(frozen=True, eq=False, kw_only=True)
class BudgetAllocation:
    """How many items each user sees under a budget for all of them."""

    sizes: IntArray  # (n_users,)
    value: FloatArray  # (n_users,) what each list is expected to be worth
    spent: float  # total cost, within the budget
    price: float  # expected utility that one more unit of the budget would buy; 0 if everybody has the best list
    bound: float  # no allocation is worth more than this one and so much; 0 where it is the best

    @property
    def total(self) -> float:
        """What all lists together are expected to be worth."""
        return float(self.value.sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Pages:
    """Pages of personal items followed by trending ones."""

    items: IntArray  # (n_users, slots), -1 where nothing is left to show
    personal: BoolArray  # (n_users, slots) which of them are the user's own


@dataclass(frozen=True, kw_only=True)
class AllocationComparison:
    """Held-out utility of an allocation against another one, user by user."""

    n_users: int
    value: float  # mean over users of the total over their lists
    reference: float  # the same with the sizes it is compared with
    difference: float  # value - reference
    standard_error: float  # of the difference; NaN for a single user
    p_value: float  # of a two-sided paired t-test; NaN for a single user


def allocate_domains(
    utilities: ArrayLike,
    slots: ArrayLike,
    *,
    min_size: ArrayLike = 0,
    max_size: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
) -> DomainAllocation:
    """Share the slots of each user's page among domains so that the total expected utility is the largest possible.

    Exact. Among equally good pages the one with the fewest items is taken, so slots that gain nothing stay free.

    Parameters
    ----------
    utilities : array-like of shape (n_users, n_domains, max_size)
        Entry [u, x, k - 1] is what k items of domain x are expected to be worth.
    slots : int or array-like of shape (n_users,)
        How many items a page holds.
    min_size, max_size : int or array-like of shape (n_domains,)
        Bounds for the items of a domain; without `max_size` all sizes that `utilities` knows. A domain with fewer
        candidates than `min_size` shows all of them.
    lengths : array-like of shape (n_users, n_domains), optional
        How many candidates there are; utilities beyond do not count.

    Returns
    -------
    DomainAllocation

    Notes
    -----
    Sizes that are not worth more than a smaller one are left out. Domains whose utilities rise less and less are shared
    out item by item, the others join by a dynamic programme, whose last step needs one cell only.

    Examples
    --------
    >>> books, films = [0.5, 0.7, 0.8], [0.4, 0.3, 0.9]
    >>> page = allocate_domains([[books, films]], slots=4)
    >>> page.sizes, page.value
    (array([[1, 3]]), array([1.4]))
    >>> allocate_domains([[books, films]], slots=4, max_size=[3, 2]).sizes
    array([[3, 1]])
    """
    worth = check_utilities(utilities, "(n_users, n_domains, max_size)", 3)
    n_users, n_domains, width = worth.shape
    pages = check_whole(slots, "slots", n_users, "user")
    lows, highs = check_limits(min_size, max_size, n_domains, width, "domain")
    known = check_lengths(lengths, (n_users, n_domains), width)
    check_room(within(lows, highs, known)[0], pages)
    sizes, values = np.zeros((n_users, n_domains), dtype=np.int64), np.zeros((n_users, n_domains))
    kernels().share_slots(worth, pages, lows, highs, known, sizes, values)
    if np.isnan(values).any():
        check_finite(worth.reshape(-1, width), known.ravel(), n_domains)
    return DomainAllocation(sizes=sizes, values=values)


def allocate_budget(
    utilities: ArrayLike,
    budget: float,
    *,
    cost: ArrayLike | None = None,
    min_size: ArrayLike = 0,
    max_size: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
) -> BudgetAllocation:
    """Choose everybody's list size so that the total expected utility is large and the total cost within a budget.

    Every step to a longer list has a price, its gain per cost on the concave envelope of the user's utilities. Steps
    above one common price are taken, then what is left goes to the best steps that still fit. The result is the best
    possible one, up to `bound`: 0 if utilities rise less and less and all items cost the same, at most one step of one
    user otherwise. Small problems in which all items cost the same are always solved exactly.

    Parameters
    ----------
    utilities : array-like of shape (n_users, max_size)
        Entry [u, k - 1] is what k items are expected to be worth.
    budget : float
        May be more than everything costs, or infinite.
    cost : float or array-like that broadcasts to (n_users, max_size), optional
        What the item at each rank costs, not negative; 1 if not given.
    min_size, max_size : int or array-like of shape (n_users,)
        Bounds for the size of a list. Minimum sizes are paid first. A user with fewer candidates sees all of them.
    lengths : array-like of shape (n_users,), optional
        How many candidates there are; utilities beyond do not count.

    Returns
    -------
    BudgetAllocation

    Notes
    -----
    Beyond its input it holds a few numbers a user and 10 MB, since envelopes are built again in each of five passes
    instead of being kept. Users come in the order of the rows where steps have the same price.

    Examples
    --------
    >>> found = allocate_budget([[0.5, 0.7, 0.8], [0.4, 0.5, 0.5]], budget=3)
    >>> found.sizes, round(found.total, 3), round(found.price, 3), found.bound
    (array([2, 1]), 1.1, 0.1, 0.0)
    >>> allocate_budget([[0.5, 0.7], [0.4, 0.5]], budget=3, cost=[[3, 1], [1, 2]]).sizes
    array([0, 2])
    """
    worth = check_utilities(utilities, "(n_users, max_size)", 2)
    n_users, width = worth.shape
    known = check_lengths(lengths, (n_users,), width)
    lows, highs = within(*check_limits(min_size, max_size, n_users, width, "user"), known)
    check_finite(worth, known, 1)
    costs, limit, unit = check_costs(cost, check_budget(budget), (n_users, width))
    check_minimum(_paid(costs, lows), limit, unit, budget)
    sizes, price, bound = _spend(worth, costs, lows, highs, limit)
    if bound > 0 and costs.size == 1 and n_users * (limit + 1) <= _EXACT_CELLS:  # one page with the users as domains
        values = np.empty((1, n_users))
        kernels().share_slots(worth[None], np.array([int(limit)]), lows, highs, known[None], sizes[None], values)
        bound = 0.0
    return BudgetAllocation(
        sizes=sizes, value=_values(worth, sizes), spent=_paid(costs, sizes) * unit, price=price / unit, bound=bound
    )


def equal_shares(
    slots: ArrayLike, lengths: ArrayLike, *, min_size: ArrayLike = 0, max_size: ArrayLike | None = None
) -> IntArray:
    """The page that treats all domains alike, to compare with: as many items of each, and no slot left free.

    What a domain with few candidates does not need goes to the others; the earlier domains get the odd items.

    Parameters
    ----------
    slots : int or array-like of shape (n_users,)
    lengths : array-like of shape (n_users, n_domains)
        How many candidates there are.
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
    """The sizes that treat all users alike, to compare with: the same number of items for everybody.

    It is the largest number that the budget pays for; what is left gives the earlier users one item more.

    Parameters
    ----------
    budget : float
    lengths : array-like of shape (n_users,)
        How many candidates there are.
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
    n_ranks = max((width, *np.shape(1 if cost is None else cost)[-1:]))  # costs may know of longer lists
    costs, limit, unit = check_costs(cost, check_budget(budget), (len(known), n_ranks))
    check_minimum(_paid(costs, lows), limit, unit, budget)
    level, beyond = 0, width + 1
    while beyond - level > 1:
        middle = (level + beyond) // 2
        if _paid(costs, np.clip(middle, lows, highs)) <= limit:
            level = middle
        else:
            beyond = middle
    sizes = np.clip(level, lows, highs)
    growing = (highs > level) & (lows <= level)
    if growing.any():
        more = np.where(growing, costs[:, min(level, costs.shape[1] - 1)], 0)
        sizes += growing & (np.cumsum(more) <= limit - _paid(costs, sizes))
    return np.asarray(sizes, dtype=np.int64)


def fill_with_trending(
    items: ArrayLike,
    sizes: ArrayLike,
    trending: ArrayLike,
    slots: int,
    *,
    seen: tuple[IntArray, IntArray] | None = None,
    users: ArrayLike | None = None,
) -> Pages:
    """Fill what personal lists leave of a page with items that trend, each at most once and none that was seen.

    Parameters
    ----------
    items : array-like of shape (n_users, max_size)
        Row numbers of each user's own items, best first; -1 where there is none.
    sizes : array-like of shape (n_users,)
        How many of them are shown.
    trending : array-like of shape (n_trending,)
        Row numbers of the items that everybody likes, best first.
    slots : int
        How many items a page holds.
    seen : (starts, values), optional
        Trending items that are not for everybody, as sparse rows: those of user u are the sorted
        ``values[starts[u] : starts[u + 1]]``.
    users : array-like of shape (n_users,), optional
        Which rows of `seen` belong to the lists; by default the first ones, in order.

    Returns
    -------
    Pages

    Examples
    --------
    >>> pages = fill_with_trending([[7, 3, 5], [2, 4, 6]], sizes=[2, 1], trending=[3, 2, 9], slots=4)
    >>> pages.items
    array([[ 7,  3,  2,  9],
           [ 2,  3,  9, -1]])
    >>> pages.personal.sum(axis=1)
    array([2, 1])
    """
    lists = check_items(items)
    chosen = check_whole(sizes, "sizes", len(lists), "user")
    n_slots = int(check_whole(slots, "slots", 1, "page")[0])
    if len(chosen) and chosen.max() > min(n_slots, lists.shape[1]):
        raise DataError(
            f"sizes must be at most the {n_slots} slots of a page and the {lists.shape[1]} items of a row, "
            f"got {chosen.max()}"
        )
    popular = check_trending(trending)
    rows = np.arange(len(lists)) if users is None else check_whole(users, "users", len(lists), "list")
    starts, values = check_seen(seen, rows)
    pages = np.empty((len(lists), n_slots), dtype=np.int64)
    personal = np.empty((len(lists), n_slots), dtype=bool)
    kernels().fill_pages(lists, chosen, popular, rows, starts, values, pages, personal)
    return Pages(items=pages, personal=personal)


def evaluate_allocation(
    sizes: ArrayLike,
    reference: ArrayLike,
    hits: ArrayLike,
    n_relevant: ArrayLike,
    *,
    utility: str | Utility = "f1",
) -> AllocationComparison:
    """What an allocation was worth on held-out labels, compared with other sizes, such as equal shares.

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
    return _compare(*worth.reshape(2, len(found), -1).sum(axis=2))


def _compare(own: FloatArray, other: FloatArray) -> AllocationComparison:
    from scipy.special import stdtr

    difference, n_users = own - other, len(own)
    mean = float(difference.mean())
    error = float(difference.std(ddof=1) / np.sqrt(n_users)) if n_users > 1 else float("nan")
    if error == 0:
        chance = 1.0 if mean == 0 else 0.0
    else:
        chance = float(2 * stdtr(n_users - 1, -abs(mean / error))) if n_users > 1 else float("nan")
    return AllocationComparison(
        n_users=n_users, value=float(own.mean()), reference=float(other.mean()), difference=mean,
        standard_error=error, p_value=chance,
    )  # fmt: skip


def _spend(
    worth: FloatArray, costs: FloatArray, lows: IntArray, highs: IntArray, limit: float
) -> tuple[IntArray, float, float]:
    """Sizes, the price of the first step that does not fit, and a bound on what better sizes could gain.

    If the last step could be taken in part, the total would be the best one, and no whole steps reach more. So nothing
    better gains more than what is left at that price.
    """
    compiled, problem = kernels(), (worth, costs, lows, highs)
    sizes, tied = np.empty(len(worth), dtype=np.int64), np.empty(len(worth), dtype=bool)
    price = _threshold_price(*problem, limit - _paid(costs, lows))
    compiled.take_above(*problem, price, sizes, tied)
    if price == 0:
        return sizes, 0.0, 0.0
    left = compiled.take_tied(*problem, price, max(limit - _paid(costs, sizes), 0.0), tied, sizes)
    gained = compiled.fill_up(worth, costs, highs, left, sizes) if left > 0 else 0.0
    return sizes, price, max(price * left - gained, 0.0)


def _threshold_price(worth: FloatArray, costs: FloatArray, lows: IntArray, highs: IntArray, left: float) -> float:
    """The price at which the steps of all envelopes together exceed the budget; 0 if they never do.

    Found 16 bits at a time: no list of all steps is made, let alone sorted.
    """
    compiled, known, marked = kernels(), 0, np.ones(len(worth), dtype=bool)
    for shift in (48, 32, 16, 0):
        bins = compiled.cost_by_price(worth, costs, lows, highs, known, shift, marked)[::-1]  # dear steps first
        sums = np.cumsum(bins)
        if shift == 48 and sums[-1] <= left:
            return 0.0
        over = np.flatnonzero(sums > left)
        place = int(over[0] if len(over) else np.flatnonzero(bins)[-1])  # none only if sums are rounded differently
        left -= float(sums[place - 1]) if place else 0.0
        known = known << 16 | len(bins) - 1 - place
    return float(np.int64(known).view(np.float64))


def _values(worth: FloatArray, sizes: IntArray) -> FloatArray:
    rows = at_sizes(worth.reshape(-1, worth.shape[-1]), sizes.ravel())
    return np.asarray(rows.reshape(sizes.shape), dtype=np.float64)


def _paid(costs: FloatArray, sizes: IntArray) -> float:
    """What the first items of all users cost together."""
    if costs.size == 1:
        return float(costs[0, 0]) * int(sizes.sum())
    paid = np.empty(len(sizes))
    kernels().pay(costs, sizes, paid)
    return float(paid.sum())
