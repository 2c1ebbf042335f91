"""What runs on executors: how fitted objects get there, and Arrow batches as tables of whole users.

Executors need sureness, which brings numpy and polars, and PyArrow, which Spark needs for Arrow anyway. A task is a
function of a module with its settings bound by `functools.partial`, so that it travels by its name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import polars as pl

from sureness.calibration.maps import ProbabilityMap
from sureness.errors import MissingExtraError, SettingError, missing_extra
from sureness.jobs.blocks import whole_users
from sureness.recommender.confident import ConfidentRecommender
from sureness.saving.objects import load
from sureness.sources.function import TorchSource

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

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
    return whole_users(tables(batches, rows), user)


def batches_of(table: pl.DataFrame, schema: pa.Schema) -> list[pa.RecordBatch]:
    """A table as Arrow batches of the types that Spark expects."""
    found: list[pa.RecordBatch] = table.to_arrow().select(schema.names).cast(schema).to_batches()
    return found


def map_or_recommender(given: object) -> Any:
    """What tasks open: an object, which travels with every task, or the path of a saved one."""
    if isinstance(given, str | PathLike):
        return fspath(given)
    if not isinstance(given, ProbabilityMap | ConfidentRecommender):
        raise SettingError(f"expected a map or a recommender, or the path of a saved one, got {given!r:.60}")
    return given


def opened(held: Any) -> Any:
    """The object; a file is opened once in each worker."""
    return _loaded(held) if isinstance(held, str) else held


@lru_cache(maxsize=4)
def _loaded(path: str) -> Any:
    return load(path)


def refuse_missing_torch(recommender: ConfidentRecommender, frame: DataFrame) -> None:
    """Refuse a recommender that needs torch where executors do not have it."""
    source = recommender.source
    needed = isinstance(source, TorchSource) or "models" in getattr(source, "needs", ())
    if needed and not _have_torch(frame):
        missing = missing_extra("this recommender, on every executor,", "torch", "models")
        raise type(missing)(
            f"{missing}; or give its scores to a recommender over factors, or to a map: they need no torch"
        )


def check_executors(frame: DataFrame) -> None:
    """Refuse to start tasks in Python where executors have no sureness; checked once in a session."""
    session = frame.sparkSession
    if session in _checked:
        return
    try:
        _have_torch(frame)
    except Exception as error:
        if "No module named" not in str(error):
            raise
        raise MissingExtraError(
            "the Python of the executors has no sureness; install sureness[spark] there, and set PYSPARK_PYTHON to it "
            f"before the session starts (on this machine alone: {sys.executable})"
        ) from None
    _checked.add(session)


_checked: WeakSet[Any] = WeakSet()


def _have_torch(frame: DataFrame) -> bool:
    """Look on one executor; all share an image."""
    found = frame.sparkSession.range(1).mapInArrow(_find_torch, "found boolean").collect()
    return all(row[0] for row in found)


def _find_torch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"found": [find_spec("torch") is not None]})
