"""Dates with the day or the month first, such as 31/05/2024, turned into ISO order."""

from __future__ import annotations

import polars as pl

from sureness.data.text_format import Dates
from sureness.errors import ColumnError

_PATTERN = r"^\s*(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4})"
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
    return frame.with_columns(pl.col(name).str.replace(_PATTERN, _ISO[order]))


def order_of(times: pl.Series) -> Dates | None:
    """Whether days or months come first, from all dates of a column; None if it has no such dates.

    A column in which no number is above 12 is refused, since it could be either.

    Examples
    --------
    >>> order_of(pl.Series(["01/02/2024", "31/02/2024"])), order_of(pl.Series(["2024-02-01"]))
    ('day-first', None)
    """
    first, second = (times.str.extract(_PATTERN, place).cast(pl.Int64).max() for place in (1, 2))
    if first is None or second is None:
        return None
    example = times.filter(times.str.contains(_PATTERN))[0]
    if first > _MONTHS and second > _MONTHS:  # type: ignore[operator]
        raise ColumnError(
            f"times such as {example!r} have the day first in some rows and the month in others; write all of them as "
            "2024-05-31, or say --dates day-first to see which are otherwise"
        )
    if first <= _MONTHS and second <= _MONTHS:  # type: ignore[operator]
        raise ColumnError(
            f"times such as {example!r} may have the day or the month first; say --dates day-first or "
            "--dates month-first, or write them as 2024-05-31"
        )
    return "day-first" if first > _MONTHS else "month-first"  # type: ignore[operator]
