"""Who will be there in the next window of a log, and how many items to expect of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from sureness._settings import Configurable
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.events import Events
from sureness.data.interactions import Interactions, check_log, union
from sureness.data.time_splitting import PastWindow
from sureness.data.times import Clock, Length
from sureness.errors import ColumnError, DataError, SettingError
from sureness.numerics.logistic import GaussianPrior, fit_logistic, logit, sigmoid
from sureness.numerics.poisson import fit_poisson
from sureness.numerics.ramps import knots_between, ramps
from sureness.saving.packed import Packed, Parts, Savable, kind_of, real, reals

_MOST_WINDOWS = 8  # with weights that halve, those before count for less than one in a hundred
_MOST_ROWS = 50_000  # users times windows that a fit looks at
_RAMPS = 4
_SLOTS = 30  # of a window: what a user does within one of them is one occasion
_SOON = 0.02  # windows that are added to a time before its logarithm is taken
_FAR = 30.0
_STEPS = 25
_FADING = 2.0  # windows after which an occasion counts for half
_N_TRAITS = 5  # logarithms of recency, recent and faded occasions, events per occasion, distinct items per event


class Activity(NamedTuple):
    """What to expect of each user in a window that begins now; arrays of shape (n_users,)."""

    chance: FloatArray  # of at least one item
    new: FloatArray  # expected number of distinct items that the user has not taken before, if there
    repeated: FloatArray  # and of items that the user has
    recency: FloatArray  # windows since the last event; infinite where there is none
    frequency: IntArray  # events so far

    @property
    def expected_new(self) -> FloatArray:
        """Expected number of new items, whether or not the user is there."""
        return self.chance * self.new

    @property
    def expected_repeated(self) -> FloatArray:
        """Expected number of repeated items, whether or not the user is there."""
        return self.chance * self.repeated


class ActivityModel(Configurable, Savable):
    """The chance that a user is there in the next window of a log, and the number of items to expect then.

    A user is there who takes at least one item, new, repeated or unknown; or, with a log of visits, who visits. The
    model learns on past windows, each from what was known when it began: how recently, how often and on how many
    occasions a user has come. Newer windows count for more. Where the log is longer than a year, the level of the
    coming window follows what the same window was in earlier years.

    Parameters
    ----------
    window : text, number or timedelta
        How long a window is: 30d, 2w, 12h, or calendar months such as 1mo; a number in the unit of the log's times; or
        a share of the log, below 1.
    half_life : float
        After how many windows back the weight of a window is halved.

    Examples
    --------
    >>> days = np.datetime64("2024-01-01") + np.arange(120)
    >>> weekly, once = np.arange(0, 120, 7), np.arange(0, 120, 10)
    >>> users = ["ann"] * len(weekly) + [f"guest {day}" for day in once]
    >>> log = Interactions.of(users, np.arange(len(users)), times=days[np.r_[weekly, once]])
    >>> now = ActivityModel(window="30d").fit(log).predict(log)
    >>> bool(now.chance[0] > 0.7), bool(now.chance[1:].max() < 0.3)
    (True, True)
    """

    saved_as = "json"

    def __init__(self, *, window: Length = "30d", half_life: float = 1.0) -> None:
        self.window = window
        self.half_life = half_life

    def fit(self, log: Interactions, *, visits: Interactions | None = None) -> Self:
        """Learn on the last windows of a log.

        Parameters
        ----------
        log : Interactions
            With times.
        visits : Interactions, optional
            Who came, and when, whether or not something was taken; the items of this log do not matter.
        """
        clock = Clock.of(_events_of(log if visits is None else visits).times)
        back = clock.steps_back(self.window, clock.end)
        n = 0
        while n < _MOST_WINDOWS and back(n + 1) >= clock.first + (back(n) - back(n + 1)) / 2:
            n += 1
        if not n:
            raise DataError(
                f"an activity model needs a log of at least one and a half windows, got windows of {self.window} in a "
                f"log from {clock.shown(clock.first)} to {clock.shown(clock.last)}; take shorter ones"
            )
        self.length_ = (back(0) - back(n)) / n
        history = _History.of(log, visits, self.length_)
        return self._learn([history.window(back(k), back(k - 1)) for k in range(n, 0, -1)], history, clock.end)

    def fit_windows(self, windows: Sequence[PastWindow], *, visits: Interactions | None = None) -> Self:
        """Learn on past windows, the oldest first; see `sureness.data.past_windows`."""
        periods = [during.period for _, during in windows if during.period is not None]
        if not windows or len(periods) < len(windows):
            raise DataError(
                f"an activity model needs past windows with their periods, got {len(periods)}; take past_windows"
            )
        self.length_ = float(np.mean([end - start for start, end in periods]))
        histories = [_History.of(union([*window]), visits, self.length_) for window in windows]
        found = [history.window(*period) for history, period in zip(histories, periods, strict=True)]
        return self._learn(found, histories[-1], periods[-1][1])

    def _learn(self, windows: Sequence[_Window], history: _History, end: float) -> Self:
        if not self.half_life > 0:
            raise SettingError(f"half_life must be a number of windows above 0, got {self.half_life}")
        self.n_windows_ = len(windows)
        ages = np.repeat(np.arange(len(windows))[::-1], [len(window.there) for window in windows])
        chosen, weight = _sampled(0.5 ** (ages / self.half_life))
        traits, newcomers, there, new, repeated = (
            np.concatenate(columns)[chosen] for columns in zip(*windows, strict=True)
        )
        if not there.any():
            raise DataError(
                f"an activity model needs users who return, got none in {counted(len(windows), 'past window')}; take "
                "longer ones"
            )
        self.knots_ = [knots_between(trait, trait[there], _RAMPS) for trait in traits.T]
        columns = self._columns(traits)
        self.chance_ = _fit_chance(columns, there, weight)
        self.new_, self.repeated_ = (_fit_number(columns[there], number[there], weight[there])
                                     for number in (new, repeated))  # fmt: skip
        first = newcomers if newcomers.any() else ~newcomers
        here = first & there if (first & there).any() else there
        self.newcomer_ = (
            float(np.average(there[first], weights=weight[first])),
            float(np.average(new[here], weights=weight[here])),
        )
        self.end_, self.season_ = float(end), self._season(history, end)
        return self

    def _season(self, history: _History, end: float) -> float:
        """How much higher the log-odds are in the coming window than before it, by the same windows of earlier years.

        Each is compared with up to three windows before it. Few years prove little, so one counts for half, two for
        two thirds.
        """
        clock, length = Clock.of(history.times), self.length_
        shifts: list[float] = []
        year = clock.length("1y") if clock.unit else np.inf
        while (start := end - (len(shifts) + 1) * year) - 2 * length > clock.first:
            before = [back for back in (1, 2, 3) if start - (back + 1) * length > clock.first]
            now, *earlier = (self._shift(history.window(at, at + length)) for at in
                             (start, *(start - back * length for back in before)))  # fmt: skip
            shifts.append(now - float(np.average(earlier, weights=[0.5**back for back in before])))
        return sum(shifts) / (len(shifts) + 1)

    def _shift(self, window: _Window) -> float:
        """What is added to the log-odds of a window so that as many users are expected as were there."""
        log_odds, shift = self._columns(window.traits) @ self.chance_, 0.0
        for _ in range(_STEPS):
            chance = sigmoid(log_odds + shift)
            missing, slope = window.there.sum() - chance.sum() - shift, chance @ (1 - chance) + 1
            shift += float(np.clip(missing / slope, -1, 1))
        return shift

    def predict(self, log: Interactions, *, visits: Interactions | None = None) -> Activity:
        """What to expect in the window that begins at the end of a log."""
        return self.predict_at(log, Clock.of(_events_of(log if visits is None else visits).times).end, visits=visits)

    def predict_at(self, before: Interactions, start: float, *, visits: Interactions | None = None) -> Activity:
        """What to expect in the window that begins at a time, from what came before it."""
        if not hasattr(self, "chance_"):
            raise DataError("this activity model has not been fitted; call fit first")
        known = _History.of(before, visits, self.length_).known(start)
        columns, rows = self._columns(known.traits), known.users
        chance, new = (np.full(before.n_users, value) for value in self.newcomer_)
        repeated, recency = np.zeros(before.n_users), np.full(before.n_users, np.inf)
        season = self.season_ if start >= self.end_ else 0.0
        chance[rows], recency[rows] = sigmoid(columns @ self.chance_ + season), known.recency
        new[rows], repeated[rows] = (np.exp(np.clip(columns @ fit, -_FAR, _FAR)) for fit in (self.new_, self.repeated_))
        return Activity(chance, new, repeated, recency, known.frequency)

    def _columns(self, traits: FloatArray) -> FloatArray:
        """Ramps of each trait within the range that was seen, and products of two traits."""
        inside = [np.clip(trait, knots[0], knots[-1]) for trait, knots in zip(traits.T, self.knots_, strict=True)]
        columns: list[FloatArray] = [np.ones(len(traits))]
        for trait, knots in zip(inside, self.knots_, strict=True):
            columns += ramps(trait, knots)
        centred = [trait - knots.mean() for trait, knots in zip(inside, self.knots_, strict=True)]
        columns += [one * other for place, one in enumerate(centred) for other in centred[:place]]
        return np.stack(columns, axis=1)

    def learned_facts(self) -> dict[str, str]:
        """What was learned, as short texts."""
        if not hasattr(self, "chance_"):
            return {}
        return {"windows": str(self.n_windows_), "newcomers there": f"{self.newcomer_[0]:.1%}"}

    def pack(self) -> Packed:
        """What it is made of."""
        state: dict[str, Any] = {}
        if hasattr(self, "chance_"):
            state = {
                "length": self.length_, "windows": self.n_windows_, "newcomer": list(self.newcomer_),
                "end": self.end_, "season": self.season_,
                "knots": [knots.tolist() for knots in self.knots_], "chance": self.chance_.tolist(),
                "new": self.new_.tolist(), "repeated": self.repeated_.tolist(),
            }  # fmt: skip
        return Packed(kind=kind_of("saved", type(self)), settings=self.get_params(deep=False), state=state)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        """Put it together."""
        model, state = cls(**packed.settings), packed.state
        if state:
            model.length_, (chance, new) = real(state["length"]), reals(state["newcomer"], n=2)
            model.end_, model.season_ = real(state["end"]), real(state["season"])
            model.n_windows_, model.newcomer_ = int(state["windows"]), (float(chance), float(new))
            model.knots_ = [reals(knots, rising=True) for knots in state["knots"]]
            if len(model.knots_) != _N_TRAITS:
                raise ValueError(f"expected knots of {_N_TRAITS} traits, got {len(model.knots_)}")
            width = model._columns(np.zeros((1, _N_TRAITS))).shape[1]
            model.chance_, model.new_, model.repeated_ = (
                reals(state[name], n=width) for name in ("chance", "new", "repeated")
            )
        return model


class _Known(NamedTuple):
    """What is known at a time of the users who came before it."""

    users: IntArray  # (n_known,) their rows
    traits: FloatArray  # (n_known, _N_TRAITS)
    newcomers: BoolArray  # (n_known,) who came for the first time in the window before
    recency: FloatArray  # (n_known,) windows since the last event
    frequency: IntArray  # (n_users,) events, also of users who did not come


class _Window(NamedTuple):
    """What a model learns from a window: one row for each user known at its start."""

    traits: FloatArray
    newcomers: BoolArray
    there: BoolArray
    new: IntArray  # items taken
    repeated: IntArray


class _History(NamedTuple):
    """The events of a log in the order of their times."""

    n_users: int
    length: float  # of a window
    users: IntArray  # (n,) of whoever was there
    times: AnyArray  # (n,)
    occasion: BoolArray  # (n,) whether it is the first event of its user in a slot of time
    takers: IntArray  # (m,) of whoever took something; the same as users if there is no log of visits
    taken: AnyArray  # (m,) when
    previous: IntArray  # (m,) position of the last time that the same pair was taken, -1 if it was not

    @classmethod
    def of(cls, log: Interactions, visits: Interactions | None, length: float) -> Self:
        takers, items, taken, _ = _events_of(log)
        keys = takers * log.n_items + items
        order = np.argsort(keys, kind="stable")
        same = keys[order[1:]] == keys[order[:-1]]
        previous = np.full(len(keys), -1)
        previous[order[1:][same]] = order[:-1][same]
        users, times = takers, taken
        if visits is not None:
            came, _, times, _ = _events_of(visits)
            users = log.users.rows(visits.users.ids)[came]
            users, times = users[users >= 0], times[users >= 0]
        return cls(log.n_users, length, users, times, _occasions(users, times, length), takers, taken, previous)

    def known(self, start: float) -> _Known:
        """The users with an event before a time, and their traits then."""
        n, m, recently = (int(place) for place in (
            np.searchsorted(self.times, start), np.searchsorted(self.taken, start),
            np.searchsorted(self.times, start - self.length),
        ))  # fmt: skip
        users, occasion = self.users[:n], self.occasion[:n]
        back = (start - self.times[:n]) / self.length
        events, occasions = self._counted(users), self._counted(users[occasion])
        recent = self._counted(users[recently:][occasion[recently:]])
        faded = self._counted(users[occasion], 0.5 ** (back[occasion] / _FADING))
        distinct = self._counted(self.takers[:m][self.previous[:m] < 0])
        last = np.zeros(self.n_users)
        last[users] = back
        known = np.flatnonzero(events)
        traits = [
            np.log(last + _SOON), np.log1p(recent), np.log1p(faded), np.log1p(events) - np.log1p(occasions),
            np.log1p(distinct) - np.log1p(events),
        ]  # fmt: skip
        traits = [trait[known] for trait in traits]
        newcomers = recent[known] == occasions[known]
        return _Known(known, np.stack(traits, axis=1), newcomers, last[known], events)

    def window(self, start: float, end: float) -> _Window:
        """Who of the users known at its start was there, and how many items they took."""
        known = self.known(start)
        low, high = np.searchsorted(self.times, [start, end])
        there = self._counted(self.users[low:high])[known.users] > 0
        low, high = np.searchsorted(self.taken, [start, end])
        takers, previous = self.takers[low:high], self.previous[low:high]
        new, repeated = takers[previous < 0], takers[(previous >= 0) & (previous < low)]
        return _Window(known.traits, known.newcomers, there, *(self._counted(n)[known.users] for n in (new, repeated)))

    def _counted(self, users: IntArray, weights: FloatArray | None = None) -> AnyArray:
        return np.bincount(users, weights, self.n_users)


def _events_of(log: Interactions) -> Events:
    """Events in the order of their times; rows without a time come with the first."""
    events = check_log(log).events
    if events is None:
        raise ColumnError("an activity model needs logs with times, got one without; read a time column")
    times = events.times
    if times.dtype.kind == "f" and not np.isnan(times).all():
        times = np.where(np.isnan(times), np.nanmin(times), times)
    return events._replace(times=times)


def _occasions(users: IntArray, times: AnyArray, length: float) -> BoolArray:
    """Which events are the first of their user in a slot of time."""
    slots = np.floor(times * (_SLOTS / length)).astype(np.int64)
    slots -= slots.min(initial=0)
    keys = users * (slots.max(initial=0) + 1) + slots
    order = np.argsort(keys, kind="stable")
    first = np.ones(len(keys), dtype=bool)
    first[order[1:]] = keys[order[1:]] != keys[order[:-1]]
    return first


def _sampled(weight: FloatArray) -> tuple[IntArray, FloatArray]:
    """Rows drawn evenly in proportion to their weights where there are many, and the weights that they have then."""
    if len(weight) <= _MOST_ROWS:
        return np.arange(len(weight)), weight
    reached = np.cumsum(weight)
    places = np.searchsorted(reached, (np.arange(_MOST_ROWS) + 0.5) * (reached[-1] / _MOST_ROWS))
    chosen, times = np.unique(places, return_counts=True)
    return chosen, times * (reached[-1] / _MOST_ROWS)


def _fit_chance(columns: FloatArray, there: BoolArray, weight: FloatArray) -> FloatArray:
    mean = np.zeros(columns.shape[1])
    mean[0] = logit(np.clip(np.average(there, weights=weight, keepdims=True), 1e-6, 1 - 1e-6))[0]
    precision = np.r_[1e-6, np.maximum(columns[:, 1:].var(axis=0), 1e-9)]
    return fit_logistic(
        columns, weight, columns.T @ (weight * there), bounded=np.zeros(len(mean), dtype=bool),
        prior=GaussianPrior(mean, np.diag(precision)),
    ).theta  # fmt: skip


def _fit_number(columns: FloatArray, number: IntArray, weight: FloatArray) -> FloatArray:
    return fit_poisson(columns, number, np.maximum(columns.var(axis=0), 1e-9), weight)
