"""The contract of every calibrator: `fit`, `probability`, and the manners of scikit-learn."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from sureness._registry import Family
from sureness._settings import clone
from sureness._types import Estimand, FloatArray, Risk, ScoresAre
from sureness._wording import counted
from sureness.calibration._plain import estimand_of
from sureness.calibration.calibration_set import CERTAIN, CalibrationSet, log_odds_of
from sureness.calibration.expressing import Conditional, DialectName, finite, guarded, logit_tree
from sureness.calibration.families import TREE, Column, Formula, Operations, sigmoid_of
from sureness.calibration.horizon import Horizon
from sureness.calibration.inverse import scores_for
from sureness.calibration.level import UNCHANGED, Level, level_for_base_rate, level_from_anchor
from sureness.calibration.maps import Observed, ProbabilityMap, Who
from sureness.calibration.usable import Reach, usable_pairs, warn_of_masked
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import SettingError, SurenessWarning, warn
from sureness.expressions.columns import ColumnNames, path_of
from sureness.expressions.dialects import dialect_named
from sureness.expressions.nodes import Case, Compare, Is, Node, Number, Reference
from sureness.expressions.onnx_printer import onnx_of
from sureness.numerics.checks import check_choice
from sureness.numerics.histogram import ScoreHistogram, WeightedScores, require_both_classes
from sureness.numerics.logistic import logit, sigmoid
from sureness.propensity import check_effective_sample_size
from sureness.saving.packed import Form, Packed, Parts, kind_of, real, reals

if TYPE_CHECKING:
    import onnx

    from sureness.calibration.field_effects import EffectCells
    from sureness.calibration.list_sample import ListSample
from sureness._registry import find, names

_SURE = 4.0  # standard errors


class Calibrator(ProbabilityMap):
    """One map for all pairs.

    A subclass stores its settings, learns from weighted scores in `_fit_points`, and maps scores in `_probability`.
    Learned values end in an underscore: ``estimand_`` says what the probabilities estimate, ``n_pairs_`` on how many
    pairs they were fitted, ``score_range_`` on which scores.
    """

    monotone_by_design: ClassVar[bool] = True
    """Whether the fitted map never decreases."""

    exact_pairs: ClassVar[int] = 20_000
    """Fits on raw pairs up to this many, on a histogram above."""

    flat_if: ClassVar[str] = ""
    """What else may make a map of this family flat, for the sentence that says so."""

    family_name: ClassVar[Family] = "calibrator"
    """The family of the registry that has its name."""

    saved_as: ClassVar[Form] = "json"

    risk: Risk | None = None
    scores_are: ScoresAre | None = "scores"
    """What the scores are; families whose form depends on it have it as a setting."""
    scores_are_: Literal["probabilities", "scores"] = "scores"
    """What they were taken for; a map of probabilities is fitted on their log-odds."""
    _risk: float  # of the last fit, where two are compared
    _wrong_way: bool = False  # whether the scores of the last fit rank the wrong way, which is said then

    def fit(
        self,
        scores: ArrayLike | CalibrationSet | ScoreHistogram,
        labels: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        users: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        shown_at: ArrayLike | None = None,
        taken_at: ArrayLike | None = None,
        as_of: object = None,
    ) -> Self:
        """Learn the map.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,), CalibrationSet or ScoreHistogram
            Scores, or an object that already holds scores and labels.
        labels : array-like of shape (n_pairs,), optional
            0 or 1; needed with plain scores.
        sample_weight : array-like of shape (n_pairs,), optional
        propensity : array-like of shape (n_pairs,), optional
            Chance that the pair was seen; with it the probabilities estimate preference, not interaction. A label of 0
            then means not seen *or* not liked, over all candidates. In a log of impressions alone, where every pair
            was seen, give ``sample_weight=1 / propensity`` instead.
        users : array-like of shape (n_pairs,), optional
            Needed only by calibrators that look at each user's top items.
        groups : array-like of shape (n_pairs,), optional
            The same for queries or sessions.
        shown_at, taken_at, as_of
            In place of labels, where these come late: see `CalibrationSet.from_pairs`.

        Returns
        -------
        self
        """
        if groups is not None and users is not None:
            raise SettingError("users are one kind of groups; give users= or groups=, not both")
        users = users if groups is None else groups
        if isinstance(scores, ScoreHistogram):
            _refuse_extra(labels, sample_weight, propensity, users, shown_at, taken_at, as_of)
            if self.scores_are == "probabilities":
                raise SettingError("a histogram keeps scores, not their log-odds; count log-odds, or fit on the pairs")
            self.scores_are_ = "scores"
            return self._learn(scores.points(), scores.estimand, Horizon())._corrected(UNCHANGED)._said_if_constant()
        if isinstance(scores, CalibrationSet):
            _refuse_extra(labels, sample_weight, propensity, users, shown_at, taken_at, as_of)
            return self.fit_set(scores)._said_if_constant()
        data = CalibrationSet.from_pairs(
            scores, labels, sample_weight=sample_weight, propensity=propensity, users=users, shown_at=shown_at,
            taken_at=taken_at, as_of=as_of,
        )  # fmt: skip
        return self.fit_set(data)._said_if_constant()

    def fit_set(self, data: CalibrationSet, *, level: Level | None = None) -> Self:
        """`fit` for a calibration set; a known correction of level and slope replaces that of the set."""
        if self.scores_are is not None:
            check_choice(self.scores_are, "scores_are", get_args(ScoresAre))
        self.scores_are_ = "probabilities" if self.scores_are == "probabilities" else "scores"
        points = self._fit_form(data, level)
        if self.scores_are is None and points.minimum >= 0 and points.maximum <= 1 and not points.masked:
            self._or_probabilities(data, level, points.n_pairs)
        return self

    def _or_probabilities(self, data: CalibrationSet, level: Level | None, n_pairs: int) -> None:
        """Take scores between 0 and 1 for what explains the labels better, and say for what."""
        other, own = clone(self), self._risk
        other.scores_are_ = "probabilities"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SurenessWarning)  # said already
            other._fit_form(data, level)
        if other._risk < own * (1 - 1e-12):
            vars(self).update(vars(other))
        taken, instead = self.scores_are_, "scores" if self.scores_are_ == "probabilities" else "probabilities"
        low, high = sorted([own, other._risk])
        warn(
            f"all {counted(n_pairs, 'score')} lie between 0 and 1 and are taken for {taken}, which explains the labels "
            f"better than {instead} (log loss {low:.5f} against {high:.5f}); give scores_are={taken!r} to say so "
            "yourself"
        )

    def _fit_form(self, data: CalibrationSet, level: Level | None) -> WeightedScores:
        """`fit_set` on scores or on log-odds, whichever `scores_are_` says."""
        data = data.as_log_odds() if self.scores_are_ == "probabilities" else data
        risk = data.resolve_risk(self.risk)
        points = data.points(risk, exact_pairs=self.exact_pairs)
        if risk != "naive":
            check_effective_sample_size(points.effective_positives, points.n_positive)
        estimand: Estimand = "interaction" if risk == "naive" and not data.level_is_known else data.estimand
        self._learn(points, estimand, data.horizon)
        if self.scores_are is None:
            self._risk = self._mean_risk(points)
        if level is None and data.anchor is not None:
            self._anchored(usable_pairs(data.anchor))
        else:
            self._corrected(self._level(points, data) if level is None else level)
        return points

    def _mean_risk(self, points: WeightedScores) -> float:
        scores, weight, target_scores, target = points.quadrature()
        total = weight @ np.logaddexp(0.0, self._log_odds(scores)) - target @ self._log_odds(target_scores)
        return float(total / weight.sum())

    def _fit_observed(self, observed: Observed) -> Self:
        """Learn from all candidates."""
        return self.fit_set(CalibrationSet.of_observed(observed))

    def fit_sample(self, observed: Observed, sample: ListSample) -> Self:
        if not self.learns_from_labels:
            return self._fit_observed(observed)
        return self.fit_set(sample.pairs(observed))

    def reach(self) -> Reach | None:
        if self.scores_are_ == "probabilities":
            return None  # they have no outside
        return Reach(*self.score_range_, self.n_pairs_)

    def probability_of(self, scores: FloatArray, who: Who) -> FloatArray:
        return self._of_known(scores, self._probability, 0.0)

    def score_for(self, probability: float) -> float:
        """The score with a probability: the cut-off for a search engine, a vector index or an indexed column.

        A map with steps, and one that never reaches the probability, is refused.

        Examples
        --------
        >>> from sureness.calibration.parametric import PlattCalibrator
        >>> calibrator = PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
        >>> float(calibrator.probability([calibrator.score_for(0.6)]).round(12)[0])
        0.6
        """
        self.check_fitted()
        if not self.rises:
            raise SettingError(
                f"{type(self).__name__} has steps or may fall, so a probability has no score of its own; use "
                "ShapeCalibrator, IsotonicCalibrator or a parametric map"
            )
        bounded = self.scores_are_ == "probabilities"
        low, high = ([0.0], [1.0]) if bounded else ([self.score_range_[0]], [self.score_range_[1]])
        found = scores_for(
            probability, lambda scores: self.log_odds_of(scores, Who(len(scores))), np.array(low), np.array(high),
            type(self).__name__, bounded=bounded,
        )  # fmt: skip
        return float(found[0])

    @property
    def rises(self) -> bool:
        """Whether the fitted map never falls."""
        return self.monotone_by_design

    def condition(self, dialect: DialectName, probability: float, column: str = "score") -> str:
        """The condition that a score has at least a probability, as SQL that an index of the scores serves.

        Examples
        --------
        >>> from sureness.calibration.parametric import PlattCalibrator
        >>> calibrator = PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
        >>> calibrator.condition("duckdb", 0.5)
        '"score" >= 1.5e0'
        """
        known = dialect_named(dialect)
        return f"{known.identifier(*path_of(column))} >= {known.double_literal(self.score_for(probability))}"

    def onnx(self, column: str = "score") -> onnx.ModelProto:
        """The map as an ONNX model of a column of 32-bit scores; needs the extra ``onnx``.

        The output ``probability`` is NaN for scores that the map does not take. A map without a formula is refused.
        """
        self.check_fitted()
        return onnx_of(self._for_all(ColumnNames(column)), column)

    def log_odds_of(self, scores: FloatArray, who: Who) -> FloatArray:
        return self._of_known(scores, self._log_odds, -np.inf)

    def pack(self) -> Packed:
        if not hasattr(self, "estimand_"):
            return Packed(kind=kind_of(self.family_name, type(self)), settings=self.get_params(deep=False))
        return Packed(
            kind=kind_of(self.family_name, type(self)),
            settings=self.get_params(deep=False),
            state=self._state(),
            about={
                "estimand": self.estimand_, "horizon": self.horizon_.plain(), "pairs": self.n_pairs_,
                "scores": list(self.score_range_),
                **({} if self.scores_are_ == "scores" else {"scores_are": self.scores_are_}),
            },
        )  # fmt: skip

    @classmethod
    def unpack(cls, packed: Packed, parts: Parts) -> Self:
        settings: dict[str, Any] = {**packed.settings}
        if settings.get("scores_are") == "unbounded":  # as files of version 0.1 call scores
            settings["scores_are"] = "scores"
        calibrator = cls(**settings)
        if "estimand" in packed.about:
            calibrator._restore(dict(packed.state))
            about: Mapping[str, Any] = packed.about
            low, high = reals(about["scores"], n=2).tolist()
            n_pairs = int(real(about["pairs"]))
            if "probabilities" in (about.get("scores_are"), settings.get("scores_are")):
                calibrator.scores_are_ = "probabilities"
            calibrator._learned(estimand_of(about), Horizon.of(about["horizon"]), n_pairs, (low, high))
        return calibrator

    def refined(self, cells: EffectCells, level: FloatArray, stretch: FloatArray) -> Calibrator:
        """The map that fits best where log-odds are ``level + stretch * its own``; itself unless it learns a shape."""
        return self

    # --- what subclasses fill in ------------------------------------------------------------------------------------

    @abstractmethod
    def _fit_points(self, points: WeightedScores) -> None:
        """Learn from weighted scores; both classes are there and the scores differ."""

    @abstractmethod
    def _probability(self, scores: FloatArray) -> FloatArray:
        """Map checked float64 scores."""

    def _log_odds(self, scores: FloatArray) -> FloatArray:
        """Log-odds of checked float64 scores."""
        return logit(self._probability(scores))

    def _formula(self) -> Formula | None:
        """The map as a formula of a column of scores, for arrays and for trees; None: it has none."""
        log_odds = self._log_odds_formula()
        return None if log_odds is None else lambda scores, world: sigmoid_of(log_odds(scores, world), world)

    def _log_odds_formula(self) -> Formula | None:
        """Its log-odds as a formula; None: only its probabilities are one, if anything is."""
        return None

    def _adjust(self, level: Level) -> None:
        """Take over a correction of level and slope; references that are not calibrated ignore it."""

    def _combine(self, anchor: ScoredPairs) -> None:
        """Learn from an anchor too; by default a correction of level and slope."""
        self._adjust(self.applied_level_)

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Learned values as plain numbers, lists and dictionaries."""

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """Take over what `_state` returned."""

    # --- shared -----------------------------------------------------------------------------------------------------

    def formula_tree(self, score: Node) -> Node:
        """The formula of the map as a tree; a map without one is refused."""
        formula = self._formula()
        if formula is None:
            raise self._has_none()
        tree: Node = formula(score, TREE)
        return tree

    def log_odds_tree(self, score: Node, names: ColumnNames) -> Node:
        log_odds = self._log_odds_formula()
        return logit_tree(self.formula_tree(score)) if log_odds is None else log_odds(score, TREE)

    def _for_some(self, names: ColumnNames) -> list[Conditional]:
        return []

    def _for_all(self, names: ColumnNames) -> Node:
        return self._where_defined(
            names.reference_to("score"), self.formula_tree, lambda scores: self.probability_of(scores, Who(len(scores)))
        )

    def _where_defined(
        self, score: Reference, formula: Callable[[Node], Node], probability: Callable[[FloatArray], FloatArray]
    ) -> Node:
        """A formula of scores that the map takes; nothing for others."""
        if self.scores_are_ == "probabilities":
            return self.where_taken(score, formula(score))
        return guarded(score, formula, probability)

    def where_taken(self, score: Reference, value: Node) -> Node:
        """A value where the map takes the score, nothing elsewhere."""
        if self.scores_are_ == "scores":
            return finite(score, value)
        return Case((
            (Is(score, "no number"), None),
            (Compare("<", score, Number(0.0)), None),
            (Compare("<=", score, Number(1.0)), value),
        ))  # fmt: skip

    def _in_form(self, formula: Formula) -> Formula:
        """A formula of what the map was fitted on as one of the scores."""
        if self.scores_are_ == "scores":
            return formula

        def of_probabilities(scores: Column, operations: Operations) -> Column:
            inside = operations.clip(scores, CERTAIN, 1 - CERTAIN)
            return formula(operations.log(inside) - operations.log(1.0 - inside), operations)

        return of_probabilities

    def _learn(self, points: WeightedScores, estimand: Estimand, horizon: Horizon) -> Self:
        if points.masked:
            n_pairs = points.n_pairs + sum(mask.count for mask in points.masked)
            warn_of_masked(points.masked, f"of {counted(n_pairs, 'pair')}")
        require_both_classes(points)
        self._fit_points(points)
        self._wrong_way = self.monotone_by_design and _ranks_the_wrong_way(points)
        if self._wrong_way:
            warn(
                "the scores rank the wrong way: positives have lower scores than other pairs, which a map that rises "
                "with the score cannot follow; if they are distances or losses, give -scores, and if each user's "
                "scores have a scale of their own, use ListCalibrator"
            )
        ends = np.array([points.minimum, points.maximum])
        low, high = (sigmoid(ends) if self.scores_are_ == "probabilities" else ends).tolist()
        return self._learned(estimand, horizon, points.n_pairs, (low, high))

    def _said_if_constant(self) -> Self:
        """Say that nothing was learned from the scores, where all of them get one probability."""
        lowest, highest = self._as_fitted(np.array(self.score_range_))
        if not self.monotone_by_design or self._wrong_way or lowest == highest:  # the wrong way is said already
            return self
        everywhere, at_most = self._probability(np.array([lowest, highest]))
        if everywhere == at_most:
            warn(
                f"{type(self).__name__} gives every score the same probability, {everywhere:.3g}, since higher scores "
                "were not taken more often; check that scores rise with relevance and belong to these labels"
                f"{self.flat_if}"
            )
        return self

    def _learned(self, estimand: Estimand, horizon: Horizon, n_pairs: int, score_range: Sequence[float]) -> Self:
        """Remember what the probabilities are of, and what they were fitted on."""
        self.estimand_, self.horizon_ = estimand, horizon
        self.n_pairs_: int = int(n_pairs)
        self.score_range_: tuple[float, float] = (float(score_range[0]), float(score_range[1]))
        return self

    def _of_known(
        self, scores: FloatArray, function: Callable[[FloatArray], FloatArray], otherwise: float
    ) -> FloatArray:
        """A function of the scores that are there, in the shape of all of them."""
        flat = scores.ravel()
        known = np.isfinite(flat)
        if known.all():
            return function(self._as_fitted(flat)).reshape(scores.shape)
        result = np.full(flat.shape, otherwise)
        result[known] = function(self._as_fitted(flat[known]))
        return result.reshape(scores.shape)

    def _as_fitted(self, scores: FloatArray) -> FloatArray:
        """Scores in the form that the map was fitted on."""
        return log_odds_of(scores) if self.scores_are_ == "probabilities" else scores

    def _corrected(self, level: Level) -> Self:
        self.applied_level_: Level = level
        if level != UNCHANGED:
            self._adjust(level)
        return self

    def _anchored(self, anchor: ScoredPairs) -> Self:
        promised = self._probability(anchor.scores.astype(np.float64))
        self.applied_level_ = level_from_anchor(promised, anchor.labels.astype(np.float64), anchor.weights)
        self._combine(anchor)
        return self

    def _level(self, points: WeightedScores, data: CalibrationSet) -> Level:
        if data.base_rate is not None:
            return level_for_base_rate(self._probability(points.scores), points.weight, data.base_rate)
        return UNCHANGED


def _ranks_the_wrong_way(points: WeightedScores) -> bool:
    """Whether the mean score of the positives lies below that of all pairs by more than chance explains."""
    mean = float(np.average(points.scores, weights=points.weight))
    variance = float(np.average((points.scores - mean) ** 2, weights=points.weight))
    of_positives = float(np.average(points.target_scores, weights=points.target))
    return bool((of_positives - mean) * np.sqrt(points.effective_positives) < -_SURE * np.sqrt(variance))


def _refuse_extra(*extra: object) -> None:
    if any(value is not None for value in extra):
        raise SettingError(
            "a calibration set or histogram holds labels, weights and propensities already; give it alone"
        )


def all_calibrators() -> list[Calibrator]:
    """One of each, with default settings.

    Examples
    --------
    >>> [type(calibrator).__name__ for calibrator in all_calibrators()][-3:]
    ['ManmathaCalibrator', 'KanoulasCalibrator', 'ShapeCalibrator']
    """
    return [find("calibrator", name)() for name in names("calibrator")]


def make_calibrator(name: str, **settings: object) -> Calibrator:
    """A calibrator by name; settings that it does not have are left out.

    Examples
    --------
    >>> make_calibrator("gamma", risk="naive")
    GammaCalibrator(risk='naive')
    >>> make_calibrator("sigmoid", risk="naive")
    SigmoidCalibrator()
    """
    kind: type[Calibrator] = find("calibrator", name)
    known = set(kind().get_params(deep=False))
    return kind(**{key: value for key, value in settings.items() if key in known})
