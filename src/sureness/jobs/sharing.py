"""Share pages or a budget between the lists of a table, block by block of users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import numpy as np
import polars as pl

from sureness._progress import Progress
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.jobs.inputs import counter
from sureness.jobs.ranked import Ranked, RankedTable, sized
from sureness.lists.budgets import BudgetAllocation, spend_budget, spread_budget
from sureness.lists.comparing import compare_worth
from sureness.lists.expectation import expected_utility
from sureness.lists.pages import allocate_domains, equal_shares
from sureness.lists.ragged import Ragged, row_starts, similar_lengths
from sureness.metrics.utility import at_sizes, utility_at_every_size
from sureness.numerics.ranking import NOTHING

_CELLS = 500_000  # probabilities in the matrix of some users


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """What the lists of a table share, and how long each may be."""

    lists: RankedTable
    utility: str
    min_size: int
    max_size: int
    progress: Progress


@dataclass
class Totals:
    """What the lists are worth, beside equal shares; summed over blocks of users."""

    n_shown: int = 0
    expected: float = 0.0
    expected_of_equal: float = 0.0
    realised: list[FloatArray] = field(default_factory=list)  # (2, n) by labels, each user's lists and equal ones

    def add(self, sizes: IntArray, worth: FloatArray, worth_of_equal: FloatArray) -> None:
        """Count the lists of a block."""
        self.n_shown += int(sizes.sum())
        self.expected += float(worth.sum())
        self.expected_of_equal += float(worth_of_equal.sum())

    def judge(self, lists: Ranked, sizes: IntArray, equal: IntArray, sharing: Sharing) -> None:
        """Compare with equal shares by the labels of a later period, if there are any."""
        if (labels := lists.labels) is None:
            return
        hits, found = lists.rows(labels), np.empty((2, len(sizes)))
        for some in similar_lengths(lists.lengths, _CELLS):
            part = hits.take(some)
            rows = part.padded(max(1, min(sharing.max_size, int(part.lengths.max(initial=0)))))
            n_relevant = np.bincount(np.repeat(np.arange(len(some)), part.lengths), part.values, len(some))
            values = utility_at_every_size(rows, n_relevant.astype(np.int64), sharing.utility)
            found[:, some] = at_sizes(values, sizes[some]), at_sizes(values, equal[some])
        self.realised.append(found.reshape(2, lists.n_users, -1).sum(axis=2))

    def held_out(self) -> dict[str, float] | None:
        """The paired comparison by labels."""
        return asdict(compare_worth(*np.concatenate(self.realised, axis=1))) if self.realised else None


def share_pages(sharing: Sharing, slots: int, totals: Totals, *, items: bool) -> Iterator[pl.DataFrame]:
    """Share the slots of each user's page between domains; yields what is to be written."""
    count = counter(sharing.progress, "sharing pages", sharing.lists.found.n_users)
    for lists in sharing.lists.blocks():
        sizes, equal = np.zeros((2, len(lists.lengths)), dtype=np.int64)
        worth, worth_of_equal = np.zeros((2, len(lists.lengths)))
        for some, values in _expected(lists, sharing):
            lengths = lists.lengths[some].reshape(-1, len(lists.lengths) // lists.n_users)
            width = values.shape[1]
            bounds = {"min_size": min(sharing.min_size, width), "max_size": width}
            page = allocate_domains(values.reshape(*lengths.shape, width), slots, lengths=lengths, **bounds)
            sizes[some], equal[some] = page.sizes.ravel(), equal_shares(slots, lengths, **bounds).ravel()
            worth[some], worth_of_equal[some] = page.values.ravel(), at_sizes(values, equal[some])
        totals.add(sizes, worth, worth_of_equal)
        totals.judge(lists, sizes, equal, sharing)
        count(lists.n_users)
        yield lists.shown(sizes) if items else lists.sized(sizes, worth)


def share_budget(
    sharing: Sharing, budget: float, totals: Totals, about: dict[str, float], *, items: bool
) -> Iterator[pl.DataFrame]:
    """Share a budget between all users; yields what is to be written, and says in `about` what was spent.

    The worth of every size is kept for all users, their candidates are not: they are read again if they are needed.
    """
    keys, found, equal = _spend(sharing, budget, totals)
    about |= {"budget": budget, "spent": found.spent, "price": found.price, "bound": found.bound}
    if not items:
        yield sized(keys, found.sizes, found.value)
    if not items and "label" not in sharing.lists.columns:
        return
    first = 0
    for lists in sharing.lists.blocks():
        own = slice(first, first + len(lists.lengths))
        totals.judge(lists, found.sizes[own], equal[own], sharing)
        first = own.stop
        if items:
            yield lists.shown(found.sizes[own])


def _spend(sharing: Sharing, budget: float, totals: Totals) -> tuple[pl.DataFrame, BudgetAllocation, IntArray]:
    """Whose lists there are, what each gets of the budget, and what equal shares would be."""
    keys, worth, cost = worth_of_all(sharing)
    lows, highs = np.minimum(sharing.min_size, worth.lengths), worth.lengths
    found = spend_budget(worth, budget, cost, lows, highs)
    equal = spread_budget(budget, cost, lows, highs)
    totals.add(found.sizes, found.value, worth.at(equal))
    return keys, found, equal


def worth_of_all(sharing: Sharing) -> tuple[pl.DataFrame, Ragged, Ragged]:
    """Whose lists there are, what their first items are worth, and what each item costs."""
    survey, with_cost = sharing.lists.found, "cost" in sharing.lists.columns
    count = counter(sharing.progress, "expected utility", survey.n_users)
    worth = np.empty(survey.n_rows)  # memory that is never touched costs nothing
    costs: list[AnyArray] = []
    keys, lengths, used = [], [], 0
    for lists in sharing.lists.blocks():
        own = np.minimum(lists.lengths, sharing.max_size)
        starts = row_starts(own) + used
        for some, values in _expected(lists, sharing):
            there = np.arange(values.shape[1]) < own[some][:, None]
            worth[(starts[some][:, None] + np.arange(values.shape[1]))[there]] = values[there]
        if with_cost:
            costs.append(lists.table["cost"].to_numpy()[lists.ranks < sharing.max_size])
        keys.append(lists.keys)
        lengths.append(own)
        used = int(starts[-1])
        count(lists.n_users)
    starts = row_starts(np.concatenate(lengths))
    cost = Ragged(np.concatenate(costs), starts) if with_cost else Ragged(np.ones(1, dtype=np.int64), NOTHING)
    return pl.concat(keys), Ragged(worth[:used], starts), cost


def _expected(lists: Ranked, sharing: Sharing) -> Iterator[tuple[IntArray, FloatArray]]:
    """What the lists of some users are expected to be worth, for every size; with the numbers of these lists."""
    candidates = lists.rows(lists.table["probability"].to_numpy().astype(np.float64))
    n_domains = len(lists.lengths) // lists.n_users
    longest = lists.per_user(lists.lengths).max(axis=1)
    for users in similar_lengths(longest, _CELLS // n_domains):
        some = (users[:, None] * n_domains + np.arange(n_domains)).ravel()
        rows = candidates.take(some).padded(int(longest[users].max()))
        width = min(sharing.max_size, rows.shape[1])
        yield some, expected_utility(rows, sharing.utility, max_size=width, lengths=lists.lengths[some])
