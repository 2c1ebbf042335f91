"""Add probabilities to a table of scores, or list the best items of a run with their probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from sureness._progress import Progress, silent
from sureness._types import Estimand, FloatArray
from sureness.artefacts.packed import JSON
from sureness.artefacts.saving import load
from sureness.data.columns import Columns
from sureness.data.interactions import union
from sureness.data.tables import add_column, count_rows, require_columns, scan_table, write_table
from sureness.errors import ColumnError, DataError, FileError, SettingError
from sureness.evaluation.ranking import list_blocks
from sureness.models.runs import load_run as open_run
from sureness.workflows.inputs import check_table_name, counter, is_saved, read_columns, refuse_input, warned_log
from sureness.workflows.plain import plain

_NO_SEGMENT = ""  # of pairs whose segment nobody gave: the map for all answers


@dataclass(frozen=True, kw_only=True)
class ApplyOptions:
    """What is listed of a run; a table has its own pairs."""

    top: Annotated[int, "For a run: how many items each user gets."] = 50
    seen: Annotated[tuple[Path, ...], "For a run: log of items not to show, in place of its own; may repeat."] = ()
    segments: Annotated[
        Path | None, "For a run and maps of segments: table with user_id, item_id or both, and the segment column."
    ] = None


@dataclass(frozen=True, kw_only=True)
class ApplyResult:
    """Where the probabilities are, and what they are of."""

    data: Path
    output: Path
    n_pairs: int
    estimand: Estimand

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found = {"table": self.data, "output": self.output, "pairs": self.n_pairs, "estimand": self.estimand}
        return plain(found)  # type: ignore[no-any-return]


def apply(
    calibrator: str | PathLike[str],
    data: str | PathLike[str],
    output: str | PathLike[str],
    options: ApplyOptions | None = None,
    *,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> ApplyResult:
    """Add a column of probabilities to a table, or list the best unseen items of every user of a run.

    A table is read in batches, so it may be larger than memory. Maps of users read the user column, maps of segments
    the segment column; users and segments that they do not know get the map for all.

    Parameters
    ----------
    calibrator : path
        Any saved calibrator: for all pairs, per segment or per user.
    data : path
        A table with scores (.parquet, .csv or .tsv), or a saved run, model or source.
    output : path
        Where the table with probabilities goes.
    options : ApplyOptions, optional
    columns : Columns, optional
        ``columns.probability`` names the new column.
    progress : Progress
    """
    place, target = Path(data), Path(output)
    options, columns = options or ApplyOptions(), columns or Columns()
    fitted = load(calibrator)
    check_table_name(target)
    refuse_input(target, place, Path(calibrator))
    if columns.segment is None and "segments" in _asks_for(fitted):
        raise SettingError(f"{calibrator} has one map per segment; name the column of the segments (segment_column)")
    if columns.segment is not None and "segments" not in _asks_for(fitted):
        raise SettingError(f"{calibrator} has no maps of segments, so a segment column has no meaning; leave it out")
    work = _list_run if is_saved(place) else _add_to_table
    n_pairs = work(fitted, place, target, options, columns, progress)
    return ApplyResult(data=place, output=target, n_pairs=n_pairs, estimand=fitted.estimand_)


def _asks_for(fitted: Any) -> tuple[str, ...]:
    """What a calibrator looks at besides the scores."""
    return tuple(name for name, learned in (("users", "users_"), ("segments", "shares_")) if hasattr(fitted, learned))


def _add_to_table(
    fitted: Any, path: Path, output: Path, options: ApplyOptions, columns: Columns, progress: Progress
) -> int:
    if options != ApplyOptions(top=options.top):
        raise SettingError(f"seen and segments belong to a run, got the table {path}; leave them out")
    names = {"users": columns.user_id, "segments": columns.segment}
    asked = {name: str(names[name]) for name in _asks_for(fitted)}
    inputs = [columns.score, *asked.values()]
    frame = scan_table(path, numbers=[columns.score])  # all other columns are written as they were read
    require_columns(frame, inputs, path)
    n_rows = count_rows(frame, path)
    probability = _asked(fitted, tuple(asked))
    result, problems = add_column(
        frame, columns.probability, inputs, probability, counter(progress, "applying", n_rows)
    )
    try:
        write_table(result, output, source=path)
    except (FileError, ValueError):
        if problems and isinstance(problems[0], DataError):
            raise type(problems[0])(f"{path}: {problems[0]}") from None
        raise
    return n_rows


def _asked(fitted: Any, asked: tuple[str, ...]) -> Callable[..., FloatArray]:
    """Probabilities of scores, and of the users or segments that come after them."""

    def probability(scores: Any, *others: Any) -> FloatArray:
        found: FloatArray = fitted.probability(scores, **dict(zip(asked, others, strict=True)))
        return found

    return probability


def _list_run(
    fitted: Any, path: Path, output: Path, options: ApplyOptions, columns: Columns, progress: Progress
) -> int:
    """Write the best unseen items of every user with their probabilities; returns the number of rows."""
    if options.top < 1:
        raise SettingError(f"top must be a whole number of at least 1, got {options.top}")
    run = open_run(path)
    seen = union([warned_log(run, log, columns) for log in options.seen]) if options.seen else run.seen()
    segments = None if options.segments is None else _segments(options.segments, columns)
    n_users, done = run.source.n_users, 0
    probability = _asked(fitted, _asks_for(fitted))
    tables: list[pl.DataFrame] = []
    for table, n_block in list_blocks(run.source, np.arange(n_users), options.top, seen):
        asked = {"users": table["user_id"], "segments": _segments_of(table, segments)}
        others = [asked[name].to_numpy() for name in _asks_for(fitted)]
        found = probability(table["score"].to_numpy(), *others) if table.height else np.empty(0)
        tables.append(table.with_columns(pl.Series(columns.probability, found)))
        done += n_block
        progress("applying", done, n_users)
    whole = pl.concat(tables)
    write_table(whole, output)
    return whole.height


def _segments(path: Path, columns: Columns) -> pl.DataFrame:
    """The segment of each user, item or pair."""
    table = read_columns(path, columns, [str(columns.segment)] if columns.segment else [])
    keys = [name for name in ("user_id", "item_id") if name in table.columns]
    if columns.segment is None or not keys:
        raise ColumnError(f"{path} must have user_id, item_id or both, and the segment column; it has {table.columns}")
    return table.select(*keys, segment=pl.col(columns.segment).cast(pl.String)).unique(keys, keep="first")


def _segments_of(table: pl.DataFrame, segments: pl.DataFrame | None) -> pl.Series:
    if segments is None:
        return pl.Series([_NO_SEGMENT]).new_from_index(0, table.height)
    keys = [name for name in segments.columns if name != "segment"]
    kinds = {name: table.schema[name] for name in keys}
    joined = table.join(segments.cast(kinds), on=keys, how="left", maintain_order="left")  # type: ignore[arg-type]
    return joined["segment"].fill_null(_NO_SEGMENT)
