"""What the candidates of users promise: their probabilities, and relevant items to expect below them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.activity import Activity
from sureness.calibration.horizon import Horizon
from sureness.calibration.level import UNCHANGED, Level, level_for_base_rate
from sureness.calibration.list_sample import ListSample
from sureness.lists.lists import Lists
from sureness.numerics.intensity import once_gone, over_periods
from sureness.numerics.logistic import sigmoid
from sureness.numerics.poisson_binomial import power_sums
from sureness.recommender.expecting import Below, Target, scaled_to
from sureness.recommender.forward import amount_of, of_users
from sureness.recommender.mapped import MappedSource
from sureness.recommender.repeats import Taken
from sureness.sources.base import is_partial
from sureness.sources.blocks import Candidates

_N_POWERS = 12  # power sums of the tail; the more, the larger the probabilities in it may be
_LIKELIEST = 0.5  # below the list; a likelier item counts as several of this probability


@dataclass(frozen=True, eq=False)
class Chances:
    """A fitted map with everything that turns its log-odds into the probabilities of lists."""

    mapped: MappedSource
    best: int  # candidates of each user that the map was fitted on
    below: Below
    horizon: Horizon  # which period and pairs the lists are about
    expected: Target | FloatArray  # how many relevant items users have: (n_users,) numbers, or how to find them
    level: Level = UNCHANGED  # that of a kept map of preference in the period of the lists
    activity: Activity | None = None  # of users in the next window; None: the map is not of windows
    taken: Taken | None = None  # what users may take again; None: it is not shown again

    __repr__ = fields_repr

    def level_of(self, sample: ListSample) -> Level:
        """What makes the probabilities of a kept map of preference those of interactions in the validation part."""
        if self.mapped.map.estimand_ == "interaction" or not self.is_expected("carried"):
            return UNCHANGED
        there = sample.there
        history = self.mapped.histories(sample.users)
        log_odds = self.mapped.log_odds(sample.scores, sample.users, sample.items, sample.scores, history)
        rate = float(sample.hits[there].mean())
        return level_for_base_rate(sigmoid(log_odds[there]), np.ones(int(there.sum())), rate)

    def is_expected(self, target: Target) -> bool:
        """Whether that is how many relevant items users are taken to have."""
        return isinstance(self.expected, str) and self.expected == target

    def can_have(self, found: Candidates, longest: int) -> BoolArray:
        """Which users can have the number of relevant items that was given."""
        assert not isinstance(self.expected, str)
        return scaled_to(*self.of(found, longest), self.expected[found.users])[2]

    def lists(
        self, found: Candidates, longest: int, *, history: FloatArray | None = None, labelled: bool = False
    ) -> Lists:
        """The candidates of users, who may be unknown (-1), with probabilities.

        Parameters
        ----------
        found : Candidates
        longest : int
            Items of the longest list; what is known of further candidates becomes its tail.
        history : array of shape (n,), optional
            Items of each user that the scores were trained on; by default those of the training log.
        labelled : bool
            The lists as they were before anything was held out.
        """
        chances, below = self.of(found, longest, history=history, labelled=labelled)
        if not isinstance(self.expected, str) and not labelled:
            wanted = np.where(found.users < 0, self.expected.mean(), self.expected[found.users])
            chances, below, _ = scaled_to(chances, below, wanted)
        repeated = None
        if self.taken is not None:
            found, chances = _likeliest_first(found, chances)
            repeated = self.taken.found(found.users, found.items[:, :longest])[0] > 0
        tail: FloatArray = np.zeros((len(below), _N_POWERS))
        if chances.shape[1] > longest:
            tail = power_sums(chances, _N_POWERS, skip=longest, most=_LIKELIEST)
        tail[:, 0] += below
        exact = found.scores[:, :longest].astype(np.float64)
        items = found.items[:, :longest]
        there = None if self.activity is None else of_users(self.activity.chance, found.users)
        return Lists(
            users=found.users,
            lengths=np.count_nonzero(exact > -np.inf, axis=1),
            scores=exact,
            probabilities=np.ascontiguousarray(chances[:, :longest]),
            tail=tail,
            there=there,
            repeated=repeated,
            items=items,
            places=items if found.places is None else found.places[:, :longest],
        )

    def of(
        self, found: Candidates, longest: int, *, history: FloatArray | IntArray | None = None, labelled: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """The probability of each candidate, and how many relevant items to expect below all of them."""
        mapped, n_items = self.mapped, self.mapped.source.n_items
        known = mapped.histories(found.users) if history is None else history
        log_odds = mapped.log_odds(found.scores, found.users, found.items, found.best, known)
        log_odds = log_odds if self.level == UNCHANGED else self.level.intercept + self.level.slope * log_odds
        times = 1.0 if labelled else mapped.map.horizon_.ratio(self.horizon) or 1.0  # 1 unless the map was kept
        if labelled or self.is_expected("fitted") or mapped.map.horizon_.period is not None:
            chances = sigmoid(log_odds) if times == 1 else over_periods(sigmoid(log_odds), times)
        else:
            chances = once_gone(log_odds, times)
        amount = known
        if self.activity is not None:
            amount = of_users(amount_of(self.activity, "skip" if self.taken is None else "count"), found.users)
        below = np.maximum(times * self.below.expected(amount) - chances[:, self.best :].sum(axis=1), 0.0)
        if (
            not is_partial(mapped.source) and self.taken is None
        ):  # nothing lies below the candidates of a user who has no more
            fewer = np.count_nonzero(np.isfinite(found.scores), axis=1) < min(max(longest, self.best), n_items)
            below = np.where(fewer | (found.scores.shape[1] >= n_items), 0.0, below)
        return chances, below


def _likeliest_first(found: Candidates, chances: FloatArray) -> tuple[Candidates, FloatArray]:
    """Candidates by probability, since traits of pairs move them."""
    order = np.argsort(-np.where(found.items >= 0, chances, -1.0), axis=1, kind="stable")
    scores, chances = (np.take_along_axis(each, order, axis=1) for each in (found.scores, chances))
    items = np.take_along_axis(found.items, order, axis=1)
    places = None if found.places is None else np.take_along_axis(found.places, order, axis=1)
    return found._replace(items=items, scores=scores, places=places), chances
