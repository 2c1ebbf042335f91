"""Add probabilities to a DataFrame: a column expression where the map is a formula, Python where it is none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sureness._types import FloatArray
from sureness.artefacts.saving import load
from sureness.calibration.maps import ProbabilityMap, Who, check_map
from sureness.calibration.multi_segment import MultiSegmentCalibrator
from sureness.data.ids import IdMap
from sureness.errors import IdError, SettingError
from sureness.spark.frames import Kind, check_columns, check_frame, is_text, refuse_taken
from sureness.spark.shipping import check_executors
from sureness.spark.tasks import tables
from sureness.spark.user_maps import UserMaps, joined_maps

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_logger = logging.getLogger(__name__)
_SCORES, _MAPS = "sureness_scores", "sureness_maps"  # tables of the query


def apply(
    df: DataFrame,
    calibrator: ProbabilityMap | UserMaps | str | PathLike[str],
    *,
    score: str = "score",
    user: str = "user_id",
    segment: str = "segment",
    probability: str = "probability",
) -> DataFrame:
    """Add a column of probabilities; nothing is computed before the result is used.

    A map that is a formula becomes an expression of Spark's own, without Python: calibrators for all pairs and per
    segment, for several fields, and maps that compare scores within a user, after a join with what was learned about
    each user. Other maps are asked in Python, in Arrow batches.

    Parameters
    ----------
    df : DataFrame
    calibrator : ProbabilityMap, UserMaps or path
        Any map. Users and segments that it does not know get its map for all.
    score, user, segment : str
        The columns that the map reads. A missing or infinite score has no probability.
    probability : str
        Name of the new column.
    """
    maps = calibrator if isinstance(calibrator, UserMaps) else None
    fitted = calibrator.shared if isinstance(calibrator, UserMaps) else _opened(calibrator)
    fitted.check_fitted()
    asked = _Asked.of(fitted, score, user, segment)
    frame = check_frame(df)
    check_columns(frame, asked.kinds())
    refuse_taken(frame, [probability])
    asked.refuse_other_kinds(frame)
    try:
        query = fitted.query("spark", _SCORES, score, segment=segment, user=user, maps=_MAPS)
    except SettingError as error:
        _logger.info("%s; it is asked in Python", error)
        return _in_python(frame, asked, probability)
    return _natively(frame, query, probability, _joined(fitted) if maps is None else maps)


def _joined(fitted: ProbabilityMap) -> ProbabilityMap | None:
    """The map whose table of users is joined, if there is one."""
    return fitted if fitted.joins_users else None


def _opened(given: ProbabilityMap | str | PathLike[str]) -> ProbabilityMap:
    return check_map(given) if not isinstance(given, str | PathLike) else load(given, ProbabilityMap)


@dataclass(frozen=True)
class _Asked:
    """A map, and the columns that it reads."""

    fitted: ProbabilityMap
    score: str
    user: str | None
    segment: str | None
    fields: tuple[str, ...] = ()  # of a map of overlapping segments

    @classmethod
    def of(cls, fitted: ProbabilityMap, score: str, user: str, segment: str) -> _Asked:
        links: tuple[ProbabilityMap, ...] = getattr(fitted, "links_", (fitted,))
        users = any(hasattr(link, "users_") for link in links)
        overlapping = next((link for link in links if isinstance(link, MultiSegmentCalibrator)), None)
        segments = overlapping is None and any(hasattr(link, "segments_") for link in links)
        fields = () if overlapping is None else tuple(overlapping.fields_)
        return cls(fitted, score, user if users else None, segment if segments else None, fields)

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [self.score, *(name for name in (self.user, self.segment) if name is not None), *self.fields]

    def kinds(self) -> dict[str, Kind]:
        """What each column must hold; fields may hold anything."""
        found: dict[str, Kind] = {self.score: "number"}
        return found | {name: "id" for name in (self.user, self.segment) if name is not None}

    def refuse_other_kinds(self, frame: DataFrame) -> None:
        """Refuse numbers where the map knows text, and text where it knows numbers: no id would be found."""
        for name, attribute in ((self.user, "users_"), (self.segment, "segments_")):
            links: tuple[ProbabilityMap, ...] = getattr(self.fitted, "links_", (self.fitted,))
            known: IdMap | None = next((getattr(each, attribute) for each in links if hasattr(each, attribute)), None)
            if name is None or known is None:
                continue
            if is_text(frame, name) != (known.ids.dtype == pl.String):
                kinds = ("text", "whole numbers") if is_text(frame, name) else ("whole numbers", "text")
                raise IdError(
                    f"column {name} holds {kinds[0]}, but the map knows {kinds[1]}; cast the column to the kind of ids "
                    "that the map was fitted on"
                )

    def probabilities(self, table: pl.DataFrame) -> FloatArray:
        """The probabilities of a table of the columns, NaN where there is no finite score."""
        scores = table[self.score].cast(pl.Float64).to_numpy()
        there = np.isfinite(scores)
        for name in (self.user, self.segment):
            there &= True if name is None else table[name].is_not_null().to_numpy()
        found = np.full(len(scores), np.nan)
        some = table.filter(pl.Series(there))
        found[there] = self.fitted.probability_of(scores[there], self._who(some))
        return found

    def _who(self, table: pl.DataFrame) -> Who:
        users = None if self.user is None else table[self.user]
        if not self.fields:
            return self.fitted.who(table.height, users, None if self.segment is None else table[self.segment])
        overlapping = self.fitted
        assert isinstance(overlapping, MultiSegmentCalibrator)
        return Who(table.height, segments=overlapping.numbers_of_file(table.select(self.fields)))


def _natively(frame: DataFrame, query: str, probability: str, own: ProbabilityMap | UserMaps | None) -> DataFrame:
    """The query of the map over the DataFrame, joined with what is known of users."""
    tables = {_SCORES: frame} | ({} if own is None else {_MAPS: joined_maps(frame, own)})
    text = query.replace("{", "{{").replace("}", "}}")
    for name in tables:
        text = text.replace(f"`{name}`", f"{{{name}}}")
    found = frame.sparkSession.sql(text, **tables)
    return found.toDF(*frame.columns, probability)


@dataclass(frozen=True)
class _AddColumn:
    """Asks a map about the blocks of a partition."""

    asked: _Asked
    probability: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if not batch.num_rows:
                continue
            (table,) = tables(iter([batch.select(self.asked.columns)]))
            found = pa.array(self.asked.probabilities(table), pa.float64(), from_pandas=True)  # NaN is missing
            yield batch.append_column(self.probability, found)


def _in_python(frame: DataFrame, asked: _Asked, probability: str) -> DataFrame:
    from pyspark.sql.types import DoubleType, StructType

    check_executors(frame)
    schema = StructType([*frame.schema.fields]).add(probability, DoubleType())
    return frame.mapInArrow(_AddColumn(asked, probability), schema)
