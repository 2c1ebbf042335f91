"""List sizes that compete: for the slots of a page, or for a budget over all users."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from sureness._progress import Progress, silent
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.artefacts.packed import JSON
from sureness.data.columns import Columns
from sureness.data.tables import write_table
from sureness.errors import SettingError
from sureness.list_size.allocation import allocate_budget, allocate_domains
from sureness.list_size.equal_allocation import equal_budget, equal_shares
from sureness.list_size.expectation import expected_utility
from sureness.list_size.judging import evaluate_allocation
from sureness.metrics.utility import at_sizes
from sureness.workflows._ranked import Ranked, read_ranked
from sureness.workflows.inputs import counter
from sureness.workflows.options import OneOf
from sureness.workflows.outputs import check_outputs
from sureness.workflows.plain import plain

_LONGEST = 50  # list under a budget, unless said otherwise
_BLOCK = 4_000_000  # probabilities looked at in one step


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
        if self.slots is not None and self.slots < 0:
            raise SettingError(f"slots must not be negative, got {self.slots}")
        if self.min_size < 0 or (self.max_size is not None and self.max_size < max(1, self.min_size)):
            raise SettingError(
                f"sizes must satisfy 0 <= min_size <= max_size with max_size of at least 1, got {self.min_size} and "
                f"{self.max_size}"
            )


@dataclass(frozen=True, kw_only=True)
class AllocateResult:
    """What was shared out, beside equal shares."""

    table: Path
    output: Path
    n_users: int
    n_pairs: int
    utility: str
    n_shown: int
    shared: dict[str, float]  # slots; or budget, spent, price and bound
    expected_utility: float  # mean over users
    expected_utility_of_equal_shares: float
    held_out: dict[str, float] | None  # paired comparison by labels of a later period, if there are any

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found: dict[str, Any] = {"table": self.table, "output": self.output, "users": self.n_users}
        found |= {"pairs": self.n_pairs, "utility": self.utility, "shown": self.n_shown, **self.shared}
        for name in ("expected_utility", "expected_utility_of_equal_shares"):
            found[name] = getattr(self, name)
        return plain(found | ({} if self.held_out is None else {"held_out": self.held_out}))  # type: ignore[no-any-return]


class _Shared(NamedTuple):
    """Sizes of all lists, equal shares beside them, and what the allocation says of itself."""

    sizes: IntArray
    equal: IntArray
    about: dict[str, float]


def allocate(
    table: str | PathLike[str],
    output: str | PathLike[str],
    options: AllocateOptions,
    *,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> AllocateResult:
    """Choose list sizes that share the slots of a page, or a budget over all users.

    With a column of labels, from a later period, the result is also compared with equal shares.

    Parameters
    ----------
    table : path
        With user_id, item_id and probability of all candidates; with domain for slots.
    output : path
    options : AllocateOptions
    columns : Columns, optional
    progress : Progress
    """
    path, target = Path(table), Path(output)
    options.check()
    check_outputs([(target, "table")], [path])
    lists = read_ranked(path, columns or Columns(), by_domain=options.slots is not None)
    longest = options.max_size or max(options.slots or _LONGEST, options.min_size)
    width = min(longest, int(lists.lengths.max()))
    bounds = {"min_size": min(options.min_size, width), "max_size": width}
    worth = _expected(lists, options.utility, width, progress)
    shared = _share(lists, worth, options, bounds)
    sizes = shared.sizes
    write_table(lists.shown(sizes) if options.items else lists.sized(sizes, at_sizes(worth, sizes)), target)
    mean, mean_of_equal = (float(at_sizes(worth, each).sum()) / lists.n_users for each in (sizes, shared.equal))
    return AllocateResult(
        table=path, output=target, n_users=lists.n_users, n_pairs=lists.table.height, utility=options.utility,
        n_shown=int(sizes.sum()), shared=shared.about, expected_utility=mean,
        expected_utility_of_equal_shares=mean_of_equal,
        held_out=None if lists.labels is None else _judged(lists, shared, options.utility, width),
    )  # fmt: skip


def _expected(lists: Ranked, utility: str, width: int, progress: Progress) -> FloatArray:
    """What each list is expected to be worth, for every size; shape (n_lists, width)."""
    n_lists, n_columns = len(lists.lengths), int(lists.lengths.max())
    probabilities = lists.table["probability"].to_numpy().astype(np.float64)
    worth, size = np.empty((n_lists, width)), max(1, _BLOCK // n_columns)
    count = counter(progress, "expected utility", n_lists)
    for first in range(0, n_lists, size):
        last = min(first + size, n_lists)
        rows, lengths = lists.padded(probabilities, n_columns, first, last), lists.lengths[first:last]
        worth[first:last] = expected_utility(rows, utility, max_size=width, lengths=lengths)
        count(last - first)
    return worth


def _share(lists: Ranked, worth: FloatArray, options: AllocateOptions, bounds: dict[str, int]) -> _Shared:
    if options.budget is None:
        slots, lengths = options.slots or 0, lists.per_user(lists.lengths)
        page = allocate_domains(lists.per_user(worth), slots, lengths=lengths, **bounds)
        return _Shared(page.sizes.ravel(), equal_shares(slots, lengths, **bounds).ravel(), {"slots": slots})
    cost: AnyArray | None = None
    if "cost" in lists.table.columns:
        cost = lists.padded(lists.table["cost"].to_numpy(), worth.shape[1])
    found = allocate_budget(worth, options.budget, cost=cost, lengths=lists.lengths, **bounds)
    about = {"budget": options.budget, "spent": found.spent, "price": found.price, "bound": found.bound}
    return _Shared(found.sizes, equal_budget(options.budget, lists.lengths, cost=cost, **bounds), about)


def _judged(lists: Ranked, shared: _Shared, utility: str, width: int) -> dict[str, float]:
    labels = np.asarray(lists.labels)
    n_lists = len(lists.lengths)
    n_relevant = np.bincount(np.repeat(np.arange(n_lists), lists.lengths), labels, n_lists)
    found = evaluate_allocation(
        lists.per_user(shared.sizes), lists.per_user(shared.equal), lists.per_user(lists.padded(labels, width)),
        lists.per_user(n_relevant.astype(np.int64)), utility=utility,
    )  # fmt: skip
    return asdict(found)
