"""What runs on executors: Arrow batches become tables, and what goes wrong there comes back as a value.

Executors need sureness, which brings numpy and polars, and PyArrow, which Spark needs for Arrow anyway. An exception in
a task would be tried again and again, and reach the driver as a traceback; a sentence about the data reaches it as it
is.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from sureness.errors import SurenessError

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_ROWS = 500_000
"""Rows of a task that are held at a time; Arrow batches are far smaller."""

PARTIAL = "place int, value binary, code string, sentence string"
"""The columns of what a task found: something pickled, or a problem."""


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


def partial(place: int, value: object) -> pa.RecordBatch:
    """What a task found, and where it is merged with what others found."""
    return _row(place, pickle.dumps(value), None, None)


def problem(error: SurenessError) -> pa.RecordBatch:
    """What is wrong with the data of a task."""
    return _row(0, None, error.code, str(error))


def _row(place: int, value: bytes | None, code: str | None, sentence: str | None) -> pa.RecordBatch:
    import pyarrow as pa

    types = {"place": pa.int32(), "value": pa.binary(), "code": pa.string(), "sentence": pa.string()}
    values = (place, value, code, sentence)
    return pa.RecordBatch.from_arrays(
        [pa.array([each], kind) for each, kind in zip(values, types.values(), strict=True)], names=list(types)
    )


def unpacked(found: pa.Table) -> list[Any]:
    """What tasks found; the first problem is raised, as if it had happened here."""
    for code, sentence in zip(found["code"].to_pylist(), found["sentence"].to_pylist(), strict=True):
        if code is not None:
            raise error_with(code)(sentence)
    return [pickle.loads(value) for value in found["value"].to_pylist()]


def error_with(code: str) -> type[SurenessError]:
    """The class of errors with a code.

    Examples
    --------
    >>> error_with("column").__name__
    'ColumnError'
    """
    waiting: list[type[SurenessError]] = [SurenessError]
    while waiting:
        if (each := waiting.pop()).code == code:
            return each
        waiting += each.__subclasses__()
    return SurenessError
