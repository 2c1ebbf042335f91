"""Add probabilities to a DataFrame: a query of Spark's own where the map is a formula, Python where it is none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sureness._types import FloatArray
from sureness.calibration.fields import UNNAMED
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import ProbabilityMap, Who, check_map
from sureness.calibration.segments import SegmentCalibrator
from sureness.errors import IdError, SettingError
from sureness.saving.objects import load
from sureness.spark.frames import Kind, check_columns, check_frame, is_text, refuse_taken
from sureness.spark.tasks import check_executors, tables

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_logger = logging.getLogger(__name__)
_SCORES = "sureness_scores"  # table of the query


def apply(
    df: DataFrame,
    calibrator: ProbabilityMap | str | PathLike[str],
    *,
    score: str = "score",
    user: str = "user_id",
    segment: str = "segment",
    history: str = "history",
    probability: str = "probability",
) -> DataFrame:
    """Add a column of probabilities; nothing is computed before the result is used.

    A map that is a formula becomes a query of Spark's own, without Python: calibrators for all pairs, per segment and
    for several fields, and the map for lists, which finds how the scores of each user lie and joins it by user. Other
    maps run in Python, on Arrow batches. Maps per user stay in Python.

    Parameters
    ----------
    df : DataFrame
        For a map for lists, all candidates of each user, or the best ones.
    calibrator : ProbabilityMap or path
        Any other map. Segments that it does not know get its map for all.
    score, user, segment, history : str
        The columns that the map reads; user is the group of a map for lists. Fields and traits are the columns of their
        names. A missing or infinite score has no probability.
    probability : str
        Name of the new column.
    """
    fitted = check_map(calibrator) if not isinstance(calibrator, str | PathLike) else load(calibrator, ProbabilityMap)
    fitted.check_fitted()
    if "user_id" in fitted.reads() and not isinstance(fitted, ListCalibrator):
        raise SettingError(
            f"{type(fitted).__name__} has a map for each user, which sureness.spark does not apply; use "
            "ListCalibrator, the map for lists"
        )
    frame = check_frame(df)
    refuse_taken(frame, [probability])
    if isinstance(fitted, ListCalibrator):
        check_columns(frame, _kinds_of_lists(fitted, score, user, history))
        return _natively(frame, fitted.query("spark", _SCORES, score, group=user, history=history), probability)
    columns = _PairColumns.of(fitted, score, segment)
    check_columns(frame, columns.kinds())
    columns.refuse_other_kinds(frame)
    try:
        query = fitted.query("spark", _SCORES, score, segment=segment)
    except SettingError as error:
        _logger.info("%s; its probabilities are computed in Python", error)
        return _in_python(frame, columns, probability)
    return _natively(frame, query, probability)


def _kinds_of_lists(fitted: ListCalibrator, score: str, user: str, history: str) -> dict[str, Kind]:
    """What the columns must hold that a map for lists reads."""
    found: dict[str, Kind] = dict.fromkeys(fitted.named_, "any")
    found |= dict.fromkeys([score, *fitted.numeric_, *([history] if "history" in fitted.reads() else [])], "number")
    return {**found, user: "id"}


@dataclass(frozen=True)
class _PairColumns:
    """A map of pairs, and the columns that it reads."""

    fitted: ProbabilityMap
    score: str
    segment: str | None
    fields: tuple[str, ...]  # of a map of several fields

    @classmethod
    def of(cls, fitted: ProbabilityMap, score: str, segment: str) -> _PairColumns:
        others = fitted.reads()[1:]
        return cls(fitted, score, segment, ()) if others == (UNNAMED,) else cls(fitted, score, None, others)

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        return [self.score, *([] if self.segment is None else [self.segment]), *self.fields]

    def kinds(self) -> dict[str, Kind]:
        """What each column must hold; fields may hold anything."""
        found: dict[str, Kind] = dict.fromkeys(self.fields, "any")
        found[self.score] = "number"
        return found if self.segment is None else {**found, self.segment: "id"}

    def refuse_other_kinds(self, frame: DataFrame) -> None:
        """Refuse numbers where the map knows text, and text where it knows numbers: no segment would be found."""
        if self.segment is None or not isinstance(self.fitted, SegmentCalibrator):
            return
        known = self.fitted.effects_.coding.fields[0].values
        if known is None:
            return
        if is_text(frame, self.segment) != (known.ids.dtype == pl.String):
            kinds = ("text", "whole numbers") if is_text(frame, self.segment) else ("whole numbers", "text")
            raise IdError(
                f"column {self.segment} holds {kinds[0]}, but the map knows {kinds[1]}; cast the column to the kind of "
                "ids that the map was fitted on"
            )

    def probabilities(self, table: pl.DataFrame) -> FloatArray:
        """The probabilities of a table of the columns, NaN where there is no finite score."""
        scores = table[self.score].cast(pl.Float64).to_numpy()
        there = np.isfinite(scores)
        found = np.full(len(scores), np.nan)
        found[there] = self.fitted.probability_of(scores[there], self._who(table.filter(pl.Series(there))))
        return found

    def _who(self, table: pl.DataFrame) -> Who:
        if not isinstance(self.fitted, SegmentCalibrator):
            return self.fitted.who(table.height)
        named = table.select(self.fields) if self.segment is None else table.select(pl.col(self.segment).alias(UNNAMED))
        return Who(table.height, segments=self.fitted.numbers_of_file(named))


def _natively(frame: DataFrame, query: str, probability: str) -> DataFrame:
    """The query of the map over the DataFrame."""
    text = query.replace("{", "{{").replace("}", "}}").replace(f"`{_SCORES}`", f"{{{_SCORES}}}")
    return frame.sparkSession.sql(text, **{_SCORES: frame}).toDF(*frame.columns, probability)


def _in_python(frame: DataFrame, columns: _PairColumns, probability: str) -> DataFrame:
    from pyspark.sql.types import DoubleType, StructType

    check_executors(frame)
    schema = StructType([*frame.schema.fields]).add(probability, DoubleType())
    return frame.mapInArrow(partial(_add_column, columns=columns, probability=probability), schema)


def _add_column(batches: Iterator[pa.RecordBatch], columns: _PairColumns, probability: str) -> Iterator[pa.RecordBatch]:
    """The batches of a partition with the probabilities of a map."""
    import pyarrow as pa

    for batch in batches:
        for table in tables(iter([batch.select(columns.names)])):
            found = pa.array(columns.probabilities(table), pa.float64(), from_pandas=True)  # NaN is missing
            yield batch.append_column(probability, found)
