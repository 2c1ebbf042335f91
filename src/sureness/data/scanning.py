"""Files of tables as one lazy frame, whatever they are made of; the only module that opens tables with polars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike

import polars as pl

from sureness.data.columns import Columns
from sureness.data.frames import HeldTable
from sureness.data.table_files import TableFile, table_files
from sureness.data.text_bytes import polars_name
from sureness.data.text_files import TextFile, open_text, opened
from sureness.data.text_numbers import Form, as_number
from sureness.errors import FileError, warn


def scan_files(
    path: str | PathLike[str], columns: Columns, *, numbers: Sequence[str] = (), ids: Sequence[str] = ()
) -> pl.LazyFrame:
    """The rows of all files that a name stands for, under the names in the files.

    Parameters
    ----------
    path : path
        A file, a pattern or a folder.
    columns : Columns
        How text is written, and the names that tell a header from a row.
    numbers, ids : sequence of str
        Columns of text files that hold numbers, and those that hold ids; all others are read as text, unchanged.
    """
    files = table_files(path)
    return _scan_text(path, files, columns, numbers, ids) if files[0].is_text else _scan_parquet(files)


def why_unreadable(path: str | PathLike[str] | HeldTable) -> str | None:
    """What is wrong with a text table whose numbers could not be read: the line, what it has and what to do."""
    return _first_problem(path, lambda text: text.wrong_number())


def bad_line(path: str | PathLike[str] | HeldTable, column: str) -> str | None:
    """The first line of a text table that lacks a value of a column, or has no finite number or label there."""
    return _first_problem(path, lambda text: text.incomplete(column))


def text_rows(path: str | PathLike[str] | HeldTable) -> int | None:
    """The number of rows of a text table, which was counted when it was looked at; None for other tables."""
    texts = _texts(path)
    return sum(text.structure.n_rows for text in texts) if texts else None


def _first_problem(path: str | PathLike[str] | HeldTable, problem: Callable[[TextFile], str | None]) -> str | None:
    texts = _texts(path)
    found = ((text.place, problem(text)) for text in texts)
    return next((why if len(texts) == 1 else f"{place.name}, {why}" for place, why in found if why), None)


def _texts(path: str | PathLike[str] | HeldTable) -> list[TextFile]:
    """The text files of a table, as they were looked at; none if one of them was not, or is no text."""
    if isinstance(path, HeldTable):
        return []
    try:
        texts = [opened(file.place) for file in table_files(path)]
    except FileError:
        return []
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else []


def _scan_parquet(files: Sequence[TableFile]) -> pl.LazyFrame:
    names = [polars_name(file.place) for file in files]
    wanted = [name for name, _ in files[0].partition]
    if not wanted:
        return pl.scan_parquet(names, glob=False, hive_partitioning=False)
    frame = pl.scan_parquet(names, glob=False, hive_partitioning=True)
    above = {part.partition("=")[0] for part in files[0].place.absolute().parts if "=" in part} - set(wanted)
    written = pl.scan_parquet(names[0], glob=False, hive_partitioning=False).collect_schema().names()
    return frame.drop(above - set(written), strict=False)  # folders above the table name no columns of it


def _scan_text(
    path: str | PathLike[str], files: Sequence[TableFile], columns: Columns, numbers: Sequence[str], ids: Sequence[str]
) -> pl.LazyFrame:
    expected = {*columns.every(), *numbers, *ids}
    texts = [open_text(file.place, columns.text, expected, ids) for file in files]
    _check_names(texts)
    there = [name for name in ids if name in texts[0].names]
    whole = set.intersection(*(set(each.whole_ids(there)) for each in texts)) if there else set()
    forms = [_forms(each, numbers) for each in texts]
    for note in dict.fromkeys(note for each, form in zip(texts, forms, strict=True) for note in each.notes(form)):
        warn(f"{path} {note}")
    frames = [
        _placed(each.frame(form, whole, there), file, numbers)
        for each, form, file in zip(texts, forms, files, strict=True)
    ]
    names = frames[0].collect_schema().names()  # other files may have them in another order
    return frames[0] if len(frames) == 1 else pl.concat(each.select(names) for each in frames)


def _forms(text: TextFile, numbers: Sequence[str]) -> dict[str, Form]:
    try:
        return text.forms(numbers)
    except FileError as error:
        raise FileError(f"cannot read {text.place}: {error}") from error


def _placed(frame: pl.LazyFrame, file: TableFile, numbers: Sequence[str]) -> pl.LazyFrame:
    """The rows of a file with the values that the names of its folders give."""
    if not file.partition:
        return frame
    frame = frame.with_columns(pl.lit(value, pl.String).alias(name) for name, value in file.partition)
    return frame.with_columns(as_number(name, "plain") for name, _ in file.partition if name in numbers)


def _check_names(texts: Sequence[TextFile]) -> None:
    first = texts[0]
    for other in texts[1:]:
        if differing := sorted(set(first.names) ^ set(other.names)):
            raise FileError(
                f"cannot read {other.place}: it does not have the columns of {first.place}; they differ in "
                f"{', '.join(map(repr, differing[:5]))}"
            )
