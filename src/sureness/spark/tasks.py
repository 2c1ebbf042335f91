"""What runs on executors: Arrow batches become tables of whole users, and tables become batches.

Executors need sureness, which brings numpy and polars, and PyArrow, which Spark needs for Arrow anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_ROWS = 500_000
"""Rows of a task that are held at a time; Arrow batches are far smaller."""


def tables(batches: Iterator[pa.RecordBatch], rows: int = BLOCK_ROWS) -> Iterator[pl.DataFrame]:
    """The rows of a partition in blocks; empty batches vanish."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(each.num_rows for each in held) >= rows:
            yield table_of(held)
            held = []
    if held:
        yield table_of(held)


def table_of(batches: list[pa.RecordBatch]) -> pl.DataFrame:
    """Batches of one schema as one table."""
    import pyarrow as pa

    found = pl.from_arrow(pa.Table.from_batches(batches))
    assert isinstance(found, pl.DataFrame)
    return found


def user_tables(batches: Iterator[pa.RecordBatch], user: str, rows: int = BLOCK_ROWS) -> Iterator[pl.DataFrame]:
    """The rows of a partition, whose users come one after the other, in blocks of whole users."""
    kept: pl.DataFrame | None = None
    for table in tables(batches, rows):
        joined = table if kept is None else pl.concat([kept, table])
        whole = joined[user].ne_missing(joined[user][-1])
        kept = joined.filter(~whole)
        if whole.any():
            yield joined.filter(whole)
    if kept is not None:
        yield kept


def batches_of(table: pl.DataFrame, schema: pa.Schema) -> list[pa.RecordBatch]:
    """A table as Arrow batches of the types that Spark expects."""
    found: list[pa.RecordBatch] = table.to_arrow().select(schema.names).cast(schema).to_batches()
    return found
