"""Labels that are late: how much of the label of each pair could have come by the time the log was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray
from sureness._wording import counted
from sureness.data.cleaning import time_numbers
from sureness.errors import DataError, SettingError, SurenessError, warn
from sureness.numerics.checks import as_array, same_length
from sureness.tables.id_values import as_series

_FEWEST = 20  # positives from which delays are learned
_OLD = 100  # positives old enough to show every delay up to the end of the window
_OLD_SHARE = 0.1  # or this share of them, if that is fewer
_STILL_COMING = 0.015  # of the positives in the last quarter of the window
_SURE = 1.63  # the distance of Kolmogorov and Smirnov for 99%, times the root of the number


@dataclass(frozen=True, eq=False)
class Delays:
    """How long positives take, learned from those that have come.

    A young pair shows short delays only. So the share of each delay is taken among the pairs that were old enough to
    show it (the product-limit estimator in reversed time).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age, delay = rng.uniform(0, 20, 20_000), rng.exponential(2.0, 20_000)
    >>> came = delay <= age
    >>> delays = Delays.of(delay[came], age[came])
    >>> delays.share_within([2.0]).round(1)  # 1 - exp(-1)
    array([0.6])
    """

    at: FloatArray  # (n,) rising delays
    share: FloatArray  # (n,) of the positives within the window that take at most so long
    window: float  # longest delay that counts

    __repr__ = fields_repr

    @classmethod
    def of(cls, delays: ArrayLike, ages: ArrayLike) -> Self:
        """From the delays of positives and the ages of their pairs, none younger than its delay."""
        delays, ages = np.asarray(delays, dtype=np.float64), np.asarray(ages, dtype=np.float64)
        if len(delays) < _FEWEST:
            raise DataError(
                f"delays are learned from at least {_FEWEST} positives that have come, got {len(delays)}; wait for "
                "more, or leave young pairs out"
            )
        window = _window(delays, ages)
        within = delays <= window
        delays, ages = np.sort(delays[within]), np.sort(ages[within])
        at, events = np.unique(delays, return_counts=True)
        at_risk = np.searchsorted(delays, at, side="right") - np.searchsorted(ages, at, side="left")
        stays = 1.0 - events / at_risk
        share = np.append(np.cumprod(stays[:0:-1])[::-1], 1.0)
        return cls(at, share, window)

    def share_within(self, ages: ArrayLike) -> FloatArray:
        """The share of the positives that take at most so long."""
        place = np.searchsorted(self.at, np.asarray(ages, dtype=np.float64), side="right")
        return np.append(0.0, self.share)[place]

    def check(self, delays: FloatArray, ages: FloatArray) -> None:
        """Warn where positives still come at the end of the window, or mature pairs have other delays."""
        last = 1.0 - float(self.share_within([0.75 * self.window])[0])
        if last > _STILL_COMING:
            warn(
                f"{last:.1%} of the labels come in the last quarter of the {self.window:.6g} that can be seen, so more "
                "may come later; the probabilities are of labels within that time, take a longer log"
            )
        mature = np.sort(delays[(ages >= self.window) & (delays <= self.window)])
        if not len(mature):
            return
        apart = float(np.abs(np.arange(1, len(mature) + 1) / len(mature) - self.share_within(mature)).max())
        if apart > _SURE / np.sqrt(len(mature)) + 1.0 / len(mature):
            warn(
                f"the delays of the {counted(len(mature), 'positive')} among mature pairs differ from those of all by "
                f"up to {apart:.1%} of the labels, so delays have changed; fit on a log of a steadier period"
            )


def _window(delays: FloatArray, ages: FloatArray) -> float:
    """The oldest age that enough positives have reached which took no longer."""
    candidates = np.unique(ages)
    old = np.searchsorted(np.sort(delays), candidates, side="right") - np.searchsorted(np.sort(ages), candidates)
    enough = min(_OLD, _OLD_SHARE * len(delays))
    return float(candidates[np.flatnonzero(old >= enough)[-1]])


class LateLabels(NamedTuple):
    """What is known of late labels at a time."""

    labels: BoolArray  # (n,) what has come within the window
    observed: FloatArray  # (n,) the share of such labels that has come at the age of the pair
    window: float


def late_labels(
    shown_at: ArrayLike | pl.Series | None, taken_at: ArrayLike | pl.Series | None, as_of: object, n_pairs: int
) -> LateLabels:
    """The labels of pairs at a time, and how far each can be observed.

    Parameters
    ----------
    shown_at, taken_at : array-like of shape (n_pairs,)
        Dates, or numbers of one unit; missing in ``taken_at`` where nothing has happened.
    as_of : date or number
        When the log was read. What happened later is not looked at.
    n_pairs : int
    """
    if shown_at is None or taken_at is None or as_of is None:
        raise SettingError("late labels need shown_at=, taken_at= and as_of=, the time when the log was read; give all")
    shown, taken = _numbers(shown_at, "shown_at", n_pairs), _numbers(taken_at, "taken_at", n_pairs)
    now = float(_numbers([as_of], "as_of", 1)[0])
    if np.isnan(now) or np.isnan(shown).any():
        raise DataError("shown_at and as_of must be known for every pair, got a missing one; drop those pairs")
    if (shown > now).any():
        raise DataError(f"pairs must be shown before as_of, got {counted(int((shown > now).sum()), 'pair')} shown "
                        "later; leave those out")  # fmt: skip
    if (taken < shown).any():
        raise DataError(f"taken_at must not be before shown_at, got {counted(int((taken < shown).sum()), 'pair')} of "
                        "that kind; check the columns")  # fmt: skip
    age, delay = now - shown, taken - shown
    came = taken <= now
    delays = Delays.of(delay[came], age[came])
    delays.check(delay[came], age[came])
    return LateLabels(came & (delay <= delays.window), delays.share_within(age), delays.window)


def _numbers(times: object, name: str, n: int) -> FloatArray:
    """Times as numbers, dates as microseconds; NaN where one is missing."""
    given: object = times
    if not isinstance(times, pl.Series) and not isinstance(times, list):
        given = as_array(times, name)  # type: ignore[arg-type]
    try:
        numbers = time_numbers(as_series(given), [])  # type: ignore[arg-type]
    except (SurenessError, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{name} must hold dates or numbers, got {str(given)[:40]!r}; convert it first") from error
    values = numbers.cast(pl.Float64).fill_null(np.nan).to_numpy()
    same_length(values, n, name)
    return np.asarray(np.where(np.isfinite(values), values, np.nan))
