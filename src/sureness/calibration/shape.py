"""One map for all pairs whose shape is learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from sureness._types import FloatArray, Risk
from sureness.calibration.base import Calibrator
from sureness.calibration.families import (
    NUMPY,
    PLAIN,
    PLATT,
    Formula,
    Operations,
    ScoreRange,
    rising_curve,
)
from sureness.calibration.level import Level
from sureness.calibration.parametric import explain_no_minimum
from sureness.errors import NoMinimumError
from sureness.numerics.blocks import in_blocks
from sureness.numerics.crossed_effects import Cells
from sureness.numerics.histogram import WeightedScores
from sureness.numerics.logistic import fit_logistic, sigmoid
from sureness.numerics.rising_curve import Labelled, Personal, RisingCurve, learn_curve, refine_curve

_FOLDS = 5
_REFINED_ON = 200_000  # cells that a shape is learned again from


class ShapeCalibrator(Calibrator):
    """A smooth rising curve inside the sigmoid, learned from the labels: ``p = sigmoid(c + g(s))``.

    The slope of g is positive, straight between a dozen knots and constant beyond them. The curve is pulled towards
    a straight line (`PlattCalibrator`) as far as the labels leave open: of several strengths the one is taken under
    which labels of left-out scores are most likely. With few positives or few different scores it is the line.

    Parameters
    ----------
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.

    Attributes
    ----------
    curve_ : RisingCurve
        Intercept, knots, slopes at the knots, and the strength of the pull (infinite: a straight line).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=5_000)
    >>> labels = rng.random(5_000) < 1 / (1 + np.exp(2 - np.log1p(np.exp(3 * scores))))  # flat, then steep
    >>> calibrator = ShapeCalibrator().fit(scores, labels)
    >>> slow, fast = np.diff(calibrator.log_odds([-1.5, -1.0, 1.0, 1.5]))[[0, 2]]
    >>> bool(0 < 3 * slow < fast)
    True
    """

    curve_: RisingCurve

    def __init__(self, *, risk: Risk | None = None) -> None:
        self.risk = risk

    def _fit_points(self, points: WeightedScores) -> None:
        self.curve_ = learn_curve(_labelled(points), _line(points))

    def _curve(self, scores: Any, operations: Operations) -> Any:
        curve = self.curve_
        return rising_curve(scores, curve.knots, curve.slopes, operations) + curve.intercept

    def _log_odds_formula(self) -> Formula | None:
        return self._curve

    def _probability(self, scores: FloatArray) -> FloatArray:
        return in_blocks(scores, lambda part: sigmoid(self._curve(part, NUMPY)))

    def _log_odds(self, scores: FloatArray) -> FloatArray:
        return in_blocks(scores, lambda part: self._curve(part, NUMPY))

    def log_odds_of_one(self, score: float) -> float:
        return float(self._curve(score, PLAIN))

    def refined(self, cells: Cells, level: FloatArray, stretch: FloatArray) -> Calibrator:
        every = slice(None, None, 1 + len(cells.weight) // _REFINED_ON)
        weight, score, target, target_score = (values[every] for values in vars(cells).values())
        level, stretch = level[every] + stretch[every] * self.curve_.intercept, stretch[every]
        there = target > 0
        labelled = Labelled(
            score, weight, np.zeros(len(score), dtype=np.int64), target_score[there] / target[there], target[there],
            np.zeros(int(there.sum()), dtype=np.int64),
        )  # fmt: skip
        curve = refine_curve(labelled, self.curve_, Personal(level, stretch, level[there], stretch[there]))
        refined = type(self).of_curve(replace(curve, intercept=self.curve_.intercept))
        return refined._learned(self.estimand_, self.horizon_, self.n_pairs_, self.score_range_)

    def _adjust(self, level: Level) -> None:
        curve = self.curve_
        self.curve_ = RisingCurve(
            level.intercept + level.slope * curve.intercept, curve.knots, level.slope * curve.slopes, curve.strength
        )

    @classmethod
    def of_curve(cls, curve: RisingCurve) -> Self:
        """A map with a known curve; its estimand is set by the caller."""
        calibrator = cls()
        calibrator.curve_ = curve
        return calibrator

    def _state(self) -> dict[str, Any]:
        return self.curve_.plain()

    def _restore(self, state: dict[str, Any]) -> None:
        self.curve_ = RisingCurve.of(state)


def _line(points: WeightedScores) -> tuple[float, float]:
    """Intercept and slope of the best straight line; a risk without a minimum is refused."""
    fitted = ScoreRange(points.minimum, points.maximum)
    scores, weight, target_scores, target = points.quadrature()
    solution = fit_logistic(
        PLATT.design(scores, fitted), weight, target @ PLATT.design(target_scores, fitted),
        bounded=np.array([False, True]),
    )  # fmt: skip
    if solution.endless is not None:
        raise NoMinimumError(explain_no_minimum(points))
    slope = max(float(solution.theta[1]), 0.0) / fitted.width
    return float(solution.theta[0]) - slope * fitted.low, slope


def _labelled(points: WeightedScores) -> Labelled:
    """Points in folds: neighbouring scores in different ones, equal scores in the same."""
    scores, weight, target_scores, target = points.quadrature()
    fold = np.searchsorted(np.unique(points.scores[points.weight > 0]), points.scores) % _FOLDS
    folds = [
        fold if spread is None else np.concatenate([fold, fold[spread > 0]])
        for spread in (points.spread, points.target_spread)
    ]
    there, positive = weight > 0, target > 0
    return Labelled(
        scores[there], weight[there], folds[0][there], target_scores[positive], target[positive], folds[1][positive]
    )
