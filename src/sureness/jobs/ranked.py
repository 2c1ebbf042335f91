"""The candidates of a table as lists, best first, one per user or one per user and domain; in blocks of whole users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import ColumnError
from sureness.jobs._user_blocks import Survey, blocks_of_users, survey
from sureness.lists.ragged import Ragged, row_starts
from sureness.numerics.checks import check_labels, check_probabilities
from sureness.tables.columns import Columns
from sureness.tables.frames import HeldTable, Place
from sureness.tables.reading import readable, require_columns, scan_table

_NAMES = ("user_id", "item_id", "domain", "probability", "cost", "label")


@dataclass(frozen=True, eq=False)
class Ranked:
    """All candidates of some users, best first; a list belongs to a user, or to a user and a domain."""

    table: pl.DataFrame  # the candidates, list after list
    keys: pl.DataFrame  # (n_lists) whose lists they are, grouped by user
    n_users: int
    lengths: IntArray  # (n_lists,)

    @property
    def labels(self) -> BoolArray | None:
        """Which candidates turned out to be relevant, where the table says so."""
        return check_labels(self.table["label"]) if "label" in self.table.columns else None

    @property
    def ranks(self) -> IntArray:
        """The place of each candidate in its list, from 0."""
        return np.arange(self.table.height) - np.repeat(row_starts(self.lengths)[:-1], self.lengths)

    def rows(self, values: AnyArray) -> Ragged:
        """Numbers of the candidates as rows of their lists."""
        return Ragged(values, row_starts(self.lengths))

    def per_user(self, values: AnyArray) -> AnyArray:
        """Values of lists as rows of users: (n_users, n_domains, ...)."""
        return values.reshape(self.n_users, -1, *values.shape[1:])

    def sized(self, sizes: IntArray, worth: FloatArray) -> pl.DataFrame:
        """One row per list: its size and its expected utility."""
        return sized(self.keys, sizes, worth)

    def shown(self, sizes: IntArray) -> pl.DataFrame:
        """The candidates that lists of these sizes show."""
        own = [name for name in ("domain", "item_id", "probability") if name in self.table.columns]
        names = [*self.keys.columns, "rank", *(name for name in own if name not in self.keys.columns)]
        ranks = self.ranks
        kept = pl.Series(ranks < np.repeat(sizes, self.lengths))
        return self.table.with_columns(pl.Series("rank", ranks + 1)).filter(kept).select(names)


@dataclass(frozen=True, eq=False)
class RankedTable:
    """A table of candidates that is read in blocks of whole users, as often as it takes."""

    path: Place
    frame: pl.LazyFrame
    found: Survey
    domains: pl.DataFrame | None  # all there are, where every domain of a user is a list

    @property
    def columns(self) -> list[str]:
        return self.frame.collect_schema().names()

    def blocks(self) -> Iterator[Ranked]:
        """All users in the order of their ids; equal probabilities stay in the order of the file."""
        for block in blocks_of_users(self.frame, self.path, by_user=self.found.by_user):
            _check(block, self.path)
            yield _ranked(block, self.domains)


def open_ranked(path: Place, columns: Columns, *, by_domain: bool) -> RankedTable:
    """Look at a table of candidates, without reading its probabilities yet."""
    columns.refuse_shared(*_NAMES)
    frame = scan_table(path, columns.only(*_NAMES), numbers=("probability", "label", "cost"))
    needed = ["user_id", *(["domain"] if by_domain else []), "item_id", "probability"]
    require_columns(frame, needed, path)
    there = [name for name in ("domain", "label", "cost") if name in frame.collect_schema().names()]
    frame = frame.select(*needed, *(name for name in there if name not in needed))
    found = survey(frame, path)
    if not by_domain:
        return RankedTable(path, frame, found, None)
    with readable(path):
        domains = frame.select(pl.col("domain").drop_nulls()).unique().sort("domain").collect(engine="streaming")
    return RankedTable(path, frame, found, domains)


def held_ranked(table: pl.DataFrame, domains: pl.DataFrame | None) -> RankedTable:
    """Candidates in memory, sorted by user."""
    place = HeldTable(table, table.lazy())
    return RankedTable(place, place.frame, survey(place.frame, place), domains)


def sized(keys: pl.DataFrame, sizes: IntArray, worth: FloatArray) -> pl.DataFrame:
    """One row per list: whose it is, its size and its expected utility."""
    return keys.with_columns(pl.Series("list_size", sizes), pl.Series("expected_utility", worth))


def _ranked(table: pl.DataFrame, domains: pl.DataFrame | None) -> Ranked:
    groups = ["user_id", *([] if domains is None else ["domain"])]
    table = table.sort([*groups, "probability"], descending=[False] * len(groups) + [True], maintain_order=True)
    keys = table.select("user_id").unique().sort("user_id")
    n_users = keys.height
    if domains is not None:
        keys = keys.join(domains, how="cross", maintain_order="left_right")
    counted = keys.join(table.group_by(groups).len(), on=groups, how="left", maintain_order="left")
    return Ranked(table, keys, n_users, counted["len"].fill_null(0).to_numpy().astype(np.int64))


def _check(table: pl.DataFrame, path: Place) -> None:
    for name in table.columns:
        if n_empty := table[name].null_count():
            raise ColumnError(f"{path}: column {name} has {counted(n_empty, 'empty value')}; fill or drop those rows")
    check_probabilities(table["probability"])
    names = [name for name in ("user_id", "domain", "item_id") if name in table.columns]
    if n_twice := table.height - table.select(names).n_unique():
        raise ColumnError(
            f"{path}: every {' and '.join(names)} must occur once, got {counted(n_twice, 'row')} again; drop them"
        )
