"""Tables in parts that hold whole users, in bounded memory where the rows are sorted by user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from sureness._wording import counted
from sureness.errors import ColumnError, EmptyError
from sureness.tables.files import is_text
from sureness.tables.frames import HeldTable, Place
from sureness.tables.reading import BATCH_ROWS, readable
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
    kept: pl.DataFrame | None = None
    with readable(path):
        if by_user:
            batches: Iterator[pl.DataFrame] = _batches(frame, path)
        else:
            batches = frame.collect().sort(user, maintain_order=True).iter_slices(BATCH_ROWS)
        for batch in batches:
            joined = batch if kept is None else pl.concat([kept, batch])
            whole = joined[user] != joined[user][-1]
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


def write_blocks(blocks: Iterator[pl.DataFrame], path: Path | None) -> pl.DataFrame | None:
    """Write tables one after the other into one file, holding one at a time; whole or not at all.

    Without a path, they are put together in memory and given back.
    """
    if path is None:
        return pl.concat(blocks)
    first = next(blocks)

    def source(*_: object) -> Iterator[pl.DataFrame]:
        yield first
        yield from blocks

    write_table(register_io_source(source, schema=first.schema), path)
    return None


def _is_named(frame: pl.LazyFrame, user: str) -> bool:
    return frame.collect_schema()[user] in (pl.Categorical, pl.Enum)


def _counted(users: pl.LazyFrame, user: str, path: Place) -> Survey:
    found = users.group_by(user).len().collect(engine="streaming")
    _refuse_empty(int(found.filter(pl.col(user).is_null())["len"].sum()), user, path)
    counts: dict[int, int] = {}
    _add(counts, found["len"])
    return _surveyed(counts, by_user=False)


def _refuse_empty(n_empty: int, user: str, path: Place) -> None:
    if n_empty:
        raise ColumnError(f"{path}: column {user} has {counted(n_empty, 'empty value')}; fill or drop those rows")


def _add(counts: dict[int, int], lengths: pl.Series) -> None:
    for length, n_users in lengths.value_counts().rows():
        counts[length] = counts.get(length, 0) + n_users


def _surveyed(counts: dict[int, int], *, by_user: bool) -> Survey:
    n_rows = sum(length * n_users for length, n_users in counts.items())
    longest = max(counts)
    return Survey(n_rows, sum(counts.values()), by_user, longest, counts[longest])
