"""What jobs do with their inputs: tell tables from saved things, read columns and logs, label candidates by a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from sureness._progress import Progress
from sureness._wording import agreeing, counted
from sureness.calibration.maps import ProbabilityMap
from sureness.data.interactions import Interactions, union
from sureness.errors import EmptyError, SettingError, warn
from sureness.recommender.run import Run, open_run
from sureness.saving.objects import ENDINGS
from sureness.sources.aligned import Seen
from sureness.sources.base import ScoreSource, id_maps, is_partial
from sureness.sources.blocks import known_pairs, user_blocks
from sureness.sources.candidates import CandidateSource
from sureness.tables.columns import Columns
from sureness.tables.files import is_text
from sureness.tables.frames import HeldTable, Place, Table, in_kind_of, name_of, place_of
from sureness.tables.reading import column_names, readable, recognised, require_columns, scan_table

OF_PAIRS = ("user_id", "item_id", "domain")
_IN_LOGS = ("user_id", "item_id", "score")  # columns that other libraries call otherwise


def is_saved(path: Place) -> bool:
    """Whether a path leads to something saved rather than to a table: a .sureness file, or a part inside one.

    So is a folder of version 0.1, which had a manifest; other folders are tables of several files.
    """
    if isinstance(path, HeldTable):
        return False
    named = any(each.suffix.lower() == ENDINGS["file"] for each in (path, *path.parents))
    return named or (path / "manifest.json").exists()


def as_given(place: Place, frame: pl.DataFrame | None) -> Any:
    """A result in the library of the table it was made from; None: it was written to a file."""
    if frame is None:
        return None
    return in_kind_of(place.given if isinstance(place, HeldTable) else place, frame)


def counter(progress: Progress, step: str, total: int) -> Callable[[int], None]:
    """A function to call with the number of rows just done."""
    done = 0

    def add(n_rows: int) -> None:
        nonlocal done
        done += n_rows
        progress(step, done, total)

    return add


def with_own_scores(maps: Iterable[ProbabilityMap], place: Place, columns: Columns) -> Columns:
    """The scores that maps were fitted on, where the caller names no other column."""
    own = {each.horizon_.scores or Columns().score for each in maps}
    if own == {Columns().score} or columns.score != Columns().score or is_saved(place):
        return columns
    if len(own) > 1:
        raise SettingError(
            f"the calibrators were fitted on the columns {' and '.join(map(repr, sorted(own)))}, of which one can be "
            "read; name it with columns=Columns(score=...), or give the others by themselves"
        )
    [column] = own
    names = column_names(place, columns)
    if column in names:
        return replace(columns, score=column)
    read = columns.recognised(names, "score").score
    warn(
        f"the calibrator was fitted on the column {column!r}, which {place} does not have; its column {read!r} is read"
    )
    return columns


def read_columns(table: Table, columns: Columns, needed: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """A table with the agreed names of the columns it has; those that are needed must be there.

    The needed and the optional ones may have the names of other libraries.
    """
    path = place_of(table)
    names = scan_table(path, columns.only()).collect_schema().names()
    there = columns.only(*(ours for ours, theirs in columns.renamed().items() if theirs in names))
    there = recognised(path, there, *(name for name in (*needed, *optional) if name in _IN_LOGS))
    frame = scan_table(path, there, segment=columns.segment)
    require_columns(frame, needed, path)
    with readable(path):
        return frame.collect(engine="streaming")


def known_log(run: Run, table: Table, columns: Columns) -> Interactions:
    """A log with the rows of the run's source; pairs that the source does not know are dropped and noted."""
    place = place_of(table)
    log = Interactions.from_table(place, columns=columns.only(*OF_PAIRS))
    return log.aligned(*id_maps(run.source), of_text=is_text(place))


def warned_log(run: Run, table: Table, columns: Columns, name: str = "log") -> Interactions:
    """`known_log`, with a warning about the pairs that were dropped; `name` is what a table in memory is called."""
    log = known_log(run, table, columns)
    warn_notes(name_of(table, name), log.notes)
    return log


def warn_notes(table: object, notes: Iterable[str]) -> None:
    """Say what was dropped of a table."""
    for note in notes:
        warn(f"{table}: {note}")


def given_seen(run: Run, tables: Sequence[Table], columns: Columns, usual: Interactions | None) -> Seen:
    """What was seen: the logs that were given, the word "nothing" for none at all, otherwise what is usual."""
    if not tables:
        return usual
    return "nothing" if is_nothing(tables) else union([warned_log(run, log, columns, "seen") for log in tables])


def is_nothing(tables: Sequence[Table]) -> bool:
    """Whether the word "nothing" stands in place of a log, whose name has an ending."""
    return len(tables) == 1 and isinstance(tables[0], str | PathLike) and str(tables[0]) == "nothing"


def refuse_given(options: object, names: Iterable[str], why: str) -> None:
    """Refuse options that were given where they have no meaning."""
    given = not_usual(options, type(options)())
    for name in names:
        if name in given:
            raise SettingError(f"{name} {why}; leave it out")


def not_usual(options: object, usual: object) -> list[str]:
    """The options that differ from the usual ones; a table in memory does, whatever its rows are."""

    def same(found: object, value: object) -> bool:
        return found is value or (isinstance(found, str | int | float | tuple | PathLike) and found == value)

    return [name for name, value in vars(usual).items() if not same(getattr(options, name), value)]


def labelled_run(
    path: Place, held_out: Table | None, seen: Sequence[Table], columns: Columns
) -> tuple[Run, Interactions, Seen]:
    """A run, the held-out pairs that label its candidates, and what is no candidate.

    The logs replace those of the run; a table has none of its own.
    """
    run = open_run(path) if isinstance(path, Path) and is_saved(path) else Run(_top_n_table(path, held_out, columns))
    later = run.validation if held_out is None else warned_log(run, held_out, columns, "held_out")
    if later is None:
        raise EmptyError(f"{path} has no validation part to calibrate on; give a log of held-out pairs as held_out=...")
    _say_outside(run.source, later, path)
    return run, later, given_seen(run, seen, columns, run.train)


def _top_n_table(path: Place, held_out: Table | None, columns: Columns) -> CandidateSource:
    """The candidates of a table without labels, which a log beside it labels; by domain, if both have domains."""
    names = column_names(path, columns)
    if columns.label in names:
        raise SettingError(
            f"{path} has labels in its column {columns.label!r}, so held_out has no meaning; leave it out, or drop the "
            "column"
        )
    by_domain = held_out is not None and columns.domain in names and columns.domain in column_names(held_out, columns)
    wanted = columns.only("user_id", "item_id", "score", "domain")
    source = CandidateSource.from_table(path, columns=wanted, by_domain=by_domain)
    warn_notes(path, source.notes)
    return source


def _say_outside(source: ScoreSource, held_out: Interactions, path: Place) -> None:
    """Say how many held-out pairs a source has no score for, which no fit to its candidates can count."""
    if not is_partial(source):
        return
    n_outside = len(held_out) - int(known_pairs(source, held_out.user_rows, held_out.item_rows).sum())
    if n_outside:
        warn(
            f"{n_outside:,} of the {counted(len(held_out), 'held-out pair')} of known users and items "
            f"{agreeing(n_outside, 'is', 'are')} not in {path} and {agreeing(n_outside, 'labels', 'label')} nothing; "
            "the probability is that of a pair with this score in such a table"
        )


def n_candidates(source: ScoreSource, seen: Seen) -> int:
    """How many pairs have a score and were not seen."""
    log = seen if isinstance(seen, Interactions) else None
    if not is_partial(source):
        return source.n_users * source.n_items - (0 if log is None else len(log))
    n_known = sum(len(source.known_block(users).scores) for users in user_blocks(source))
    return n_known - (0 if log is None else int(known_pairs(source, log.user_rows, log.item_rows).sum()))
