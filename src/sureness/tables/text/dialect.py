"""See from its first lines how a text table is written: what leaves no choice is taken, the rest is refused."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sureness._wording import counted
from sureness.errors import FileError
from sureness.tables.text.bytes import encoding_of, first_lines, is_compressed
from sureness.tables.text.format import QUOTES, SEPARATORS, TextFormat
from sureness.tables.text.structure import BrokenLineError, Layout, check_bytes
from sureness.tables.text.values import is_number

USUAL = {".csv": ",", ".tsv": "\t", ".txt": None}
"""The endings of text tables, and the separator that they promise."""

_CANDIDATES = (",", ";", "\t", "|")
_DECLARED = re.compile(r'"?sep=(.)"?\s*')  # how spreadsheets declare the separator, on a line before the header
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_WORDS = {character: word for word, character in SEPARATORS.items()}


@dataclass(frozen=True)
class Dialect:
    """How a file is written, and its first rows."""

    encoding: str
    layout: Layout
    names: tuple[str, ...]
    header_lines: int  # lines before the first row
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()  # what had to be inferred

    def values(self, name: str) -> list[str]:
        """The values of a column in the first rows, without spaces around them; empty ones are left out."""
        at = self.names.index(name)
        return [row[at].strip() for row in self.rows if row[at].strip()]

    def may_be_whole(self, name: str) -> bool:
        """Whether the first values of a column are whole numbers that would be written the same way again."""
        return all(_WHOLE.fullmatch(value) for value in self.values(name))


def dialect_of(place: Path, wanted: TextFormat, expected: Collection[str] = ()) -> Dialect:
    """How a file is written; `expected` are names of columns that tell a header from a row.

    Raises a `FileError` without the name of the file; `notes` says what had to be inferred.
    """
    encoding, inferred = (wanted.encoding, False) if wanted.encoding else encoding_of(place)
    head, end = first_lines(place, encoding)
    if not head.strip():
        raise FileError("it is empty; expected a header line and rows")
    check_bytes(head, end)
    lines = head.decode("utf-8").split(end)
    skipped, declared = _before_header(lines, wanted)
    quote = QUOTES[wanted.quote or "double"]
    comment = None if wanted.comment in (None, "none") else wanted.comment
    lines = [""] * skipped + ["" if comment and line.startswith(comment) else line for line in lines[skipped:]]
    separator, notes = wanted.separator_character or declared, [f"is read as {encoding}"] if inferred else []
    if separator is None:
        separator, said = _separator(place, lines, quote, expected)
        notes += said
    records = list(parsed(lines, separator, quote))
    names, header_lines = _header(records, wanted, expected)
    rows = tuple(tuple(row) for line, row in records if line > header_lines and len(row) == len(names))
    layout = Layout(len(names), separator, quote, end, comment, hashes=wanted.comment is not None)
    return Dialect(encoding, layout, names, header_lines, rows, tuple(notes))


def parsed(lines: Iterable[str], separator: str, quote: str | None) -> Iterator[tuple[int, list[str]]]:
    """The rows of lines that have something on them, each with the number of its last line."""
    ended = (f"{line}\n" for line in lines)
    if quote is None:
        reader = csv.reader(ended, delimiter=separator, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(ended, delimiter=separator, quotechar=quote)
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield reader.line_num, row
    except csv.Error as error:  # a carriage return in the middle, or a value of more than 100,000 letters
        raise BrokenLineError(reader.line_num, f"cannot be split into values ({error}); correct it") from error


def _before_header(lines: Sequence[str], wanted: TextFormat) -> tuple[int, str | None]:
    """How many lines do not count, and the separator that the last of them declares."""
    skipped = wanted.skip_lines
    if skipped >= len(lines):
        raise FileError(
            f"Columns(skip_lines=...) leaves nothing of its {counted(len(lines), 'line')}; give a smaller number"
        )
    declared = _DECLARED.fullmatch(lines[skipped])
    return (skipped + 1, declared[1]) if declared else (skipped, None)


def _separator(
    place: Path, lines: Sequence[str], quote: str | None, expected: Collection[str]
) -> tuple[str, list[str]]:
    """The only separator under which the header and the rows agree, and a note if the ending promises another."""
    ending = place.with_suffix("").suffix if is_compressed(place) else place.suffix
    usual = USUAL.get(ending.lower())
    header = next((line for line in lines if line.strip()), "")
    there = [each for each in _CANDIDATES if each in header]
    if len(there) > 1:
        fitting = [each for each in there if _agree(lines, each, quote)]
        named = [each for each in fitting or there if _names_known(header, each, quote, expected)]
        there = named if len(named) == 1 else fitting or there
    if len(there) > 1:
        words = " or ".join(f'Columns(separator="{_WORDS[each]}")' for each in there)
        raise FileError(f"its columns may be separated in {len(there)} ways; give {words}")
    found = there[0] if there else usual or ","
    return found, [f"is read with a {_WORDS[found]} between its columns"] if there and found != usual else []


def _agree(lines: Sequence[str], separator: str, quote: str | None) -> bool:
    counts = {len(row) for _, row in parsed(lines, separator, quote)}
    return len(counts) == 1 and counts != {1}


def _names_known(header: str, separator: str, quote: str | None, expected: Collection[str]) -> bool:
    return any(name.strip() in expected for _, row in parsed([header], separator, quote) for name in row)


def _header(
    records: Sequence[tuple[int, list[str]]], wanted: TextFormat, expected: Collection[str]
) -> tuple[tuple[str, ...], int]:
    """The names of the columns, and the number of the line that they end on."""
    if not records:
        raise FileError("it is empty; expected a header line and rows")
    line, first = records[0]
    if wanted.names is not None:
        if len(wanted.names) != len(first):
            raise FileError(
                f"Columns(header=...) names {counted(len(wanted.names), 'column')}, but line {line:,} has "
                f"{len(first):,}"
            )
        return _distinct(wanted.names, line), line - 1
    names = tuple(name.strip().removeprefix("\ufeff") for name in first)
    if all(is_number(name) for name in names if name) and not set(names) & set(expected):
        raise FileError(
            f"line {line:,} has numbers only, so it is not a header; name the columns with "
            'Columns(header="user_id,item_id,...")'
        )
    return _distinct(names, line), line


def _distinct(names: Sequence[str], line: int) -> tuple[str, ...]:
    """The names; those without one are numbered as polars does, and a name that occurs twice is refused."""
    twice = [name for name, count in Counter(filter(None, names)).items() if count > 1]
    if twice:
        raise FileError(f"line {line:,} names the column {twice[0]!r} more than once; rename one of them")
    found, n_nameless = [], 0
    for name in names:
        found.append(name or ("" if n_nameless == 0 else f"_duplicated_{n_nameless - 1}"))
        n_nameless += not name
    return tuple(found)
