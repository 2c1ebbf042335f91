"""Add probabilities to a table of scores, or list the best items of a run with their probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import Estimand
from sureness.artefacts.packed import JSON
from sureness.artefacts.saving import load
from sureness.calibration.maps import ANSWERS, ProbabilityMap
from sureness.data.columns import Columns
from sureness.data.frames import HeldTable, Place, Table, place_of
from sureness.data.id_values import segment_series
from sureness.data.scanning import bad_line
from sureness.data.table_files import is_text
from sureness.data.tables import add_column, count_rows, readable, require_columns, scan_table, write_table
from sureness.errors import ColumnError, DataError, FileError, SettingError
from sureness.evaluation.ranking import list_blocks
from sureness.pipeline.runs import open_run
from sureness.sources.base import ScoreSource, id_maps
from sureness.sources.matching import seen_of
from sureness.workflows._asked import Asked
from sureness.workflows._user_blocks import write_blocks
from sureness.workflows.inputs import (
    counter,
    given_seen,
    is_saved,
    read_columns,
    refuse_given,
)
from sureness.workflows.outputs import check_outputs
from sureness.workflows.results import plain

_LISTED = ("user_id", "rank", "item_id", "score", "map")  # columns of the lists of a run beside the probability


@dataclass(frozen=True, kw_only=True)
class ApplyOptions:
    """What is listed of a run; a table has its own pairs."""

    top: Annotated[int, "For a run: how many items each user gets."] = 50
    seen: Annotated[
        tuple[Table, ...], "For a run: log of items not shown again, in place of its own, or nothing; may repeat."
    ] = ()
    segments: Annotated[
        Table | None, "For a run: table with user_id, item_id or both, and the segment column of segment maps."
    ] = None


@dataclass(frozen=True, kw_only=True)
class ApplyResult:
    """Where the probabilities are, and what they are of."""

    data: Place
    output: Path | None
    n_pairs: int
    estimand: Estimand
    meaning: str  # the same in words
    frame: Any = None  # without an output: the table with probabilities, of the library of the given one

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found = {"table": self.data, "output": self.output, "pairs": self.n_pairs, "estimand": self.estimand,
                 "meaning": self.meaning}  # fmt: skip
        return plain(found)  # type: ignore[no-any-return]


def apply(
    calibrator: str | PathLike[str] | ProbabilityMap,
    data: Table,
    output: str | PathLike[str] | None = None,
    options: ApplyOptions | None = None,
    *,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> ApplyResult:
    """Add a column of probabilities to a table, or list the best unseen items of every user of a run.

    A file is read in batches, so it may be larger than memory. Maps of users read the user column, maps of segments
    the segment column, maps of overlapping segments the columns of their fields; users and segments that they do not
    know get the map for all.

    Parameters
    ----------
    calibrator : path or ProbabilityMap
        Any calibrator: for all pairs, per segment or per user.
    data : table of any kind, or path
        A table with scores: of pandas, polars, PyArrow, DuckDB or anything with the Arrow C stream, or a file
        (.parquet, .csv or .tsv). Or a saved run, model or source.
    output : path, optional
        Where the table with probabilities goes. Without it, it is ``frame`` of the result, in the kind of `data`.
    options : ApplyOptions, optional
    columns : Columns, optional
        ``columns.probability`` names the new column.
    progress : Progress
    """
    place, target = place_of(data), None if output is None else Path(output)
    options, columns = options or ApplyOptions(), columns or Columns()
    saved = None if isinstance(calibrator, ProbabilityMap) else calibrator
    check_outputs([(target, "table")], [place, saved, options.segments, *options.seen])
    fitted = load(calibrator, ProbabilityMap) if not isinstance(calibrator, ProbabilityMap) else calibrator
    asked = Asked.of(fitted, place)
    if asked.segments is not None and columns.segment is None:
        raise SettingError(f"{calibrator} has one map per segment; name the column of the segments (segment_column)")
    if asked.fields and (columns.segment is not None or is_saved(place)):
        raise SettingError(
            f"{calibrator} reads the columns {', '.join(asked.fields)} of a table; give a table with these, and no "
            "segment_column"
        )
    if columns.segment is not None and asked.segments is None:
        raise SettingError(f"{calibrator} has no maps of segments, so a segment column has no meaning; leave it out")
    if isinstance(place, Path) and is_saved(place):
        n_pairs, frame = _list_run(asked, place, target, options, columns, progress)
    else:
        n_pairs, frame = _add_to_table(asked, place, target, options, columns, progress)
    asked.say_unknown(n_pairs)
    if asked.reach is not None:
        asked.reach.say()
    return ApplyResult(
        data=place, output=target, n_pairs=n_pairs, estimand=fitted.estimand_, meaning=fitted.meaning, frame=frame
    )


def columns_read(fitted: ProbabilityMap) -> dict[str, pl.DataType | None]:
    """The columns of a table that `apply` reads for a map, with their kinds; None: that of a field may be any.

    Examples
    --------
    >>> from sureness.calibration.parametric import PlattCalibrator
    >>> columns_read(PlattCalibrator().fit([0, 1, 2, 3], [0, 1, 0, 1]))
    {'score': Float64}
    """
    asked = Asked.of(fitted, HeldTable(None, pl.LazyFrame()))
    found: dict[str, pl.DataType | None] = {"score": pl.Float64()}
    if asked.users:
        links: tuple[ProbabilityMap, ...] = getattr(fitted, "links_", (fitted,))
        found["user_id"] = next(link.users_.ids.dtype for link in links if hasattr(link, "users_"))
    found |= {} if asked.segments is None else {"segment": asked.segments.ids.dtype}
    return found | dict.fromkeys(asked.fields)


def _add_to_table(
    asked: Asked, path: Place, output: Path | None, options: ApplyOptions, columns: Columns, progress: Progress
) -> tuple[int, Any]:
    """Write the table with its probabilities, or give it back; also returns the number of rows."""
    refuse_given(options, ("seen", "segments"), f"belongs to a run, got the table {path}")
    inputs = [columns.score, *([columns.user_id] if asked.users else [])]
    inputs += [str(columns.segment)] if asked.segments is not None else asked.fields
    if isinstance(path, HeldTable) and output is None:
        with readable(path):
            path = path.collected()
    frame = scan_table(path, columns.only(), numbers=[columns.score])  # all other columns are written as they were read
    require_columns(frame, inputs, path)
    if columns.probability in frame.collect_schema().names():
        raise ColumnError(
            f"{path} has a column {columns.probability!r} already, which would be lost; give the new one another name "
            "with probability_column"
        )
    n_rows = count_rows(frame, path)
    count = counter(progress, "applying", n_rows)
    result, problems = add_column(frame, columns.probability, inputs, asked.probability, count, may_lack=asked.fields)
    try:
        return n_rows, _written(result, output, path, columns.probability)
    except (FileError, ValueError):
        if problems and isinstance(problems[0], DataError):
            named = next((name for name in inputs if name in str(problems[0])), columns.score)
            where = bad_line(path, named)
            raise type(problems[0])(f"{path}{f', {where}' if where else ''}: {problems[0]}") from None
        raise


def _written(result: pl.LazyFrame, output: Path | None, path: Place, probability: str) -> Any:
    if output is not None:
        write_table(result, output, source=path)
        return None
    with readable(path):
        if isinstance(path, HeldTable):
            return path.with_column(result.select(probability).collect()[probability])
        return result.collect()


def _list_run(
    asked: Asked, path: Path, output: Path | None, options: ApplyOptions, columns: Columns, progress: Progress
) -> tuple[int, pl.DataFrame | None]:
    """Write the best unseen items of every user with their probabilities, or give them back; also counts the rows."""
    if options.top < 1:
        raise SettingError(f"top must be a whole number of at least 1, got {options.top}")
    if columns.probability in _LISTED:
        raise SettingError(f"the lists have a column {columns.probability!r} already; give probability_column another")
    run = open_run(path)
    seen = seen_of(run.source, given_seen(run, options.seen, columns, run.seen()))
    segments = None if options.segments is None else _segments(options.segments, columns, run.source)
    if asked.segments is not None and segments is None:
        raise SettingError(f"the calibrator has one map per segment; give segments, a table with those of {path}")
    n_users = run.source.n_users
    count = counter(progress, "applying", n_users)
    n_rows = 0

    def blocks() -> Iterator[pl.DataFrame]:
        nonlocal n_rows
        for table, n_block in list_blocks(run.source, np.arange(n_users), options.top, seen):
            others = [table["user_id"]] if asked.users else []
            others += [] if asked.segments is None or segments is None else [_segments_of(table, segments)]
            who = asked.who(table.height, *others)
            found = asked.of_rows(table["score"].to_numpy().astype(np.float64), who)
            answered = pl.Series("map", ANSWERS, dtype=pl.String).gather(asked.fitted.answered_by(who))
            n_rows += table.height
            count(n_block)
            yield table.with_columns(pl.Series(columns.probability, found), answered)

    frame = write_blocks(blocks(), output)
    return n_rows, frame


def _segments(given: Table, columns: Columns, source: ScoreSource) -> pl.DataFrame:
    """The segment of each user, item or pair that the source knows, by its ids."""
    path = place_of(given)
    table = read_columns(path, columns, ["segment"])
    sides = zip(("user_id", "item_id"), id_maps(source), strict=True)
    keys = {name: ids for name, ids in sides if name in table.columns}
    if not keys:
        raise ColumnError(f"{path} must have user_id, item_id or both; it has {', '.join(table.columns)}")
    for name, ids in keys.items():
        rows = ids.rows(table[name], of_text=is_text(path))
        table = table.filter(pl.Series(rows >= 0)).with_columns(ids.at(rows[rows >= 0]).alias(name))
    return table.select(*keys, segment_series(table["segment"])).unique(list(keys), keep="first")


def _segments_of(table: pl.DataFrame, segments: pl.DataFrame) -> pl.Series:
    keys = [name for name in segments.columns if name != "segment"]
    joined = table.join(segments, on=keys, how="left", maintain_order="left")
    return joined["segment"]
