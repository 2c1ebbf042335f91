"""How a fitted object reaches executors: with the task, or by a path that all of them reach."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import polars as pl

from sureness.calibration.maps import ProbabilityMap
from sureness.errors import MissingExtraError, SettingError, missing_extra
from sureness.recommender.confident import ConfidentRecommender
from sureness.saving.objects import load
from sureness.sources.base import id_maps
from sureness.sources.function import TorchSource

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class Shipped:
    """A map or a recommender that tasks use."""

    held: Any = None  # the object itself, which travels with every task
    path: str | None = None  # or the file that each worker opens once

    @classmethod
    def of(cls, given: object) -> Shipped:
        """An object, or the path of a saved one."""
        if isinstance(given, str | PathLike):
            return cls(path=fspath(given))
        if not isinstance(given, ProbabilityMap | ConfidentRecommender):
            raise SettingError(f"expected a map or a recommender, or the path of a saved one, got {given!r:.60}")
        return cls(held=given)

    def open(self) -> Any:
        """The object; a file is opened once in each worker."""
        return self.held if self.path is None else _opened(self.path)

    @property
    def is_recommender(self) -> bool:
        """Whether it makes lists itself."""
        return isinstance(self.open(), ConfidentRecommender)

    def kind_of_items(self) -> str:
        """Spark's type of the ids of its items."""
        ids = id_maps(self.open().source)[1].ids
        return "string" if ids.dtype == pl.String else "bigint"

    def refuse_without(self, frame: DataFrame) -> None:
        """Refuse a recommender that needs torch where executors do not have it."""
        if self._needs_torch() and not _have_torch(frame):
            missing = missing_extra("this recommender, on every executor,", "torch", "models")
            raise type(missing)(
                f"{missing}; or give its scores to a recommender over factors, or to a map: they need no torch"
            )

    def _needs_torch(self) -> bool:
        source = self.open().source
        return isinstance(source, TorchSource) or "models" in getattr(source, "needs", ())


@lru_cache(maxsize=4)
def _opened(path: str) -> Any:
    return load(path)


def check_executors(frame: DataFrame) -> None:
    """Refuse to start tasks in Python where executors have no sureness; asked once in a session."""
    session = frame.sparkSession
    if session in _asked:
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
    _asked.add(session)


_asked: WeakSet[Any] = WeakSet()


def _have_torch(frame: DataFrame) -> bool:
    """Ask one executor; the answer is for all, which share an image."""
    found = frame.sparkSession.range(1).mapInArrow(_find_torch, "found boolean").collect()
    return all(row[0] for row in found)


def _find_torch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"found": [find_spec("torch") is not None]})
