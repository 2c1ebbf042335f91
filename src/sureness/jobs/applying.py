"""Add probabilities to a table of scores, or list the best items of a run with their probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import AnyArray, Estimand, FloatArray, IntArray
from sureness.calibration.fields import UNNAMED
from sureness.calibration.list_terms import HISTORY
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import ProbabilityMap, Who
from sureness.calibration.segments import SegmentCalibrator, unknown_values_sentence
from sureness.calibration.usable import Reach
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import ColumnError, DataError, EmptyError, FileError, SettingError, warn
from sureness.jobs.blocks import blocks_of_users, survey, write_blocks
from sureness.jobs.inputs import (
    counter,
    given_seen,
    is_saved,
    read_columns,
    refuse_given,
    with_own_scores,
)
from sureness.jobs.options import plain
from sureness.jobs.outputs import check_outputs
from sureness.numerics.checks import check_scores, check_whole
from sureness.numerics.logistic import sigmoid
from sureness.recommender.candidates import candidate_blocks
from sureness.recommender.mapped import MappedSource
from sureness.recommender.promises import is_converted
from sureness.recommender.run import Run, open_run
from sureness.saving.objects import load
from sureness.saving.packed import JSON
from sureness.sources.aligned import among, seen_of
from sureness.sources.base import ScoreSource, id_maps
from sureness.sources.blocks import list_blocks, list_table
from sureness.tables.columns import Columns
from sureness.tables.files import bad_line, format_like, is_text
from sureness.tables.frames import HeldTable, Place, Table, place_of
from sureness.tables.id_values import segment_series
from sureness.tables.reading import (
    add_column,
    count_rows,
    filled,
    readable,
    recognised,
    require_columns,
    scan_table,
)
from sureness.tables.writing import write_table


@dataclass(frozen=True, eq=False)
class RequiredColumns:
    """A fitted map with the columns that it reads besides the scores, applied to one batch after the other."""

    fitted: ProbabilityMap
    of_text: IdMap | None = None  # the ids that the users of a text file are read as
    reach: Reach | None = None  # the scores that it was fitted on
    unknown: dict[str, list[pl.DataFrame]] = field(default_factory=dict)  # by field: what it does not know

    @classmethod
    def of(cls, fitted: ProbabilityMap, data: Place) -> RequiredColumns:
        """A map for a table or a run."""
        fitted.check_fitted()
        users: IdMap | None = getattr(fitted, "users_", None)
        of_text = users if not is_saved(data) and is_text(data) else None
        return cls(fitted, of_text, fitted.reach())

    @property
    def lists(self) -> ListCalibrator | None:
        """The map, if it looks at all candidates of a group; None: it looks at single pairs."""
        return self.fitted if isinstance(self.fitted, ListCalibrator) else None

    @property
    def overlapping(self) -> SegmentCalibrator | None:
        """The map, if it is one of several fields."""
        return self.fitted if isinstance(self.fitted, SegmentCalibrator) else None

    @property
    def users(self) -> bool:
        """Whether it reads the users, or whatever else the groups are."""
        return self.overlapping is None and "user_id" in self.fitted.reads()[1:]

    @property
    def fields(self) -> list[str]:
        """The columns that it reads by their own names: fields of overlapping segments, history and traits."""
        if self.lists is not None:
            return list(self.fitted.reads()[2:])
        return [] if self.overlapping is None or self.segment else list(self.overlapping.fields_)

    @property
    def segment(self) -> bool:
        """Whether it reads one column of segments, which has no name of its own."""
        return self.overlapping is not None and self.overlapping.fields_ == (UNNAMED,)

    @property
    def numbers(self) -> list[str]:
        """Those of the fields of a map for lists that hold numbers."""
        return [] if self.lists is None else [n for n in self.fields if n == HISTORY or n in self.lists.numeric_]

    def inputs(self, columns: Columns) -> list[str]:
        """The columns of a table to read, score first, by their names in it."""
        segment = [str(columns.segment)] if self.segment else []
        return [columns.score, *([columns.user_id] if self.users else []), *segment, *self.fields]

    def probability(self, scores: AnyArray, *others: AnyArray | pl.Series) -> FloatArray:
        """Probabilities of scores, with what else was read, in the order of `inputs`."""
        checked = check_scores(scores).astype(np.float64)
        return self.of_rows(checked, self.who(checked, *others))

    def of_rows(self, scores: FloatArray, who: Who) -> FloatArray:
        """Probabilities of checked scores; counts those far outside the fitted ones."""
        if self.reach is not None:
            self.reach.count(scores)
        return self.fitted.probability_of(scores, who)

    def who(self, scores: FloatArray, *others: AnyArray | pl.Series) -> Who:
        """For whom is asked; counts the segments that the map does not know."""
        left = iter(others)
        users: ArrayLike | pl.Series | None = next(left) if self.users else None
        if self.lists is not None:
            assert users is not None
            known = {
                name: self._trait(name, pl.Series(name, column)) for name, column in zip(self.fields, left, strict=True)
            }
            return self.lists.grouped(scores, users, known.get(HISTORY), known)
        if users is not None and self.of_text is not None:
            users = self.of_text.read_from_text(users)
        if self.overlapping is not None:
            names = self.overlapping.fields_
            table = pl.DataFrame([pl.Series(name, column) for name, column in zip(names, left, strict=True)])
            return Who(len(scores), segments=self._known_fields(self.overlapping, table))
        return self.fitted.who(len(scores), users)

    def _trait(self, name: str, column: pl.Series) -> pl.Series:
        """A column of history or of a trait: numbers, NaN where one is missing, or text."""
        if name not in self.numbers:
            return column.cast(pl.String)
        try:
            return column.cast(pl.Float64).fill_null(np.nan)
        except pl.exceptions.PolarsError as error:
            raise DataError(f"column {name} must be numbers, got values of type {column.dtype}") from error

    def _known_fields(self, overlapping: SegmentCalibrator, table: pl.DataFrame) -> IntArray:
        """The numbers of combinations of values."""
        numbers = overlapping.numbers_of_file(table)
        for name, values in overlapping.unknown_values(table, numbers).items():
            self._count(name, values)
        return numbers

    def _count(self, field: str, unknown: pl.Series) -> None:
        self.unknown.setdefault(field, []).append(unknown.alias("segment").value_counts())

    def say_unknown(self, n_pairs: int) -> None:
        """Once for all batches."""
        for name, parts in self.unknown.items():
            counts = pl.concat(parts).group_by("segment").sum().sort("count", "segment", descending=[True, False])
            values, n_unknown = counts["segment"].to_list(), int(counts["count"].sum())
            warn(unknown_values_sentence(name, values, n_unknown, n_pairs))


_LISTED = ("user_id", "rank", "item_id", "score")  # columns of the lists of a run beside the probability
_ROW = "\0row"  # of a table, while its rows are in another order


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
    meaning_in_lists: str | None = None  # of a run: the same for the probabilities in its lists, if they are others
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

    A file is read in batches, so it may be larger than memory. Maps for lists and maps of users read the user column,
    maps of segments the segment column, maps of overlapping segments the columns of their fields; users and segments
    that the latter do not know get the map for all.

    A map for lists compares the candidates of a user, query or session, which is whatever the user column holds, so the
    table must have all of them, or the best ones. It also reads the column ``history`` and the columns of its traits,
    if it was fitted with them. Rows need not be sorted by user; if they are not, the columns that the map reads are
    held in memory.

    Parameters
    ----------
    calibrator : path or ProbabilityMap
        Any calibrator: for lists, for all pairs, per segment or per user.
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
    fitted.check_fitted()
    columns = with_own_scores([fitted], place, columns)
    required = RequiredColumns.of(fitted, place)
    if not is_saved(place):
        read = ("score", *(["user_id"] if required.users else []))
        columns = recognised(place, columns, *read, but=required.fields)
    traits = [name for name in required.fields if required.lists is None or name != HISTORY]
    if required.segment and columns.segment is None:
        raise SettingError(f"{calibrator} has one map per segment; name their column with columns=Columns(segment=...)")
    if traits and (columns.segment is not None or is_saved(place)):
        raise SettingError(
            f"{calibrator} reads the columns {', '.join(traits)} of a table; give a table with these, and "
            "no segment column"
        )
    if columns.segment is not None and not required.segment:
        raise SettingError(f"{calibrator} has no maps of segments, so a segment column has no meaning; leave it out")
    if isinstance(place, Path) and is_saved(place):
        n_pairs, frame = _list_run(required, place, target, options, columns, progress)
    else:
        n_pairs, frame = _add_to_table(required, place, target, options, columns, progress)
    required.say_unknown(n_pairs)
    if required.reach is not None:
        required.reach.warn()
    following = fitted.horizon_.following()
    in_lists = following.sentence if is_saved(place) and is_converted(fitted, following) else None
    return ApplyResult(
        data=place, output=target, n_pairs=n_pairs, estimand=fitted.estimand_, meaning=fitted.meaning,
        meaning_in_lists=in_lists, frame=frame,
    )  # fmt: skip


def columns_read(fitted: ProbabilityMap) -> dict[str, pl.DataType | None]:
    """The columns of a table that `apply` reads for a map, with their kinds; None: that of a field may be any.

    Examples
    --------
    >>> from sureness.calibration.parametric import PlattCalibrator
    >>> columns_read(PlattCalibrator().fit([0, 1, 2, 3], [0, 1, 0, 1]))
    {'score': Float64}
    """
    required = RequiredColumns.of(fitted, HeldTable(None, pl.LazyFrame()))
    found: dict[str, pl.DataType | None] = {"score": pl.Float64()}
    if required.users:
        users = getattr(fitted, "users_", None)
        found["user_id"] = None if users is None else users.ids.dtype  # those of lists may be anything
    if required.segment and required.overlapping is not None:
        values = required.overlapping.effects_.coding.fields[0].values
        found["segment"] = None if values is None else values.ids.dtype
    return found | dict.fromkeys(required.fields)


def _add_to_table(
    required: RequiredColumns,
    path: Place,
    output: Path | None,
    options: ApplyOptions,
    columns: Columns,
    progress: Progress,
) -> tuple[int, Any]:
    """Write the table with its probabilities, or give it back; also returns the number of rows."""
    refuse_given(options, ("seen", "segments"), f"belongs to a run, got the table {path}")
    inputs = required.inputs(columns)
    if isinstance(path, HeldTable) and output is None:
        with readable(path):
            path = path.collected()
    numbers = [columns.score, *required.numbers]
    frame = scan_table(path, columns.only(), numbers=numbers)  # all other columns are written as they were read
    require_columns(frame, inputs, path)
    if columns.probability in frame.collect_schema().names():
        raise ColumnError(
            f"{path} has a column {columns.probability!r} already, which would be lost; give the new one another name "
            "with columns=Columns(probability=...)"
        )
    n_rows = count_rows(frame, path)
    count = counter(progress, "applying", n_rows)
    if required.lists is not None:
        return n_rows, _add_to_lists(required, frame, path, output, columns, count)
    lacking = required.fields if required.overlapping is None else inputs[1:]
    result, problems = add_column(frame, columns.probability, inputs, required.probability, count, may_lack=lacking)
    try:
        return n_rows, _written(result, output, path, columns)
    except (FileError, ValueError):
        if problems and isinstance(problems[0], DataError):
            raise _placed(problems[0], inputs, path) from None
        raise


def _placed(problem: DataError, inputs: Sequence[str], path: Place) -> DataError:
    """The same problem with the file, and the line where it can be found."""
    where = bad_line(path, next((name for name in inputs if name in str(problem)), inputs[0]))
    return type(problem)(f"{path}{f', {where}' if where else ''}: {problem}")


def _add_to_lists(
    required: RequiredColumns,
    frame: pl.LazyFrame,
    path: Place,
    output: Path | None,
    columns: Columns,
    count: Callable[[int], None],
) -> Any:
    """The probabilities of a map that looks at whole groups, for the rows of a table in their own order."""
    inputs, user = required.inputs(columns), columns.user_id
    by_user = survey(frame, path, user).by_user

    def probability(block: pl.DataFrame) -> pl.Series:
        count(block.height)
        try:
            scores = filled(block[columns.score])
            return pl.Series(columns.probability, required.probability(scores, *(block[name] for name in inputs[1:])))
        except DataError as error:
            raise _placed(error, inputs, path) from None

    if by_user and output is not None:
        blocks = blocks_of_users(frame, path, by_user=True, user=user)
        added = (block.with_columns(probability(block)) for block in blocks)
        return write_blocks(added, output, format_like(path, columns))
    read = frame.select(inputs).with_row_index(_ROW)
    parts = [
        pl.DataFrame([block[_ROW], probability(block)])
        for block in blocks_of_users(read, path, by_user=by_user, user=user)
    ]
    found = pl.concat(parts).sort(_ROW).select(columns.probability)
    return _written(pl.concat([frame, found.lazy()], how="horizontal"), output, path, columns)


def _written(result: pl.LazyFrame, output: Path | None, path: Place, columns: Columns) -> Any:
    if output is not None:
        write_table(result, output, source=path, text=format_like(path, columns))
        return None
    with readable(path):
        if isinstance(path, HeldTable):
            return path.with_column(result.select(columns.probability).collect()[columns.probability])
        return result.collect()


def _list_run(
    required: RequiredColumns,
    path: Path,
    output: Path | None,
    options: ApplyOptions,
    columns: Columns,
    progress: Progress,
) -> tuple[int, pl.DataFrame | None]:
    """Write the best unseen items of every user with their probabilities, or give them back; also counts the rows."""
    check_whole(options.top, "top", 1)
    if columns.probability in _LISTED:
        raise SettingError(
            f"the lists have a column {columns.probability!r} already; give columns=Columns(probability=...) another"
        )
    run = open_run(path)
    seen = seen_of(run.source, given_seen(run, options.seen, columns, run.seen()))
    n_users = run.source.n_users
    count = counter(progress, "applying", n_users)
    if required.lists is not None:
        refuse_given(options, ("segments",), "belongs to maps per segment, got a map for lists")
        tables = _lists_of_groups(required, required.lists, run, seen, path, options.top)
    else:
        segments = None if options.segments is None else _segments(options.segments, columns, run.source)
        if required.segment and segments is None:
            raise SettingError(
                f"the calibrator has one map per segment; give a table with those of {path} as segments=..."
            )
        tables = _lists_of_pairs(required, run, seen, segments, options.top)
    n_rows = 0

    def blocks() -> Iterator[pl.DataFrame]:
        nonlocal n_rows
        for table, n_block in tables:
            n_rows += table.height
            count(n_block)
            yield table.rename({"probability": columns.probability})

    frame = write_blocks(blocks(), output, columns.text)
    return n_rows, frame


def _lists_of_pairs(
    required: RequiredColumns, run: Run, seen: Interactions | None, segments: pl.DataFrame | None, top: int
) -> Iterator[tuple[pl.DataFrame, int]]:
    """The best unseen items of users with the probabilities of a map of pairs."""
    for table, n_block in list_blocks(run.source, np.arange(run.source.n_users), top, seen):
        others = [table["user_id"]] if required.users else []
        others += [] if not required.segment or segments is None else [_segments_of(table, segments)]
        scores = table["score"].to_numpy().astype(np.float64)
        found = required.of_rows(scores, required.who(scores, *others))
        yield table.with_columns(pl.Series("probability", found)), n_block


def _lists_of_groups(
    required: RequiredColumns, fitted: ListCalibrator, run: Run, seen: Interactions | None, path: Path, top: int
) -> Iterator[tuple[pl.DataFrame, int]]:
    """The same for a map for lists: mean and spread are those of a user's candidates when the run was trained."""
    trained = seen if run.train is None else run.train
    if HISTORY in fitted.reads() and trained is None:
        raise EmptyError(f"{path} has no training log to count each user's history in; give one as seen=...")
    mapped = MappedSource.of(run.source, fitted, None, trained)
    later = None if seen is None or trained is None else seen.keep(~among(seen, trained))
    users, items = id_maps(run.source)
    width = min(max(top, fitted.best), run.source.n_items)
    rows = np.arange(run.source.n_users)
    for block in candidate_blocks(run.source, rows, width, seen=seen, later=later, best=fitted.best):
        scores = block.scores[:, :top].astype(np.float64)
        there = np.isfinite(scores)
        log_odds = mapped.log_odds(scores, block.users, block.items[:, :top], block.best, mapped.histories(block.users))
        if required.reach is not None:
            required.reach.count(scores[there])
        shown = items.at(block.items[:, :top][there])
        columns = {"score": block.scores[:, :top], "probability": sigmoid(log_odds)}
        yield list_table(there, users.at(block.users), shown, **columns), len(block.users)


def _segments(given: Table, columns: Columns, source: ScoreSource) -> pl.DataFrame:
    """The segment of each user, item or pair that the source knows, by its ids."""
    path = place_of(given)
    table = read_columns(path, columns, ["segment"], ["user_id", "item_id"])
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
