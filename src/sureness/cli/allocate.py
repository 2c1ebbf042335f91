"""sureness allocate: a table of probabilities becomes list sizes that share a page or a budget."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
import typer
from rich.progress import Progress

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.cli._columns import DomainColumn, ItemColumn, Json, LabelColumn, UserColumn, renamed
from sureness.cli._console import out, print_json, print_table, progress_bar
from sureness.data.tables import count_rows, readable, require_columns, scan_table, write_table
from sureness.errors import DataError
from sureness.list_size.allocation import (
    allocate_budget,
    allocate_domains,
    equal_budget,
    equal_shares,
    evaluate_allocation,
)
from sureness.list_size.expectation import expected_utility
from sureness.metrics.utility import at_sizes
from sureness.numerics.checks import check_labels, check_probabilities

UtilityName = Literal["ndcg", "pdcg", "f1", "tp", "dcg"]
_LONGEST = 50  # list under a budget, unless said otherwise
_BLOCK = 4_000_000  # probabilities that are looked at at once


def allocate(
    table: Annotated[
        Path, typer.Argument(help="Table with user_id, item_id and probability (.parquet, .csv, .tsv), all candidates.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the list sizes go.")],
    slots: Annotated[
        int | None, typer.Option(min=0, help="Items on each user's page, shared by domains (column domain).")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="What all lists together may cost; an item costs 1, or its column cost.")
    ] = None,
    utility: Annotated[UtilityName, typer.Option(help="What a list is worth to a user.")] = "f1",
    min_size: Annotated[int, typer.Option(min=0, help="Fewest items of a domain, or of a user under a budget.")] = 0,
    max_size: Annotated[
        int | None, typer.Option(min=1, help=f"Most of them; if not given the slots, or {_LONGEST} under a budget.")
    ] = None,
    items: Annotated[bool, typer.Option("--items", help="Write the shown items instead of the list sizes.")] = False,
    probability_column: Annotated[
        str, typer.Option(help="Column with the probabilities.", rich_help_panel="Columns")
    ] = "probability",
    cost_column: Annotated[
        str, typer.Option(help="Column with what an item costs, if any.", rich_help_panel="Columns")
    ] = "cost",
    label_column: LabelColumn = "label",
    user_column: UserColumn = "user_id",
    item_column: ItemColumn = "item_id",
    domain_column: DomainColumn = "domain",
    json: Json = False,
) -> None:
    """Choose list sizes that compete: for the slots of a page, or for a budget over all users.

    With a column of labels, of a later period, the result is compared with equal shares.
    """
    if (slots is None) == (budget is None):
        raise DataError("give either --slots, for domains on one page, or --budget, over all users")
    if max_size is not None and max_size < min_size:
        raise DataError(f"--max-size must be at least --min-size, got {max_size} and {min_size}")
    if output.resolve() == table.resolve():
        raise DataError(f"the output must be another file than the input {table}")
    columns = renamed(
        user_id=user_column, item_id=item_column, domain=domain_column, probability=probability_column,
        cost=cost_column, label=label_column,
    )  # fmt: skip
    lists = _read(table, columns, by_domain=slots is not None)
    longest = max_size or max(slots or _LONGEST, min_size)
    width = min(longest, int(lists.lengths.max()))
    bounds = {"min_size": min(min_size, width), "max_size": width}
    with progress_bar(json) as bar:
        worth = _expected(lists, utility, width, bar)
    if budget is None:
        sizes, equal, about = _share_page(lists, worth, slots or 0, bounds)
    else:
        sizes, equal, about = _share_budget(lists, worth, budget, bounds)
    write_table(lists.shown(sizes) if items else lists.sized(sizes, at_sizes(worth, sizes)), output)
    result = {"table": str(table), "output": str(output), "users": lists.n_users, "pairs": lists.table.height}
    result |= {"utility": utility, "shown": int(sizes.sum())} | about
    for name, chosen in (("expected_utility", sizes), ("expected_utility_of_equal_shares", equal)):
        result[name] = float(at_sizes(worth, chosen).sum()) / lists.n_users
    if lists.labels is not None:
        result["held_out"] = _judged(lists, sizes, equal, utility, width)
    print_json(result) if json else _print(result)


@dataclass(frozen=True, eq=False)
class _Ranked:
    """All candidates, best first within each list; a list belongs to a user, or to a user and a domain."""

    table: pl.DataFrame  # the candidates, list after list
    keys: pl.DataFrame  # (n_lists) whose lists they are, users in the slow order
    n_users: int
    lengths: IntArray  # (n_lists,)
    labels: BoolArray | None  # (n_pairs,)

    @property
    def starts(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @property
    def ranks(self) -> IntArray:
        """From 0."""
        return np.arange(self.table.height) - np.repeat(self.starts[:-1], self.lengths)

    def per_user(self, values: AnyArray) -> AnyArray:
        """Lists as rows of users: (n_users, n_domains, ...)."""
        return values.reshape(self.n_users, -1, *values.shape[1:])

    def padded(self, values: AnyArray, width: int, first: int = 0, last: int | None = None) -> AnyArray:
        """A column of the table as rows of some lists, cut at a width and filled up with 0."""
        lengths, starts = self.lengths[first:last], self.starts[first:]
        part = slice(int(starts[0]), int(starts[len(lengths)]))
        rows = np.repeat(np.arange(len(lengths)), lengths)
        ranks = np.arange(part.stop - part.start) - np.repeat(starts[: len(lengths)] - starts[0], lengths)
        result = np.zeros((len(lengths), width), dtype=values.dtype)
        result[rows[ranks < width], ranks[ranks < width]] = values[part][ranks < width]
        return result

    def sized(self, sizes: IntArray, worth: FloatArray) -> pl.DataFrame:
        return self.keys.with_columns(pl.Series("list_size", sizes), pl.Series("expected_utility", worth))

    def shown(self, sizes: IntArray) -> pl.DataFrame:
        own = [name for name in ("domain", "item_id", "probability") if name in self.table.columns]
        names = [*self.keys.columns, "rank", *(name for name in own if name not in self.keys.columns)]
        kept = pl.Series(self.ranks < np.repeat(sizes, self.lengths))
        return self.table.with_columns(pl.Series("rank", self.ranks + 1)).filter(kept).select(names)


def _read(path: Path, columns: dict[str, str], *, by_domain: bool) -> _Ranked:
    """A table sorted into lists; equal probabilities stay in the order of the file."""
    frame = scan_table(path, columns, numbers=("probability", "label", "cost"))
    needed = ["user_id", *(["domain"] if by_domain else []), "item_id", "probability"]
    require_columns(frame, needed, path)
    count_rows(frame, path)
    there = frame.collect_schema().names()
    with readable(path):
        others = [name for name in ("domain", "label", "cost") if name in there and name not in needed]
        table = frame.select(*needed, *others).collect()
    _check(table, path)
    groups = needed[:-2]
    table = table.sort([*groups, "probability"], descending=[False] * len(groups) + [True], maintain_order=True)
    keys = table.select("user_id").unique().sort("user_id")
    n_users = keys.height
    if by_domain:
        keys = keys.join(table.select("domain").unique().sort("domain"), how="cross", maintain_order="left_right")
    counted = keys.join(table.group_by(groups).len(), on=groups, how="left", maintain_order="left")
    labels = check_labels(table["label"].to_numpy()) if "label" in there else None
    return _Ranked(table, keys, n_users, counted["len"].fill_null(0).to_numpy().astype(np.int64), labels)


def _check(table: pl.DataFrame, path: Path) -> None:
    for name in table.columns:
        if n_empty := table[name].null_count():
            raise DataError(f"{path}: column {name} has {n_empty:,} empty values; fill or drop those rows")
    check_probabilities(table["probability"].to_numpy())
    names = [name for name in ("user_id", "domain", "item_id") if name in table.columns]
    if n_twice := table.height - table.select(names).n_unique():
        raise DataError(f"{path}: every {' and '.join(names)} must occur once, got {n_twice:,} rows again; drop them")


def _expected(lists: _Ranked, utility: str, width: int, bar: Progress) -> FloatArray:
    """What each list is expected to be worth, for every size; shape (n_lists, width)."""
    n_lists, n_columns = len(lists.lengths), int(lists.lengths.max())
    probabilities = lists.table["probability"].to_numpy().astype(np.float64)
    worth, size = np.empty((n_lists, width)), max(1, _BLOCK // n_columns)
    task = bar.add_task("expected utility", total=n_lists)
    for first in range(0, n_lists, size):
        last = min(first + size, n_lists)
        rows, lengths = lists.padded(probabilities, n_columns, first, last), lists.lengths[first:last]
        worth[first:last] = expected_utility(rows, utility, max_size=width, lengths=lengths)
        bar.advance(task, last - first)
    return worth


def _share_page(
    lists: _Ranked, worth: FloatArray, slots: int, bounds: dict[str, int]
) -> tuple[IntArray, IntArray, dict[str, Any]]:
    lengths = lists.per_user(lists.lengths)
    found = allocate_domains(lists.per_user(worth), slots, lengths=lengths, **bounds)
    return found.sizes.ravel(), equal_shares(slots, lengths, **bounds).ravel(), {"slots": slots}


def _share_budget(
    lists: _Ranked, worth: FloatArray, budget: float, bounds: dict[str, int]
) -> tuple[IntArray, IntArray, dict[str, Any]]:
    cost: AnyArray | None = None
    if "cost" in lists.table.columns:
        cost = lists.padded(lists.table["cost"].to_numpy(), worth.shape[1])
    found = allocate_budget(worth, budget, cost=cost, lengths=lists.lengths, **bounds)
    equal = equal_budget(budget, lists.lengths, cost=cost, **bounds)
    about = {"budget": _known(budget), "spent": found.spent, "price": found.price, "bound": found.bound}
    return found.sizes, equal, about


def _judged(lists: _Ranked, sizes: IntArray, equal: IntArray, utility: str, width: int) -> dict[str, Any]:
    labels = np.asarray(lists.labels)
    n_relevant = np.bincount(np.repeat(np.arange(len(lists.lengths)), lists.lengths), labels, len(lists.lengths))
    hits = lists.padded(labels, width)
    found = evaluate_allocation(
        lists.per_user(sizes), lists.per_user(equal), lists.per_user(hits),
        lists.per_user(n_relevant.astype(np.int64)), utility=utility,
    )  # fmt: skip
    return {name: _known(value) for name, value in asdict(found).items()}


def _known(value: float) -> float | None:
    """JSON has neither NaN nor infinity."""
    return value if math.isfinite(value) else None


def _print(result: dict[str, Any]) -> None:
    rows: list[tuple[str, object]] = [("users", result["users"]), ("items shown", result["shown"])]
    if "spent" in result:
        rows += [("spent", f"{result['spent']:,.10g}"), ("one more unit would gain", result["price"])]
        rows.append(("below the best by at most", result["bound"]))
    name = result["utility"].upper()
    rows += [
        (f"expected {name} a user", result["expected_utility"]),
        ("with equal shares", result["expected_utility_of_equal_shares"]),
    ]
    if held_out := result.get("held_out"):
        rows += [
            (f"held-out {name} a user", held_out["value"]),
            ("with equal shares", held_out["reference"]),
            ("difference", held_out["difference"]),
            ("standard error", held_out["standard_error"]),
            ("p-value of a paired t-test", held_out["p_value"]),
        ]
    print_table("Allocated", ["what", "value"], rows)
    out.print(f"wrote {result['output']}", markup=False, soft_wrap=True)


COMMAND = allocate
