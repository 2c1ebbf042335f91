"""The files that make up a table (one, those of a pattern, or of a folder), and their rows as one lazy frame."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from sureness.errors import FileError, warn
from sureness.saving.files import why_unopenable
from sureness.tables.columns import Columns, Decimal, TextFormat
from sureness.tables.frames import Files, HeldTable, Place
from sureness.tables.text.dialect import USUAL, is_compressed, polars_name
from sureness.tables.text.files import TextFile, open_text, opened
from sureness.tables.text.values import Form, as_number

ENDINGS = (".parquet", *USUAL)
_ALL = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
_WITHOUT_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class TableFile:
    """One file of a table, and the values that the names of its folders give to columns (``day=2024-05-31``)."""

    place: Path
    ending: str
    partition: tuple[tuple[str, str | None], ...] = ()

    @property
    def is_text(self) -> bool:
        return self.ending != ".parquet"


def table_files(path: str | PathLike[str]) -> list[TableFile]:
    """The files that a name stands for, in the order of their names; all of them are Parquet, or all are text.

    A file of exactly this name comes first, whatever letters are in it. Otherwise ``*``, ``**`` and ``?`` make a
    pattern. In a folder, names that start with a dot or an underscore are left out, as other systems do.
    """
    if isinstance(path, Files):
        every = [file for each in path.paths for file in table_files(each)]
        _check_alike(every, path)
        return every
    given = Path(path)
    if problem := why_unopenable(given):
        raise FileError(f"cannot read {given}: {problem}")
    if given.is_dir():
        root, places = given, _in_folder(given)
    elif given.exists() or not _is_pattern(given):
        root, places = given.parent, [given]
    else:
        root, places = _fixed_part(given), _matching(given)
    if not places[0].exists():
        raise FileError(f"cannot read {given}: there is no such file")
    if given.is_dir() or len(places) > 1 or places[0] != given:
        found = [TableFile(place, ending_of(place), _partition(place, root)) for place in places]
    else:
        found = [TableFile(given, ending_of(given))]
    _check_alike(found, given)
    return found


def would_hold(path: Path, file: Path) -> bool:
    """Whether a table that a folder or a pattern stands for would hold a file, if there were one.

    Examples
    --------
    >>> would_hold(Path("parts/*.csv"), Path("parts/new.csv")), would_hold(Path("parts/*.csv"), Path("new.csv"))
    (True, False)
    """
    inner, outer = file.resolve(), path.resolve()
    if path.is_dir():
        return outer in inner.parents
    return not path.exists() and _is_pattern(path) and inner.match(str(outer).replace("[", "[[]"))


def is_text(path: str | PathLike[str] | HeldTable) -> bool:
    """Whether a table is of text, so that its ids came as text; a name that stands for nothing goes by its ending."""
    if isinstance(path, HeldTable):
        return False
    try:
        return table_files(path)[0].is_text
    except FileError:
        return Path(path).suffix.lower() != ".parquet"


def ending_of(place: Path) -> str:
    """What kind of table a file is, by its name; other names are refused.

    Examples
    --------
    >>> ending_of(Path("log.CSV.gz")), ending_of(Path("top.parquet"))
    ('.csv', '.parquet')
    """
    named = place.with_suffix("") if is_compressed(place) else place
    ending = named.suffix.lower()
    if ending not in ENDINGS or (ending == ".parquet" and named != place):
        raise FileError(
            f"cannot read {place}: the name must end in {_ALL}; text also with .gz or .zst after that"
        )  # fmt: skip
    return ending


def _is_pattern(path: Path) -> bool:
    return any(letter in str(path) for letter in "*?")


def _matching(pattern: Path) -> list[Path]:
    literal = str(pattern).replace("[", "[[]")  # brackets are letters of a name
    places = sorted(Path(name) for name in glob.glob(literal, recursive=True))
    places = [place for place in places if place.is_file()]
    if not places:
        raise FileError(f"cannot read {pattern}: there is no such file, and no file that the pattern matches")
    return places


def _fixed_part(pattern: Path) -> Path:
    return next(parent for parent in pattern.parents if not _is_pattern(parent))


def _in_folder(folder: Path) -> list[Path]:
    every = (place for place in sorted(folder.rglob("*")) if place.is_file())
    places = [place for place in every if not _is_hidden(place.relative_to(folder))]
    if not places:
        raise FileError(f"cannot read {folder}: the folder holds no tables ({_ALL})")
    return places


def _is_hidden(place: Path) -> bool:
    return any(part.startswith((".", "_")) for part in place.parts)


def _partition(place: Path, root: Path) -> tuple[tuple[str, str | None], ...]:
    parts = (part.partition("=") for part in place.relative_to(root).parts[:-1])
    values = ((name, unquote(value)) for name, equals, value in parts if name and equals)
    return tuple((name, None if value == _WITHOUT_VALUE else value) for name, value in values)


def _check_alike(files: list[TableFile], given: Path) -> None:
    first = files[0]
    for other in files[1:]:
        if other.is_text != first.is_text:
            raise FileError(
                f"cannot read {given}: it holds {first.place.name} and {other.place.name}, which are not of one kind; "
                f"give a pattern such as {given / '*.parquet'}"
            )
        if [name for name, _ in other.partition] != [name for name, _ in first.partition]:
            raise FileError(
                f"cannot read {given}: {first.place} and {other.place} lie in folders that name different columns"
            )


# --- their rows -----------------------------------------------------------------------------------------------------


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


def format_like(path: Place, columns: Columns) -> TextFormat:
    """How text is written by a job that reads a table: as the file was, or as `columns` ask for where it is not text.

    Ask after the table was looked at. Encodings other than UTF-8 become UTF-8 with a byte order mark, by which
    spreadsheets know it. Tabs and spaces are followed only from one .csv to another.
    """
    wanted, from_csv = columns.text, False
    if text := next(filter(None, _remembered(path)), None):
        decimal: Decimal | None = "comma" if text.has_decimal_commas else None
        written = text.dialect
        wanted = replace(wanted, separator=written.layout.separator, decimal=decimal, encoding=written.encoding)
        from_csv = ending_of(text.place) == ".csv"
    return wanted if from_csv or wanted.separator_character not in ("\t", " ") else replace(wanted, separator=None)


def _first_problem(path: str | PathLike[str] | HeldTable, problem: Callable[[TextFile], str | None]) -> str | None:
    texts = _texts(path)
    found = ((text.place, problem(text)) for text in texts)
    return next((why if len(texts) == 1 else f"{place.name}, {why}" for place, why in found if why), None)


def _texts(path: str | PathLike[str] | HeldTable) -> list[TextFile]:
    """The text files of a table, as they were looked at; none if one of them was not, or is not text."""
    texts = _remembered(path)
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else []


def _remembered(path: str | PathLike[str] | HeldTable) -> list[TextFile | None]:
    """The files of a table as they were looked at; None for those that were not, or are forgotten."""
    if isinstance(path, HeldTable):
        return []
    try:
        return [opened(file.place) for file in table_files(path)]
    except FileError:
        return []


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
    texts = [open_text(file.place, columns.text, expected) for file in files]
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
