"""Split a log by time: what came first trains, what came later judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from numbers import Real
from typing import Literal, TypeAlias, TypedDict

import numpy as np
import polars as pl

from sureness._types import AnyArray, Seed
from sureness.data.cleaning import time_numbers
from sureness.data.interactions import Interactions, check_log
from sureness.data.splitting import Split, last_shares, parted, places_from_end, untrained
from sureness.errors import ColumnError, DataError, SettingError
from sureness.numerics.checks import brief

Time: TypeAlias = float | str | date | np.datetime64
"""A time as a log may have it: a number, a date, a datetime, or text that is one of these."""

ShareOf: TypeAlias = Literal["period", "user"]

_USUAL_SHARE = 0.2
_MICROSECONDS = 1_000_000  # in a second
_EPOCH = datetime(1970, 1, 1)
_FIRST_DATE, _LAST_DATE = 1e14, 1e17  # microseconds of the years 1973 to 5138; counters and seconds lie below


class TimeCuts(TypedDict, total=False):
    """Where a log is cut: the settings of `by_time`."""

    validation_from: Time | None
    test_from: Time | None
    validation_share: float | None
    test_share: float | None
    share_of: ShareOf


def by_time(
    log: Interactions,
    *,
    validation_from: Time | None = None,
    test_from: Time | None = None,
    validation_share: float | None = None,
    test_share: float | None = None,
    share_of: ShareOf = "period",
    seed: Seed = 0,
) -> Split:
    """Train on what came first, and hold out what came later.

    Give the times at which validation and test begin, or shares. Pairs without a time count as older than all others.
    A repeated pair is in the log once, at its latest time. `notes` counts the users and items of the later parts that
    training never meets. A map that is fitted on the validation part knows the length of its period.

    Parameters
    ----------
    log : Interactions
        With times.
    validation_from, test_from : number, date, datetime or text
        When the parts begin, in the form of the log's times: numbers in their unit, or dates such as 2024-05-31 and
        2024-05-31T18:00:00. A pair at exactly that time is in the later part. Without `validation_from` there is no
        validation part.
    validation_share, test_share : float
        Shares of the period or of each user, see `share_of`. The default is 0.2 each, unless times are given.
    share_of : {"period", "user"}
        period: the last share of the time from the first pair to the last one. user: the last share of each user's
        pairs in their order, for logs whose times are only an order, such as positions in a session. Every user then
        keeps at least one pair in training, and the parts have no common period.
    seed : int or numpy.random.Generator
        Breaks ties in the order of a user's pairs.

    Examples
    --------
    >>> log = Interactions.of([1, 1, 1, 2, 2], [1, 2, 3, 1, 2], times=["2024-01-05", "2024-02-05", "2024-03-05",
    ...                                                                "2024-01-20", "2024-03-01"])
    >>> by_time(log, validation_from="2024-02-01", test_from="2024-03-01")
    Split(2 users, 3 items; train 2, validation 1, test 2)
    >>> by_time(log, validation_share=0.3, test_share=0.3, share_of="user")
    Split(2 users, 3 items; train 2, validation 1, test 2)
    """
    times = _times(check_log(log))
    first, last = _span(times)
    _refuse_both((validation_from, test_from), (validation_share, test_share), share_of)
    shares = _checked_shares(validation_share, test_share)
    if share_of == "user":
        split = last_shares(log, log.user_rows, places_from_end(log, log.user_rows, seed, by_time=True), *shares)
        return _noting(split)
    if test_from is None:
        validation, test = last - sum(shares) * (last - first), last - shares[1] * (last - first)
    else:
        validation, test = _cut_points((validation_from, test_from), first, last)
    return _cut(log, times, (first, validation, test, last))


def _times(log: Interactions) -> AnyArray:
    if log.times is None:
        raise ColumnError("a split by time needs a log with times, got one without; read a time column, or split by "
                          "by_ratio or leave_one_out")  # fmt: skip
    return log.times


def _refuse_both(times: Sequence[Time | None], shares: Sequence[float | None], share_of: str) -> None:
    """Refuse times together with shares, and a validation part that never ends."""
    if share_of not in ("period", "user"):
        raise SettingError(f"share_of must be period or user, got {share_of!r}")
    if any(time is not None for time in times) and (share_of == "user" or any(share is not None for share in shares)):
        raise SettingError("a split by time takes either the times validation_from and test_from or shares, got both; "
                           "leave one of them out")  # fmt: skip
    if times[0] is not None and times[1] is None:
        raise SettingError(f"test_from must be given too, got validation_from={brief(times[0])} alone")


def _checked_shares(validation: float | None, test: float | None) -> tuple[float, float]:
    shares = tuple(_USUAL_SHARE if share is None else share for share in (validation, test))
    numbers = all(isinstance(share, Real) for share in shares)
    if not (numbers and shares[0] >= 0 and shares[1] > 0 and sum(shares) < 1):
        raise SettingError("validation_share must be 0 or more, test_share above 0, and both together below 1, "
                           f"got {brief(shares[0])} and {brief(shares[1])}")  # fmt: skip
    return shares[0], shares[1]


def _span(times: AnyArray) -> tuple[float, float]:
    """The first and the last time."""
    known = times[~np.isnan(times)] if times.dtype.kind == "f" else times
    if not len(known) or known.min() == known.max():
        raise DataError(f"a split by time needs at least two different times, got {len(np.unique(known))}; "
                        "check the time column")  # fmt: skip
    return known.min().item(), known.max().item()


def _cut_points(given: tuple[Time | None, Time | None], first: float, last: float) -> tuple[float, float]:
    """When validation and test begin, as numbers within the times of the log."""
    test = _number(given[1], "test_from")
    validation = test if given[0] is None else _number(given[0], "validation_from")
    for name, value, asked in (("validation_from", validation, given[0]), ("test_from", test, given[1])):
        if asked is not None and not first < value <= last:
            raise _outside(name, asked, value, first, last)
    if validation > test:
        raise SettingError(f"validation_from must not be later than test_from, got {given[0]!r} and {given[1]!r}")
    return validation, test


def _outside(name: str, asked: Time, value: float, first: float, last: float) -> SettingError:
    """The refusal of a time that is not one of the log's, with the number that was meant if the log has seconds."""
    seconds = value / _MICROSECONDS
    hint = "give it in the form of the log's times (dates become microseconds since 1970)"
    if not isinstance(asked, Real) and first < seconds <= last:
        hint = f"the log has seconds since 1970, so give {seconds:.0f}"
    return SettingError(f"{name} must lie after the first time of the log, {_shown(first)}, and not after the last, "
                        f"{_shown(last)}, got {asked!r}, which is {_shown(value)}; {hint}")  # fmt: skip


def _shown(time: float) -> str:
    """A time as a number, and as a date where it is one in microseconds."""
    if not _FIRST_DATE <= time < _LAST_DATE:
        return f"{time:,}"
    return f"{time:,} ({_EPOCH + timedelta(microseconds=time):%Y-%m-%d %H:%M:%S})"


def _number(given: object, name: str) -> float:
    """A time as the number that a log has for it."""
    values = np.array([given]) if isinstance(given, np.generic) else [given]
    try:
        numbers = time_numbers(pl.Series(values), [])
    except (ColumnError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        numbers = pl.Series([None])
    if isinstance(given, bool) or numbers[0] is None:
        raise SettingError(f"{name} must be a number, a date or text such as 2024-05-31T18:00:00, got {brief(given)}")
    return numbers.item()  # type: ignore[no-any-return]


def _cut(log: Interactions, times: AnyArray, at: tuple[float, float, float, float]) -> Split:
    """The parts between four times; what has none is the oldest, since NaN is not after anything."""
    in_test, later = times >= at[2], times >= at[1]
    chosen = (~later, later & ~in_test, in_test)
    split = Split(*parted(*(replace(log.keep(mask), period=(at[i], at[i + 1])) for i, mask in enumerate(chosen))))
    empty = at[1] < at[2] and not len(split.validation)
    return _noting(split, *(["no interaction is in the period of the validation part"] if empty else []))


def _noting(split: Split, *notes: str) -> Split:
    every = (*notes, *untrained(split))
    return Split(*(part.noting(*every) for part in split.parts.values()))
