"""See from its first lines how a text table is written: what leaves no choice is taken, the rest is refused."""

from __future__ import annotations

import codecs
import csv
import gzip
import os
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl

from sureness._wording import counted
from sureness.errors import FileError
from sureness.tables.columns import QUOTES, SEPARATORS, TextFormat
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

    Raises a `FileError` without the name of the file; `notes` lists what had to be inferred.
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
        separator, inferred_notes = _separator(place, lines, quote, expected)
        notes += inferred_notes
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


# --- bytes as lines of UTF-8 ----------------------------------------------------------------------------------------

COMPRESSED = (".gz", ".zst")
HEAD_BYTES = 64 * 1024
"""How much of a file is looked at to see how it is written."""

_HEAD_LINES = 1_000  # the same for zstd
_CHUNK = 1 << 18  # bytes; stays in the cache of a core
_LONGEST = 1 << 26  # bytes; a longer line is taken for something else than a line
_NO_SEPARATOR = "\x01"
_UTF8 = ("utf-8", "utf-8-sig", "ascii")
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def is_compressed(place: Path) -> bool:
    """Whether the name of a file ends as those of compressed ones do."""
    return place.suffix.lower() in COMPRESSED


def is_utf8(encoding: str) -> bool:
    """Whether polars can read this encoding from the file itself."""
    return codecs.lookup(encoding).name in _UTF8


def polars_name(place: Path) -> str:
    """A path as polars takes it: UTF-8, whatever Python takes the names of files for."""
    try:
        return os.fsencode(place).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {place}: its name is not UTF-8; rename the file, or its folder") from error


def encoding_of(place: Path) -> tuple[str, bool]:
    """The encoding that the first bytes leave no choice about, and whether it had to be inferred from zero bytes."""
    if _is_zstd(place):
        return "utf-8", False
    with _opened(place) as opened:
        start = _read(opened, HEAD_BYTES, place)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding, False
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):  # Latin text has a zero byte in each of its pairs
        zeros = start[first::2].count(0)
        if len(start) > 1 and zeros > 0.8 * len(start[first::2]) and not start[1 - first :: 2].count(0):
            return encoding, True
    return "utf-8", False


def line_chunks(place: Path, encoding: str = "utf-8", end: str = "\n", size: int = _CHUNK) -> Iterator[bytes]:
    """Whole lines as UTF-8; the last line of the file gets an end where it has none."""
    left, mark = b"", end.encode()
    for chunk in _chunks(place, encoding, size):
        whole, found, rest = chunk.rpartition(mark)
        if found:
            yield left + whole + mark
            left = rest
        else:
            left += chunk
        if len(left) > _LONGEST:
            raise FileError(f"cannot read {place}: a line is longer than {_LONGEST:,} bytes; is it a text table?")
    if left:
        yield left + mark


def first_lines(place: Path, encoding: str = "utf-8") -> tuple[bytes, str]:
    """The first lines of a file as UTF-8, and what ends them: a carriage return only where there is no line feed.

    A last line that may go on is left out.
    """
    lines = _zstd_lines(place, encoding, _HEAD_LINES) if _is_zstd(place) else _chunks(place, encoding, HEAD_BYTES)
    start = next(lines, b"")
    end = "\r" if b"\r" in start and b"\n" not in start else "\n"
    cut = len(start) >= HEAD_BYTES // 2 and end.encode() in start
    return (start.rpartition(end.encode())[0] if cut else start), end


def _chunks(place: Path, encoding: str, size: int) -> Iterator[bytes]:
    if _is_zstd(place):
        yield from _zstd_lines(place, encoding)
        return
    with _opened(place) as opened:
        if is_utf8(encoding):
            first = _read(opened, size, place)
            yield first.removeprefix(codecs.BOM_UTF8)
            while chunk := _read(opened, size, place):
                yield chunk
            return
        decoder = codecs.getincrementaldecoder(encoding)()
        n_lines = 0
        while True:
            chunk = _read(opened, size, place)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line = n_lines + 1 + error.object[: error.start].decode(encoding, "ignore").count("\n")
                raise FileError(
                    f"cannot read {place}: line {line:,} is not {encoding} ({error.reason}); name its encoding with "
                    "Columns(encoding=...)"
                ) from error
            n_lines += text.count("\n")
            yield text.encode("utf-8", "surrogatepass")
            if not chunk:
                return


def _opened(place: Path) -> BinaryIO:
    if not is_compressed(place):
        return place.open("rb", buffering=0)
    return cast(BinaryIO, gzip.open(place, "rb"))


def _is_zstd(place: Path) -> bool:
    return place.suffix.lower() == ".zst"


def _read(opened: BinaryIO, size: int, place: Path) -> bytes:
    try:
        return opened.read(size)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileError(f"cannot read {place}: it is not a whole gzip file ({error}); compress it again") from error


def _zstd_lines(place: Path, encoding: str, n_lines: int | None = None) -> Iterator[bytes]:
    """By way of polars, because Python has no reader of zstd."""
    if not is_utf8(encoding):
        raise FileError(f"cannot read {place}: zstd files are read as UTF-8 only; decompress it, or use gzip")
    lines = pl.scan_csv(
        polars_name(place), has_header=False, separator=_NO_SEPARATOR, quote_char=None, schema={"line": pl.String},
        n_rows=n_lines, glob=False,
    )  # fmt: skip
    for batch in lines.collect_batches(chunk_size=20_000):
        yield (batch["line"].fill_null("").str.join("\n").item() + "\n").encode()
