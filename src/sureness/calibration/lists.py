"""The map for lists: the probability of each candidate of a group, from how the group's scores lie."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray, Estimand, FloatArray, IntArray, Risk
from sureness._wording import counted
from sureness.calibration._plain import compression_of, estimand_of, level_of
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.expressing import DialectName
from sureness.calibration.fields import Fields, FieldTable, columns_of, full_column
from sureness.calibration.horizon import Horizon
from sureness.calibration.inverse import scores_for
from sureness.calibration.level import UNCHANGED, Level, level_for_base_rate, level_from_anchor
from sureness.calibration.list_query import list_expression, list_query
from sureness.calibration.list_sample import ENOUGH, MOST_TIMES, ListSample, sample_lists
from sureness.calibration.list_terms import (
    FEWEST,
    HISTORY,
    SPREAD,
    Groups,
    Inputs,
    TermPlan,
    Terms,
    among_best,
    learn_terms,
)
from sureness.calibration.maps import Observed, ProbabilityMap, Segments, Who, wide
from sureness.calibration.usable import Reach, usable, usable_pairs
from sureness.data.ids import IdMap
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import ColumnError, DataError, EmptyError, SettingError
from sureness.expressions.dialects import dialect_named
from sureness.numerics.checks import as_array, check_rate, check_scores, check_whole, one_dimension, same_length
from sureness.numerics.conversion import is_missing
from sureness.numerics.grouping import hash_ids
from sureness.numerics.logistic import sigmoid
from sureness.numerics.ramps import Compression
from sureness.saving.packed import Form, Packed, Parts, check_text, kind_of, real, reals
from sureness.tables.id_values import as_series

FEW_POSITIVES = 300
"""With fewer positives than this, a map for lists uses fewer terms."""

_RAMPS = 4  # of a score and of the history
_FARTHEST = 1e100  # a trait
_SAME_CUT = 1e-9  # of the range of scores: rounding of a cut-off
_LIGHT, _HEAVY = 0.01, 0.99  # quantiles of the history between which groups go from light to heavy


class ListCalibrator(ProbabilityMap):
    """The probability of the candidates of one group: a user, a query, a session or a prompt.

    ``logit p = c + place(z) + score(t) + levels``: z is the place of a score among the group's best candidates, in
    standard deviations from their mean, and t the score itself with a long tail compressed. Both curves rise and are
    straight between a few knots; each is a mixture of one for groups with a light and one for groups with a heavy
    history. The levels depend on how long the history is, how far the scores are spread, and on traits of the group or
    the item.

    It knows nothing of single groups, so it answers for groups that it has never met. Without traits of items the order
    of a group's candidates stays.

    With fewer than 300 positives there are fewer terms: one slope of z, of the history and of the spread. A group with
    fewer than 10 candidates has no place, and uses a second set of terms without it.

    Parameters
    ----------
    best : int
        How many of a group's best candidates decide mean and spread, and are fitted on.
    n_groups : int
        Groups to learn from, chosen by a hash of their ids; up to five times as many until they have 10,000 positives.
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    seed : int
        Of the choice of groups.

    Attributes
    ----------
    terms_ : Terms or None
        For groups with at least 10 candidates; None: there were none.
    score_terms_ : Terms
        For smaller groups.
    compression_ : Compression
        What makes t of a score.
    activity_ : tuple of two floats, or None
        The logarithms of 1 + history that count as light and as heavy; None: it was fitted without histories.
    n_positive_, n_pairs_, n_groups_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> queries = np.repeat(np.arange(400), 30)
    >>> scores = rng.normal(size=12_000) * (1 + queries % 3)  # each query has a scale of its own
    >>> labels = rng.random(12_000) < 1 / (1 + np.exp(3 - 2 * scores / (1 + queries % 3)))
    >>> calibrator = ListCalibrator().fit(scores, labels, groups=queries)
    >>> new = np.linspace(-6, 6, 13)
    >>> bool(np.all(np.diff(calibrator.probability(new, groups=["a query never seen"] * 13)) > 0))
    True
    """

    saved_as: ClassVar[Form] = "json"

    terms_: Terms | None
    score_terms_: Terms
    compression_: Compression
    activity_: tuple[float, float] | None
    numeric_: tuple[str, ...]  # traits that are numbers
    named_: tuple[str, ...]  # traits that are names

    def __init__(self, *, best: int = 50, n_groups: int = 3_000, risk: Risk | None = None, seed: int = 0) -> None:
        self.best = best
        self.n_groups = n_groups
        self.risk = risk
        self.seed = seed

    # --- learning ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        scores: ArrayLike | CalibrationSet,
        labels: ArrayLike | None = None,
        *,
        groups: ArrayLike | pl.Series | None = None,
        history: ArrayLike | None = None,
        traits: FieldTable | None = None,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        shown_at: ArrayLike | None = None,
        taken_at: ArrayLike | None = None,
        as_of: object = None,
    ) -> Self:
        """Learn from the candidates of many groups.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,) or CalibrationSet
            The candidates of a group need not stand together. A set must have users, which are the groups.
        labels : array-like of shape (n_pairs,), optional
            0 or 1; needed with plain scores.
        groups : array-like of shape (n_pairs,)
            The user, query, session or prompt of each candidate.
        history : array-like of shape (n_pairs,), optional
            How many items of the group the recommender was trained on; one number per group, repeated.
        traits : table, or mapping of names to columns of shape (n_pairs,), optional
            What else is known of the group or the item: numbers, or text for categories. Any may be missing.
        sample_weight, propensity, shown_at, taken_at, as_of
            As for a calibrator of pairs.
        """
        if groups is not None and isinstance(scores, CalibrationSet):
            raise SettingError("the groups of a calibration set are its users; leave groups out")
        if groups is None and not isinstance(scores, CalibrationSet):
            raise SettingError(f"{type(self).__name__} needs the group of each score; give groups=, one id for each")
        data = CalibrationSet.given(
            scores, labels, sample_weight=sample_weight, propensity=propensity, users=groups, shown_at=shown_at,
            taken_at=taken_at, as_of=as_of,
        )  # fmt: skip
        self._check_settings()
        pairs = data.gather(data.resolve_risk(self.risk))
        if pairs.users is None:
            raise SettingError("a map for lists needs groups; build the calibration set with users")
        known = {} if history is None else {HISTORY: check_history(history, len(pairs))}
        named = _columns(traits, len(pairs))
        users = pairs.users
        if (kept := usable(pairs)) is not None:
            pairs, users = pairs.take(kept), users[kept]
            known = {name: values[kept] for name, values in known.items()}
            named = {name: column.gather(pl.Series(kept)) for name, column in named.items()}
        codes = _codes(users)
        if HISTORY in known:
            _refuse_several(known[HISTORY], codes)
        return self._learn(data.with_pairs(pairs), pairs, codes, known.get(HISTORY), named)

    def _fit_observed(self, observed: Observed) -> Self:
        """Learn from the best candidates of some users of a recommender."""
        self._check_settings()
        return self.fit_sample(observed, sample_lists(observed, self.best, self.n_groups, self.seed))

    def fit_sample(self, observed: Observed, sample: ListSample) -> Self:
        self._check_settings()
        data = sample.pairs(observed)
        history = sample.history
        if history is None and observed.seen is not None:
            history = observed.seen.user_degree[sample.users]
        history = None if history is None else history[sample.groups]
        traits = _columns(sample.fields(observed) or None, len(sample.groups))
        if isinstance(observed.segments, Segments):
            traits = {name: column.cast(pl.String) for name, column in traits.items()}
        traits |= _columns(sample.further() or None, len(sample.groups))
        return self._learn(data, data.gather(), sample.groups, history, traits, sampled=True)

    def _learn(
        self, data: CalibrationSet, pairs: ScoredPairs, codes: IntArray, history: FloatArray | IntArray | None,
        traits: Mapping[str, pl.Series], *, sampled: bool = False,
    ) -> Self:  # fmt: skip
        scores = pairs.scores.astype(np.float64)
        chosen = among_best(scores, codes, self.best)
        if not sampled:
            chosen &= self._sample(pairs, codes, chosen)[codes]
        _check_traits(traits)
        pairs, scores = pairs.take(chosen), scores[chosen]
        _, codes = np.unique(codes[chosen], return_inverse=True)
        history = None if history is None else np.asarray(history, dtype=np.float64)[chosen]
        traits = {name: column.filter(pl.Series(chosen)) for name, column in traits.items()}
        _require_both(pairs)
        learner = type(self)(**self.get_params(deep=False))
        learner.compression_ = Compression.of(scores)
        learner.activity_ = None if history is None else _activity(history, codes)
        learner.numeric_ = tuple(name for name, column in traits.items() if column.dtype.is_numeric())
        learner.named_ = tuple(name for name in traits if name not in learner.numeric_)
        risk = data.resolve_risk(self.risk)
        targets, weight = data.targets(pairs, risk)
        weight = np.ones(len(pairs)) if weight is None else weight
        every = Groups.of_rows(scores, codes, np.ones(len(codes), dtype=bool))
        rows = replace(every.take(codes), history=history, traits=traits)
        learner._learn_terms(scores, rows, targets, weight)
        estimand: Estimand = "interaction" if risk == "naive" and not data.level_is_known else data.estimand
        learner._learned(estimand, data.horizon, pairs, int(codes.max()) + 1)
        learner._correct(data, scores, rows, pairs)
        vars(self).update(vars(learner))
        return self

    def _sample(self, pairs: ScoredPairs, codes: IntArray, best: BoolArray) -> BoolArray:
        """Which groups to learn from: the first by a hash of their ids that are enough, and have enough positives."""
        n_groups = int(codes.max(initial=-1)) + 1
        if n_groups <= self.n_groups:
            return np.ones(n_groups, dtype=bool)
        assert pairs.users is not None
        _, first = np.unique(codes, return_index=True)
        order = np.argsort(hash_ids(as_series(pairs.users[first]), self.seed), kind="stable")
        positives = np.bincount(codes[best & pairs.labels], minlength=n_groups)[order]
        enough = int(np.searchsorted(np.cumsum(positives), ENOUGH)) + 1
        chosen = np.zeros(n_groups, dtype=bool)
        chosen[order[: min(max(self.n_groups, enough), MOST_TIMES * self.n_groups)]] = True
        return chosen

    def _learn_terms(self, scores: FloatArray, rows: Groups, targets: FloatArray, weight: FloatArray) -> None:
        positive, large = targets > 0, rows.count >= FEWEST
        by_history = {} if self.activity_ is None else {HISTORY: _RAMPS}
        traits = dict.fromkeys(self.numeric_, _RAMPS)
        of_score = TermPlan({"score": _RAMPS}, by_history | traits, by_history=self.activity_ is not None)
        of_place = TermPlan({"place": _RAMPS, "score": _RAMPS}, by_history | {SPREAD: 1} | traits, of_score.by_history)
        if np.count_nonzero(positive) < FEW_POSITIVES:
            of_score = TermPlan({"score": 1}, dict.fromkeys(of_score.levels, 1), by_history=False)
            of_place = TermPlan({"place": 1}, dict.fromkeys(of_place.levels, 1), by_history=False)
        every = self._inputs(scores, rows)
        self.score_terms_ = learn_terms(every, of_score, targets, weight)
        self.terms_ = None
        if (positive & large).any() and (large & ~positive).any():
            self.terms_ = learn_terms(_some(every, large), of_place, targets[large], weight[large])

    def _correct(self, data: CalibrationSet, scores: FloatArray, rows: Groups, pairs: ScoredPairs) -> None:
        """Take over a base rate or an anchor; an anchor's pairs are in no list, so their scores alone are judged."""
        level = UNCHANGED
        if data.anchor is not None:
            anchor = usable_pairs(data.anchor)
            nothing = Groups(*np.zeros((3, len(anchor))))
            alone = self._log_odds(anchor.scores.astype(np.float64), nothing)
            level = level_from_anchor(sigmoid(alone), anchor.labels.astype(np.float64), anchor.weights)
        elif data.base_rate is not None:
            level = level_for_base_rate(sigmoid(self._log_odds(scores, rows)), pairs.weights, data.base_rate)
        self.level_: Level = level
        if level != UNCHANGED:
            self.score_terms_ = self.score_terms_.adjusted(level)
            self.terms_ = None if self.terms_ is None else self.terms_.adjusted(level)

    def _learned(self, estimand: Estimand, horizon: Horizon, pairs: ScoredPairs, n_groups: int) -> None:
        self.estimand_, self.horizon_ = estimand, horizon
        self.n_pairs_, self.n_positive_, self.n_groups_ = len(pairs), pairs.n_positive, n_groups
        self.score_range_ = (float(pairs.scores.min()), float(pairs.scores.max()))

    def learned_facts(self) -> dict[str, str]:
        if not hasattr(self, "estimand_"):
            return {}
        facts = {"estimand": self.estimand_, "fitted on": counted(self.n_groups_, "group")}
        facts["with"] = f"{counted(self.n_pairs_, 'candidate')}, {counted(self.n_positive_, 'positive')}"
        if self.n_positive_ < FEW_POSITIVES:
            facts["terms"] = f"few, because there are fewer than {FEW_POSITIVES} positives"
        if traits := (*self.numeric_, *self.named_):
            facts["traits"] = ", ".join(traits)
        return facts

    # --- using ------------------------------------------------------------------------------------------------------

    def probability(  # type: ignore[override]
        self,
        scores: ArrayLike,
        *,
        groups: ArrayLike | pl.Series,
        history: ArrayLike | None = None,
        traits: FieldTable | None = None,
    ) -> FloatArray:
        """Probabilities of candidates, in the same order.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,)
            All candidates of each group, or at least its best ones, on the scale that the map was fitted to.
        groups : array-like of shape (n_pairs,)
            The group of each candidate; whether the map has met it makes no difference.
        history, traits
            As in `fit`, if they were given there.

        Returns
        -------
        array of shape (n_pairs,)
        """
        return sigmoid(self.log_odds(scores, groups=groups, history=history, traits=traits))

    def log_odds(  # type: ignore[override]
        self,
        scores: ArrayLike,
        *,
        groups: ArrayLike | pl.Series,
        history: ArrayLike | None = None,
        traits: FieldTable | None = None,
    ) -> FloatArray:
        """The same as log-odds."""
        self.check_fitted()
        given = as_array(scores, "scores")
        checked = check_scores(given).astype(np.float64, copy=False) if given.size else np.empty(0)
        if (reach := self.reach()) is not None:
            reach.count(checked)
            reach.warn()
        return self.log_odds_of(checked, self.grouped(checked, groups, history, traits))

    def grouped(
        self, scores: FloatArray, groups: ArrayLike | pl.Series, history: ArrayLike | None, traits: FieldTable | None
    ) -> Who:
        """The groups of scores in any order."""
        n = len(scores)
        if not n:
            return Who(0, groups=Groups(*np.zeros((3, 0))))
        codes = _codes(groups)
        same_length(codes, n, "groups")
        self._check_history(history)
        there = np.isfinite(scores)
        best = there & among_best(np.where(there, scores, -np.inf), codes, self.best)
        found = Groups.of_rows(np.where(there, scores, 0.0), codes, best).take(codes)
        known = None if self.activity_ is None else check_history(history, n)  # type: ignore[arg-type]
        return Who(n, groups=replace(found, history=known, traits=self._traits(traits, n)))

    def groups_of(self, best: FloatArray, history: FloatArray | IntArray, traits: Mapping[str, Any]) -> Groups:
        """The groups of blocks, from the scores of their best candidates, (n, best); -inf where there is none."""
        return replace(Groups.of_blocks(best), history=np.asarray(history, dtype=np.float64), traits=traits)

    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        return sigmoid(self.log_odds_of(scores, who))

    def log_odds_of(self, scores: FloatArray, who: Who) -> FloatArray:
        if who.groups is None:
            raise SettingError(f"{type(self).__name__} compares scores within a group; give groups=")
        there = np.isfinite(scores)
        if not there.all():
            scores = np.where(there, scores, self.score_range_[0])
        found = self._log_odds(scores, who.groups)
        return found if there.all() else np.where(there, found, -np.inf)

    def score_for(
        self,
        probability: float,
        scores: ArrayLike,
        *,
        groups: ArrayLike | pl.Series,
        history: ArrayLike | None = None,
        traits: FieldTable | None = None,
    ) -> pl.DataFrame:
        """The score with a probability in each group: its cut-off.

        Parameters
        ----------
        probability : float
        scores, groups, history, traits
            The candidates, as for `probability`. Traits must be those of groups.

        Returns
        -------
        DataFrame with the columns group and score, in the order of the groups' first candidates

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> queries, scores = np.repeat(np.arange(200), 30), rng.normal(size=6_000)
        >>> labels = rng.random(6_000) < 1 / (1 + np.exp(3 - 2 * scores))
        >>> calibrator = ListCalibrator().fit(scores, labels, groups=queries)
        >>> calibrator.score_for(0.3, scores, groups=queries).shape
        (200, 2)
        """
        self.check_fitted()
        given = check_scores(scores).astype(np.float64, copy=False)
        who, names = self.grouped(given, groups, history, traits), as_series(groups)
        if who.groups is None or not len(given):
            return pl.DataFrame({"group": names, "score": given})
        row = np.full(len(given), self.score_range_[0])
        found = scores_for(
            probability, lambda asked: self.log_odds_of(asked, who), row, np.full(len(given), self.score_range_[1]),
            "the map of a group",
        )  # fmt: skip
        table = pl.DataFrame({"group": names, "score": found})
        score = pl.col("score")
        apart = (score.max() - score.min()).alias("apart")
        cut = table.group_by("group", maintain_order=True).agg(score.first(), apart)
        if (cut["apart"] > _SAME_CUT * (self.score_range_[1] - self.score_range_[0])).any():
            raise SettingError("the map reads traits of items, so a group has no single cut-off; compare probabilities")
        return cut.drop("apart")

    def cutoffs(
        self, dialect: DialectName, probability: float, table: str, score: str = "score", *, group: str = "user_id",
        history: str = HISTORY,
    ) -> str:  # fmt: skip
        """A query that gives the lowest score with at least a probability, for each group of a table that has one."""
        check_rate(probability, "probability")
        known = dialect_named(dialect)
        name, least = known.identifier, known.double_literal(probability)
        return (
            f"SELECT {name(group)}, MIN({name(score)}) AS {name('score')}\n"
            f"FROM (\n{self.query(dialect, table, score, group=group, history=history)}\n) AS {name('likely')}\n"
            f"WHERE {name('probability')} >= {least}\nGROUP BY {name(group)}"
        )

    def _log_odds(self, scores: FloatArray, groups: Groups) -> FloatArray:
        inputs = self._inputs(scores, groups)
        large = wide(groups.count >= FEWEST, scores)
        if self.terms_ is None or not large.any():
            found = self.score_terms_.log_odds(inputs)
        elif large.all():
            found = self.terms_.log_odds(inputs)
        else:
            found = np.where(large, self.terms_.log_odds(inputs), self.score_terms_.log_odds(inputs))
        return np.broadcast_to(found, scores.shape)

    def _inputs(self, scores: FloatArray, groups: Groups) -> Inputs:
        """What the terms look at."""
        differ = groups.spread > 0
        spread = np.where(differ, groups.spread, 1.0)
        place = (scores - wide(groups.mean, scores)) / wide(spread, scores)
        levels: dict[str, FloatArray] = {SPREAD: wide(np.where(differ, np.log(spread), np.nan), scores)}
        activity = None
        if self.activity_ is not None:
            known = np.full(len(groups.mean), np.nan) if groups.history is None else groups.history
            amount = np.log1p(known)
            light, heavy = self.activity_
            levels[HISTORY] = wide(amount, scores)
            mixed = np.clip((amount - light) / max(heavy - light, 1e-12), 0.0, 1.0)
            activity = wide(np.where(np.isnan(mixed), 0.5, mixed), scores)
        names: dict[str, AnyArray] = {}
        for name in (*self.numeric_, *self.named_):
            values = groups.traits.get(name)
            if values is None:
                values = np.full(scores.shape, np.nan) if name in self.numeric_ else np.full(scores.shape, "")
            (levels if name in self.numeric_ else names)[name] = as_input(values, name in self.numeric_)
        return Inputs({"place": place, "score": self.compression_.values(scores)}, activity, levels, names)

    def _traits(self, given: FieldTable | None, n: int) -> dict[str, pl.Series]:
        """The columns that the map was fitted on, by name."""
        wanted = (*self.numeric_, *self.named_)
        if not wanted:
            return {}
        if given is None:
            raise ColumnError(f"the map was fitted with the traits {', '.join(wanted)}; give traits=")
        return _columns(columns_of(given, wanted), n)

    def _check_history(self, history: ArrayLike | None) -> None:
        if self.activity_ is not None and history is None:
            raise ColumnError("the map was fitted with the history of each group; give history=")

    def check_fields(self, told: Segments | Fields | None, further: Collection[str] = ()) -> None:
        """Refuse fields of a recommender that lack a trait of the map; `further` traits are known in another way."""
        wanted = [name for name in (*self.numeric_, *self.named_) if name not in further]
        names = ("segment",) if isinstance(told, Segments) else () if told is None else told.names
        if absent := [name for name in wanted if name not in names]:
            raise SettingError(
                f"the map was fitted with {' and '.join(absent)} of users or items; give segments= with it"
            )

    def reads(self) -> tuple[str, ...]:
        if not hasattr(self, "estimand_"):
            return ("score", "user_id")
        history = () if self.activity_ is None else (HISTORY,)
        return ("score", "user_id", *history, *self.numeric_, *self.named_)

    def reach(self) -> Reach | None:
        return Reach(*self.score_range_, self.n_pairs_, upwards=True)

    def query(  # type: ignore[override]
        self, dialect: DialectName, table: str, score: str = "score", *, group: str = "user_id", history: str = HISTORY
    ) -> str:
        """A query that gives all columns of a table and the column ``probability``, for groups seen or not.

        It joins the table with how the scores of each group lie, found in the same table, which is read twice. A score
        that is missing, infinite or not a number gets no probability and does not count as a candidate; neither does
        one without a group. A history that is negative or infinite counts as missing.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake", "mysql"}
        table : str
            Its name; a dot separates schema and table. It has all candidates of each group, or its best ones.
        score, group, history : str
            Its columns, letter by letter; traits are the columns of their names.
        """
        self.check_fitted()
        return list_query(self, dialect, table, score=score, group=group, history=history)

    def expression(  # type: ignore[override]
        self, dialect: Literal["polars"], column: str = "score", *, group: str = "user_id", history: str = HISTORY
    ) -> pl.Expr:
        """The probability as an expression of polars, for a table with the candidates of whole groups.

        Databases need a whole query, because a row's probability depends on other rows: see `query`.

        Parameters
        ----------
        dialect : "polars"
        column, group, history : str
            Columns, letter by letter; traits are the columns of their names.
        """
        self.check_fitted()
        if dialect != "polars":
            raise SettingError(
                f"{type(self).__name__} compares the candidates of a group, which an expression of one row does not "
                'see; use query(), or expression("polars")'
            )
        return list_expression(self, column, group=group, history=history)

    # --- saving -----------------------------------------------------------------------------------------------------

    def pack(self) -> Packed:
        kind, settings = kind_of("map", type(self)), self.get_params(deep=False)
        if not hasattr(self, "estimand_"):
            return Packed(kind=kind, settings=settings)
        state = {
            "compression": list(self.compression_), "activity": self.activity_ and list(self.activity_),
            "numeric": list(self.numeric_), "named": list(self.named_),
            "terms": self.terms_ and self.terms_.plain(), "score_terms": self.score_terms_.plain(),
            "level": [self.level_.intercept, self.level_.slope],
        }  # fmt: skip
        about = {
            "estimand": self.estimand_, "horizon": self.horizon_.plain(), "groups": self.n_groups_,
            "pairs": self.n_pairs_, "positives": self.n_positive_, "scores": list(self.score_range_),
        }  # fmt: skip
        return Packed(kind=kind, settings=settings, state=state, about=about)

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        calibrator = cls(**packed.settings)
        if packed.state:
            state: Mapping[str, Any] = packed.state
            about: Mapping[str, Any] = packed.about
            calibrator.compression_ = compression_of(state["compression"])
            calibrator.activity_ = None if state["activity"] is None else _pair(state["activity"])
            calibrator.numeric_, calibrator.named_ = _names(state["numeric"]), _names(state["named"])
            calibrator.terms_ = None if state["terms"] is None else Terms.of(state["terms"])
            calibrator.score_terms_, calibrator.level_ = Terms.of(state["score_terms"]), level_of(state["level"])
            calibrator.estimand_, calibrator.horizon_ = estimand_of(about), Horizon.of(about["horizon"])
            counts = (int(real(about[name])) for name in ("groups", "pairs", "positives"))
            calibrator.n_groups_, calibrator.n_pairs_, calibrator.n_positive_ = counts
            calibrator.score_range_ = _pair(about["scores"])
        return calibrator

    def _check_settings(self) -> None:
        for name, least in (("best", 2), ("n_groups", 1)):
            check_whole(getattr(self, name), name, least)


def _pair(plain: object) -> tuple[float, float]:
    low, high = reals(plain, n=2).tolist()
    return low, high


def _names(plain: Sequence[object]) -> tuple[str, ...]:
    return tuple(map(check_text, plain))


def check_history(history: ArrayLike, n: int) -> FloatArray:
    """Numbers of items, NaN where one is missing; negative ones are refused."""
    given = one_dimension(history, "history")
    try:
        if given.dtype.kind == "c":
            raise TypeError
        values = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"history must be numbers of items, got values of type {given.dtype}") from error
    same_length(values, n, "history")
    if (values < 0).any() or np.isinf(values).any():
        raise DataError(
            f"history must be a number of items, 0 or more, got {values[(values < 0) | np.isinf(values)][0]:g}"
        )
    return np.asarray(values)


def _refuse_several(history: FloatArray, codes: IntArray) -> None:
    """Refuse a group with several histories: its candidates would not be ordered by their scores."""
    _, first = np.unique(codes, return_index=True)
    own = history[first][codes]
    if (differs := np.flatnonzero((history != own) & ~(np.isnan(history) & np.isnan(own)))).size:
        place = differs[0]
        raise DataError(
            "history must be one number per group, repeated for each of its candidates; one group has "
            f"{own[place]:g} and {history[place]:g}"
        )


def as_input(values: Any, numeric: bool) -> AnyArray:
    """A trait as the terms look at it: numbers with NaN, or text with "" where it is missing."""
    if isinstance(values, np.ndarray) and (values.dtype.kind == "f" if numeric else values.dtype.kind == "U"):
        return values
    series = values if isinstance(values, pl.Series) else as_series(values)
    if numeric:
        return series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return series.cast(pl.String).fill_null("").to_numpy().astype(str)


def _columns(traits: FieldTable | None, n: int) -> dict[str, pl.Series]:
    """Traits by name, one entry for each pair."""
    if traits is None:
        return {}
    return {name: _column(name, column, n) for name, column in columns_of(traits).items()}


def _column(name: str, column: Any, n: int) -> pl.Series:
    full: Any = full_column(name, column, n)
    if getattr(full, "dtype", None) in (np.dtype(object), pl.Object):  # how pandas has text with missing values
        values = full.tolist() if isinstance(full, np.ndarray) else full.to_list()
        full = [None if is_missing(value) else value for value in values]
    series = as_series(full)
    if series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary):
        raise DataError(
            f"the trait {name!r} must have one number or name for each pair, got {series.dtype}; convert it"
        )
    return series


def _check_traits(traits: Mapping[str, pl.Series]) -> None:
    """Refuse traits with the names of what the map knows of every group, and numbers that cannot be computed with."""
    if taken := [name for name in (HISTORY, SPREAD) if name in traits]:
        raise SettingError(f"a trait cannot be called {taken[0]!r}, as the map has a term of that name; rename it")
    for name, column in traits.items():
        if not column.dtype.is_numeric():
            continue
        numbers = column.cast(pl.Float64)
        if len(far := numbers.filter((numbers.abs() > _FARTHEST) & numbers.is_not_nan())):
            raise DataError(
                f"the trait {name!r} must lie within ±{_FARTHEST:g}, got {far[0]:g}; rescale it, or leave it out"
            )


def _codes(groups: ArrayLike | pl.Series) -> IntArray:
    """A number for each group."""
    ids = as_series(groups)
    if ids.null_count():
        raise DataError("groups must not be missing; drop the rows without one")
    return np.asarray(IdMap.of(ids).rows(ids))


def _activity(history: FloatArray, codes: IntArray) -> tuple[float, float]:
    _, first = np.unique(codes, return_index=True)
    known = history[first]
    known = known[~np.isnan(known)]
    if not len(known):
        raise DataError("history is missing for every group; leave it out, or give it for some of them")
    light, heavy = np.quantile(np.log1p(known), [_LIGHT, _HEAVY])
    return float(light), float(heavy)


def _some(inputs: Inputs, rows: BoolArray) -> Inputs:
    rising, levels, names = (
        {name: values[rows] for name, values in part.items()} for part in (inputs.rising, inputs.levels, inputs.names)
    )
    return Inputs(rising, None if inputs.activity is None else inputs.activity[rows], levels, names)


def _require_both(pairs: ScoredPairs) -> None:
    if not 0 < pairs.n_positive < len(pairs):
        kind = "positive" if not pairs.n_positive else "negative"
        raise EmptyError(
            f"a map needs positives and negatives among the best candidates, got no {kind} among "
            f"{counted(len(pairs), 'pair')}; give labels of both kinds"
        )
