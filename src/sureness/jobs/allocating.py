"""List sizes that compete: for the slots of a page, or for a budget over all users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.errors import SettingError
from sureness.jobs.blocks import Ranked, RankedTable, open_ranked, sized, write_blocks
from sureness.jobs.inputs import as_given, counter
from sureness.jobs.options import OneOf, plain
from sureness.jobs.outputs import check_outputs
from sureness.lists.budgets import BudgetAllocation, spend_budget, spread_budget
from sureness.lists.comparing import compare_worth
from sureness.lists.expectation import LONGEST, expected_utility
from sureness.lists.pages import allocate_domains, equal_shares
from sureness.lists.ragged import Ragged, row_starts, similar_lengths
from sureness.metrics.utility import at_sizes, named_utility, utility_at_every_size
from sureness.numerics.checks import check_whole
from sureness.numerics.ranking import NOTHING
from sureness.saving.packed import JSON
from sureness.tables.columns import Columns
from sureness.tables.files import format_like
from sureness.tables.frames import Place, Table, place_of

_CELLS = 500_000  # probabilities in the matrix of some users


_LONGEST = 50  # list under a budget, unless another is given


@dataclass(frozen=True, kw_only=True)
class AllocateOptions:
    """What the lists share, and how long one may be."""

    slots: Annotated[int | None, "Items on each user's page, shared by domains (column domain)."] = None
    budget: Annotated[float | None, "What all lists together may cost; an item costs 1, or its column cost."] = None
    utility: Annotated[str, "What a list is worth to a user.", OneOf(("utility",))] = "f1"
    min_size: Annotated[int, "Fewest items of a domain, or of a user under a budget."] = 0
    max_size: Annotated[int | None, f"Most items; by default the slots, or {_LONGEST} under a budget."] = None
    items: Annotated[bool, "Write the shown items instead of the list sizes."] = False

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if (self.slots is None) == (self.budget is None):
            raise SettingError("give either slots, for domains on one page, or budget, over all users")
        if self.slots is not None:
            check_whole(self.slots, "slots", 0, LONGEST)
        check_whole(self.min_size, "min_size", 0, LONGEST)
        if self.max_size is not None:
            check_whole(self.max_size, "max_size", max(1, self.min_size), LONGEST)

    def longest(self) -> int:
        """The longest list that may be shown."""
        return self.max_size or max(self.slots or _LONGEST, self.min_size)


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

    def judge(self, lists: Ranked, sizes: IntArray, equal: IntArray, options: AllocateOptions) -> None:
        """Compare with equal shares by the labels of a later period, if there are any."""
        if (labels := lists.labels) is None:
            return
        hits, found = lists.rows(labels), np.empty((2, len(sizes)))
        for some in similar_lengths(lists.lengths, _CELLS):
            part = hits.take(some)
            rows = part.padded(max(1, min(options.longest(), int(part.lengths.max(initial=0)))))
            n_relevant = np.bincount(np.repeat(np.arange(len(some)), part.lengths), part.values, len(some))
            values = utility_at_every_size(rows, n_relevant.astype(np.int64), options.utility)
            found[:, some] = at_sizes(values, sizes[some]), at_sizes(values, equal[some])
        self.realised.append(found.reshape(2, lists.n_users, -1).sum(axis=2))

    def held_out(self) -> dict[str, float] | None:
        """The paired comparison by labels."""
        return asdict(compare_worth(*np.concatenate(self.realised, axis=1))) if self.realised else None


def share_pages(
    table: RankedTable, options: AllocateOptions, totals: Totals, progress: Progress = silent
) -> Iterator[pl.DataFrame]:
    """Share the slots of each user's page between domains; yields what is to be written."""
    count, slots = counter(progress, "sharing pages", table.found.n_users), options.slots or 0
    for lists in table.blocks():
        sizes, equal = np.zeros((2, len(lists.lengths)), dtype=np.int64)
        worth, worth_of_equal = np.zeros((2, len(lists.lengths)))
        for some, values in _expected(lists, options):
            lengths = lists.lengths[some].reshape(-1, len(lists.lengths) // lists.n_users)
            width = values.shape[1]
            bounds = {"min_size": min(options.min_size, width), "max_size": width}
            page = allocate_domains(values.reshape(*lengths.shape, width), slots, lengths=lengths, **bounds)
            sizes[some], equal[some] = page.sizes.ravel(), equal_shares(slots, lengths, **bounds).ravel()
            worth[some], worth_of_equal[some] = page.values.ravel(), at_sizes(values, equal[some])
        totals.add(sizes, worth, worth_of_equal)
        totals.judge(lists, sizes, equal, options)
        count(lists.n_users)
        yield lists.shown(sizes) if options.items else lists.sized(sizes, worth)


def share_budget(
    table: RankedTable, options: AllocateOptions, totals: Totals, about: dict[str, float], progress: Progress = silent
) -> Iterator[pl.DataFrame]:
    """Share a budget between all users; yields what is to be written, and says in `about` what was spent.

    The worth of every size is kept for all users, their candidates are not: they are read again if they are needed.
    """
    keys, found, equal = _spend(table, options, totals, progress)
    about |= {"budget": options.budget or 0.0, "spent": found.spent, "price": found.price, "bound": found.bound}
    if not options.items:
        yield sized(keys, found.sizes, found.value)
    if not options.items and "label" not in table.columns:
        return
    first = 0
    for lists in table.blocks():
        own = slice(first, first + len(lists.lengths))
        totals.judge(lists, found.sizes[own], equal[own], options)
        first = own.stop
        if options.items:
            yield lists.shown(found.sizes[own])


def _spend(
    table: RankedTable, options: AllocateOptions, totals: Totals, progress: Progress
) -> tuple[pl.DataFrame, BudgetAllocation, IntArray]:
    """Whose lists there are, what each gets of the budget, and what equal shares would be."""
    keys, worth, cost = worth_of_all(table, options, progress)
    lows, highs, budget = np.minimum(options.min_size, worth.lengths), worth.lengths, options.budget or 0.0
    found = spend_budget(worth, budget, cost, lows, highs)
    equal = spread_budget(budget, cost, lows, highs)
    totals.add(found.sizes, found.value, worth.at(equal))
    return keys, found, equal


def worth_of_all(
    table: RankedTable, options: AllocateOptions, progress: Progress = silent
) -> tuple[pl.DataFrame, Ragged, Ragged]:
    """Whose lists there are, what their first items are worth, and what each item costs."""
    with_cost, longest = "cost" in table.columns, options.longest()
    count = counter(progress, "expected utility", table.found.n_users)
    worth = np.empty(table.found.n_rows)  # memory that is never touched costs nothing
    costs: list[AnyArray] = []
    keys, lengths, used = [], [], 0
    for lists in table.blocks():
        own = np.minimum(lists.lengths, longest)
        starts = row_starts(own) + used
        for some, values in _expected(lists, options):
            there = np.arange(values.shape[1]) < own[some][:, None]
            worth[(starts[some][:, None] + np.arange(values.shape[1]))[there]] = values[there]
        if with_cost:
            costs.append(lists.table["cost"].to_numpy()[lists.ranks < longest])
        keys.append(lists.keys)
        lengths.append(own)
        used = int(starts[-1])
        count(lists.n_users)
    starts = row_starts(np.concatenate(lengths))
    cost = Ragged(np.concatenate(costs), starts) if with_cost else Ragged(np.ones(1, dtype=np.int64), NOTHING)
    return pl.concat(keys), Ragged(worth[:used], starts), cost


def _expected(lists: Ranked, options: AllocateOptions) -> Iterator[tuple[IntArray, FloatArray]]:
    """What the lists of some users are expected to be worth, for every size; with the numbers of these lists."""
    candidates = lists.rows(lists.table["probability"].to_numpy().astype(np.float64))
    n_domains = len(lists.lengths) // lists.n_users
    longest = lists.per_user(lists.lengths).max(axis=1)
    for users in similar_lengths(longest, _CELLS // n_domains):
        some = (users[:, None] * n_domains + np.arange(n_domains)).ravel()
        rows = candidates.take(some).padded(int(longest[users].max()))
        width = min(options.longest(), rows.shape[1])
        yield some, expected_utility(rows, options.utility, max_size=width, lengths=lists.lengths[some])


@dataclass(frozen=True, kw_only=True)
class AllocateResult:
    """What was shared out, beside equal shares."""

    table: Place
    output: Path | None
    n_users: int
    n_pairs: int
    utility: str
    n_shown: int
    shared: dict[str, float]  # slots; or budget, spent, price and bound
    expected_utility: float  # mean over users
    expected_utility_of_equal_shares: float
    held_out: dict[str, float] | None  # paired comparison by labels of a later period, if there are any
    frame: Any = None  # without an output: the sizes or items, of the library of the given table

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found: dict[str, Any] = {"table": self.table, "output": self.output, "users": self.n_users}
        found |= {"pairs": self.n_pairs, "utility": self.utility, "shown": self.n_shown, **self.shared}
        for name in ("expected_utility", "expected_utility_of_equal_shares"):
            found[name] = getattr(self, name)
        return plain(found | ({} if self.held_out is None else {"held_out": self.held_out}))  # type: ignore[no-any-return]


def allocate(
    table: Table,
    output: str | PathLike[str] | None,
    options: AllocateOptions,
    *,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> AllocateResult:
    """Choose list sizes that share the slots of a page, or a budget over all users.

    With a column of labels, from a later period, the result is also compared with equal shares. A file whose rows are
    sorted by user may be larger than memory; a budget needs the worth of every list size of all users.

    Parameters
    ----------
    table : table of any kind, or path
        With user_id, item_id and probability of all candidates; with domain for slots.
    output : path or None
        None: the sizes, or the items, are ``frame`` of the result, in the kind of `table`.
    options : AllocateOptions
    columns : Columns, optional
    progress : Progress
    """
    path, target = place_of(table), None if output is None else Path(output)
    options.check()
    columns = columns or Columns()
    check_outputs([(target, "table")], [path])
    named_utility(options.utility)
    lists = open_ranked(path, columns, by_domain=options.slots is not None)
    totals = Totals()
    about: dict[str, float] = {}
    if options.budget is None:
        about["slots"] = options.slots or 0
        blocks = share_pages(lists, options, totals, progress)
    else:
        blocks = share_budget(lists, options, totals, about, progress)
    frame = write_blocks(blocks, target, format_like(path, columns))
    n_users = lists.found.n_users
    return AllocateResult(
        table=path, output=target, n_users=n_users, n_pairs=lists.found.n_rows, utility=options.utility,
        n_shown=totals.n_shown, shared=about, expected_utility=totals.expected / n_users,
        expected_utility_of_equal_shares=totals.expected_of_equal / n_users, held_out=totals.held_out(),
        frame=as_given(path, frame),
    )  # fmt: skip
