"""Add probabilities to a DataFrame: a query of Spark's own where the map is a formula, Python where it is none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

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
    fields = {name: segment if name == UNNAMED else name for name in fitted.reads()[1:]}
    kinds: dict[str, Kind] = {theirs: "id" if ours == UNNAMED else "any" for ours, theirs in fields.items()}
    check_columns(frame, {**kinds, score: "number"})
    _refuse_other_ids(frame, fitted, segment)
    try:
        query = fitted.query("spark", _SCORES, score, segment=segment)
    except SettingError as error:
        _logger.info("%s; its probabilities are computed in Python", error)
        return _in_python(frame, fitted, score, fields, probability)
    return _natively(frame, query, probability)


def _kinds_of_lists(fitted: ListCalibrator, score: str, user: str, history: str) -> dict[str, Kind]:
    """What the columns must hold that a map for lists reads."""
    found: dict[str, Kind] = dict.fromkeys(fitted.named_, "any")
    found |= dict.fromkeys([score, *fitted.numeric_, *([history] if "history" in fitted.reads() else [])], "number")
    return {**found, user: "id"}


def _refuse_other_ids(frame: DataFrame, fitted: ProbabilityMap, segment: str) -> None:
    """Refuse numbers where the map knows text, and text where it knows numbers: no segment would be found."""
    if not isinstance(fitted, SegmentCalibrator) or fitted.fields_ != (UNNAMED,):
        return
    known = fitted.effects_.coding.fields[0].values
    if known is not None and is_text(frame, segment) != (known.ids.dtype == pl.String):
        kinds = ("text", "whole numbers") if is_text(frame, segment) else ("whole numbers", "text")
        raise IdError(
            f"column {segment} holds {kinds[0]}, but the map knows {kinds[1]}; cast the column to the kind of ids that "
            "the map was fitted on"
        )


def _natively(frame: DataFrame, query: str, probability: str) -> DataFrame:
    """The query of the map over the DataFrame."""
    text = query.replace("{", "{{").replace("}", "}}").replace(f"`{_SCORES}`", f"{{{_SCORES}}}")
    return frame.sparkSession.sql(text, **{_SCORES: frame}).toDF(*frame.columns, probability)


def _in_python(
    frame: DataFrame, fitted: ProbabilityMap, score: str, fields: dict[str, str], probability: str
) -> DataFrame:
    from pyspark.sql.types import DoubleType, StructType

    check_executors(frame)
    schema = StructType([*frame.schema.fields]).add(probability, DoubleType())
    task = partial(_add_column, fitted=fitted, score=score, fields=fields, probability=probability)
    return frame.mapInArrow(task, schema)


def _add_column(
    batches: Iterator[pa.RecordBatch], fitted: ProbabilityMap, score: str, fields: dict[str, str], probability: str
) -> Iterator[pa.RecordBatch]:
    """The batches of a partition with the probabilities of a map; none where there is no finite score."""
    import pyarrow as pa

    for batch in batches:
        for table in tables(iter([batch.select([score, *fields.values()])])):
            scores = table[score].cast(pl.Float64).to_numpy()
            there, found = np.isfinite(scores), np.full(len(scores), np.nan)
            known = table.select(pl.col(theirs).alias(ours) for ours, theirs in fields.items())
            found[there] = fitted.probability_of(scores[there], _who(fitted, known.filter(pl.Series(there))))
            column = pa.array(found, pa.float64(), from_pandas=True)  # NaN is missing
            yield batch.append_column(probability, column)


def _who(fitted: ProbabilityMap, known: pl.DataFrame) -> Who:
    if not isinstance(fitted, SegmentCalibrator):
        return fitted.who(known.height)
    return Who(known.height, segments=fitted.numbers_of_file(known))
