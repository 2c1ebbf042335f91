"""Sums over all partitions: tasks find parts, a few tasks add them up, the driver adds up the rest.

Parts are dictionaries whose values can be added. However many partitions there are, the driver receives few parts.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from sureness.errors import SurenessError
from sureness.spark.tasks import PARTIAL, partial, problem, tables, unpacked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

MERGERS = 4
"""Tasks that add up what all others found."""

Parts = Mapping[Hashable, Any]


def summed(frame: DataFrame, part_of: Callable[[pl.DataFrame], Parts]) -> dict[Hashable, Any]:
    """What `part_of` finds in blocks of rows, summed over all of them; one pass over the rows."""
    parts = frame.mapInArrow(_Sum(part_of), PARTIAL)
    merged = parts.repartition(MERGERS, "place").mapInArrow(_merge, PARTIAL)
    total: dict[Hashable, Any] = {}
    for found in unpacked(merged.toArrow()):
        _add(total, found)
    return total


@dataclass(frozen=True)
class _Sum:
    """The sum over one partition."""

    part_of: Callable[[pl.DataFrame], Parts]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total: dict[Hashable, Any] = {}
        try:
            for table in tables(batches):
                _add(total, self.part_of(table))
        except SurenessError as error:
            yield problem(error)
            return
        for place, part in _places(total).items():
            yield partial(place, part)


def _places(total: Parts) -> dict[int, dict[Hashable, Any]]:
    """The values by the task that adds them up: one for each key, or by partition where there is only one key."""
    from pyspark import TaskContext

    context = TaskContext.get()
    number = 0 if context is None else context.partitionId()
    places: dict[int, dict[Hashable, Any]] = {}
    for key, value in total.items():
        place = number if key is None else zlib.crc32(repr(key).encode())
        places.setdefault(place % MERGERS, {})[key] = value
    return places


def _merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    total: dict[Hashable, Any] = {}
    for batch in batches:
        for value, code in zip(batch["value"], batch["code"], strict=True):
            if code.is_valid:
                yield batch.filter(batch["code"].is_valid())
                return
            _add(total, pickle.loads(value.as_py()))
    if total:
        yield partial(0, total)


def _add(total: dict[Hashable, Any], part: Parts) -> None:
    for key, value in part.items():
        total[key] = total[key] + value if key in total else value
