"""Text tables as lazy frames: looked at once, then read by polars."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from sureness.errors import FileError
from sureness.tables.columns import TextFormat
from sureness.tables.text.dialect import Dialect, dialect_of, is_utf8, line_chunks, parsed, polars_name
from sureness.tables.text.structure import Structure, check_structure, whole_rows, without_blank_lines
from sureness.tables.text.values import Form, are_words, as_number, form_of, is_number, is_usable, why_no_number

_MOST_OPENED = 256  # files that are remembered
_WHOLE = r"^\s*(0|-?[1-9][0-9]{0,17})\s*$"  # would be written the same way again: 007 is not 7
_PART = 1 << 22  # bytes decoded at a time

_opened: dict[str, TextFile] = {}


@dataclass(frozen=True, eq=False)
class TextFile:
    """A text table whose structure was checked."""

    place: Path
    wanted: TextFormat
    stamp: tuple[int, ...]  # of the file when it was looked at
    dialect: Dialect
    structure: Structure
    forms_read: dict[str, Form] = field(default_factory=dict)  # how the columns that were read last are written
    forms_seen: set[Form] = field(default_factory=set)  # of all columns that were read

    @property
    def names(self) -> tuple[str, ...]:
        return self.dialect.names

    def forms(self, numbers: Collection[str]) -> dict[str, Form]:
        """How the numbers of these columns are written, as far as they are there."""
        there = [name for name in numbers if name in self.names]
        words = [name for name in there if are_words(self.dialect.values(name))]
        values = [value for name in there if name not in words for value in self.dialect.values(name)]
        form = form_of(values, self.wanted.decimal, semicolons=self.dialect.layout.separator == ";")
        return {name: "words" if name in words else form for name in there}

    @property
    def has_decimal_commas(self) -> bool:
        """Whether numbers that were read have decimal commas; where all are whole, whether other columns have them."""
        if self.wanted.decimal is not None or "comma" in self.forms_seen or self.dialect.layout.separator != ";":
            return "comma" in self.forms_seen
        columns = [values for name in self.names if (values := self.dialect.values(name))]
        return _any_with(",", "comma", columns) and not _any_with(".", "plain", columns)

    def notes(self, forms: Mapping[str, Form]) -> Iterator[str]:
        """What had to be inferred, as notes on the table."""
        yield from self.dialect.notes
        if self.wanted.decimal is None and "comma" in forms.values():
            yield "is read with decimal commas"
        if self.wanted.decimal is None and "grouped" in forms.values():
            yield "is read with commas between thousands"
        if self.structure.padded:
            yield "has spaces around values; ids and numbers are read without them"

    def frame(self, forms: Mapping[str, Form], whole: Collection[str], ids: Collection[str]) -> pl.LazyFrame:
        """The rows: numbers as floats, whole ids as integers, everything else as text."""
        self.forms_read.clear()
        self.forms_read.update({**forms, **dict.fromkeys(ids, "id")})
        self.forms_seen.update(forms.values())
        direct: dict[str, Any] = {}
        if not self.structure.padded:
            direct |= {name: pl.Float64 for name, form in forms.items() if form == "plain"}
            direct |= dict.fromkeys(whole, pl.Int64)
        others = [as_number(name, form) for name, form in forms.items() if name not in direct]
        others += [_stripped(name, name in whole) for name in ids if self.structure.padded]
        return self._scan(direct).with_columns(others)

    def whole_ids(self, ids: Sequence[str]) -> list[str]:
        """Those of these columns in which every id is a whole number and would be written the same way again."""
        likely = [name for name in ids if self.dialect.may_be_whole(name)]
        if not likely:
            return []
        whole = self._scan({}).select(pl.col(likely).str.contains(_WHOLE).all()).collect(engine="streaming")
        return [name for name in likely if whole[name].item()]

    def wrong_number(self) -> str | None:
        """What is wrong with the first line that does not have a number where one is needed."""
        forms = {name: form for name, form in self.forms_read.items() if form != "id"}
        found = self._first_line(forms, lambda value, form: not value or is_number(value, form))
        return None if found is None else f"line {found[0]:,} {why_no_number(*found[1:])}"

    def incomplete(self, column: str) -> str | None:
        """The first line without a value in a column that is read, or without a finite number or a label there."""
        form = self.forms_read.get(column)
        found = None if form is None else self._first_line({column: form}, partial(is_usable, label=column == "label"))
        return None if found is None else f"line {found[0]:,}"

    def _first_line(self, forms: Mapping[str, Form], fits: Callable[[str, Form], bool]) -> tuple[int, str, str] | None:
        """The number of the first line with a value that does not fit, its column and the value."""
        layout, columns = self.dialect.layout, [(self.names.index(name), name, form) for name, form in forms.items()]
        lines = (line for chunk in self._rows() for line in chunk.decode("utf-8").split(layout.end)[:-1])
        for line, row in parsed(lines, layout.separator, layout.quote):
            for at, name, form in columns:
                if not fits(row[at], form):
                    return self.dialect.header_lines + line, name, row[at]
        return None

    def _scan(self, direct: Mapping[str, Any]) -> pl.LazyFrame:
        """The rows as text, but for columns whose type polars reads directly."""
        layout = self.dialect.layout
        schema: dict[str, Any] = {name: direct.get(name, pl.String) for name in self.names}
        if self.structure.n_rows == 0:
            return pl.LazyFrame(schema=schema)
        options: dict[str, Any] = {
            "has_header": False, "separator": layout.separator, "quote_char": layout.quote, "schema": schema,
            "eol_char": layout.end,
        }  # fmt: skip
        if is_utf8(self.dialect.encoding) and not self.structure.blank:
            return pl.scan_csv(
                polars_name(self.place), skip_lines=self.dialect.header_lines, glob=False,
                comment_prefix=layout.comment if layout.n_fields == 1 else None,  # else there are no comments
                **options,
            )  # fmt: skip
        return register_io_source(self._parts(options), schema=schema)

    def _parts(self, options: Mapping[str, Any]) -> Any:
        """A source of polars that turns the file into what polars reads, part by part."""

        def parts(
            columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
        ) -> Iterator[pl.DataFrame]:
            left = n_rows
            for chunk in self._rows(_PART):
                rows = without_blank_lines(chunk, self.dialect.layout)
                if not rows:
                    continue
                part = pl.read_csv(io.BytesIO(rows), n_rows=left, **options)
                left = None if left is None else left - part.height
                part = part if predicate is None else part.filter(predicate)
                yield part if columns is None else part.select(columns)
                if left == 0:
                    return

        return parts

    def _rows(self, size: int = 1 << 18) -> Iterator[bytes]:
        """The lines after the header as UTF-8, in whole rows."""
        return whole_rows(_rows_of(self.place, self.dialect, size), self.dialect.layout)


def open_text(place: Path, wanted: TextFormat, expected: Collection[str]) -> TextFile:
    """Look at a text table, once for as long as it does not change; its lines must have one structure.

    `expected` are names of columns that tell a header from a row.
    """
    state = os.stat(place)
    stamp = (state.st_ino, state.st_size, state.st_mtime_ns)
    known = _opened.get(str(place))
    if known is not None and (known.wanted, known.stamp) == (wanted, stamp):
        return known
    try:
        dialect = dialect_of(place, wanted, expected)
        structure = check_structure(_rows_of(place, dialect), dialect.layout, first_line=dialect.header_lines + 1)
    except FileError as error:
        if str(error).startswith("cannot read"):
            raise
        raise FileError(f"cannot read {place}: {error}") from error
    while len(_opened) >= _MOST_OPENED:
        _opened.pop(next(iter(_opened)))
    _opened[str(place)] = TextFile(place, wanted, stamp, dialect, structure)
    return _opened[str(place)]


def opened(place: Path) -> TextFile | None:
    """A file as it was looked at last."""
    return _opened.get(str(place))


def _rows_of(place: Path, dialect: Dialect, size: int = 1 << 18) -> Iterator[bytes]:
    """Chunks of whole lines after the header."""
    left, end = dialect.header_lines, dialect.layout.end.encode()
    for chunk in line_chunks(place, dialect.encoding, dialect.layout.end, size):
        start = 0
        while left and start < len(chunk):
            start, left = chunk.index(end, start) + 1, left - 1
        if start < len(chunk):
            yield chunk[start:] if start else chunk


def _any_with(mark: str, form: Form, columns: Sequence[Sequence[str]]) -> bool:
    """Whether all values of a column are numbers of this form, some with this mark."""
    return any(any(mark in each for each in own) and all(is_number(each, form) for each in own) for own in columns)


def _stripped(name: str, whole: bool) -> pl.Expr:
    text = pl.col(name).str.strip_chars().replace("", None)
    return text.cast(pl.Int64) if whole else text
