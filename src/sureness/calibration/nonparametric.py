"""Calibrators without a formula to fit: histogram, isotonic and BBQ count, the references only rescale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from sureness._types import FloatArray, IntArray, Risk
from sureness.calibration._plain import level_of
from sureness.calibration.base import Calibrator
from sureness.calibration.families import Formula, Operations
from sureness.calibration.level import UNCHANGED, Level
from sureness.errors import SettingError
from sureness.numerics.checks import check_whole
from sureness.numerics.histogram import WeightedScores
from sureness.numerics.logistic import sigmoid
from sureness.saving.packed import reals


class _StepCalibrator(Calibrator):
    """A step function: edges and the values between them."""

    monotone_by_design: ClassVar[bool] = False
    values_beyond: ClassVar[int] = -1
    """How many more values than edges there are: one less between edges, one more where the ends count as well."""
    edges_: FloatArray
    values_: FloatArray

    def _adjust(self, level: Level) -> None:
        self.values_ = level(self.values_)

    def _state(self) -> dict[str, Any]:
        return {"edges": self.edges_.tolist(), "values": self.values_.tolist()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.edges_ = reals(state["edges"], rising=True)
        self.values_ = reals(state["values"], low=0.0, high=1.0, n=len(self.edges_) + self.values_beyond)


_MOST_BINS = 1_000_000


class HistogramCalibrator(_StepCalibrator):
    """The share of positives in equally wide bins of the scores; may decrease.

    Empty bins take the value between their neighbours; scores outside the fitted range that of the end bins.

    Parameters
    ----------
    n_bins : int
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.

    Notes
    -----
    Beyond a million pairs the fit starts from a `ScoreHistogram`, and a pair within one of *its* bins of an edge may be
    counted on the other side.

    Examples
    --------
    >>> HistogramCalibrator(n_bins=2).fit([0.0, 1.0, 3.0, 4.0], [0, 1, 1, 1]).probability([0.5, 3.5])
    array([0.5, 1. ])
    """

    exact_pairs: ClassVar[int] = 1_000_000

    def __init__(self, *, n_bins: int = 50, risk: Risk | None = None) -> None:
        self.n_bins = n_bins
        self.risk = risk

    def _fit_points(self, points: WeightedScores) -> None:
        check_whole(self.n_bins, "n_bins", 1, _MOST_BINS)
        self.edges_ = np.linspace(points.minimum, points.maximum, self.n_bins + 1)
        place = _bin_of(points.scores, self.edges_)
        weight = np.bincount(place, points.weight, self.n_bins)
        target = np.bincount(place, points.target, self.n_bins)
        filled = np.flatnonzero(weight)
        mean = np.clip(target[filled] / weight[filled], 0.0, 1.0)
        self.values_ = np.interp(np.arange(self.n_bins), filled, mean)

    def _probability(self, scores: FloatArray) -> FloatArray:
        return np.asarray(self.values_[_bin_of(scores, self.edges_)])

    def _formula(self) -> Formula | None:
        low, per_score = _bin_scale(self.edges_)
        inner = range(1, len(self.values_))
        return lambda scores, operations: operations.choose((scores - low) * per_score, inner, self.values_)


class IsotonicCalibrator(Calibrator):
    """The best non-decreasing map, by pooling neighbours that are out of order.

    Parameters
    ----------
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.

    Notes
    -----
    Beyond a million pairs the fit starts from a `ScoreHistogram`. Pooling its bins instead of single pairs moves the
    map by about 0.001, and by more at the very ends of the scores, where few pairs decide.

    Examples
    --------
    >>> calibrator = IsotonicCalibrator().fit([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])
    >>> calibrator.probability([1.0, 2.0, 3.0, 4.0])
    array([0. , 0.5, 0.5, 1. ])
    """

    exact_pairs: ClassVar[int] = 1_000_000

    def __init__(self, *, risk: Risk | None = None) -> None:
        self.risk = risk

    def _fit_points(self, points: WeightedScores) -> None:
        from sklearn.isotonic import isotonic_regression  # slow to import, and only needed here

        scores, weight, target = _distinct(points)
        fitted = np.clip(isotonic_regression(target / weight, sample_weight=weight), 0.0, 1.0)
        starts = np.flatnonzero(np.r_[True, np.diff(fitted) > 1e-12])  # rounding must not split a block
        ends = np.r_[starts[1:], len(fitted)] - 1
        several = ends > starts
        knots = np.concatenate([scores[starts], scores[ends][several]])
        values = np.concatenate([fitted[starts], fitted[starts][several]])
        order = np.argsort(knots, kind="stable")
        self.knots_, self.values_ = knots[order], values[order]
        self.level_ = UNCHANGED

    def _probability(self, scores: FloatArray) -> FloatArray:
        return self.level_(np.interp(scores, self.knots_, self.values_))

    def _formula(self) -> Formula | None:
        def piecewise(scores: Any, operations: Operations) -> Any:
            pieces = self._pieces(scores)
            return operations.choose(scores, self.knots_, [self.level_.of(piece, operations) for piece in pieces])

        return piecewise

    def _pieces(self, scores: Any) -> list[Any]:
        """The map before the first knot, between knots, and after the last one."""
        first, last, low, high = (float(end) for end in (*self.knots_[[0, -1]], *self.values_[[0, -1]]))
        slopes = np.diff(self.values_) / np.diff(self.knots_)
        inner = [(scores - x) * slope + y for x, y, slope in zip(self.knots_, self.values_, slopes, strict=False)]
        return [(scores - first) * 0.0 + low, *inner, (scores - last) * 0.0 + high]

    def _adjust(self, level: Level) -> None:
        self.level_ = level

    def _state(self) -> dict[str, Any]:
        return {
            "knots": self.knots_.tolist(), "values": self.values_.tolist(),
            "level": [self.level_.intercept, self.level_.slope],
        }  # fmt: skip

    def _restore(self, state: dict[str, Any]) -> None:
        self.knots_ = reals(state["knots"], rising=True)
        self.values_ = reals(state["values"], low=0.0, high=1.0, n=len(self.knots_))
        self.level_ = level_of(state["level"])


class BBQCalibrator(_StepCalibrator):
    """Bayesian binning into quantiles: many equal-frequency binnings, averaged by how well each explains the labels.

    Scores are first stretched over [0, 1], which the method is made for; may decrease.

    Parameters
    ----------
    risk : {"naive", "unbiased", "weighted"}, optional
        The risk to minimise; by default unbiased where the data estimate preference, else naive.
    prior_strength : float
        How many pairs the prior of a whole binning weighs (the paper's N', 2).
    spread : float
        Binnings have n**(1/3) / spread to n**(1/3) * spread bins (the paper's C, 10).
    binnings : sequence of int, optional
        The numbers of bins to average over, instead of those that `spread` gives.

    Notes
    -----
    Weights count as pairs. Beyond 20,000 pairs the fit starts from a `ScoreHistogram`, whose bins are then never split.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=2_000)
    >>> calibrator = BBQCalibrator().fit(scores, rng.random(2_000) < 1 / (1 + np.exp(-scores)))
    >>> bool(calibrator.probability([-2.0])[0] < 0.3 and calibrator.probability([2.0])[0] > 0.7)
    True
    """

    values_beyond: ClassVar[int] = 1

    def __init__(
        self,
        *,
        risk: Risk | None = None,
        prior_strength: float = 2.0,
        spread: float = 10.0,
        binnings: Sequence[int] | None = None,
    ) -> None:
        self.risk = risk
        self.prior_strength = prior_strength
        self.spread = spread
        self.binnings = binnings

    def _fit_points(self, points: WeightedScores) -> None:
        scores, weight, target = _distinct(points)
        # targets above 1 (inverse propensities) are noisier than labels: count each as the labels it is worth
        worth = min(1.0, float(points.target.sum()) / points.target_noise)
        weight, target = weight * worth, target * worth
        unit = (scores - points.minimum) / (points.maximum - points.minimum)
        binnings = [
            _equal_mass_binning(unit, weight, target, n_bins, self.prior_strength)
            for n_bins in self._numbers_of_bins(len(unit), float(weight.sum()))
        ]
        evidence = np.array([binning[2] for binning in binnings])
        share = np.exp(evidence - evidence.max())
        share /= share.sum()
        kept = share > 1e-12 * share.max()
        # a mixture of step functions is a step function on all their edges
        edges = np.unique(np.concatenate([b[0] for b, keep in zip(binnings, kept, strict=True) if keep]))
        inside = np.r_[-1.0, (edges[1:] + edges[:-1]) / 2, 2.0] if len(edges) else np.array([0.5])
        values = np.zeros(len(inside))
        for (cuts, means, _), part in zip(binnings, share, strict=True):
            values += part * means[np.searchsorted(cuts, inside, side="right")]
        self.edges_ = points.minimum + edges * (points.maximum - points.minimum)
        self.values_ = np.clip(values, 0.0, 1.0)

    def _numbers_of_bins(self, n_scores: int, total: float) -> Sequence[int]:
        if self.binnings is None:
            most = max(1, min(n_scores, int(np.ceil(np.cbrt(total) * self.spread))))
            return range(min(most, max(1, int(np.floor(np.cbrt(total) / self.spread)))), most + 1)
        if not self.binnings or any(not isinstance(each, int | np.integer) or each < 1 for each in self.binnings):
            raise SettingError(f"binnings must be whole numbers of at least 1, got {self.binnings!r}")
        return sorted({min(int(each), n_scores) for each in self.binnings})

    def _probability(self, scores: FloatArray) -> FloatArray:
        return np.asarray(self.values_[np.searchsorted(self.edges_, scores, side="right")])

    def _formula(self) -> Formula | None:
        return lambda scores, operations: operations.choose(scores, self.edges_, self.values_)


def _bin_of(scores: FloatArray, edges: FloatArray) -> IntArray:
    """Number of the equally wide bin; the last one is closed, what lies outside belongs to the end bins."""
    low, per_score = _bin_scale(edges)
    place = np.floor((scores - low) * per_score)
    return np.asarray(np.clip(place, 0, len(edges) - 2), dtype=np.int64)


def _bin_scale(edges: FloatArray) -> tuple[float, float]:
    """Where equally wide bins start, and how many there are per unit of score."""
    return float(edges[0]), float((len(edges) - 1) / (edges[-1] - edges[0]))


def _distinct(points: WeightedScores) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sorted distinct scores with their weight and target mass; points of no weight dropped."""
    held = points.weight > 0
    scores, place = np.unique(points.scores[held], return_inverse=True)
    weight, target = (
        np.bincount(place, mass[held], len(scores)).astype(np.float64) for mass in (points.weight, points.target)
    )
    return scores, weight, target


_INSIDE = float(np.finfo(np.float64).eps)


def _equal_mass_binning(
    unit: FloatArray, weight: FloatArray, target: FloatArray, n_bins: int, prior_strength: float
) -> tuple[FloatArray, FloatArray, float]:
    """Cuts, bin means and log evidence of a binning of sorted distinct scores into bins of equal weight."""
    from scipy.special import gammaln  # slow to import, and only needed here

    before = np.cumsum(weight) - weight  # so that a bin starts at the first score past its quantile
    place = np.floor((before + weight / 2) * (n_bins / weight.sum())).astype(np.int64)
    starts = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])
    count = np.add.reduceat(weight, starts)
    positive = np.clip(np.add.reduceat(target, starts), 0.0, count)
    cuts = (unit[starts[1:]] + unit[starts[1:] - 1]) / 2
    middle = (np.r_[0.0, cuts] + np.r_[cuts, 1.0]) / 2
    middle = np.clip(middle, _INSIDE, 1.0 - _INSIDE)  # scores that differ by nothing else make bins without width
    prior = prior_strength / len(starts)
    alpha, beta = prior * middle, prior * (1.0 - middle)
    evidence = (
        gammaln(prior) - gammaln(count + prior) + gammaln(positive + alpha) - gammaln(alpha)
        + gammaln(count - positive + beta) - gammaln(beta)
    ).sum()  # fmt: skip
    return cuts, (positive + alpha) / (count + prior), float(evidence)


class MinMaxCalibrator(Calibrator):
    """Stretch the fitted range of scores over [0, 1]; an uncalibrated reference.

    Examples
    --------
    >>> MinMaxCalibrator().fit([0.0, 4.0], [0, 1]).probability([-1.0, 1.0, 9.0])
    array([0.  , 0.25, 1.  ])
    """

    learns_from_labels: ClassVar[bool] = False

    def _fit_points(self, points: WeightedScores) -> None:
        self.low_, self.high_ = points.minimum, points.maximum

    def _probability(self, scores: FloatArray) -> FloatArray:
        return np.asarray(np.clip((scores - self.low_) / (self.high_ - self.low_), 0.0, 1.0))

    def _formula(self) -> Formula | None:
        scale = 1.0 / (self.high_ - self.low_)
        return lambda scores, operations: operations.clip((scores - self.low_) * scale, 0.0, 1.0)

    def _state(self) -> dict[str, Any]:
        return {"low": self.low_, "high": self.high_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.low_, self.high_ = reals([state["low"], state["high"]], rising=True).tolist()


class SigmoidCalibrator(Calibrator):
    """The sigmoid of the score as it is; an uncalibrated reference.

    Examples
    --------
    >>> SigmoidCalibrator().fit([-1.0, 1.0], [0, 1]).probability([0.0])
    array([0.5])
    """

    learns_from_labels: ClassVar[bool] = False

    def reach(self) -> None:
        """The map does not depend on the fitted scores."""

    def _fit_points(self, points: WeightedScores) -> None:
        pass

    def _probability(self, scores: FloatArray) -> FloatArray:
        return sigmoid(scores)

    def _log_odds_formula(self) -> Formula | None:
        return lambda scores, _: scores * 1.0

    def _state(self) -> dict[str, Any]:
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        pass
