"""How a text table is written: what a user says about it, where the file itself leaves it open."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from sureness.errors import SettingError
from sureness.numerics.checks import check_whole

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
"""Separators that have a word; any other single character is written as it is."""

QUOTES = {"double": '"', "single": "'", "none": None}

Decimal = Literal["point", "comma"]
Dates = Literal["day-first", "month-first"]
Quote = Literal["double", "single", "none"]


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """How text tables are written; None leaves it to the file, which is refused where it could mean two things.

    Examples
    --------
    >>> TextFormat(separator="semicolon", decimal="comma").separator_character
    ';'
    """

    separator: Annotated[str | None, "Between columns: comma, semicolon, tab, pipe, space, or one character."] = None
    decimal: Annotated[Decimal | None, "Whether 1,234 is 1.234 (comma) or 1234 (point)."] = None
    encoding: Annotated[str | None, "Such as cp1252, latin-1 or utf-16; else utf-8."] = None
    dates: Annotated[Dates | None, "Whether 01/02/2024 is in February (day-first) or in January."] = None
    header: Annotated[str | None, "Names of the columns, such as user_id,item_id, of a file without a header."] = None
    skip_lines: Annotated[int, "Number of lines before the header to leave out."] = 0
    comment: Annotated[str | None, "What starts a line to leave out, such as #; or none."] = None
    quote: Annotated[Quote | None, "Quotes that may surround a value; else double."] = None

    def __post_init__(self) -> None:
        if self.separator is not None and len(self.separator_character or "") != 1:
            words = ", ".join(SEPARATORS)
            raise SettingError(f"separator must be {words}, or one character, got {self.separator!r}")
        for name, choices in (("decimal", Decimal), ("dates", Dates), ("quote", Quote)):
            known, value = get_args(choices), getattr(self, name)
            if value is not None and value not in known:
                raise SettingError(f"{name} must be {' or '.join(known)}, got {value!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, ValueError) as error:
                raise SettingError(f"encoding must be one such as cp1252 or utf-16, got {self.encoding!r}") from error
        check_whole(self.skip_lines, "skip_lines")
        if self.comment == "":
            raise SettingError("comment must be what such lines start with, such as #, or none; got nothing")

    @property
    def separator_character(self) -> str | None:
        """The separator itself, where it is said."""
        return None if self.separator is None else SEPARATORS.get(self.separator, self.separator)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The column names of a file without a header line."""
        return None if self.header is None else tuple(name.strip() for name in self.header.split(","))
