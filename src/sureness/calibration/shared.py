"""One calibrator for all users, fitted where lists are made."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._settings import clone
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.artefacts.packed import Parts
from sureness.calibration.base import Calibrator
from sureness.calibration.candidates import Candidates, RankedBlock
from sureness.calibration.chain import MapChain
from sureness.calibration.expressing import Conditional, finite
from sureness.calibration.families import TREE, sigmoid_of
from sureness.calibration.maps import Observed, ProbabilityMap, Segments, Who, wide
from sureness.calibration.pair_fields import Fields, PairNumbers
from sureness.calibration.parametric import PlattCalibrator
from sureness.calibration.per_segment import SegmentCalibrator, one_field
from sureness.calibration.shared_fit import Shareable, SharedFit, shares_within
from sureness.calibration.standardised import StandardisedMap
from sureness.errors import EmptyError, SettingError
from sureness.expressions.columns import ColumnNames
from sureness.expressions.nodes import Case, Node
from sureness.numerics.gains import shift_log_odds
from sureness.numerics.logistic import sigmoid
from sureness.numerics.shrinkage import shrunk_counts
from sureness.sources.base import id_maps

AMONG_THE_BEST = 50
"""How many of each user's best candidates one calibrator for all users is fitted on: as many as lists usually hold."""


class SharedCalibrator(StandardisedMap):
    """Any calibrator, for all users together, of the scores that lists are made of.

    A calibrator of all pairs is decided by thousands of candidates that are never shown, and raw scores do not mean the
    same for all users. Here it is fitted on each user's best candidates, in standard deviations from the mean of the
    user's own, and a level for each user makes its probabilities add up to the number of items expected of the user:
    ``logit p = level_u + logit(calibrator(z))``.

    How fast probabilities fall behind these candidates is learned from what lies there, in bins, for all users alike.

    The candidates hold the relevant items of the next period too, labelled 0 although they are just like the held-out
    ones. A probability is that of the next period, once the held-out items are gone.

    `ConfidentRecommender` makes one of every calibrator that it is given.

    Parameters
    ----------
    base : Calibrator, SegmentCalibrator or MultiSegmentCalibrator, optional
        What to fit; Platt by default.
    top : int
        Fit on this many of each user's best candidates.
    learning_users : int
        How many users with held-out items it is fitted on, at most.
    seed : int
        Of the draw of these users.

    Attributes
    ----------
    calibrator_ : that of `base`
        The fitted calibrator, of standardised scores.
    location_, scale_, level_ : arrays of shape (n_users,)
        What a user's scores are standardised with, and what is added to the log-odds.
    expected_relevant_ : array of shape (n_users,)
        How many relevant items a period like the held-out one has.
    beyond_ : array of shape (n_users,)
        How many of them are expected behind the first `top` candidates.
    last_ : array of shape (n_users,)
        The standardised score of the last fitted candidate.
    behind_ : RisingCurve or None
        How log-odds fall below it, for all users alike; None: as the calibrator says.

    Examples
    --------
    >>> from sureness.data.interactions import Interactions
    >>> from sureness.sources.base import MatrixSource
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(200, 50))
    >>> held_out = Interactions.from_matrix(rng.random((200, 50)) < 1 / (1 + np.exp(3 - scores)))
    >>> calibrator = SharedCalibrator(PlattCalibrator(), top=30).fit_source(MatrixSource(scores), held_out)
    >>> low, high = calibrator.probability([0.0, 2.0], users=[7, 7])
    >>> bool(0 < low < high < 1)
    True
    >>> calibrator.horizon_.which
    'next'
    """

    LEARNED: ClassVar[dict[str, str]] = {
        "location_": "location", "scale_": "scale", "level_": "level", "expected_relevant_": "expected_relevant",
        "beyond_": "expected_beyond", "last_": "last",
    }  # fmt: skip
    """What is learned about each user, and what it is called in files and tables."""

    level_: FloatArray
    calibrator_: Shareable

    def __init__(
        self,
        base: Shareable | None = None,
        *,
        top: int = AMONG_THE_BEST,
        learning_users: int = 5_000,
        seed: int = 0,
    ) -> None:
        self.base = base
        self.top: int = top
        self.learning_users = learning_users
        self.seed = seed

    # --- learning ---------------------------------------------------------------------------------------------------

    def _fit_observed(self, observed: Observed) -> Self:
        self._check_settings()
        observed = replace(observed, segments=self._own_segments(observed))
        if not len(observed.held_out):
            raise EmptyError("held_out must hold at least one positive that the source knows, got none")
        candidates = Candidates(observed.source, observed.held_out, observed.seen, self.top, n_bins=2)
        learner = copy.copy(self)  # a fit that fails or is stopped leaves what was learned before as it was
        learner.users_, _ = id_maps(observed.source)
        learner.expected_relevant_ = shrunk_counts(observed.held_out.user_degree)
        sample, within = learner._learn_shared(candidates, observed)
        learner._learn_users(candidates.every_ranked(sample), observed, within)
        learner.beyond_[~candidates.reach_beyond()] = 0.0
        learner.answers_for = learner.calibrator_.answers_for
        learner.estimand_, learner.horizon_ = "interaction", observed.horizon.following()
        candidates.masked.say()
        vars(self).update(vars(learner))
        return self

    def _own_segments(self, observed: Observed) -> Segments | Fields | None:
        """The segments if the calibrator looks at them."""
        segments = observed.segments
        if segments is not None:
            segments.check(observed.source)
        if self.base is None or isinstance(self.base, Calibrator):
            return None
        if segments is None:
            raise SettingError("a map for each segment needs to know them; give segments=Segments(names)")
        return one_field(segments) if isinstance(self.base, SegmentCalibrator) else segments

    def _learn_shared(self, candidates: Candidates, observed: Observed) -> tuple[RankedBlock, FloatArray]:
        """The calibrator of all users; returns the sample that it is of, and the share of each user's items therein."""
        held_out = candidates.held_out.user_degree
        learners = np.flatnonzero(held_out)
        if len(learners) > self.learning_users:
            drawn = np.random.default_rng(self.seed).choice(learners, self.learning_users, replace=False)
            learners = np.sort(drawn)
        sample = RankedBlock.joined(list(candidates.ranked(learners, self._width(candidates))))
        if not sample.hits.any():
            raise EmptyError(
                f"no held-out item is among the top {counted(self.top, 'candidate')} of any user, so there is nothing "
                "to fit; raise top, or check that the scores are higher for better items"
            )
        if not sample.standardised.any():
            raise EmptyError("every user has the same score for all candidates; check the recommender")
        within = shares_within(sample.hits.sum(axis=1), held_out[learners], self.expected_relevant_, learners)
        fit = SharedFit(sample, self.expected_relevant_[learners] * within[learners], observed.segments)
        self.calibrator_ = fit.calibrator(PlattCalibrator() if self.base is None else self.base)
        self.behind_ = fit.curve_behind(self.calibrator_, candidates.behind) if candidates.has_more else None
        return sample, within

    def _learn_users(self, blocks: Iterable[RankedBlock], observed: Observed, within: FloatArray) -> None:
        """Location, scale and level of every user, block by block, and how much lies behind the fitted candidates."""
        n_users, done = len(within), 0
        self.location_, self.scale_, self.level_ = np.zeros(n_users), np.ones(n_users), np.zeros(n_users)
        self.last_, among = np.zeros(n_users), np.zeros(n_users)
        for block in blocks:
            fit = SharedFit(block, (self.expected_relevant_ * within)[block.users], observed.segments)
            chance = fit.chance(self.calibrator_)
            self.location_[block.users], self.scale_[block.users] = block.location, block.scale
            self.level_[block.users], self.last_[block.users] = fit.levels(chance), block.last
            among[block.users] = (fit.open * shift_log_odds(chance, self.level_[block.users])).sum(axis=1)
            done += len(block.users)
            observed.progress("finding the level of each user", done, n_users)
        self.beyond_ = among * (1.0 / within - 1.0)

    def _width(self, candidates: Candidates) -> int:
        return min(self.top, candidates.source.n_items)

    # --- using ------------------------------------------------------------------------------------------------------

    def who(self, n: int, users: ArrayLike | None = None, segments: ArrayLike | None = None) -> Who:
        return Who(n, super().who(n, users).users, self.calibrator_.who(n, segments=segments).segments)

    def segment_numbers(self, names: ArrayLike | pl.Series) -> IntArray | None:
        return self.calibrator_.segment_numbers(names)

    def pair_numbers(self, told: Segments | Fields) -> PairNumbers | None:
        return self.calibrator_.pair_numbers(told)

    def unknown_of(self, table: pl.DataFrame) -> dict[str, pl.Series]:
        return self.calibrator_.unknown_of(table)

    def unknown_segments(self, names: ArrayLike | pl.Series) -> pl.Series:
        return self.calibrator_.unknown_segments(names)

    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        return sigmoid(self.log_odds_of(scores, who))

    def log_odds_of(self, scores: FloatArray, who: Who) -> FloatArray:
        self.check_fitted()
        standardised = self._standardised(scores, who)
        below = self._below(standardised, self._rows(who))
        found = self.calibrator_.log_odds_of(standardised if below is None else standardised - below, who)
        found = found + wide(self._of_users(self.level_, who), scores)
        if self.behind_ is not None and below is not None:
            found += self.behind_.intercept + self.behind_.values(below)
        return np.asarray(found)

    def knows(self, who: Who) -> BoolArray:
        return self.calibrator_.knows(who)

    def _n_fitted(self) -> int:
        return self.calibrator_.n_pairs_

    def _for_all(self, names: ColumnNames) -> Node:
        """With the joined table of what was learned; users who are not in it have the mean of all."""
        score = self._standardised_tree(names)
        log_odds = self.calibrator_.log_odds_tree(score.inside, names) + self._learned_tree("level", names)
        log_odds = log_odds if score.behind is None else log_odds + score.behind
        return finite(names.reference_to("score"), sigmoid_of(log_odds, TREE))

    def _for_some(self, names: ColumnNames) -> list[Conditional]:
        if self.answers_for == "all":
            return self._unanswered(names)
        return [*self._unanswered(names), (self.calibrator_._known(names), self._for_all(names))]

    def _tree(self, names: ColumnNames) -> Node:
        self.check_fitted()
        return Case(tuple(self._unanswered(names)), self._for_all(names))

    def _unanswered(self, names: ColumnNames) -> list[Conditional]:
        return [*super()._unanswered(names), *self.calibrator_._unanswered(names)]

    # --- saving -----------------------------------------------------------------------------------------------------

    def _of_all(self) -> tuple[str, ProbabilityMap]:
        return "calibrator", self.calibrator_

    def _restore(self, state: dict[str, Any], parts: Parts) -> None:
        self.calibrator_ = cast(Shareable, parts.opened("calibrator", ProbabilityMap))
        self.answers_for = self.calibrator_.answers_for

    def _check_settings(self) -> None:
        if self.base is not None and not isinstance(self.base, Shareable):
            raise SettingError(f"base must be a calibrator for all pairs or per segment, got {self.base!r}")
        for name, least in (("top", 2), ("learning_users", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise SettingError(f"{name} must be a whole number of at least {least}, got {value!r}")


def where_lists_are_made(given: ProbabilityMap, longest: int) -> ProbabilityMap:
    """The same map, but calibrators for all pairs and per segment are fitted on what lists are made of.

    Parameters
    ----------
    given : ProbabilityMap
    longest : int
        How many items the longest list has.
    """
    if isinstance(given, MapChain):
        return MapChain([where_lists_are_made(link, longest) for link in given.links])
    if isinstance(given, Shareable) and given.learns_from_labels:
        return SharedCalibrator(clone(given), top=max(longest, AMONG_THE_BEST))
    return given
