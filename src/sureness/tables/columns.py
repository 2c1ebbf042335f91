"""How tables are read: the agreed column names, the names in the file where they differ, and how text is written."""

from __future__ import annotations

import codecs
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, get_args

from sureness.errors import SettingError
from sureness.numerics.checks import check_whole

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
"""Separators that have a word; any other single character is written as it is."""

QUOTES = {"double": '"', "single": "'", "none": None}

Decimal = Literal["point", "comma"]
Dates = Literal["day-first", "month-first"]
Quote = Literal["double", "single", "none"]
Formulas = Literal["escaped"]


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
    formulas: Annotated[Formulas | None, "escaped: write texts that spreadsheets run with an apostrophe."] = None

    def __post_init__(self) -> None:
        character = self.separator_character
        if character is not None and (len(character) != 1 or not character.isascii()):
            words = ", ".join(SEPARATORS)
            raise SettingError(f"separator must be {words}, or one ASCII character, got {self.separator!r}")
        for name, choices in (("decimal", Decimal), ("dates", Dates), ("quote", Quote), ("formulas", Formulas)):
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
        """The separator itself, where it is given."""
        return None if self.separator is None else SEPARATORS.get(self.separator, self.separator)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The column names of a file without a header line."""
        return None if self.header is None else tuple(name.strip() for name in self.header.split(","))


_KNOWN_AS = {
    "user_id": (
        "user",
        "userid",
        "uid",  # LensKit, MovieLens and Surprise, predictions of Surprise
        "query_id",
        "queryid",
        "qid",
        "group_id",
        "session_id",  # rankers
    ),
    "item_id": ("item", "itemid", "movieid", "iid"),
    "rating": ("r_ui",),  # Surprise
    "time": ("timestamp", "datetime"),  # LensKit and MovieLens, RecTools
    "score": ("est", "prediction"),  # Surprise, Spark
}
"""What other libraries call our columns, in small letters."""
_OF_TEXT = {field.name: field.default for field in fields(TextFormat)}


@dataclass(frozen=True, kw_only=True, repr=False)
class Columns(TextFormat):
    """The name in the file of each agreed column; for text files also how they are written.

    Examples
    --------
    >>> columns = Columns(user_id="customer", score="logit")
    >>> columns.renamed()
    {'user_id': 'customer', 'score': 'logit'}
    >>> columns.only("user_id", "item_id")
    Columns(user_id='customer')
    >>> Columns(group="query_id")
    Columns(user_id='query_id')
    >>> Columns(score="punkte", separator="semicolon", decimal="comma")
    Columns(score='punkte', separator='semicolon', decimal='comma')
    """

    user_id: str = "user_id"
    item_id: str = "item_id"
    score: str = "score"
    label: str = "label"
    probability: str = "probability"
    weight: str = "weight"
    propensity: str = "propensity"
    rating: str = "rating"
    time: str = "time"
    domain: str = "domain"
    segment: str | None = None
    cost: str = "cost"
    title: str = "title"
    group: Annotated[str | None, "Column of the groups: users, queries or sessions; the same as user_id."] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.group is not None:
            if self.user_id not in ("user_id", self.group):
                raise SettingError(
                    f"group and user_id are one column, got {self.group!r} and {self.user_id!r}; give one of them"
                )
            object.__setattr__(self, "user_id", self.group)

    def __repr__(self) -> str:
        given = {**self.renamed(), **self._written()}
        return f"Columns({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    @property
    def text(self) -> TextFormat:
        """How text files are written, without the names of columns."""
        return TextFormat(**self._written())

    def every(self) -> set[str]:
        """The names in the file of all columns."""
        return {getattr(self, field.name) for field in fields(self) if field.name not in _OF_TEXT} - {None}

    def renamed(self) -> dict[str, str]:
        """Agreed names to the names in the file, where they differ."""
        named = [field.name for field in fields(self) if field.name not in (*_OF_TEXT, "group")]
        every = {name: getattr(self, name) for name in named}
        return {ours: theirs for ours, theirs in every.items() if theirs not in (ours, None)}

    def _written(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name, usual in _OF_TEXT.items() if getattr(self, name) != usual}

    def recognised(self, names: Collection[str], *wanted: str) -> Columns:
        """These columns, and for those that are wanted and missing the names that other libraries give them.

        Examples
        --------
        >>> Columns().recognised(["userId", "movieId", "rating", "timestamp"], "user_id", "item_id", "rating", "time")
        Columns(user_id='userId', item_id='movieId', time='timestamp')
        """
        found: dict[str, Any] = {}
        for ours in wanted:
            if getattr(self, ours) == ours and ours not in names:
                called = (ours, *_KNOWN_AS.get(ours, ()))
                known = [name for name in names if name.lower() in called and name not in self.every()]
                if len(known) == 1:
                    found[ours] = known[0]
        return replace(self, **found)

    def refuse_shared(self, *names: str) -> None:
        """Refuse to read two of these from one column."""
        whose: dict[str, str] = {}
        for ours in names:
            theirs = getattr(self, ours)
            if theirs in whose:
                raise SettingError(
                    f"column {theirs!r} cannot be both {whose[theirs]} and {ours}; name another column for one of them"
                )
            whose[theirs] = ours

    def only(self, *names: str) -> Columns:
        """The same names for some columns; the others keep the agreed name."""
        kept: dict[str, Any] = {ours: theirs for ours, theirs in self.renamed().items() if ours in names}
        return Columns(**kept, **self._written())
