"""Simulated logs with times and known truth: users who return, come and leave, items taken again, drift and season."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.data.simulator import level_for
from sureness.errors import SettingError
from sureness.numerics.checks import check_memory, check_rate, check_rows, check_whole
from sureness.numerics.logistic import sigmoid

_DAY = 86_400
_FIRST_DAY = 1_672_531_200  # 1 January 2023, in seconds
_MOST = 0.95  # probability of an item that is often taken again


@dataclass(frozen=True, kw_only=True)
class VisitSettings:
    """Size of a world that users visit, period after period, and how it changes."""

    n_users: int = 2_000
    n_items: int = 200
    n_periods: int = 12
    period_days: int = 30
    n_tastes: int = 4  # latent dimensions
    chance: float = 0.3  # mean chance of being there in a period
    loyalty: float = 1.5  # standard deviation of the log-odds of this chance between users
    items: float = 4.0  # expected number of items of a user who is there, before any was taken
    again: float = 0.0  # how much more likely an item is that was taken before; 0: never again, 1: as likely as before
    newcomers: float = 0.3  # share of users who arrive during the log instead of at its beginning
    leaving: float = 0.02  # share of users who leave for good at the end of a period
    drift: float = 0.0  # change of the log-odds of being there from the first period to the last
    season: float = 0.0  # how far these log-odds swing up and down
    season_periods: int = 12  # length of a season
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n_users", "n_items", "n_periods", "period_days", "n_tastes", "season_periods"):
            check_whole(getattr(self, name), name, 1)
        check_whole(self.seed, "seed")
        check_rate(self.chance, "chance")
        for name in ("newcomers", "leaving"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingError(f"{name} must be a share from 0 to below 1, got {getattr(self, name)}")
        if not 0 < self.items < self.n_items:
            raise SettingError(f"items must lie between 0 and n_items={self.n_items}, got {self.items}")
        if not 0 <= self.again < np.inf:
            raise SettingError(f"again must be 0 or more, got {self.again}")
        for name in ("loyalty", "drift", "season"):
            if not np.isfinite(getattr(self, name)):
                raise SettingError(f"{name} must be a finite number, got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class VisitWorld:
    """A log of visits, with the chance that each user is there and the probability of each pair if so.

    Rows of users and items are those of the log, whose ids count from 0. Periods count from 0 as well; period t begins
    at `start(t)`, and one more than were drawn may be asked about.

    Examples
    --------
    >>> world = simulate_visits(VisitSettings(n_users=300, n_items=50, n_periods=6))
    >>> world.chance_in(6).shape, world.probability_in(6, np.arange(2)).shape
    ((300,), (2, 50))
    >>> there = np.unique(world.log.keep_rows(world.log.every_row().times >= world.start(5)).user_rows)
    >>> bool(abs(len(there) - world.chance_in(5).sum()) < 25)
    True
    """

    settings: VisitSettings
    log: Interactions
    level: FloatArray  # (n_users,) log-odds of being there
    arrival: IntArray  # (n_users,) first period in which a user may be there
    departure: IntArray  # (n_users,) first period in which a user no longer is
    liking: FloatArray  # (n_users, n_items) probability that an item is taken by a user who is there, before any was

    __repr__ = fields_repr

    def start(self, period: int) -> int:
        """When a period begins, in seconds since 1970."""
        return _FIRST_DAY + period * self.settings.period_days * _DAY

    def chance_in(self, period: int) -> FloatArray:
        """The chance that each user is there in a period; 0 before arrival and after departure."""
        alive = (self.arrival <= period) & (period < self.departure)
        return np.where(alive, sigmoid(self.level + _level_in(period, self.settings)), 0.0)

    def probability_in(self, period: int, users: IntArray) -> FloatArray:
        """The probability that users take each item in a period if they are there; shape (len(users), n_items)."""
        rows = check_rows(users, self.settings.n_users, "users", "of this world are {}")
        events = self.log.every_row()
        before = events.times < self.start(period)
        taken = np.zeros(self.liking.shape, dtype=bool)
        taken[events.user_rows[before], events.item_rows[before]] = True
        return _if_there(_of_state(self.liking[rows], taken[rows], self.settings.again))


def simulate_visits(settings: VisitSettings | None = None) -> VisitWorld:
    """Draw a world and its log: who is there in each period, and what they take then.

    Examples
    --------
    >>> once = simulate_visits(VisitSettings(n_users=50, n_items=20))
    >>> again = simulate_visits(VisitSettings(n_users=50, n_items=20, again=3))
    >>> once.log.older is None, again.log.older is None  # whether no pair repeats
    (True, False)
    """
    s = settings or VisitSettings()
    check_memory(
        40 * s.n_users * s.n_items, f"a world of {counted(s.n_users, 'user')} and {counted(s.n_items, 'item')}"
    )
    rng = np.random.default_rng(s.seed)
    tastes = rng.normal(size=(s.n_users, s.n_tastes)) @ rng.normal(size=(s.n_items, s.n_tastes)).T / np.sqrt(s.n_tastes)
    activity, fame = 0.5 * rng.normal(size=(s.n_users, 1)), rng.normal(size=s.n_items)
    odds = 1.5 * tastes + activity + fame
    liking = sigmoid(odds + level_for(lambda level: sigmoid(odds + level), s.items / s.n_items))
    loyalty = s.loyalty * rng.normal(size=s.n_users)
    level = loyalty + level_for(lambda level: sigmoid(loyalty + level), s.chance)
    late = rng.random(s.n_users) < s.newcomers
    arrival = np.where(late, rng.integers(1, max(s.n_periods, 2), s.n_users), 0)
    stays = rng.geometric(max(s.leaving, 1e-12), s.n_users)
    world = VisitWorld(s, _log_of([], s), level, arrival, arrival + stays, liking)
    taken = np.zeros(liking.shape, dtype=bool)
    rows = []
    for period in range(s.n_periods):
        there = np.flatnonzero(rng.random(s.n_users) < world.chance_in(period))
        here = _taken_by(_of_state(liking[there], taken[there], s.again), rng)
        taken[there] |= here
        users, items = np.nonzero(here)
        times = world.start(period) + rng.integers(s.period_days * _DAY, size=len(users))
        rows.append(np.stack([there[users], items, times]))
    return replace(world, log=_log_of(rows, s))


def _level_in(period: int, s: VisitSettings) -> float:
    return s.drift * period / max(s.n_periods - 1, 1) + s.season * float(np.sin(2 * np.pi * period / s.season_periods))


def _of_state(liking: FloatArray, taken: BoolArray, again: float) -> FloatArray:
    """Probabilities of the items of a user who looks around, which may end with none."""
    return np.where(taken, np.minimum(again * liking, np.maximum(_MOST, liking)), liking)


def _if_there(probabilities: FloatArray) -> FloatArray:
    """Given that at least one item is taken."""
    nothing = np.prod(1.0 - probabilities, axis=1, keepdims=True)
    return np.asarray(probabilities / np.maximum(1.0 - nothing, 1e-12))


def _taken_by(probabilities: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Items of each user, given that there is one; a user with nothing left to take takes nothing.

    For a user who drew none, the first item is drawn given that there is one, and the items after it are as drawn anew.
    """
    taken = rng.random(probabilities.shape) < probabilities
    empty = np.flatnonzero(~taken.any(axis=1) & (probabilities.max(axis=1, initial=0.0) > 0))
    some, places = probabilities[empty], np.arange(probabilities.shape[1])
    first = np.cumsum(some * np.cumprod(np.c_[np.ones(len(some)), 1.0 - some[:, :-1]], axis=1), axis=1)
    chosen = (first <= rng.random((len(some), 1)) * first[:, -1:]).sum(axis=1)[:, None]
    taken[empty] = (places == chosen) | ((places > chosen) & (rng.random(some.shape) < some))
    return taken


def _log_of(rows: list[IntArray], s: VisitSettings) -> Interactions:
    ids, none = (IdMap.counting(s.n_users), IdMap.counting(s.n_items)), np.empty(0, dtype=np.int64)
    if not sum(row.shape[1] for row in rows):
        return Interactions(*ids, none, none, times=none)
    users, items, times = np.concatenate(rows, axis=1)
    return Interactions.of(users, items, times=times).aligned(*ids)
