"""What several jobs do with their inputs: tell tables from saved things, count rows, read columns and logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any

import polars as pl

from sureness._progress import Progress
from sureness.data.interactions import Interactions, union
from sureness.errors import SettingError, warn
from sureness.recommender.run import Run
from sureness.saving.objects import ENDINGS
from sureness.sources.aligned import Seen
from sureness.sources.base import id_maps
from sureness.tables.columns import Columns
from sureness.tables.files import is_text
from sureness.tables.frames import HeldTable, Place, Table, in_kind_of, name_of, place_of
from sureness.tables.reading import readable, require_columns, scan_table

OF_PAIRS = ("user_id", "item_id", "domain")


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


def read_columns(table: Table, columns: Columns, needed: Iterable[str]) -> pl.DataFrame:
    """A table with the agreed names of the columns it has; those that are needed must be there."""
    path = place_of(table)
    names = scan_table(path, columns.only()).collect_schema().names()
    there = columns.only(*(ours for ours, theirs in columns.renamed().items() if theirs in names))
    frame = scan_table(path, there, segment=columns.segment)
    require_columns(frame, list(needed), path)
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
