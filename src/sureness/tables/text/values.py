"""Numbers, labels and dates as people write them in text tables: decimal commas, thousands, 31/05/2024."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

import polars as pl

from sureness.errors import ColumnError, FileError
from sureness.numerics.conversion import LABEL_WORDS
from sureness.tables.columns import Dates, Decimal

Form = Literal["plain", "comma", "grouped", "words", "id"]
"""Plain numbers; a decimal comma (points may group thousands); commas that group thousands; labels in words; ids."""

_POWER = r"(?:[eE][+-]?[0-9]+)?"
_OTHERS = r"|[+-]?(?:inf|Inf|INF|infinity|Infinity|nan|NaN|NAN)"
_GROUPS = r"[1-9][0-9]{{0,2}}(?:{0}[0-9]{{3}})+"
_PATTERNS: dict[Form, str] = {
    "plain": rf"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_POWER}{_OTHERS}",
    "comma": rf"[+-]?(?:(?:{_GROUPS.format('[.]')}|[0-9]+)(?:,[0-9]*)?|,[0-9]+){_POWER}{_OTHERS}",
    "grouped": rf"[+-]?(?:(?:{_GROUPS.format(',')}|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+){_POWER}{_OTHERS}",
}
_GROUPED_BY_POINTS = re.compile(_GROUPS.format("[.]"))
_WHOLE = re.compile(r"[+-]?[0-9]+")
LABELS = {word: float(label) for word, label in LABEL_WORDS.items()}
"""Labels that may be written in words, in any case of the letters."""


def is_number(text: str, form: Form = "plain") -> bool:
    """Whether a text is a number of this form, or a label.

    Examples
    --------
    >>> is_number("1.5e-3"), is_number("1,5"), is_number("1,5", "comma"), is_number("yes", "words")
    (True, False, True, True)
    """
    text = text.strip()
    return text.lower() in LABELS if form == "words" else re.fullmatch(_PATTERNS[form], text) is not None


def is_usable(text: str, form: Form, *, label: bool = False) -> bool:
    """Whether a value is there, and unless it is an id, a finite number; of a label, whether it is 0 or 1.

    Examples
    --------
    >>> is_usable("ann", "id"), is_usable("", "id"), is_usable("inf", "plain"), is_usable("2", "plain", label=True)
    (True, False, False, False)
    """
    text = text.strip()
    if form in ("id", "words"):
        return bool(text)
    if not is_number(text, form):
        return False
    marks = {"plain": "", "grouped": ",", "comma": "."}
    value = float(text.replace(marks[form], "").replace(",", "."))
    return value in (0.0, 1.0) if label else math.isfinite(value)


def form_of(values: Sequence[str], decimal: Decimal | None, *, semicolons: bool) -> Form:
    """The only form that all values have; refused where 1,234 could be 1.234 or 1234.

    Values that are not numbers of any form are left to the reader, which names their line.

    Examples
    --------
    >>> form_of(["0,5", "1,234"], None, semicolons=True), form_of(["1,234.5"], None, semicolons=False)
    ('comma', 'grouped')
    """
    if decimal is not None:
        return "comma" if decimal == "comma" else "grouped"
    fits: list[Form] = [form for form in _PATTERNS if all(is_number(value, form) for value in values)]
    if "plain" in fits:
        if semicolons and (doubtful := _thousands_only(values)):
            raise _open_question(doubtful)
        return "plain"
    if len(fits) == 2:
        raise _open_question(next(value for value in values if "," in value))
    return fits[0] if fits else "plain"


def are_words(values: Sequence[str]) -> bool:
    """Whether labels are written in words."""
    return all(is_number(value, "words") for value in values) and any(value.lower() in _IN_WORDS for value in values)


def as_number(name: str, form: Form) -> pl.Expr:
    """A column of text as numbers; a value of another form fails."""
    text = pl.col(name).str.strip_chars()
    if form == "words":
        return text.str.to_lowercase().replace_strict(LABELS, return_dtype=pl.Float64).alias(name)
    plain = text.str.replace_all(r"[.]", "") if form == "comma" else text
    plain = plain.str.replace_all(",", "." if form == "comma" else "", literal=True)
    fits = text.str.contains(f"^(?:{_PATTERNS[form]})$")
    return pl.when(fits).then(plain).otherwise(pl.lit("no number: ") + text).cast(pl.Float64).alias(name)


def why_no_number(name: str, value: str) -> str:
    """What is wrong with a value, and what to do."""
    hint = "correct the line or drop it"
    if "," in value:
        hint = 'give Columns(decimal="comma") or Columns(decimal="point"), or correct the line'
    elif value.strip().endswith("%"):
        hint = "write 12% as 0.12"
    elif value.strip().lower() in _IN_WORDS:
        hint = "write 1 and 0, or words in all lines"
    return f"has {value!r:.60} as {name}, which is not a number; {hint}"


_IN_WORDS = ("true", "false", "yes", "no")


def _thousands_only(values: Sequence[str]) -> str | None:
    """A value such as 1.234 if all that are not whole are so; between semicolons they may be thousands."""
    others = [value for value in values if not _WHOLE.fullmatch(value)]
    return others[0] if others and all(_GROUPED_BY_POINTS.fullmatch(value) for value in others) else None


def _open_question(value: str) -> FileError:
    comma = value.replace(".", "") if "." in value else value.replace(",", ".")
    point = value if "." in value else value.replace(",", "")
    return FileError(f'{value} may be {comma} or {point}; give Columns(decimal="comma") or Columns(decimal="point")')


# --- dates ----------------------------------------------------------------------------------------------------------

_DATE = r"^\s*(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4})"
_ISO: dict[Dates, str] = {"day-first": "${3}-${2}-${1}", "month-first": "${3}-${1}-${2}"}
_MONTHS = 12


def in_iso_order(frame: pl.LazyFrame, name: str, order: Dates | None) -> pl.LazyFrame:
    """Dates of a column in this order as ISO text; other text stays as it is.

    Examples
    --------
    >>> rows = pl.LazyFrame({"time": ["31.05.2024 18:00", "soon"]})
    >>> in_iso_order(rows, "time", "day-first").collect()["time"].to_list()
    ['2024-05-31 18:00', 'soon']
    """
    if order is None or frame.collect_schema().get(name) != pl.String:
        return frame
    return frame.with_columns(pl.col(name).str.replace(_DATE, _ISO[order]))


def order_of(times: pl.Series) -> Dates | None:
    """Whether days or months come first, from all dates of a column; None if it has no such dates.

    A column in which no number is above 12 is refused, since it could be either.

    Examples
    --------
    >>> order_of(pl.Series(["01/02/2024", "31/02/2024"])), order_of(pl.Series(["2024-02-01"]))
    ('day-first', None)
    """
    first, second = (times.str.extract(_DATE, place).cast(pl.Int64).max() for place in (1, 2))
    if first is None or second is None:
        return None
    example = times.filter(times.str.contains(_DATE))[0]
    if first > _MONTHS and second > _MONTHS:  # type: ignore[operator]
        raise ColumnError(
            f"times such as {example!r} have the day first in some rows and the month in others; write all of them as "
            '2024-05-31, or give Columns(dates="day-first") to see which are otherwise'
        )
    if first <= _MONTHS and second <= _MONTHS:  # type: ignore[operator]
        raise ColumnError(
            f"times such as {example!r} may have the day or the month first; give "
            'Columns(dates="day-first") or Columns(dates="month-first"), or write them as 2024-05-31'
        )
    return "day-first" if first > _MONTHS else "month-first"  # type: ignore[operator]
