"""List sizes that compete: for the slots of a page, or for a budget over all users."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.errors import SettingError
from sureness.jobs._user_blocks import write_blocks
from sureness.jobs.inputs import as_given
from sureness.jobs.options import OneOf
from sureness.jobs.outputs import check_outputs
from sureness.jobs.ranked import open_ranked
from sureness.jobs.results import plain
from sureness.jobs.sharing import Sharing, Totals, share_budget, share_pages
from sureness.lists.expectation import LONGEST
from sureness.metrics.utility import named_utility
from sureness.numerics.checks import check_whole
from sureness.saving.packed import JSON
from sureness.tables.columns import Columns
from sureness.tables.frames import Place, Table, place_of

_LONGEST = 50  # list under a budget, unless said otherwise


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
    check_outputs([(target, "table")], [path])
    named_utility(options.utility)
    lists = open_ranked(path, columns or Columns(), by_domain=options.slots is not None)
    sharing = Sharing(
        lists=lists, utility=options.utility, min_size=options.min_size, max_size=options.longest(), progress=progress
    )
    totals = Totals()
    about: dict[str, float] = {}
    if options.budget is None:
        about["slots"] = options.slots or 0
        blocks = share_pages(sharing, options.slots or 0, totals, items=options.items)
    else:
        blocks = share_budget(sharing, options.budget, totals, about, items=options.items)
    frame = write_blocks(blocks, target)
    n_users = lists.found.n_users
    return AllocateResult(
        table=path, output=target, n_users=n_users, n_pairs=lists.found.n_rows, utility=options.utility,
        n_shown=totals.n_shown, shared=about, expected_utility=totals.expected / n_users,
        expected_utility_of_equal_shares=totals.expected_of_equal / n_users, held_out=totals.held_out(),
        frame=as_given(path, frame),
    )  # fmt: skip
