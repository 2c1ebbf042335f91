"""Times as a log has them: what dates are in its unit, how long a window is, and when the log ends."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from numbers import Real
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import polars as pl

from sureness._types import AnyArray
from sureness.data.cleaning import time_numbers
from sureness.errors import ColumnError, DataError, SettingError
from sureness.numerics.checks import brief

Time: TypeAlias = float | str | date | np.datetime64
"""A time as a log may have it: a number, a date, a datetime, or text that is one of these."""

Length: TypeAlias = float | str | timedelta | np.timedelta64
"""How long a window is: text such as 30d or 1mo, a timedelta, a number in the log's unit, or a share below 1."""

_EPOCH = datetime(1970, 1, 1)
_FIRST_DATE, _LAST_DATE = 1e14, 1e17  # microseconds of the years 1973 to 5138; counters lie below
_UNITS = {"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1.0, "nanoseconds": 1e-3}  # microseconds in each
_LENGTHS = {"s": 1e6, "min": 6e7, "h": 3.6e9, "d": 8.64e10, "w": 6.048e11}  # microseconds
_MONTHS = {"mo": 1, "q": 3, "y": 12}
_SOME = 1_000


class Clock(NamedTuple):
    """The times of a log: from the first to the end of the last, and what one of them is in microseconds since 1970."""

    first: float
    last: float
    end: float  # after the last time by the unit in which times are written: a day, an hour, a second or one
    unit: str | None  # None: the numbers cannot be dates

    @classmethod
    def of(cls, times: AnyArray) -> Self:
        """Of the times of a log; one time alone is refused.

        Examples
        --------
        >>> Clock.of(np.array([1_704_067_200, 1_709_251_200]))  # two midnights, in seconds
        Clock(first=1704067200, last=1709251200, end=1709337600.0, unit='seconds')
        """
        known = times[~np.isnan(times)] if times.dtype.kind == "f" else times
        if not len(known) or known.min() == known.max():
            raise DataError(f"a split by time needs at least two different times, got {len(np.unique(known))}; "
                            "check the time column")  # fmt: skip
        first, last = known.min().item(), known.max().item()
        unit = next((name for name, size in _UNITS.items() if _FIRST_DATE <= last * size < _LAST_DATE), None)
        return cls(first, last, _end(known, last, unit), unit)

    def number(self, given: object, name: str) -> float:
        """A time as the number that the log has for it."""
        values = np.array([given]) if isinstance(given, np.generic) else [given]
        try:
            numbers = time_numbers(pl.Series(values), [])
        except (ColumnError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            numbers = pl.Series([None])
        if isinstance(given, bool) or numbers[0] is None:
            raise SettingError(
                f"{name} must be a number, a date or text such as 2024-05-31T18:00:00, got {brief(given)}"
            )
        number: float = numbers.item()
        if not is_date(given):
            return number
        return number / self.microseconds(f"{name}={brief(given)} is a date")

    def microseconds(self, because: str) -> float:
        """How many microseconds one of its numbers is; refused where these cannot be dates."""
        if self.unit is None:
            raise SettingError(
                f"{because}, but the times of the log, {self.first:,} to {self.last:,}, cannot be seconds or "
                "microseconds since 1970; give a number in their unit"
            )
        return _UNITS[self.unit]

    def note(self, given: object, number: float, name: str) -> tuple[str, ...]:
        """A sentence on a date that was converted to the unit of the log."""
        if self.unit in (None, "microseconds") or not is_date(given):
            return ()
        return (f"the times of the log are {self.unit} since 1970, so {name} {given} was taken as {number:.0f}",)

    def shown(self, time: float) -> str:
        """A time as a number, and as a date where it can be one."""
        since = time * _UNITS[self.unit] if self.unit else np.nan
        if not _FIRST_DATE <= since < _LAST_DATE:
            return f"{time:,}"
        return f"{time:,} ({_EPOCH + timedelta(microseconds=since):%Y-%m-%d %H:%M:%S})"

    def moment(self, time: float) -> str | float:
        """A time as a date where it can be one, else the number itself.

        Examples
        --------
        >>> Clock.of(np.array([1_704_067_200, 1_709_251_200])).moment(1_704_070_800)
        '2024-01-01T01:00:00'
        """
        since = time * _UNITS[self.unit] if self.unit else np.nan
        if not _FIRST_DATE <= since < _LAST_DATE:
            return time
        moment = _EPOCH + timedelta(microseconds=round(since / 1e6) * 1e6)
        return moment.date().isoformat() if moment.time() == _EPOCH.time() else moment.isoformat()

    def steps_back(self, window: Length, end: float) -> Callable[[int], float]:
        """The function that gives the time some windows before an end.

        Examples
        --------
        >>> clock = Clock.of(np.array([0, 99]))
        >>> [clock.steps_back(0.1, clock.end)(n) for n in (0, 1, 2)]
        [100.0, 90.0, 80.0]
        """
        found = re.fullmatch(r"\s*(\d+)\s*([a-z]+)\s*", window) if isinstance(window, str) else None
        if found and found[2] in _MONTHS:
            size, months = self.microseconds(f"window={brief(window)} is calendar time"), int(found[1])
            moment = _EPOCH + timedelta(microseconds=end * size)
            return lambda n: (
                (_months_before(moment, n * months * _MONTHS[found[2]]) - _EPOCH) / timedelta(microseconds=size)
            )
        length = self.length(window)
        return lambda n: end - n * length

    def length(self, window: Length) -> float:
        """How long a window is in the unit of the log; months are their mean length."""
        found = re.fullmatch(r"\s*(\d+)\s*([a-z]+)\s*", window) if isinstance(window, str) else None
        length = np.nan
        if found and found[2] in _LENGTHS | _MONTHS:
            sizes = _LENGTHS | {name: 2_629_746e6 * n for name, n in _MONTHS.items()}
            length = int(found[1]) * sizes[found[2]] / self.microseconds(f"window={brief(window)} is a length of time")
        elif isinstance(window, timedelta | np.timedelta64):
            size = self.microseconds(f"window={window} is a length of time")
            length = float(np.timedelta64(window, "us") / np.timedelta64(1, "us")) / size
        elif isinstance(window, Real) and not isinstance(window, bool):
            length = float(window) * (self.end - self.first if 0 < window < 1 else 1)
        if self.unit == "microseconds" and 0 < length < _LENGTHS["s"]:
            raise SettingError(
                f"window={brief(window)} is {length:g} microseconds, as the log has dates; write its unit, as in 30d"
            )
        if not 0 < length < np.inf:
            raise SettingError(
                "window must be text such as 30d, 2w, 12h or 1mo, a number in the unit of the log's times, or a share "
                f"of the log below 1, got {brief(window)}"
            )
        return length


def is_date(given: object) -> bool:
    """Whether a time is a date, or text that is not a number.

    Examples
    --------
    >>> is_date("2024-05-31"), is_date("1717113600"), is_date(3)
    (True, False, False)
    """
    if not isinstance(given, str):
        return isinstance(given, date | np.datetime64)
    try:
        float(given)
    except ValueError:
        return True
    return False


def _end(times: AnyArray, last: float, unit: str | None) -> float:
    """The end of the last time: times that are all midnights are whole days."""
    if not all(np.all(part % 1 == 0) for part in (times[:_SOME], times)):
        return float(np.nextafter(last, np.inf))
    for size in sorted(_LENGTHS.values(), reverse=True)[1:] if unit else []:
        step = size / _UNITS[str(unit)]
        if step > 1 and all(np.all(part % step == 0) for part in (times[:_SOME], times)):
            return last + step
    return last + 1


def _months_before(moment: datetime, months: int) -> datetime:
    """The same day of an earlier month, or its last day."""
    count = moment.year * 12 + moment.month - 1 - months
    if count < 12:
        raise SettingError(f"window must end in the years of the log, got one {months:,} months before {moment}")
    year, month = count // 12, count % 12 + 1
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))
