"""One map for each user, shrunk to the global map as far as the user's own labels leave open."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
import polars as pl

from sureness._progress import Progress, silent
from sureness._settings import clone
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.artefacts.packed import JSON, Parts
from sureness.calibration.base import Calibrator
from sureness.calibration.candidates import CandidateBlock, Candidates, joined
from sureness.calibration.expressing import Conditional, finite
from sureness.calibration.families import TREE, sigmoid_of
from sureness.calibration.horizon import Horizon
from sureness.calibration.maps import Observed, ProbabilityMap, Who
from sureness.calibration.standardised import StandardisedMap, at_rows
from sureness.calibration.user_model import SHAPES, Basis, Learner, Shape, UserModel, basis_of
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import EmptyError, SettingError
from sureness.expressions.columns import ColumnNames
from sureness.expressions.nodes import Case, Compare, Node, Number, coalesce
from sureness.numerics.checks import check_choice
from sureness.numerics.hashing import first_by_hash
from sureness.numerics.logistic import sigmoid
from sureness.numerics.row_logistic import Prior
from sureness.numerics.shrinkage import shrunk_counts
from sureness.sources.base import ScoreSource, id_maps
from sureness.sources.matching import Seen, fitted_to, seen_of, settled, unseen


class PerUserCalibrator(StandardisedMap):
    """A map for each user: a level and a slope on a shape that all users share, ``p = sigmoid(a_u + b_u g(z))``.

    The shape g is learned from all users together. Levels and slopes are shrunk to what is usual for users with as many
    held-out items and scores as far apart, as far as the user's own labels leave open.

    A map fitted over all candidates is dominated by the thousands that are never shown. By default it is therefore
    fitted where lists are made, on each user's best candidates. What lies behind them enters as a number, how many
    relevant items are expected there, and with a learned shape also in bins, by which the shape goes on below.

    The labels of one user leave level and slope uncertain. The map gives the probability to expect then, which is above
    that of the most likely level and slope where it is small.

    Scores are compared within a user: they enter in standard deviations from the mean of the user's fitted ones.

    Parameters
    ----------
    shape : {"learned", "line", "gaussian", "gamma"}, optional
        What the log-odds of all users are made of: a smooth rising curve, learned and pulled towards a straight line as
        far as the labels of left-out users ask for it; a straight line; or the two rising functions of a family, each
        with a coefficient for each user. By default "learned"; `PerUserPlatt`, `PerUserGaussian` and `PerUserGamma`
        have their own.
    top : int or None
        Fit on this many of each user's best candidates; None: on all of them.
    unlabelled_positives : bool
        Whether the candidates hold the relevant items of the next period too, labelled 0 although they are just like
        the held-out ones; as many as were held out. The map then gives the probability that an item is relevant in
        the next period, once the held-out items are gone. False: the probability that an item is a held-out one.
    prior_width : float or "auto"
        How far the log-odds of users differ from the global map. "auto" estimates it, for level and slope and with
        their correlation, from users with held-out items; 0 gives all users the global map; infinity leaves
        every user alone (with a prior just strong enough to keep the map finite).
    prior_users : int
        How many users the global map and the prior are learned from, at most.
    n_bins : int
        Bins of each user's scores when all candidates are used; with up to eight times as many items there are none.
    seed : int
        Of the choice of these users, by a hash of their ids, and of the folds of the shape.

    Attributes
    ----------
    global_ : Calibrator
        The global map, of standardised scores: for users without held-out items and for users never seen.
    location_, scale_ : arrays of shape (n_users,)
        What a user's scores are standardised with.
    intercept_, coef_ : arrays of shape (n_users,) and (n_users, n_coefficients)
    n_positive_ : array of shape (n_users,)
        Held-out items among the fitted candidates.
    n_held_out_ : array of shape (n_users,)
        Held-out items in all; a user without any has the global map.
    expected_relevant_ : array of shape (n_users,)
        How many relevant items a period like the held-out one has.
    beyond_ : array of shape (n_users,)
        How many of them are expected behind the fitted candidates.
    last_ : array of shape (n_users,)
        The standardised score of the last fitted candidate.
    behind_ : RisingCurve or None
        How log-odds fall below it, for all users alike; None: as the shape does.
    """

    answers_for: Literal["all", "segment", "user"] = "user"

    usual_shape: ClassVar[Shape] = "learned"
    """The shape of maps made without one."""

    LEARNED: ClassVar[dict[str, str]] = {
        "location_": "location", "scale_": "scale", "intercept_": "intercept", "n_positive_": "n_positive",
        "n_held_out_": "n_held_out", "expected_relevant_": "expected_relevant", "beyond_": "expected_beyond",
        "last_": "last", "coef_": "coef",
    }  # fmt: skip
    """What is learned about each user, and what it is called in files and tables."""

    intercept_: FloatArray
    coef_: FloatArray
    n_positive_: IntArray
    n_held_out_: IntArray
    overall_: FloatArray
    basis_: Basis
    prior_: Prior
    global_: Calibrator

    def __init__(
        self,
        *,
        shape: Shape | None = None,
        top: int | None = 200,
        unlabelled_positives: bool = True,
        prior_width: float | Literal["auto"] = "auto",
        prior_users: int = 3_000,
        n_bins: int = 256,
        seed: int = 0,
    ) -> None:
        self.shape = shape
        self.top = top
        self.unlabelled_positives = unlabelled_positives
        self.prior_width = prior_width
        self.prior_users = prior_users
        self.n_bins = n_bins
        self.seed = seed

    # --- learning ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        source: ScoreSource,
        held_out: Interactions,
        *,
        seen: Seen = None,
        progress: Progress = silent,
    ) -> Self:
        """Learn the global map, how far users differ from it, and the map of each user.

        Parameters
        ----------
        source : ScoreSource
        held_out : Interactions
            The positives; every other candidate is a negative.
        seen : Interactions or "nothing", optional
            The training log, whose pairs are no candidates; "nothing": every pair is one.
        progress : Progress
        """
        self.check_settings()
        known = fitted_to(source, held_out, "held_out")
        before = seen_of(source, seen, held_out)
        known = unseen(known, before)
        if not len(known):
            raise EmptyError("held_out must hold at least one positive that the source knows, got none")
        candidates = Candidates(source, known, before, self.top, self.n_bins)
        learner = copy.copy(self)  # a fit that fails or is stopped leaves what was learned before as it was
        learner.users_, _ = id_maps(source)
        learner.n_held_out_ = np.asarray(known.user_degree)
        learner.expected_relevant_ = shrunk_counts(known.user_degree)
        sample = learner._sample(candidates)
        model = learner._learn_model(sample, candidates)
        learner._learn_users(candidates.every_block(sample), model, progress)
        learner.beyond_[~candidates.reach_beyond()] = 0.0
        horizon = Horizon.of_split(known, before)
        learner._take_over(model, horizon.following() if self.unlabelled_positives else horizon)
        candidates.masked.say()
        vars(self).update(vars(learner))
        return self

    def _fit_observed(self, observed: Observed) -> Self:
        return self.fit(observed.source, observed.held_out, seen=settled(observed.seen), progress=observed.progress)

    def _sample(self, candidates: Candidates) -> CandidateBlock:
        """The candidates of some users with held-out items, from whom is learned what users have in common."""
        learners = np.flatnonzero(candidates.held_out.user_degree)
        if len(learners) > self.prior_users:
            places = first_by_hash(self.users_.at(learners), self.prior_users, self.seed)
            learners = learners[places]
        sample = joined(list(candidates.blocks(learners)))
        if not len(sample.positive_scores):
            raise EmptyError(
                f"no held-out item is among the top {self.top} candidates of any user, so there is nothing to fit; "
                "raise top, or check that the scores are higher for better items"
            )
        return sample

    def _learn_model(self, sample: CandidateBlock, candidates: Candidates) -> UserModel:
        """What users have in common."""
        return Learner(
            sample, self.expected_relevant_[sample.users], candidates.behind if candidates.has_more else None,
            self.shape or self.usual_shape, self.prior_width, self.unlabelled_positives, self.seed,
        ).model()  # fmt: skip

    def _learn_users(self, blocks: Iterable[CandidateBlock], model: UserModel, progress: Progress) -> None:
        """The map of every user, block by block, and how many relevant items there are behind the fitted ones."""
        n_users, own = len(self.n_held_out_), self.n_held_out_ > 0
        theta = np.repeat(model.overall[None], n_users, axis=0)
        self.location_, self.scale_ = np.zeros(n_users), np.ones(n_users)
        self.n_positive_, self.last_, within = np.zeros(n_users, dtype=np.int64), np.zeros(n_users), np.zeros(n_users)
        done = 0
        for block in blocks:
            users = block.users
            (
                theta[users], self.location_[users], self.scale_[users], self.n_positive_[users], self.last_[users],
                within[users],
            ) = model.users(block, self.expected_relevant_[users], own[users])  # fmt: skip
            done += len(users)
            progress("fitting a map for each user", done, n_users)
        self.intercept_, self.coef_ = model.natural(theta)
        self.beyond_ = self._behind(within, own & (self.prior_width != 0))

    def _behind(self, within: FloatArray, personal: BoolArray) -> FloatArray:
        """How many relevant items lie behind the fitted ones: what a user's own map leaves of the expected number.

        The global map does not know what to expect of a user; there the share of all users lies behind.
        """
        share = max(float(self.expected_relevant_.sum() / max(within.sum(), 1e-300)) - 1.0, 0.0)
        return np.where(personal, np.maximum(self.expected_relevant_ - within, 0.0), share * within)

    @classmethod
    def of_model(
        cls, settings: PerUserCalibrator, model: UserModel, horizon: Horizon, users: IdMap, learned: pl.DataFrame
    ) -> Self:
        """Maps that were learned elsewhere: what users have in common, and a table with the columns of `table`."""
        made = clone(settings)
        for attribute, name in cls.LEARNED.items():
            if name != "coef":
                setattr(made, attribute, learned[name].to_numpy())
        n_coefs = len(model.overall) - 1
        made.coef_ = learned.select(f"coef_{number}" for number in range(n_coefs)).to_numpy()
        made.users_ = users
        made._take_over(model, horizon)
        return cast(Self, made)

    # --- using ------------------------------------------------------------------------------------------------------

    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        return sigmoid(self.log_odds_of(scores, who))

    def log_odds_of(self, scores: FloatArray, who: Who) -> FloatArray:
        self.check_fitted()
        rows = self._rows(who)
        block = scores if scores.ndim == 2 else scores[:, None]
        known = np.isfinite(block)
        every = bool(known.all())  # mostly; passes over all scores cost as much as the rest
        standardised = self._standardised(block if every else np.where(known, block, 0.0), who)
        below = self._below(standardised, rows)
        columns = self.basis_.columns(standardised if below is None else standardised - below)
        result = at_rows(self.intercept_, rows, self.overall_[0])[:, None]
        for number, column in enumerate(columns):
            coef = at_rows(self.coef_[:, number], rows, self.overall_[1 + number])[:, None]
            result = coef * column + result
        if self.behind_ is not None and below is not None:
            result += self.behind_.intercept + self.behind_.values(below)
        return (result if every else np.where(known, result, -np.inf)).reshape(scores.shape)

    def _n_fitted(self) -> int:
        return self.global_.n_pairs_

    def knows(self, who: Who) -> BoolArray:
        """Which users had held-out items to learn from; the others have the global map."""
        rows = self._rows(who)
        return (rows >= 0) & (self.n_held_out_[rows] > 0)

    def _for_all(self, names: ColumnNames) -> Node:
        """With the joined table of what was learned; users who are not in it have the global map."""
        known = {"intercept": self.overall_[0]} | {f"coef_{n}": each for n, each in enumerate(self.overall_[1:])}
        own = {name: coalesce(names.learned(name), value) for name, value in known.items()}
        score = self._standardised_tree(names)
        log_odds = own["intercept"] if score.behind is None else own["intercept"] + score.behind
        for number, column in enumerate(self.basis_.trees(score.inside)):
            log_odds = log_odds + column * own[f"coef_{number}"]
        return finite(names.reference_to("score"), sigmoid_of(log_odds, TREE))

    def _for_some(self, names: ColumnNames) -> list[Conditional]:
        own = Compare(">", names.learned("n_held_out"), Number(0.0))
        return [*self._unanswered(names), (own, self._for_all(names))]

    def _tree(self, names: ColumnNames) -> Node:
        self.check_fitted()
        return Case(tuple(self._unanswered(names)), self._for_all(names))  # the joined table has the global map as well

    # --- saving -----------------------------------------------------------------------------------------------------

    def _of_all(self) -> tuple[str, ProbabilityMap]:
        return "global", self.global_

    def _own_state(self) -> dict[str, JSON]:
        return {"basis": self.basis_.plain(), "overall": self.overall_.tolist()}

    def _restore(self, state: dict[str, Any], parts: Parts) -> None:
        self.global_, self.basis_ = parts.opened("global", Calibrator), basis_of(state["basis"])
        self.overall_ = np.array(state["overall"], dtype=np.float64)
        self.estimand_ = self.global_.estimand_

    # --- inside -----------------------------------------------------------------------------------------------------

    def _take_over(self, model: UserModel, horizon: Horizon) -> None:
        """Keep what serving needs of the model."""
        self.basis_, self.prior_, self.behind_ = model.basis, model.prior, model.behind
        intercept, coef = model.natural(model.overall[None])
        self.overall_ = np.array([intercept[0], *coef[0]])
        self.estimand_, self.horizon_ = "interaction", horizon
        self.global_ = model.basis.plain_map(float(intercept[0]), coef[0])
        self.global_._learned("interaction", horizon, model.n_pairs, model.score_range)

    def check_settings(self) -> None:
        """Refuse settings that are out of range."""
        for name, least in (("top", 2), ("prior_users", 1), ("n_bins", 2)):
            value = getattr(self, name)
            if name == "top" and value is None:
                continue
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise SettingError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if self.shape is not None:
            check_choice(self.shape, "shape", SHAPES)
        width = self.prior_width
        if width != "auto" and (isinstance(width, str) or not width >= 0):
            raise SettingError(f"prior_width must be 0 or more, or 'auto', got {width!r}")


class PerUserPlatt(PerUserCalibrator):
    """A straight line inside the sigmoid for each user: ``p = sigmoid(b_u s + c_u)``.

    Parameters are those of `PerUserCalibrator`.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(200, 50))
    >>> relevant = rng.random((200, 50)) < 1 / (1 + np.exp(2 - scores))
    >>> held_out = Interactions.from_matrix(relevant)
    >>> calibrator = PerUserPlatt(top=None).fit(MatrixSource(scores), held_out)
    >>> low, high = calibrator.probability([0.0, 2.0], users=[7, 7])
    >>> bool(0 < low < high < 1)
    True
    """

    usual_shape = "line"


class PerUserGaussian(PerUserCalibrator):
    """A parabola inside the sigmoid for each user, rising over all fitted scores.

    Parameters are those of `PerUserCalibrator`.

    Examples
    --------
    >>> PerUserGaussian(top=100)
    PerUserGaussian(top=100)
    """

    usual_shape = "gaussian"


class PerUserGamma(PerUserCalibrator):
    """A line and a logarithm inside the sigmoid for each user, rising over all fitted scores.

    Parameters are those of `PerUserCalibrator`.

    Examples
    --------
    >>> PerUserGamma(prior_width=0.5)
    PerUserGamma(prior_width=0.5)
    """

    usual_shape = "gamma"
