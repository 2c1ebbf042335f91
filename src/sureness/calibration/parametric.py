"""Thin estimators over the monotone families and the bounded logistic fit."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np

from sureness._types import FloatArray, Risk, ScoresAre
from sureness._wording import counted
from sureness.calibration import families
from sureness.calibration.base import Calibrator
from sureness.calibration.families import Formula, MonotoneFamily, Operations, ScoreRange
from sureness.calibration.level import Combination, Level, combine
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import EmptyError, NoMinimumError, SettingError, SurenessWarning
from sureness.numerics.histogram import WeightedScores
from sureness.numerics.logistic import fit_logistic, in_blocks, sigmoid
from sureness.saving.packed import reals

_LARGEST = 1e100  # of what a saved map may hold: squares of it are still numbers


class ParametricCalibrator(Calibrator):
    """A map of one of the monotone families.

    Learned values: ``intercept_``, ``coef_`` (on the standard basis of the family), ``converged_`` (whether the fit
    reached its minimum; a warning says so if not) and, for people, ``natural_parameters_`` (the a, b, c of the
    dissertation).
    """

    family: ClassVar[MonotoneFamily]
    converged_: bool = True

    def __init__(self, *, monotone: bool = True, risk: Risk | None = None, scores_are: ScoresAre | None = None) -> None:
        self.monotone = monotone
        self.risk = risk
        self.scores_are = scores_are

    @property
    def natural_parameters_(self) -> dict[str, float]:
        """The parameters as the dissertation names them; inside the fitted range they give the map exactly."""
        self.check_fitted()
        return self.family.natural(self.intercept_, self.coef_, self.fitted_range_)

    @property
    def rises(self) -> bool:
        return bool(np.all(self.coef_ >= 0))

    def _log_odds_formula(self) -> Formula | None:
        return self._in_form(self._logit_of)

    def _fit_points(self, points: WeightedScores) -> None:
        self.fitted_range_ = self.range_of(points.minimum, points.maximum)
        scores, weight, target_scores, target = points.quadrature()
        features = self.family.design(scores, self.fitted_range_)
        n_parameters = features.shape[1]
        if n_parameters > 2 and len(np.unique(points.scores)) < n_parameters:
            raise EmptyError(
                f"{self.family.name} calibration has {counted(n_parameters, 'parameter')} and needs as many different "
                f"scores, got {len(np.unique(points.scores))}; use PlattCalibrator"
            )
        bounded = np.full(n_parameters, self.monotone)
        bounded[0] &= not self.family.has_intercept
        solution = fit_logistic(
            features, weight, target @ self.family.design(target_scores, self.fitted_range_), bounded=bounded
        )
        if solution.endless is not None:
            raise NoMinimumError(explain_no_minimum(points))
        self.converged_ = solution.converged
        if not solution.converged:
            warnings.warn(
                f"the fit of {type(self).__name__} to {counted(points.n_pairs, 'pair')} did not converge, so its "
                f"probabilities may be off; the scores lie between {points.minimum:.6g} and {points.maximum:.6g}: "
                "rescale them, or leave out what lies far outside",
                SurenessWarning,
                stacklevel=6,
            )
        self.intercept_, self.coef_ = self.family.split(solution.theta)
        if self.monotone:
            self.coef_ = np.maximum(self.coef_, 0.0)  # the change of units may round a zero below it

    def range_of(self, low: float, high: float) -> ScoreRange:
        """The range of fitted scores, as the family of the map needs it."""
        return ScoreRange(low, high)

    def _logit_of(self, scores: Any, operations: Operations) -> Any:
        return self.family.logit(scores, self.intercept_, self.coef_, self.fitted_range_, operations)

    def _probability(self, scores: FloatArray) -> FloatArray:
        return in_blocks(scores, lambda part: sigmoid(self._logit_of(part, families.NUMPY)))

    def _log_odds(self, scores: FloatArray) -> FloatArray:
        return in_blocks(scores, lambda part: self._logit_of(part, families.NUMPY))

    @classmethod
    def of_coefficients(cls, intercept: float, coef: FloatArray, fitted: ScoreRange) -> Self:
        """A map with known coefficients on the basis of its family; its estimand is set by the caller."""
        calibrator = cls()
        calibrator.intercept_, calibrator.coef_, calibrator.fitted_range_ = float(intercept), coef, fitted
        return calibrator

    def _combine(self, anchor: ScoredPairs) -> None:
        """All coefficients from both sides; over the range of the anchor's scores where that explains them better."""
        of_log = np.concatenate([[self.intercept_], self.coef_])
        scores = anchor.scores.astype(np.float64)
        if len(np.unique(scores)) <= len(of_log):  # too few different scores to tell more
            super()._combine(anchor)
            return
        found = self._combined(anchor, of_log, self.fitted_range_)
        own = self.range_of(float(scores.min()), float(scores.max()))
        other = self._combined(anchor, self._moved(of_log, scores, own), own)
        if other.evidence > found.evidence:
            found, self.fitted_range_ = other, own
        self.intercept_, self.coef_ = float(found.theta[0]), found.theta[1:]

    def _combined(self, anchor: ScoredPairs, of_log: FloatArray, fitted: ScoreRange) -> Combination:
        bounded = np.concatenate([[False], np.full(len(of_log) - 1, self.monotone)])
        features = self.family.columns(anchor.scores.astype(np.float64), fitted)
        return combine(features, anchor.weights, anchor.labels.astype(np.float64), of_log, bounded)

    def _moved(self, theta: FloatArray, scores: FloatArray, to: ScoreRange) -> FloatArray:
        """The coefficients over another range that come closest to the same log-odds at these scores."""
        from scipy.optimize import lsq_linear  # slow to import, and only needed with an anchor

        lowest = np.concatenate([[-np.inf], np.full(len(theta) - 1, 0.0 if self.monotone else -np.inf)])
        log_odds = self.family.columns(scores, self.fitted_range_) @ theta
        return np.asarray(lsq_linear(self.family.columns(scores, to), log_odds, bounds=(lowest, np.inf)).x)

    def _adjust(self, level: Level) -> None:
        self.intercept_ = level.intercept + level.slope * self.intercept_
        self.coef_ = level.slope * self.coef_

    def _state(self) -> dict[str, Any]:
        state = {"intercept": self.intercept_, "coef": self.coef_.tolist(), "range": list(self.fitted_range_)}
        return state if self.converged_ else {**state, "converged": False}

    def _restore(self, state: dict[str, Any]) -> None:
        self.fitted_range_ = ScoreRange(*reals(state["range"], low=-_LARGEST, high=_LARGEST, n=3).tolist())
        low, high, _ = self.fitted_range_
        n_coefficients = self.family.columns(np.array([low, high]), self.fitted_range_).shape[1] - 1
        found = reals([state["intercept"], *state["coef"]], low=-_LARGEST, high=_LARGEST, n=1 + n_coefficients)
        self.intercept_, self.coef_ = float(found[0]), found[1:]
        self.converged_ = state.get("converged", True) is True


class TemperatureCalibrator(ParametricCalibrator):
    """Divide the score by one learned temperature: ``p = sigmoid(s / T)``.

    It has no intercept, so it suits scores that already are log-odds of the right level. A base rate or an anchor
    adds an intercept.

    Parameters
    ----------
    monotone : bool, default=True
        Keep the ranking. False gives the unconstrained fit, for study.
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    scores_are : {"probabilities", "log_odds", "scores"}, optional
        The map is fitted on the log-odds of probabilities. By default scores that all lie between 0 and 1 are taken for
        what explains the labels better, with a warning.

    Examples
    --------
    >>> calibrator = TemperatureCalibrator().fit([-3.0, -1.0, -0.5, 0.5, 1.0, 2.0], [0, 0, 1, 0, 1, 1])
    >>> calibrator.natural_parameters_["temperature"] > 0
    True
    """

    family = families.TEMPERATURE
    flat_if = ", and that 0 is a middling score (PlattCalibrator learns where the middle is)"


class PlattCalibrator(ParametricCalibrator):
    """A straight line inside the sigmoid: ``p = sigmoid(b s + c)``.

    It is right when the scores of both classes are Gaussian with the same variance, or both exponential (Swets).

    Parameters
    ----------
    monotone : bool, default=True
        Keep the ranking. False gives the unconstrained fit, for study.
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    scores_are : {"probabilities", "log_odds", "scores"}, optional
        The map is fitted on the log-odds of probabilities. By default scores that all lie between 0 and 1 are taken for
        what explains the labels better, with a warning.

    Examples
    --------
    >>> calibrator = PlattCalibrator().fit([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0], [0, 0, 0, 1, 1, 1])
    >>> calibrator  # doctest: +ELLIPSIS
    PlattCalibrator() <b 1.35..., estimand interaction, fitted on 6 pairs, scores from -2 to 2>
    >>> calibrator.probability([0.0]).round(6)
    array([0.5])
    """

    family = families.PLATT


class BetaCalibrator(ParametricCalibrator):
    """Beta-distributed scores in each class: ``p = sigmoid(a ln q - b ln(1 - q) + c)``.

    Scores that are no probabilities q become ``q = sigmoid(score)``.

    Parameters
    ----------
    monotone : bool, default=True
        Keep the ranking. False gives the unconstrained fit, for study.
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    scores_are : {"probabilities", "log_odds", "scores"}, optional
        The map is fitted on the log-odds of probabilities. By default scores that all lie between 0 and 1 are taken for
        what explains the labels better, with a warning.

    Examples
    --------
    >>> calibrator = BetaCalibrator(scores_are="probabilities").fit([0.1, 0.2, 0.4, 0.6, 0.8, 0.9], [0, 0, 1, 0, 1, 1])
    >>> sorted(calibrator.natural_parameters_)
    ['a', 'b', 'c']
    """

    family = families.BETA


class GaussianCalibrator(ParametricCalibrator):
    """Gaussian scores in each class, with their own variances: ``p = sigmoid(a s**2 + b s + c)``.

    Increasing over the fitted range exactly when the slope ``2 a s + b`` is non-negative at both ends: the two end
    slopes are the coefficients of the fit. Beyond the range the map continues along its tangent.

    Parameters
    ----------
    monotone : bool, default=True
        Keep the ranking. False gives the unconstrained fit, for study.
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    scores_are : {"probabilities", "log_odds", "scores"}, optional
        The map is fitted on the log-odds of probabilities. By default scores that all lie between 0 and 1 are taken for
        what explains the labels better, with a warning.

    Examples
    --------
    >>> scores, labels = [-2.0, -1.0, 0.5, -0.5, 1.0, 2.0], [0, 0, 0, 1, 1, 1]
    >>> calibrator = GaussianCalibrator().fit(scores, labels)
    >>> bool(np.all(np.diff(calibrator.probability([-1, 0, 1])) > 0))
    True
    >>> sorted(calibrator.natural_parameters_)
    ['a', 'b', 'c']
    """

    family = families.GAUSSIAN


class GammaCalibrator(ParametricCalibrator):
    """Gamma-distributed scores in each class: ``p = sigmoid(a ln v + b v + c)`` with ``v = s - min(s) + shift``.

    Parameters
    ----------
    monotone : bool, default=True
        Keep the ranking. False gives the unconstrained fit, for study.
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    scores_are : {"probabilities", "log_odds", "scores"}, optional
        The map is fitted on the log-odds of probabilities. By default scores that all lie between 0 and 1 are taken for
        what explains the labels better, with a warning.
    shift : float
        How far from zero the smallest score is put, as a share of the range of the scores.

    Examples
    --------
    >>> scores, labels = [-2.0, -1.0, 0.5, -0.5, 1.0, 2.0], [0, 0, 0, 1, 1, 1]
    >>> calibrator = GammaCalibrator().fit(scores, labels)
    >>> bool(np.all(np.diff(calibrator.probability([-1, 0, 1])) > 0))
    True
    """

    family = families.GAMMA

    def __init__(
        self,
        *,
        monotone: bool = True,
        risk: Risk | None = None,
        scores_are: ScoresAre | None = None,
        shift: float = 0.01,
    ) -> None:
        super().__init__(monotone=monotone, risk=risk, scores_are=scores_are)
        self.shift = shift

    def range_of(self, low: float, high: float) -> ScoreRange:
        if not self.shift > 0:
            raise SettingError(f"shift must be positive, got {self.shift}; the logarithm of 0 is infinite")
        return ScoreRange(low, high, self.shift * (high - low))


class ManmathaCalibrator(ParametricCalibrator):
    """Exponential negatives and Gaussian positives: ``p = sigmoid(a s**2 + b s + c)`` with a <= 0.

    Parameters
    ----------
    monotone : bool, default=True
        Keep the ranking. False gives the unconstrained fit, for study.
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    scores_are : {"probabilities", "log_odds", "scores"}, optional
        The map is fitted on the log-odds of probabilities. By default scores that all lie between 0 and 1 are taken for
        what explains the labels better, with a warning.

    Examples
    --------
    >>> calibrator = ManmathaCalibrator().fit([0.1, 0.5, 1.0, 2.0, 3.0, 4.0], [0, 0, 1, 0, 1, 1])
    >>> calibrator.natural_parameters_["a"] <= 0
    True
    """

    family = families.MANMATHA


class KanoulasCalibrator(GammaCalibrator):
    """Gamma negatives and Gaussian positives: ``p = sigmoid(a v**2 + b v + b' ln v + c)`` with a <= 0.

    Increasing exactly when ``2 a v**2 + b v + b'`` is non-negative at both ends of the fitted range, which is linear
    in the parameters; they are fitted through these two values and the curvature.

    Parameters
    ----------
    monotone : bool, default=True
        Keep the ranking. False gives the unconstrained fit, for study.
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    scores_are : {"probabilities", "log_odds", "scores"}, optional
        The map is fitted on the log-odds of probabilities. By default scores that all lie between 0 and 1 are taken for
        what explains the labels better, with a warning.
    shift : float
        How far from zero the smallest score is put, as a share of the range of the scores.

    Examples
    --------
    >>> calibrator = KanoulasCalibrator().fit([0.1, 0.5, 1.0, 2.0, 3.0, 4.0], [0, 0, 1, 0, 1, 1])
    >>> sorted(calibrator.natural_parameters_)
    ['a', 'b', 'b_log', 'c']
    """

    family = families.KANOULAS


def explain_no_minimum(points: WeightedScores) -> str:
    """Say in numbers why the risk has no minimum: which end of the scores asks for more than certainty."""
    order = np.argsort(-points.scores, kind="stable")
    weight, target = np.cumsum(points.weight[order]), np.cumsum(points.target[order])
    worst = int(np.argmax(target - weight))
    if target[worst] <= weight[worst] * (1 + 1e-9):
        return (
            "the risk has no minimum: the scores separate positives from negatives perfectly, so every steeper map is "
            "better; add pairs, or use IsotonicCalibrator or HistogramCalibrator"
        )
    return (
        f"the risk has no minimum: from the score {points.scores[order[worst]]:.6g} upwards the targets have a mean of "
        f"{target[worst] / weight[worst]:.4g} over a weight of {weight[worst]:,.6g}, and no probability can exceed 1; "
        "clip the propensities higher, add the pairs that were not interacted with, or use risk='weighted'"
    )
