"""Whether every row of a text table has as many fields as its header; looks at all bytes once.

Parsers fill rows that are too short, drop surplus values of columns that are not read, and read a forgotten
quote as one long value. So the structure is checked before anything is read, and a line that breaks it is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sureness._types import AnyArray, BoolArray, IntArray
from sureness._wording import counted
from sureness.errors import FileError

_LONGEST = 1 << 26  # bytes; a longer value in quotes is taken for a quote that was never closed
_RETURN, _SPACE, _HASH = b"\r #"
_BLANK = re.compile(rb"[ \t\r]*")


@dataclass(frozen=True)
class Layout:
    """What the rows of a file are made of."""

    n_fields: int
    separator: str
    quote: str | None = '"'
    end: str = "\n"  # of a line
    comment: str | None = None  # lines that start with it are not rows
    hashes: bool = False  # whether rows may start with #


@dataclass(kw_only=True)
class Structure:
    """What the rows of a file turned out to be."""

    n_rows: int = 0
    n_lines: int = 0
    blank: bool = False  # there are lines without anything
    padded: bool = False  # there are fields with spaces around them
    n_hashes: int = 0  # rows that start with #
    first_hash: int = 0  # the line of the first


class BrokenLineError(FileError):
    """A line that does not fit; `why` is what is wrong with it and what to do."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line:,} {why}")


def check_structure(lines: Iterable[bytes], layout: Layout, *, first_line: int = 1) -> Structure:
    r"""Check chunks of whole lines, from the first row on; refuse the first line that breaks the structure.

    Examples
    --------
    >>> check_structure([b"1,2\n3,4\n"], Layout(n_fields=2, separator=",")).n_rows
    2
    >>> check_structure([b"1,2\n3\n"], Layout(n_fields=2, separator=","), first_line=2)
    Traceback (most recent call last):
    sureness.tables.text.structure.BrokenLineError: line 3 has 1 field where the header has 2; correct it, or give ...
    """
    found = Structure(n_lines=first_line - 1)
    for chunk in whole_rows(lines, layout):
        _look(chunk, layout, found)
    if not layout.hashes and 0 < found.n_hashes < found.n_rows:
        why = (
            'starts with # and other rows do not; give Columns(comment="#") to leave such lines out, or '
            'Columns(comment="none")'
        )
        raise BrokenLineError(found.first_hash, why)
    return found


def whole_rows(lines: Iterable[bytes], layout: Layout) -> Iterator[bytes]:
    """Join chunks of whole lines until no quotes are open; lines of comments become empty."""
    kept = b""
    quote = b"" if layout.quote is None else layout.quote.encode()
    for chunk in lines:
        kept += chunk if layout.comment is None else _without_comments(chunk, layout, inside=bool(kept))
        if not quote or quote not in kept or kept.count(quote) % 2 == 0 or len(kept) > _LONGEST:
            yield kept
            kept = b""
    if kept:
        yield kept


def _without_comments(chunk: bytes, layout: Layout, *, inside: bool) -> bytes:
    """Empty the lines of comments; what looks like one inside of quotes stays."""
    comment, end = (layout.comment or "").encode(), layout.end.encode()
    quote = b"" if layout.quote is None else layout.quote.encode()
    lines = chunk.split(end)
    for number, line in enumerate(lines):
        if not inside and line.startswith(comment):
            lines[number] = b""
        elif quote and line.count(quote) % 2:
            inside = not inside
    return end.join(lines)


def without_blank_lines(chunk: bytes, layout: Layout) -> bytes:
    r"""Whole rows without lines that have nothing on them; those inside of quotes stay.

    Examples
    --------
    >>> without_blank_lines(b'1,2\n  \n3,"\n\n"\n\n', Layout(n_fields=2, separator=","))
    b'1,2\n3,"\n\n"\n'
    """
    letters = np.frombuffer(chunk, np.uint8)
    rows = _rows(letters, _Lines(letters == ord(layout.end), 1), layout)
    keep = np.ones(len(letters), dtype=bool)
    for row in _blank_rows(chunk, rows):
        keep[rows.starts[row] : rows.ends[row] + 1] = False
    return chunk if keep.all() else letters[keep].tobytes()


def _look(chunk: bytes, layout: Layout, found: Structure) -> None:
    """Check whole rows."""
    letters = np.frombuffer(chunk, np.uint8)
    lines = _Lines(letters == ord(layout.end), found.n_lines + 1)
    check_bytes(chunk, layout.end, lines.first)
    rows = _rows(letters, lines, layout)
    n_blank = 0
    if not rows.regular:
        n_blank = _check_widths(chunk, rows, layout.n_fields, lines)
    _count_hashes(letters, rows.starts, found, lines)
    found.blank = found.blank or n_blank > 0
    found.padded = found.padded or (b" " in chunk and _is_padded(letters, rows.marks, layout))
    found.n_rows += len(rows.starts) - n_blank
    found.n_lines += int(np.count_nonzero(lines.ends))


@dataclass(frozen=True)
class _Rows:
    """Where the rows of a chunk are."""

    marks: IntArray  # places of separators and ends of rows, outside of quotes
    starts: IntArray  # (n_rows,)
    ends: IntArray  # (n_rows,)
    n_fields: IntArray | None  # (n_rows,); None: each row has as many as the header

    @property
    def regular(self) -> bool:
        return self.n_fields is None


def _rows(letters: AnyArray, lines: _Lines, layout: Layout) -> _Rows:
    """Find the rows; quotes must be where quotes may be."""
    marks = (letters == ord(layout.separator)) | lines.ends
    quotes = None if layout.quote is None else letters == ord(layout.quote)
    quoted = quotes is not None and bool(quotes.any())
    places = _outside_quotes(letters, marks, layout, lines) if quoted else np.flatnonzero(marks)
    is_end, width = lines.ends[places], layout.n_fields
    regular = len(places) == width * np.count_nonzero(is_end) and bool(is_end[width - 1 :: width].all())
    order = np.arange(width - 1, len(places), width) if regular else np.flatnonzero(is_end)
    ends = places[order]
    starts = np.concatenate([[0], ends[:-1] + 1])
    return _Rows(places, starts, ends, None if regular else np.diff(order, prepend=-1))


@dataclass(frozen=True)
class _Lines:
    """The lines of a chunk."""

    ends: BoolArray
    first: int

    def at(self, place: int) -> int:
        """The number of the line that a byte is on."""
        return self.first + int(np.count_nonzero(self.ends[:place]))


def check_bytes(chunk: bytes, end: str, first_line: int = 1) -> None:
    """Refuse bytes that are not UTF-8 text, with their line."""
    if (place := chunk.find(b"\0")) >= 0:
        why = 'has a zero byte; remove it, or give Columns(encoding="utf-16") if it is that'
        raise BrokenLineError(first_line + chunk.count(end.encode(), 0, place), why)
    if chunk.isascii():
        return
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        why = (
            f"is not UTF-8 (byte {chunk[error.start]:#04x}); name its encoding, such as "
            'Columns(encoding="cp1252") or Columns(encoding="latin-1")'
        )
        raise BrokenLineError(first_line + chunk.count(end.encode(), 0, error.start), why) from error


def _outside_quotes(letters: AnyArray, marks: BoolArray, layout: Layout, lines: _Lines) -> IntArray:
    """Where the marks outside of quotes are; a quote must stand at an edge of its field, or be doubled inside."""
    assert layout.quote is not None
    gap, end, quote = ord(layout.separator), ord(layout.end), ord(layout.quote)
    places = np.flatnonzero(marks | (letters == quote))
    is_quote = letters[places] == quote
    inside = np.bitwise_xor.accumulate(is_quote)
    quotes, opens = places[is_quote], inside[is_quote]
    before, after = letters[quotes - 1], letters[np.minimum(quotes + 1, len(letters) - 1)]
    if quotes[0] == 0:
        before[0] = end
    next_to = np.where(opens, before, after)
    fine = (next_to == gap) | (next_to == end) | (next_to == quote) | (~opens & (next_to == _RETURN))
    if not fine.all():
        wrong = int(np.argmin(fine))
        at = lines.at(quotes[wrong] if opens[wrong] else quotes[wrong - 1])
        why = 'has a quote inside a value; double it, or give Columns(quote="none") if quotes are plain letters'
        raise BrokenLineError(at, why)
    if inside[-1]:
        why = 'opens a quote that is never closed; close it, or give Columns(quote="none")'
        raise BrokenLineError(lines.at(quotes[-1]), why)
    free: IntArray = places[~(inside | is_quote)]
    return free


def _check_widths(chunk: bytes, rows: _Rows, width: int, lines: _Lines) -> int:
    """The number of lines with nothing on them; the first row with another number of fields is refused."""
    assert rows.n_fields is not None
    blank = _blank_rows(chunk, rows)
    wrong = np.flatnonzero(rows.n_fields != width)
    if len(wrong := np.setdiff1d(wrong, blank)):
        n_fields = rows.n_fields[wrong[0]]
        why = (
            f"has {counted(n_fields, 'field')} where the header has {width:,}; correct it, or "
            "give Columns(separator=...), Columns(quote=...) or Columns(comment=...) if it is meant otherwise"
        )
        raise BrokenLineError(lines.at(rows.starts[wrong[0]]), why)
    return len(blank) if width > 1 else 0  # in a single column, nothing is a missing value


def _blank_rows(chunk: bytes, rows: _Rows) -> IntArray:
    """Rows of one field that has nothing, or spaces."""
    single = [] if rows.n_fields is None else np.flatnonzero(rows.n_fields == 1).tolist()
    blank = [row for row in single if _BLANK.fullmatch(chunk, int(rows.starts[row]), int(rows.ends[row]))]
    return np.array(blank, dtype=np.int64)


def _count_hashes(letters: AnyArray, starts: IntArray, found: Structure, lines: _Lines) -> None:
    hashes = letters[starts] == _HASH
    if n_hashes := int(np.count_nonzero(hashes)):
        found.first_hash = found.first_hash or lines.at(starts[np.argmax(hashes)])
        found.n_hashes += n_hashes


def _is_padded(letters: AnyArray, places: IntArray, layout: Layout) -> bool:
    """Whether some field has spaces around it."""
    if layout.separator == " ":
        return False
    before, after = letters[places - 1], letters[np.minimum(places + 1, len(letters) - 1)]
    returns = places[before == _RETURN]
    return bool(
        letters[0] == _SPACE or (before == _SPACE).any() or (after == _SPACE).any()
        or (letters[returns - 2] == _SPACE).any()
    )  # fmt: skip
