"""Tables in blocks of whole users, in bounded memory where rows are sorted by user; and their lists, best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import ColumnError, EmptyError
from sureness.lists.ragged import Ragged, row_starts
from sureness.numerics.checks import check_labels, check_probabilities
from sureness.tables.columns import Columns, TextFormat
from sureness.tables.files import is_text
from sureness.tables.frames import HeldTable, Place
from sureness.tables.reading import BATCH_ROWS, readable, recognised, require_columns, scan_table
from sureness.tables.writing import write_table

_MOSTLY = 0.9  # share of users with equally many rows from which a table looks cut


@dataclass(frozen=True)
class Survey:
    """What a first look at a table says, before its probabilities are read."""

    n_rows: int
    n_users: int
    by_user: bool  # whether the rows are sorted by user, so that a user is whole once another one begins
    longest: int  # rows of the user with the most
    at_longest: int  # users with as many rows as that


def survey(frame: pl.LazyFrame, path: Place, user: str = "user_id") -> Survey:
    """Look at the column of users, or other groups, in batches as long as they are sorted."""
    counts: dict[int, int] = {}
    last, n_last = None, 0
    users = frame.select(pl.col(user).cast(pl.String) if _is_named(frame, user) else user)
    with readable(path):
        for batch in users.collect_batches(chunk_size=BATCH_ROWS):
            _refuse_empty(batch[user].null_count(), user, path)
            runs = batch[user].rle().struct.unnest()
            if last is not None:
                runs = pl.concat([pl.DataFrame({"len": [n_last], "value": [last]}, schema=runs.schema), runs])
                if runs["value"][0] == runs["value"][1]:
                    runs = pl.concat([runs[1:2].with_columns(pl.col("len") + n_last), runs[2:]])
            if not (runs["value"] > runs["value"].shift())[1:].all():
                return _counted(users, user, path)
            _add(counts, runs["len"][:-1])
            last, n_last = runs["value"][-1], int(runs["len"][-1])
    if last is None:
        raise EmptyError(f"{path} has no rows; expected at least one pair")
    _add(counts, pl.Series([n_last]))
    return _surveyed(counts, by_user=True)


def looks_cut(frame: pl.LazyFrame, found: Survey, path: Place) -> bool:
    """Whether a table has only the best items of each user: nearly all have equally many rows, fewer than items."""
    if found.n_users < 2 or found.at_longest < _MOSTLY * found.n_users:
        return False
    with readable(path):
        n_items = frame.select(pl.col("item_id").n_unique()).collect(engine="streaming").item()
    return int(n_items) > found.longest


def blocks_of_users(
    frame: pl.LazyFrame, path: Place, *, by_user: bool, user: str = "user_id"
) -> Iterator[pl.DataFrame]:
    """The table in parts that hold whole users; one that is not sorted by user is sorted in memory."""
    with readable(path):
        if by_user:
            batches: Iterator[pl.DataFrame] = _batches(frame, path)
        else:
            batches = frame.collect().sort(user, maintain_order=True).iter_slices(BATCH_ROWS)
        yield from whole_users(batches, user)


def whole_users(batches: Iterable[pl.DataFrame], user: str) -> Iterator[pl.DataFrame]:
    """Rows whose users come one after the other, in parts that hold whole users."""
    kept: pl.DataFrame | None = None
    for batch in batches:
        joined = batch if kept is None else pl.concat([kept, batch])
        whole = joined[user].ne_missing(joined[user][-1])
        kept = joined.filter(~whole)
        if whole.any():
            yield joined.filter(whole)
    if kept is not None:
        yield kept


def _batches(frame: pl.LazyFrame, path: Place) -> Iterator[pl.DataFrame]:
    """The rows in order; a Parquet file is read slice by slice, because batches are read far ahead of their use."""
    if isinstance(path, HeldTable) or is_text(path):
        yield from frame.collect_batches(chunk_size=BATCH_ROWS)
        return
    n_rows = int(frame.select(pl.len()).collect().item())
    for start in range(0, n_rows, BATCH_ROWS):
        yield frame.slice(start, BATCH_ROWS).collect()


def write_blocks(
    blocks: Iterator[pl.DataFrame], path: Path | None, text: TextFormat | None = None
) -> pl.DataFrame | None:
    """Write tables one after the other into one file, holding one at a time; whole or not at all.

    Without a path, they are put together in memory and given back.
    """
    if path is None:
        return pl.concat(blocks)
    first = next(blocks)

    def source(*_: object) -> Iterator[pl.DataFrame]:
        yield first
        yield from blocks

    write_table(register_io_source(source, schema=first.schema), path, text=text)
    return None


def _is_named(frame: pl.LazyFrame, user: str) -> bool:
    return frame.collect_schema()[user] in (pl.Categorical, pl.Enum)


def _counted(users: pl.LazyFrame, user: str, path: Place) -> Survey:
    found = users.group_by(user).len().collect(engine="streaming")
    _refuse_empty(int(found.filter(pl.col(user).is_null())["len"].sum()), user, path)
    counts: dict[int, int] = {}
    _add(counts, found["len"])
    return _surveyed(counts, by_user=False)


def _refuse_empty(n_empty: int, name: str, path: Place) -> None:
    if n_empty:
        raise ColumnError(f"{path}: column {name} has {counted(n_empty, 'empty value')}; fill or drop those rows")


def _add(counts: dict[int, int], lengths: pl.Series) -> None:
    for length, n_users in lengths.value_counts().rows():
        counts[length] = counts.get(length, 0) + n_users


def _surveyed(counts: dict[int, int], *, by_user: bool) -> Survey:
    n_rows = sum(length * n_users for length, n_users in counts.items())
    longest = max(counts)
    return Survey(n_rows, sum(counts.values()), by_user, longest, counts[longest])


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
    columns = recognised(path, columns.only(*_NAMES), "user_id", "item_id")
    frame = scan_table(path, columns, numbers=("probability", "label", "cost"))
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
        _refuse_empty(table[name].null_count(), name, path)
    check_probabilities(table["probability"])
    names = [name for name in ("user_id", "domain", "item_id") if name in table.columns]
    if n_twice := table.height - table.select(names).n_unique():
        raise ColumnError(
            f"{path}: every {' and '.join(names)} must occur once, got {counted(n_twice, 'row')} again; drop them"
        )
