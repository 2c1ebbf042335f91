"""A budget shared between users: list sizes whose total expected utility is largest, or equal ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import DataError, SettingError
from sureness.lists._allocation_checks import (
    check_finite,
    check_lengths,
    check_limits,
    check_utilities,
    kernels,
    within,
)
from sureness.lists.ragged import Ragged
from sureness.numerics.checks import LARGEST, as_array, brief
from sureness.numerics.ranking import NOTHING

_ROUNDING = 1e-12  # three items of 0.1 fit a budget of 0.3, although their sum is slightly more
_SMALLEST_COST = 1e-100  # dividing a gain by less could overflow
_EXACT_CELLS = 4_000_000  # cells of the dynamic programme that solves small budgets exactly


@dataclass(frozen=True, eq=False, kw_only=True)
class BudgetAllocation:
    """How many items each user sees under a budget for all of them."""

    sizes: IntArray  # (n_users,)
    value: FloatArray  # (n_users,) expected utility of each list
    spent: float  # total cost, within the budget
    price: float  # expected utility of one more unit of the budget; 0 if every user has the best list
    bound: float  # no allocation is worth more than `total + bound`; 0 if this one is optimal

    __repr__ = fields_repr

    @property
    def total(self) -> float:
        """Expected utility of all lists together."""
        return float(self.value.sum())


def allocate_budget(
    utilities: ArrayLike,
    budget: float,
    *,
    cost: ArrayLike | None = None,
    min_size: ArrayLike = 0,
    max_size: ArrayLike | None = None,
    lengths: ArrayLike | None = None,
) -> BudgetAllocation:
    """Choose the list sizes of all users so that the total expected utility is maximal within a budget.

    Every step to a longer list has a price: its gain per cost on the concave envelope of the user's utilities. Steps
    above one common price are taken, then the rest of the budget goes to the best steps that still fit. The result is
    optimal up to `bound`, which is 0 if utilities are concave and all items cost the same, and at most one step of one
    user otherwise. Small problems with equal costs are always solved exactly.

    Parameters
    ----------
    utilities : array-like of shape (n_users, max_size)
        Entry [u, k - 1] is the expected utility of k items.
    budget : float
        May exceed the cost of all lists, or be infinite.
    cost : float or array-like that broadcasts to (n_users, max_size), optional
        Cost of the item at each rank, not negative; by default 1.
    min_size, max_size : int or array-like of shape (n_users,)
        Bounds for the size of a list. Minimum sizes are paid first. A user with fewer candidates sees all of them.
    lengths : array-like of shape (n_users,), optional
        Number of candidates; utilities of longer lists are ignored.

    Returns
    -------
    BudgetAllocation

    Notes
    -----
    Beyond its input it needs a few numbers per user and 10 MB, because envelopes are computed again in each of five
    passes instead of being stored. Steps of equal price are taken in the order of the rows.

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
    check_finite(Ragged.of_matrix(worth), known, 1)
    return spend_budget(Ragged.of_matrix(worth), budget, cost_rows(cost, (n_users, width)), lows, highs)


def spend_budget(worth: Ragged, budget: float, cost: Ragged, lows: IntArray, highs: IntArray) -> BudgetAllocation:
    """`allocate_budget` for lists that need not be equally long, with bounds for each that its candidates allow."""
    costs, limit, unit = check_costs(cost, check_budget(budget))
    check_minimum(paid(costs, lows), limit, unit, budget)
    sizes, price, bound = _spend(worth, costs, lows, highs, limit)
    if bound > 0 and costs.values.size == 1 and len(lows) * (limit + 1) <= _EXACT_CELLS:
        sizes, bound = _one_page(worth, int(limit), lows, highs), 0.0
    spent = paid(costs, sizes) * unit
    return BudgetAllocation(sizes=sizes, value=worth.at(sizes), spent=spent, price=price / unit, bound=bound)


def _one_page(worth: Ragged, limit: int, lows: IntArray, highs: IntArray) -> IntArray:
    """The best sizes under a small budget that counts items: one page, with the users as its domains."""
    width = max(1, min(limit, int(highs.max(initial=0))))
    sizes = np.zeros((1, len(lows)), dtype=np.int64)
    known = np.minimum(highs, width)[None]
    kernels().share_slots(worth.padded(width)[None], np.array([limit]), lows, highs, known, sizes)
    return sizes.ravel()


def _spend(
    worth: Ragged, costs: Ragged, lows: IntArray, highs: IntArray, limit: float
) -> tuple[IntArray, float, float]:
    """Sizes, the price of the first step that does not fit, and a bound on what better sizes could gain.

    If the last step could be taken in part, the total would be optimal, and no allocation of whole steps exceeds it. So
    no allocation gains more than the rest of the budget at that price.
    """
    search, marked = PriceSearch(limit - paid(costs, lows)), np.ones(len(lows), dtype=bool)
    while not search.found:
        search = search.narrowed(search.bins(worth, costs, lows, highs, marked))
    price = search.price
    sizes, tied = sizes_above(worth, costs, lows, highs, price)
    if price == 0:
        return sizes, 0.0, 0.0
    sizes, bound = spend_rest(worth, costs, lows, highs, price, limit - paid(costs, sizes), sizes, tied)
    return sizes, price, bound


def most_spent(budget: float, *, whole: bool) -> float:
    """What may be spent of a budget; rounded down where all costs are whole numbers."""
    cost = Ragged(np.ones(2, dtype=np.int64 if whole else np.float64), np.array([0, 2]))
    return check_costs(cost, check_budget(budget))[1]


@dataclass(frozen=True)
class PriceSearch:
    """The price at which the steps of all envelopes together exceed the budget, found 16 bits at a time.

    So the steps need not be listed or sorted, and sums over parts of the users can be added up.
    """

    left: float  # of the budget, for steps of the price that is searched for and below
    known: int = 0  # the leading bits of the price
    shift: int = 48  # of the next 16 bits; negative: all are known

    @property
    def found(self) -> bool:
        return self.shift < 0

    @property
    def price(self) -> float:
        """0 if all steps fit."""
        return float(np.int64(self.known).view(np.float64))

    def bins(self, worth: Ragged, costs: Ragged, lows: IntArray, highs: IntArray, marked: BoolArray) -> FloatArray:
        """What the steps of users cost, by the next 16 bits of their price; only users with such steps stay marked."""
        problem = (tuple(worth), tuple(costs), lows, highs)
        cost: FloatArray = kernels().cost_by_price(*problem, self.known, self.shift, marked)
        return cost

    def narrowed(self, bins: FloatArray) -> PriceSearch:
        """The search after a pass over all users."""
        expensive_first = bins[::-1]
        sums = np.cumsum(expensive_first)
        if self.shift == 48 and sums[-1] <= self.left:
            return PriceSearch(self.left, 0, -1)
        over = np.flatnonzero(sums > self.left)
        place = int(over[0] if len(over) else np.flatnonzero(expensive_first)[-1])  # empty only by rounding
        left = self.left - (float(sums[place - 1]) if place else 0.0)
        return PriceSearch(left, self.known << 16 | len(bins) - 1 - place, self.shift - 16)


def sizes_above(
    worth: Ragged, costs: Ragged, lows: IntArray, highs: IntArray, price: float
) -> tuple[IntArray, BoolArray]:
    """Sizes after all steps above a price, and whose next step has just that price."""
    sizes, tied = np.empty(len(lows), dtype=np.int64), np.empty(len(lows), dtype=bool)
    kernels().take_above(tuple(worth), tuple(costs), lows, highs, price, sizes, tied)
    return sizes, tied


def spend_rest(
    worth: Ragged,
    costs: Ragged,
    lows: IntArray,
    highs: IntArray,
    price: float,
    left: float,
    sizes: IntArray,
    tied: BoolArray,
) -> tuple[IntArray, float]:
    """Sizes after what is left was spent at just the price and then on what still fits, and a bound on better ones."""
    problem = (tuple(worth), tuple(costs), lows, highs)
    sizes = sizes.copy()
    left = kernels().take_tied(*problem, price, max(left, 0.0), tied, sizes)
    gained = kernels().fill_up(*problem[:2], highs, left, sizes) if left > 0 else 0.0
    return sizes, max(price * left - gained, 0.0)


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


def check_budget(budget: float) -> float:
    if not isinstance(budget, int | float | np.integer | np.floating) or isinstance(budget, bool) or not budget >= 0:
        raise SettingError(f"budget must be a number, 0 or more, got {brief(budget)}")
    return float(budget)


def cost_rows(cost: ArrayLike | None, shape: tuple[int, int]) -> Ragged:
    """Costs that broadcast over users and ranks as one row for all users, or as a row for each."""
    costs = as_array(1 if cost is None else cost, "cost")
    sides = (1,) * (2 - costs.ndim) + costs.shape
    if len(sides) > 2 or any(own not in (1, wanted) for own, wanted in zip(sides, shape, strict=True)):
        raise SettingError(f"cost must be one number or broadcast to the shape {shape} of the lists, got {costs.shape}")
    return Ragged(costs.ravel(), NOTHING) if sides[0] == 1 else Ragged.of_matrix(costs.reshape(sides))


def check_costs(cost: Ragged, budget: float) -> tuple[Ragged, float, float]:
    """Costs as numbers of double precision, the limit, and the unit of both."""
    if cost.values.dtype.kind not in "iuf":
        raise DataError(f"cost must be numbers, got values of type {cost.values.dtype}")
    costs = np.ascontiguousarray(cost.values, dtype=np.float64)
    usable = (costs == 0) | ((costs >= _SMALLEST_COST) & (costs <= LARGEST))
    if not usable.all():
        raise DataError(f"costs must be finite and not negative, got {costs[~usable][0]}; correct them")
    limit = budget * (1 + _ROUNDING)
    if costs.size == 1 and (unit := float(costs[0])) > 0:
        return Ragged(np.ones(1), NOTHING), float(np.floor(limit / unit)), unit
    whole = cost.values.dtype.kind in "iu"
    return Ragged(costs, cost.starts), float(np.floor(limit)) if whole else limit, 1.0


def check_minimum(needed: float, limit: float, unit: float, budget: float) -> None:
    """Refuse minimum sizes that the budget does not cover; `needed` and `limit` are in units."""
    if needed > limit:
        raise SettingError(
            f"the minimum sizes of all users must fit the budget, but they cost {needed * unit:g} of {budget:g}; "
            "lower min_size or raise the budget"
        )


def paid(costs: Ragged, sizes: IntArray) -> float:
    """The total cost of lists of these sizes."""
    if costs.values.size == 1:
        return float(costs.values[0]) * int(sizes.sum())
    paid = np.empty(len(sizes))
    kernels().pay(tuple(costs), sizes, paid)
    return float(paid.sum())
