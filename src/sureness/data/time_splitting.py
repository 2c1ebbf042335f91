"""Split a log by time: what came first trains, what came later judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, Seed
from sureness.data.cleaning import MANY_REPEATS, OF_REPEATS
from sureness.data.interactions import Interactions, check_log, union
from sureness.data.splitting import Split, last_shares, parted, places_from_end, untrained, without_test
from sureness.data.times import Clock, Length, Time
from sureness.errors import ColumnError, DataError, SettingError
from sureness.numerics.checks import brief, check_whole

ShareOf: TypeAlias = Literal["period", "user"]

_USUAL_SHARE = 0.2


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

    Give the times at which validation and test begin, or shares. Rows are cut first, and pairs are distinct inside each
    part, so that no part depends on what came later; a later part may repeat pairs of an earlier one. Rows without a
    time count as older than all others. `notes` counts the users and items of the later parts that training never
    meets. A map that is fitted on the validation part knows the length of its period.

    Parameters
    ----------
    log : Interactions
        With times.
    validation_from, test_from : number, date, datetime or text
        When the parts begin: numbers in the unit of the log's times, or dates such as 2024-05-31 and
        2024-05-31T18:00:00, also where the log has seconds or milliseconds since 1970. A row at exactly that time is
        in the later part. Without `validation_from` there is no validation part.
    validation_share, test_share : float
        Shares of the period or of each user, see `share_of`. The default is 0.2 each, unless times are given.
    share_of : {"period", "user"}
        period: the last share of the time from the first row to the last one. user: the last share of each user's
        rows in their order, for logs whose times are only an order, such as positions in a session. Every user then
        keeps at least one row in training, and the parts have no common period.
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
    clock = Clock.of(_timed(log).every_row().times)
    _refuse_both((validation_from, test_from), (validation_share, test_share), share_of)
    shares = _checked_shares(validation_share, test_share)
    if share_of == "user":
        return _by_order(log, seed, shares)
    notes: tuple[str, ...] = ()
    if test_from is None:
        length = clock.last - clock.first
        validation, test = clock.last - sum(shares) * length, clock.last - shares[1] * length
    else:
        validation, test = _cut_points((validation_from, test_from), clock)
        notes = (*clock.note(validation_from, validation, "validation_from"), *clock.note(test_from, test, "test_from"))
    return _cut(log, (clock.first, validation, test, clock.end), notes)


class PastWindow(NamedTuple):
    """A past window of a log: what was known when it began, and what came in it. Both share the ids of the log.

    `before.compact()` has only the users and items that were known then: train on that.
    """

    before: Interactions
    during: Interactions  # its `period` is the window

    def __repr__(self) -> str:
        return fields_repr(self)


def past_windows(log: Interactions, window: Length, *, n: int = 1, until: Time | None = None) -> Iterator[PastWindow]:
    """The last windows of a log one after the other, each with what came before it; the oldest comes first.

    Parameters
    ----------
    log : Interactions
        With times.
    window : text, number or timedelta
        How long each is: 30d, 2w, 12h, or calendar months such as 1mo; a number in the unit of the log's times; or a
        share of the log, below 1.
    n : int
        How many.
    until : number, date, datetime or text, optional
        When the last window ends; the end of the log by default. Where all times are midnights, that is the end of the
        last day.

    Examples
    --------
    >>> days = ["2024-01-05", "2024-02-05", "2024-02-25", "2024-03-31"]
    >>> log = Interactions.of([1, 1, 2, 2], [1, 2, 1, 1], times=days)
    >>> [(len(before), len(during)) for before, during in past_windows(log, "1mo", n=2)]
    [(1, 2), (3, 1)]
    """
    clock = Clock.of(_timed(log).every_row().times)
    check_whole(n, "n", 1)
    end = clock.end if until is None else clock.number(until, "until")
    if not clock.first < end <= clock.end:
        raise _outside("until", until, end, clock)
    back = clock.steps_back(window, end)
    if not back(n) > clock.first:
        raise DataError(
            f"past windows must leave something before the first of them, got {n} of {window} before "
            f"{clock.shown(end)} in a log that begins at {clock.shown(clock.first)}; take fewer or shorter ones"
        )
    return (window_of(log, back(k), back(k - 1)) for k in range(n, 0, -1))


def window_of(log: Interactions, start: float, end: float) -> PastWindow:
    """What came before a time, and what came from it until another one."""
    times = log.every_row().times
    known = times[~np.isnan(times)] if times.dtype.kind == "f" else times
    inside = (times >= start) & (times < end)
    bare = replace(log, notes=())
    before = replace(bare.keep_rows(~(times >= start)), period=(known.min().item(), start))
    during = replace(bare.keep_rows(inside), period=(start, end))
    return PastWindow(*parted(before, during))


def repeats_of(part: Interactions, earlier: Interactions) -> BoolArray:
    """Which events of a part repeat pairs of an earlier one with the same ids; shape (n_events,).

    Examples
    --------
    >>> log = Interactions.of([1, 1, 1], [1, 2, 1], times=[1, 2, 3])
    >>> before, during = next(past_windows(log, 1, n=1))
    >>> repeats_of(during, before).tolist()
    [True]
    """
    rows = part.every_row() if part.events is None else part.events
    keys, known = (each.user_rows * part.n_items + each.item_rows for each in (rows, earlier))
    if not len(known):
        return np.zeros(len(keys), dtype=bool)
    return np.asarray(known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys)


def _timed(log: Interactions) -> Interactions:
    if check_log(log).times is None:
        raise ColumnError("a split by time needs a log with times, got one without; read a time column, or split by "
                          "by_ratio or leave_one_out")  # fmt: skip
    return log


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


def _cut_points(given: tuple[Time | None, Time | None], clock: Clock) -> tuple[float, float]:
    """When validation and test begin, as numbers within the times of the log."""
    test = clock.number(given[1], "test_from")
    validation = test if given[0] is None else clock.number(given[0], "validation_from")
    for name, value, asked in (("validation_from", validation, given[0]), ("test_from", test, given[1])):
        if asked is not None and not clock.first < value <= clock.last:
            raise _outside(name, asked, value, clock)
    if validation > test:
        raise SettingError(f"validation_from must not be later than test_from, got {given[0]!r} and {given[1]!r}")
    return validation, test


def _outside(name: str, asked: Time | None, value: float, clock: Clock) -> SettingError:
    return SettingError(f"{name} must lie after the first time of the log, {clock.shown(clock.first)}, and not after "
                        f"the last, {clock.shown(clock.last)}, got {asked!r}, which is {clock.shown(value)}; give a "
                        "time of the log")  # fmt: skip


def _by_order(log: Interactions, seed: Seed, shares: tuple[float, float]) -> Split:
    """The last rows of each user; notes of the whole log belong to the test."""
    rows = log.every_row()
    from_end = places_from_end(rows.user_rows, seed, times=rows.times)
    in_validation, in_test = last_shares(rows.user_rows, from_end, *shares)
    chosen = (~(in_validation | in_test), in_validation, in_test)
    bare = replace(log, notes=(), period=None)
    parts = parted(*(bare.keep_rows(mask) for mask in chosen))
    return _noting(Split(*parts), *log.notes, *without_test(rows.user_rows, in_test, shares[1]))


def _cut(log: Interactions, at: tuple[float, float, float, float], notes: tuple[str, ...]) -> Split:
    """The parts between four times; what has none is the oldest, since NaN is not after anything."""
    times, bare = log.every_row().times, replace(log, notes=())
    in_test, later = times >= at[2], times >= at[1]
    chosen = (~later, later & ~in_test, in_test)
    split = Split(*parted(*(replace(bare.keep_rows(mask), period=(at[i], at[i + 1])) for i, mask in enumerate(chosen))))
    empty = at[1] < at[2] and not len(split.validation)
    return _noting(
        split, *log.notes, *notes, *(["no interaction is in the period of the validation part"] if empty else [])
    )


def _noting(split: Split, *of_all: str) -> Split:
    """Each part with notes on itself and what came before; what is known of all belongs to the last."""
    validation = (*untrained(split, ["validation"]), *_of_repeats("validation", split.validation, split.train))
    earlier = union([split.train, split.validation])
    test = (*of_all, *untrained(split, ["test"]), *_of_repeats("test", split.test, earlier))
    return Split(split.train, split.validation.noting(*validation), split.test.noting(*test))


def _of_repeats(name: str, part: Interactions, earlier: Interactions) -> tuple[str, ...]:
    repeated = repeats_of(part, earlier)
    if not len(repeated) or repeated.mean() <= MANY_REPEATS:
        return ()
    return (f"{repeated.mean():.0%} of the rows of the {name} repeat pairs of earlier parts; {OF_REPEATS}",)
