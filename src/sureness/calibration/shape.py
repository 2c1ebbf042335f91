"""One map for all pairs whose shape is learned."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from sureness._settings import clone
from sureness._types import FloatArray, Risk, ScoresAre
from sureness.calibration._plain import compression_of, curve_of
from sureness.calibration.base import Calibrator
from sureness.calibration.families import Formula, Operations
from sureness.calibration.field_effects import EffectCells
from sureness.calibration.level import Level
from sureness.calibration.parametric import explain_no_minimum
from sureness.errors import NoMinimumError
from sureness.numerics.histogram import WeightedScores
from sureness.numerics.logistic import GaussianPrior, fit_logistic, in_blocks, sigmoid
from sureness.numerics.ramps import Compression, Curve, knots_between, ramps
from sureness.saving.packed import real

_MOST_RAMPS = 12
_POSITIVES_PER_RAMP = 25.0  # and as many negatives
_WANDERING = 0.5  # standard deviation between the slopes of neighbouring ramps, in slopes of the line
_FLATTEST = 1e-3  # least slope, in the same unit
_CLOSEST = 1e-6  # knots, as a share of the distance between the outer ones
_QUANTILES = 1_000  # that stand for all scores where knots are chosen
_MOST_CELLS = 1 << 13  # of neighbouring scores, that a shape is learned from
_REFINED_ON = 200_000  # cells that a shape is learned again from
_CLEARLY = 2.0  # log-likelihood by which a compressed scale must be better


class ShapeCalibrator(Calibrator):
    """A rising curve inside the sigmoid, learned from the labels: ``p = sigmoid(c + g(t))``.

    t is the score or, where a straight line of it fits better, a compressed score: ``asinh((score - base) / width)``,
    which is a logarithm of scores with a long tail. The curve g is straight between up to 13 knots and beyond them, and
    never falls. A Gaussian prior pulls the slopes of neighbouring pieces towards each other. With few positives there
    are few pieces; with fewer than 50 the curve is a straight line.

    Parameters
    ----------
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    scores_are : {"probabilities", "log_odds", "scores"}, optional
        The map is fitted on the log-odds of probabilities. By default scores that all lie between 0 and 1 are taken for
        what explains the labels better, with a warning.

    Attributes
    ----------
    intercept_ : float
    compression_ : Compression or None
        How scores are compressed; None: they are taken as they are.
    curve_ : Curve
        Knots, in compressed scores, and the slopes between them.

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

    exact_pairs: ClassVar[int] = 1_000_000  # the equally wide bins of a histogram blur scores with a long tail

    intercept_: float
    compression_: Compression | None
    curve_: Curve

    def __init__(self, *, risk: Risk | None = None, scores_are: ScoresAre | None = None) -> None:
        self.risk = risk
        self.scores_are = scores_are

    def _fit_points(self, points: WeightedScores) -> None:
        scores, weight, target_scores, target = points.quadrature()
        there, positive = weight > 0, target > 0
        data = _Data(*_sorted(scores[there], weight[there]), *_sorted(target_scores[positive], target[positive]))
        noise = points.target_noise / float(points.target.sum())  # 1 for labels, more for labels over propensities
        self.compression_, data, (level, slope) = _best_line(data, noise, points)
        if slope <= 0:
            ends = self._compressed(np.array([points.minimum, points.maximum]))
            self.intercept_, self.curve_ = level, Curve(ends, np.zeros(1))
            return
        knots = _knots(data, noise)
        theta = _fit_slopes(data, knots, slope, noise)
        self.intercept_, self.curve_ = float(theta[0]), Curve(knots, theta[1:])

    def refined(self, cells: EffectCells, level: FloatArray, stretch: FloatArray) -> Calibrator:
        if not self.curve_.slopes.any():
            return self
        every = slice(None, None, 1 + len(cells.weight) // _REFINED_ON)
        weight, score, target, target_score = (values[every] for values in vars(cells).values())
        level, stretch = level[every] + stretch[every] * self.intercept_, stretch[every]
        there = target > 0
        data = _Data(
            self._compressed(self._as_fitted(score)), weight,
            self._compressed(self._as_fitted(target_score[there] / target[there])), target[there],
            level, stretch, stretch[there],
        )  # fmt: skip
        knots, slopes = self.curve_.knots, self.curve_.slopes
        rise = float(slopes @ np.diff(knots) / (knots[-1] - knots[0]))
        theta = _fit_slopes(data, knots, rise, 1.0)
        refined = clone(self)
        refined.scores_are_ = self.scores_are_
        refined.intercept_, refined.compression_ = self.intercept_, self.compression_
        refined.curve_ = Curve(knots, theta[1:])  # the effects of fields take over the level
        return refined._learned(self.estimand_, self.horizon_, self.n_pairs_, self.score_range_)

    # --- using ------------------------------------------------------------------------------------------------------

    def _compressed(self, scores: FloatArray) -> FloatArray:
        return scores if self.compression_ is None else self.compression_.values(scores)

    def _log_odds(self, scores: FloatArray) -> FloatArray:
        return in_blocks(scores, lambda part: self.intercept_ + self.curve_.values(self._compressed(part)))

    def _probability(self, scores: FloatArray) -> FloatArray:
        return in_blocks(scores, lambda part: sigmoid(self.intercept_ + self.curve_.values(self._compressed(part))))

    def _log_odds_formula(self) -> Formula | None:
        return self._in_form(self._log_odds_of)

    def _log_odds_of(self, scores: Any, operations: Operations) -> Any:
        """The formula for trees: one straight piece for each stretch between knots."""
        scale, knots, slopes = self.compression_, self.curve_.knots, self.curve_.slopes
        if scale is not None:
            scores = operations.named("compressed", operations.asinh((scores - scale.base) * (1.0 / scale.width)))
        heights = self.intercept_ + np.concatenate([[0.0], np.cumsum(slopes * np.diff(knots))])
        pieces = zip(knots[:-1].tolist(), slopes.tolist(), heights[:-1].tolist(), strict=True)
        return operations.choose(
            scores, knots[1:-1].tolist(), [(scores - knot) * slope + height for knot, slope, height in pieces]
        )

    def _adjust(self, level: Level) -> None:
        self.intercept_ = level.intercept + level.slope * self.intercept_
        self.curve_ = Curve(self.curve_.knots, level.slope * self.curve_.slopes)

    # --- saving -----------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "intercept": self.intercept_,
            "compression": None if self.compression_ is None else list(self.compression_),
            "knots": self.curve_.knots.tolist(),
            "slopes": self.curve_.slopes.tolist(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.intercept_ = real(state["intercept"])
        self.compression_ = None if state["compression"] is None else compression_of(state["compression"])
        self.curve_ = curve_of(state["knots"], state["slopes"])


class _Data(NamedTuple):
    """Weighted scores and the targets among them, both sorted; log-odds are ``level + stretch * curve``."""

    scores: FloatArray
    weight: FloatArray
    target_scores: FloatArray
    target: FloatArray
    level: FloatArray | float = 0.0  # of each score
    stretch: FloatArray | float = 1.0
    target_stretch: FloatArray | float = 1.0

    def on(self, scale: Compression | None) -> _Data:
        """The same with compressed scores, in cells of neighbouring ones if they are many."""
        if scale is None:
            return self.in_cells()
        scores, target_scores = scale.values(self.scores), scale.values(self.target_scores)
        return self._replace(scores=scores, target_scores=target_scores).in_cells()

    def in_cells(self) -> _Data:
        """Means over cells of equal weight."""
        if len(self.scores) <= _MOST_CELLS:
            return self
        scores, weight = _means(self.scores, self.weight)
        target_scores, target = _means(self.target_scores, self.target)
        return _Data(scores, weight, target_scores, target)


def _means(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and weight of cells of neighbouring values, which are sorted."""
    reached = np.cumsum(weight)
    cell = np.minimum((reached * (_MOST_CELLS / reached[-1])).astype(np.int64), _MOST_CELLS - 1)
    total, summed = np.bincount(cell, weight, _MOST_CELLS), np.bincount(cell, weight * values, _MOST_CELLS)
    there = total > 0
    return np.asarray(summed[there] / total[there]), np.asarray(total[there], dtype=np.float64)


def _sorted(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    order = np.argsort(values, kind="stable")
    return values[order], weight[order]


def _best_line(
    data: _Data, noise: float, points: WeightedScores
) -> tuple[Compression | None, _Data, tuple[float, float]]:
    """The scale on which a straight line fits best, the data on that scale, and level and slope of the line.

    Scores are taken as they are, or with the upper, the lower or both of their tails compressed.
    """
    usual = _quantiles(data.scores, data.weight)
    low, middle, high, top, highest = np.quantile(usual, [0.25, 0.5, 0.75, 0.9, 0.99]).tolist()
    scales = [None, Compression.of(usual)]
    scales += [Compression(base, width) for base, width in ((highest, highest - top), (middle, (high - low) / 4))
               if width > 0]  # fmt: skip
    best, lowest = None, np.inf
    for scale in scales:
        scaled = data.on(scale)
        line = fit_logistic(
            np.stack([np.ones(len(scaled.scores)), scaled.scores], axis=1), scaled.weight,
            np.array([scaled.target.sum(), scaled.target @ scaled.target_scores]), bounded=np.array([False, True]),
        )  # fmt: skip
        if line.endless is not None:
            raise NoMinimumError(explain_no_minimum(points))
        risk = line.risk + (0.0 if scale is None else _CLEARLY * noise)
        if risk < lowest:
            best, lowest = (scale, scaled, (float(line.theta[0]), float(line.theta[1]))), risk
    assert best is not None  # the first is finite
    return best


def _knots(data: _Data, noise: float) -> FloatArray:
    """Where the curve may bend: as many pieces as the labels can tell apart."""
    positives = float(data.target.sum()) / noise
    negatives = float(data.weight.sum()) / noise - positives
    n_ramps = int(np.clip(min(positives, negatives) / _POSITIVES_PER_RAMP, 1, _MOST_RAMPS))
    usual, of_positives = _quantiles(data.scores, data.weight), _quantiles(data.target_scores, data.target)
    knots = knots_between(usual, of_positives, n_ramps)
    apart = np.diff(knots) > _CLOSEST * (knots[-1] - knots[0])
    return np.asarray(knots[np.concatenate([[True], apart])])


def _quantiles(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Equally likely values that stand for sorted weighted ones, the lowest and the highest among them."""
    reached = np.cumsum(weight)
    places = np.searchsorted(reached, np.linspace(0.0, 1.0, _QUANTILES + 1) * reached[-1])
    return np.asarray(values[np.minimum(places, len(values) - 1)])


def _fit_slopes(data: _Data, knots: FloatArray, slope: float, noise: float) -> FloatArray:
    """The intercept and the slopes between knots, each at least a small share of the slope of the line."""
    k = len(knots) - 1
    least = _FLATTEST * slope
    stretch, target_stretch = (np.asarray(each).reshape(-1, 1) for each in (data.stretch, data.target_stretch))
    columns, target_columns = (
        np.stack(ramps(scores, knots), axis=1) * factor
        for scores, factor in ((data.scores, stretch), (data.target_scores, target_stretch))
    )
    steps = np.diff(np.eye(k), axis=0)
    precision = np.zeros((k + 1, k + 1))
    precision[1:, 1:] = steps.T @ steps * (noise / (_WANDERING * slope) ** 2)
    found = fit_logistic(
        np.concatenate([np.ones((len(columns), 1)), columns], axis=1), data.weight,
        np.concatenate([[data.target.sum()], data.target @ target_columns]),
        bounded=np.arange(k + 1) > 0, prior=GaussianPrior(np.zeros(k + 1), precision),
        offset=data.level + least * columns.sum(axis=1),
    )  # fmt: skip
    return np.concatenate([found.theta[:1], np.maximum(found.theta[1:], 0.0) + least])
