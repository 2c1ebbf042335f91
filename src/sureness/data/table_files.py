"""Which files make up a table: one file, those that a pattern matches, or those in a folder and its subfolders."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from urllib.parse import unquote

from sureness.data.frames import Files, HeldTable
from sureness.data.text_bytes import is_compressed
from sureness.data.text_dialect import USUAL
from sureness.errors import FileError
from sureness.saving.files import why_unnameable

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
    if problem := why_unnameable(given):
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
            f"cannot read {place}: the name must end in {_ALL}; text also in .gz or .zst behind that"
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
