"""Forward in time: recommenders trained before past windows of a log, and what they showed of those windows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._settings import Configurable, clone
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.activity import Activity, ActivityModel
from sureness.calibration.list_sample import ListSample, drawn_lists, joined_lists
from sureness.calibration.lists import FEW_POSITIVES
from sureness.calibration.maps import Observed
from sureness.data.cleaning import MANY_REPEATS, OF_REPEATS
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.data.time_splitting import PastWindow, past_windows, repeats_of, window_of
from sureness.data.times import Length, Time
from sureness.errors import ColumnError, DataError, EmptyError, IdError
from sureness.lists.lists import Lists
from sureness.metrics.coming import coming_ratio
from sureness.metrics.intervals import Interval
from sureness.numerics.checks import check_choice
from sureness.numerics.grouping import hash_ids
from sureness.recommender.repeats import FEWEST_ITEMS, Repeats, Taken, pair_traits, with_own
from sureness.sources.adapters.recognising import source_of
from sureness.sources.aligned import among
from sureness.sources.base import ScoreSource, id_maps, named
from sureness.sources.blocks import top_blocks

Train: TypeAlias = Callable[[Interactions], Any] | Any
"""How a recommender is trained: a function of a log, or a model that is not fitted, of ours or of implicit."""

Promised: TypeAlias = Literal["there", "period"]
"""Which promise is judged: that to users who are there, or that of the period to all."""

PROMISES: tuple[Promised, ...] = get_args(Promised)

HALF_LIFE = 1.0
"""Windows after which a past window counts half as much, as in `ActivityModel`."""


_LOOKED_AT = 500  # users whose scores are compared between models
_FEW_RETURN = 0.05  # share of users that are there
_WIDE = 2.0  # upper over lower end of an interval


@dataclass(frozen=True, eq=False)
class TrainedWindow:
    """A past window with a recommender that was trained on what came before it. Build it with `of`."""

    past: PastWindow
    source: ScoreSource
    before: Interactions  # with the rows and columns of the source
    during: Interactions  # the same
    there: BoolArray  # (n_users,) who visited, or took at least one item in the window, known to the source or not
    visits: Interactions | None = None  # who came, and when, where that is known
    drawn: dict[tuple[int, int, int, Repeats], ListSample] = field(
        default_factory=dict
    )  # samples, so that each is drawn once

    __repr__ = fields_repr

    @classmethod
    def of(cls, past: PastWindow, train: Train, visits: Interactions | None = None) -> TrainedWindow:
        """Train a recommender on what came before a window."""
        source = trained_on(train, past.before)
        users, items = id_maps(source)
        before, during = (part.aligned(users, items) for part in past)
        assert past.during.period is not None
        came = past.during if visits is None else window_of(visits, *past.during.period).during
        return cls(past, source, before, during, there_in(came, users), visits)

    @property
    def start(self) -> float:
        """When the window begins."""
        assert self.past.during.period is not None
        return self.past.during.period[0]

    @property
    def end(self) -> float:
        """When the window ends."""
        assert self.past.during.period is not None
        return self.past.during.period[1]

    @cached_property
    def taken(self) -> Taken:
        """What users had taken when the window began."""
        return Taken.of(self.before, self.start, self.end - self.start)

    def hits(self, repeats: Repeats) -> Interactions:
        """What came in the window: all of it, or what had not been taken before."""
        return self.during if repeats == "count" else self.during.keep(~among(self.during, self.before))

    def sample(self, best: int, n_users: int, seed: int, repeats: Repeats, progress: Progress = silent) -> ListSample:
        """The best candidates of users who were there, with what they took as hits."""
        asked = (best, n_users, seed, repeats)
        if asked not in self.drawn:
            counts = repeats == "count"
            observed = Observed(self.source, self.hits(repeats), None if counts else self.before, progress=progress)
            more = self._with_own if counts else None
            sample = drawn_lists(observed, best, n_users, seed, among=self.there, more=more)
            self.drawn[asked] = sample._replace(history=self.before.user_degree[sample.users])
        return self.drawn[asked]

    def _with_own(
        self, users: IntArray, items: IntArray, scores: FloatArray, every: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        return with_own(items, scores, every, self.taken.own_of(users))

    def activity(self, model: ActivityModel) -> Activity:
        """What was to be expected of the users of the source when the window began."""
        return activity_of(
            self.source, self.past.before, model.predict_at(self.past.before, self.start, visits=self.visits)
        )

    def known(self, sample: ListSample, model: ActivityModel, repeats: Repeats) -> ListSample:
        """A sample with what a map for lists is told of users and candidates, as it was known then."""
        found = self.activity(model)
        amount = amount_of(found, repeats)[sample.users]
        if repeats == "count":
            return sample._replace(amount=amount, traits=pair_traits(self.taken, found, sample.users, sample.items))
        traits = {name: values[sample.users] for name, values in traits_of(found).items()}
        return sample._replace(amount=amount, traits=traits)


def trained_windows(
    log: Interactions,
    train: Train,
    window: Length,
    *,
    n: int,
    until: Time | None = None,
    visits: Interactions | None = None,
    progress: Progress = silent,
) -> list[TrainedWindow]:
    """The last windows of a log, the oldest first, each with a recommender trained on what came before it.

    With a log of visits, which has the same kind of times, whoever visits is there, whether or not something is taken.
    """
    if visits is not None and (visits.times is None or not len(visits)):
        raise ColumnError("visits must be a log with times, got one without; read a time column")
    found = []
    for number, past in enumerate(past_windows(log, window, n=n, until=until)):
        progress("training before past windows", number, n)
        found.append(TrainedWindow.of(past, train, visits))
    return found


def trained_on(train: Train, log: Interactions) -> ScoreSource:
    """A recommender trained on a log, whose users and items without a pair are left out."""
    known = log.compact()
    if not len(known):
        raise EmptyError("there is nothing to train on before the first window; take fewer or shorter windows")
    train = train() if isinstance(train, type) else train
    if hasattr(train, "fit"):
        model = _fitted(train, known)
    elif callable(train):
        model = train(known)
    else:
        raise DataError(f"train must be a function of a log, or a model that is not fitted, got {train!r:.60}")
    source = model if isinstance(model, ScoreSource) else source_of(model, known)
    for side in ("users", "items"):
        if named(source, side) is None and not getattr(known, side).same_as(
            IdMap.counting(getattr(source, f"n_{side}"))
        ):
            raise IdError(
                f"train must return a source with the ids of its {side}, got one without; give it "
                f"{side}=log.{side} of the log that it is called with"
            )
    return source


def _fitted(model: Any, log: Interactions) -> Any:
    """A copy of a model, fitted to a log; models of other libraries take its matrix."""
    if isinstance(model, Configurable):
        return clone(model).fit(log)  # type: ignore[attr-defined]
    fresh = copy.deepcopy(model)
    quiet = {"show_progress": False} if "show_progress" in signature(fresh.fit).parameters else {}
    fresh.fit(log.matrix, **quiet)
    return source_of(fresh, log)


def there_in(during: Interactions, users: IdMap) -> BoolArray:
    """Which users took at least one item in a log, whatever it was; shape (n_users,)."""
    rows = during.users.rows(users.ids)
    return np.asarray((rows >= 0) & (np.append(during.user_degree, 0)[rows] > 0))


def pooled(samples: Sequence[ListSample], windows: Sequence[TrainedWindow], now: ScoreSource) -> ListSample:
    """The samples of several windows, the oldest first, as one with the rows of another source.

    The weight halves with each window back.
    """
    users, items = id_maps(now)
    parts = []
    for back, (sample, window) in enumerate(zip(reversed(samples), reversed(windows), strict=True)):
        own_users, own_items = id_maps(window.source)
        rows = users.rows(own_users.at(sample.users))
        columns = _rows_of(items, own_items)[sample.items]
        weight = np.full(len(rows), 0.5 ** (back / HALF_LIFE))
        parts.append(sample._replace(users=rows, items=columns, weight=weight))
    return joined_lists(parts)


def _rows_of(ids: IdMap, others: IdMap) -> IntArray:
    """The row of each id of another map, with -1 for unknown ones, and once more at the end for row -1."""
    return np.append(ids.rows(others.ids), -1)


def given(lists: Lists, of: Promised, there: BoolArray) -> Lists:
    """Lists with hits and the promise that they are compared with; `there`: which users were, (n_users,)."""
    check_choice(of, "of", PROMISES)
    if of == "there":
        return lists.take(there[lists.users])
    chance = lists.needed("there", "a promise for the period")
    return replace(lists, promised=chance[:, None] * lists.promises("a promise"))


def activity_of(source: ScoreSource, log: Interactions, found: Activity) -> Activity:
    """What to expect of the users of a source, from what is known of the users of a log."""
    rows = log.users.rows(id_maps(source)[0].ids)
    return Activity(*(of_users(values, rows) for values in found))  # type: ignore[arg-type]


def of_users(values: FloatArray | IntArray, users: IntArray) -> FloatArray:
    """Values of some users, who may be unknown (-1): those have the mean of all."""
    return np.append(values, np.mean(values))[users]


def score_grid(source: ScoreSource, seen: Interactions | None, best: int) -> FloatArray:
    """Quantiles of the scores of the best candidates of some users, chosen by a hash of their ids; shape (101,)."""
    order = np.argsort(hash_ids(id_maps(source)[0].ids, 0), kind="stable")[:_LOOKED_AT]
    blocks = top_blocks(source, np.sort(order), min(best, source.n_items), seen)
    scores = np.concatenate([found.scores[np.isfinite(found.scores)] for found in blocks])
    return np.asarray(np.quantile(scores.astype(np.float64), np.linspace(0.0, 1.0, 101)))


def apart(grid: FloatArray, other: FloatArray) -> float:
    """The largest difference of two distributions, given by their quantiles: the share that lies elsewhere.

    Examples
    --------
    >>> grid = np.linspace(0.0, 1.0, 101)
    >>> round(apart(grid, grid + 0.25), 2), apart(grid, grid + 2)
    (0.25, 1.0)
    """
    points, shares = np.concatenate([grid, other]), np.linspace(0.0, 1.0, len(grid))
    found = [np.interp(points, each, shares, left=0.0, right=1.0) for each in (grid, other)]
    return float(np.abs(found[0] - found[1]).max())


def coming_of(past: Sequence[Lists], windows: Sequence[TrainedWindow], model: ActivityModel) -> dict[str, Interval]:
    """How far the next window may be from its promise, by how far the windows that were learned from are.

    Parameters
    ----------
    past : sequence of Lists
        Of users who were there in each window.
    windows : sequence of TrainedWindow
    model : ActivityModel

    Returns
    -------
    mapping
        Intervals of realised over promised: users (how many are there), there (hits of users who are), period.
    """
    chances = [window.activity(model).chance.sum() for window in windows]
    came = [np.count_nonzero(window.there) for window in windows]
    sums = []
    for lists in past:
        promised = lists.needed("probabilities", "a promise").sum(axis=1)
        hits = lists.needed("hits", "a promise").sum(axis=1)
        away = hits - promised * (hits.sum() / max(promised.sum(), FEWEST_ITEMS))
        sums.append((promised.sum(), hits.sum(), away @ away))
    promised, hits, variances = np.array(sums).T
    in_period = promised * np.array(chances) / np.maximum(came, 1)
    return {
        "users": coming_ratio(chances, came),
        "there": coming_ratio(promised, hits, variances=variances),
        "period": coming_ratio(in_period, hits, variances=variances + hits**2 / np.maximum(came, 1)),
    }


def cautions_of(
    coming: Mapping[str, Interval], activity: Activity, sample: ListSample, windows: Sequence[TrainedWindow]
) -> tuple[str, ...]:
    """Why the promise of the next window may fail, one sentence each; empty where nothing speaks against it."""
    found = []
    returning = float(activity.chance.mean())
    if returning < _FEW_RETURN:
        found.append(
            f"only {returning:.1%} of the known users are expected in the next window, so few can be learned from"
        )
    n_hits = int(np.count_nonzero(sample.hits))
    if n_hits < FEW_POSITIVES:
        found.append(
            f"the past windows have {counted(n_hits, 'hit')} among the candidates, but a level that is known to a "
            f"tenth needs {FEW_POSITIVES}; take longer or more windows"
        )
    first = windows[0]
    begin, end = cast(tuple[float, float], first.past.before.period)
    if end - begin < first.end - first.start:
        found.append("what came before the first past window is shorter than a window; take fewer or shorter ones")
    wide = coming["period"]
    if wide.high > _WIDE * wide.low:
        found.append(
            f"past windows differ so much that {wide.low:.2f} to {wide.high:.2f} times what is promised may come in "
            "the next one"
        )
    return tuple(found)


def note_repeats(windows: Sequence[TrainedWindow]) -> tuple[str, ...]:
    """A sentence where many rows of past windows repeat earlier pairs, which "skip" leaves out."""
    repeated = np.concatenate([repeats_of(window.past.during, window.past.before) for window in windows])
    if not len(repeated) or repeated.mean() <= MANY_REPEATS:
        return ()
    return (f"{repeated.mean():.0%} of the rows of the past windows repeat earlier pairs; {OF_REPEATS}",)


def amount_of(activity: Activity, repeats: Repeats) -> FloatArray:
    """Expected number of items of each user, if there: of new ones, or of all that may be shown."""
    return activity.new if repeats == "skip" else activity.new + activity.repeated


def traits_of(activity: Activity) -> dict[str, FloatArray]:
    """What a map for lists is told of each user."""
    return {"expected": np.log(np.maximum(activity.new, FEWEST_ITEMS))}


def last_window(windows: Sequence[TrainedWindow], source: ScoreSource) -> Interactions:
    """What came in the last window, with the rows and columns of another source."""
    return replace(windows[-1].past.during, notes=()).aligned(*id_maps(source))
