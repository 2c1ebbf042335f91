"""What several jobs do with their inputs: tell tables from saved things, count rows, read columns and logs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path

import polars as pl

from sureness._progress import Progress
from sureness.artefacts.saving import ENDINGS
from sureness.data.columns import Columns
from sureness.data.interactions import Interactions
from sureness.data.table_files import is_text
from sureness.data.tables import readable, require_columns, scan_table
from sureness.errors import SettingError, SurenessWarning
from sureness.pipeline.runs import Run
from sureness.sources.base import id_maps

OF_PAIRS = ("user_id", "item_id", "domain")


def is_saved(path: Path) -> bool:
    """Whether a path leads to something saved rather than to a table: a .sureness file, or a part inside one.

    So is a folder of version 0.1, which had a manifest; other folders are tables of several files.
    """
    named = any(each.suffix.lower() == ENDINGS["file"] for each in (path, *path.parents))
    return named or (path / "manifest.json").exists()


def counter(progress: Progress, step: str, total: int) -> Callable[[int], None]:
    """A function to call with the number of rows just done."""
    done = 0

    def add(n_rows: int) -> None:
        nonlocal done
        done += n_rows
        progress(step, done, total)

    return add


def read_columns(path: Path, columns: Columns, needed: Iterable[str]) -> pl.DataFrame:
    """A table with the agreed names of the columns it has; those that are needed must be there."""
    names = scan_table(path, columns.only()).collect_schema().names()
    there = columns.only(*(ours for ours, theirs in columns.renamed().items() if theirs in names))
    frame = scan_table(path, there, segment=columns.segment)
    require_columns(frame, list(needed), path)
    with readable(path):
        return frame.collect(engine="streaming")


def known_log(run: Run, path: str | PathLike[str], columns: Columns) -> Interactions:
    """A log with the rows of the run's source; pairs that the source does not know are dropped and noted."""
    log = Interactions.read(path, columns.only(*OF_PAIRS))
    return log.aligned(*id_maps(run.source), of_text=is_text(path))


def warned_log(run: Run, path: str | PathLike[str], columns: Columns) -> Interactions:
    """`known_log`, with a warning about the pairs that were dropped."""
    log = known_log(run, path, columns)
    for note in log.notes:
        warnings.warn(f"{path}: {note}", SurenessWarning, stacklevel=2)
    return log


def refuse_given(options: object, names: Iterable[str], why: str) -> None:
    """Refuse options that were given where they have no meaning."""
    usual = type(options)()
    for name in names:
        if getattr(options, name) != getattr(usual, name):
            raise SettingError(f"{name} {why}; leave it out")
