"""All candidates of a table as lists, best first, one per user or one per user and domain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.data.columns import Columns
from sureness.data.tables import count_rows, readable, require_columns, scan_table
from sureness.errors import ColumnError
from sureness.numerics.checks import check_labels, check_probabilities

_NAMES = ("user_id", "item_id", "domain", "probability", "cost", "label")


@dataclass(frozen=True, eq=False)
class Ranked:
    """All candidates, best first within each list; a list belongs to a user, or to a user and a domain."""

    table: pl.DataFrame  # the candidates, list after list
    keys: pl.DataFrame  # (n_lists) whose lists they are, grouped by user
    n_users: int
    lengths: IntArray  # (n_lists,)
    labels: BoolArray | None  # (n_pairs,)

    @property
    def starts(self) -> IntArray:
        """Where each list begins in the table, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @property
    def ranks(self) -> IntArray:
        """The place of each candidate in its list, from 0."""
        return np.arange(self.table.height) - np.repeat(self.starts[:-1], self.lengths)

    def per_user(self, values: AnyArray) -> AnyArray:
        """Values of lists as rows of users: (n_users, n_domains, ...)."""
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
        """One row per list: its size and its expected utility."""
        return self.keys.with_columns(pl.Series("list_size", sizes), pl.Series("expected_utility", worth))

    def shown(self, sizes: IntArray) -> pl.DataFrame:
        """The candidates that lists of these sizes show."""
        own = [name for name in ("domain", "item_id", "probability") if name in self.table.columns]
        names = [*self.keys.columns, "rank", *(name for name in own if name not in self.keys.columns)]
        kept = pl.Series(self.ranks < np.repeat(sizes, self.lengths))
        return self.table.with_columns(pl.Series("rank", self.ranks + 1)).filter(kept).select(names)


def read_ranked(path: Path, columns: Columns, *, by_domain: bool) -> Ranked:
    """A table sorted into lists; equal probabilities stay in the order of the file."""
    frame = scan_table(path, columns.only(*_NAMES), numbers=("probability", "label", "cost"))
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
    return Ranked(table, keys, n_users, counted["len"].fill_null(0).to_numpy().astype(np.int64), labels)


def _check(table: pl.DataFrame, path: Path) -> None:
    for name in table.columns:
        if n_empty := table[name].null_count():
            raise ColumnError(f"{path}: column {name} has {n_empty:,} empty values; fill or drop those rows")
    check_probabilities(table["probability"].to_numpy())
    names = [name for name in ("user_id", "domain", "item_id") if name in table.columns]
    if n_twice := table.height - table.select(names).n_unique():
        raise ColumnError(f"{path}: every {' and '.join(names)} must occur once, got {n_twice:,} rows again; drop them")
