"""A mergeable summary of scored pairs, which every calibrator can be fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import AnyArray, Estimand, FloatArray, IntArray
from sureness.errors import DataError
from sureness.numerics.checks import check_scores, check_targets, check_weight

MAX_BINS = 16_384
"""A histogram with more occupied bins than this merges neighbouring bins."""

_COUNT, _WEIGHT, _, _WEIGHT_SCORE2, _TARGET, _, _TARGET_SCORE2 = range(7)
_SAMPLE = 4_096
_FINEST = -1_000  # exponents below this would leave the range of float64


@dataclass(frozen=True, eq=False)
class WeightedScores:
    """What a fit needs: where the weight of the pairs lies, and where their targets lie.

    The risk is ``sum(weight * softplus(z(scores))) - sum(target * z(target_scores))``. For single pairs `scores`
    and `target_scores` are equal; for bins each is the mean that makes its sum exact to first order in the bin width.
    """

    scores: FloatArray  # (n,) sorted or not
    weight: FloatArray  # (n,)
    target: FloatArray  # (n,) weight times target
    target_scores: FloatArray  # (n,)
    spread: FloatArray | None  # (n,) standard deviation of the scores inside a bin; None for single pairs
    target_spread: FloatArray | None
    minimum: float
    maximum: float
    n_pairs: int
    n_positive: int  # pairs with a positive target
    target_square: float  # sum over pairs of (weight * target)**2: how unequal the targets are
    target_noise: float  # sum over pairs of weight * target**2: the same where weights count pairs

    @classmethod
    def of(cls, scores: FloatArray, targets: AnyArray, weight: FloatArray | None = None) -> WeightedScores:
        """One point per pair."""
        scores = np.asarray(scores, dtype=np.float64)
        weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
        target = weight * targets
        low, high = scores.min(), scores.max()
        return cls(
            scores=scores, weight=weight, target=target, target_scores=scores, spread=None, target_spread=None,
            minimum=float(low), maximum=float(high), n_pairs=len(scores), n_positive=int(np.count_nonzero(target)),
            target_square=float(target @ target),
            target_noise=float(target @ targets),
        )  # fmt: skip

    @property
    def mean_target(self) -> float:
        """Mean target: the share of positives, or the preference rate implied by propensities."""
        return float(self.target.sum() / self.weight.sum())

    @property
    def effective_positives(self) -> float:
        """Number of equally weighted positives that would carry as much information (Kish)."""
        return float(self.target.sum() ** 2 / self.target_square) if self.target_square else 0.0

    def quadrature(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Points for smooth functions: scores, weight, target_scores, target.

        A bin becomes two points at mean ± standard deviation, so that sums of smooth functions are exact to second
        order, as if every pair had been kept.
        """
        if self.spread is None or self.target_spread is None:
            return self.scores, self.weight, self.target_scores, self.target
        return (
            *_two_points(self.scores, self.spread, self.weight),
            *_two_points(self.target_scores, self.target_spread, self.target),
        )


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """Any number of scored pairs in a few thousand bins; the sum of two histograms is that of all their pairs.

    Bins have width ``2**exponent`` and are aligned at 0, so the bins of two histograms match once neighbouring
    bins of the finer one are merged. Only occupied bins are stored: one outlier costs one bin.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=50_000)
    >>> labels = rng.random(50_000) < 1 / (1 + np.exp(-scores))
    >>> whole = ScoreHistogram.of(scores, labels)
    >>> first, second = slice(None, 20_000), slice(20_000, None)
    >>> parts = ScoreHistogram.of(scores[first], labels[first]) + ScoreHistogram.of(scores[second], labels[second])
    >>> whole.n_pairs == parts.n_pairs, bool(np.isclose(whole.mean_target, parts.mean_target))
    (True, True)
    """

    exponent: int  # bins have width 2**exponent
    keys: IntArray  # (n,) sorted; bin k holds [k, k + 1) * 2**exponent
    moments: FloatArray  # (n, 7): count, weight, weight * (score, score**2), target, target * (score, score**2)
    minimum: float
    maximum: float
    n_positive: int
    target_square: float
    target_noise: float
    max_bins: int = MAX_BINS
    estimand: Estimand = "interaction"  # what the targets estimate

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        targets: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        max_bins: int = MAX_BINS,
    ) -> ScoreHistogram:
        """Summarise pairs in one pass.

        Parameters
        ----------
        scores : array-like of shape (n_pairs,)
        targets : array-like of shape (n_pairs,)
            Labels, or labels over propensities (then they may exceed 1).
        sample_weight : array-like of shape (n_pairs,), optional
        max_bins : int
            At most this many occupied bins are kept.
        """
        checked = check_scores(scores)
        weight = check_weight(sample_weight, len(checked))
        target = check_targets(targets, len(checked))
        return cls.of_checked(checked, target, weight, max_bins=max_bins)

    @classmethod
    def of_checked(
        cls, scores: FloatArray, targets: AnyArray, weight: FloatArray | None, *, max_bins: int = MAX_BINS
    ) -> ScoreHistogram:
        """`of`, for arrays that were already checked."""
        from sureness.numerics import _kernels  # loads the compiler

        low, high = scores.min(), scores.max()
        exponent, first_key, n_bins = _window(scores, float(low), float(high), max_bins)
        dense, outside, (n_positive, target_square, target_noise) = _kernels.bin_moments(
            scores, targets, np.empty(0) if weight is None else weight, 2.0**-exponent, float(first_key), n_bins,
        )  # fmt: skip
        occupied = np.flatnonzero(dense[:, _COUNT])
        keys: IntArray = occupied + first_key
        moments: FloatArray = dense[occupied]
        if outside.size:
            far = _single_pairs(
                scores[outside], targets[outside], None if weight is None else weight[outside], exponent
            )
            keys, moments = _sum_by_key(np.concatenate([keys, far[0]]), np.concatenate([moments, far[1]]))
        return cls(
            exponent=exponent, keys=keys, moments=moments, minimum=float(low), maximum=float(high),
            n_positive=int(n_positive), target_square=float(target_square), target_noise=float(target_noise),
            max_bins=max_bins,
        )._within_limit()  # fmt: skip

    @property
    def n_pairs(self) -> int:
        return int(self.moments[:, _COUNT].sum())

    @property
    def mean_target(self) -> float:
        return float(self.moments[:, _TARGET].sum() / self.moments[:, _WEIGHT].sum())

    def __add__(self, other: ScoreHistogram) -> ScoreHistogram:
        """The histogram of all pairs of both."""
        if self.estimand != other.estimand:
            raise DataError(f"cannot add histograms of {self.estimand} and of {other.estimand}; fit them apart")
        exponent = max(self.exponent, other.exponent)
        mine, theirs = self._paired(exponent), other._paired(exponent)
        keys, moments = _sum_by_key(
            np.concatenate([mine.keys, theirs.keys]), np.concatenate([mine.moments, theirs.moments])
        )
        return ScoreHistogram(
            exponent=exponent,
            keys=keys,
            moments=moments,
            minimum=min(self.minimum, other.minimum),
            maximum=max(self.maximum, other.maximum),
            n_positive=self.n_positive + other.n_positive,
            target_square=self.target_square + other.target_square,
            target_noise=self.target_noise + other.target_noise,
            max_bins=max(self.max_bins, other.max_bins),
            estimand=self.estimand,
        )._within_limit()

    def points(self) -> WeightedScores:
        """The bins as weighted points that a calibrator is fitted on."""
        weight, target = self.moments[:, _WEIGHT], self.moments[:, _TARGET]
        width = 2.0**self.exponent
        centre = np.clip((self.keys + 0.5) * width, self.minimum, self.maximum)
        scores, spread = _mean_and_spread(self.moments[:, _WEIGHT : _WEIGHT_SCORE2 + 1], centre, width)
        target_scores, target_spread = _mean_and_spread(self.moments[:, _TARGET : _TARGET_SCORE2 + 1], scores, width)
        return WeightedScores(
            scores=scores, weight=weight, target=target, target_scores=target_scores, spread=spread,
            target_spread=target_spread, minimum=self.minimum, maximum=self.maximum, n_pairs=self.n_pairs,
            n_positive=self.n_positive, target_square=self.target_square, target_noise=self.target_noise,
        )  # fmt: skip

    def _paired(self, exponent: int) -> ScoreHistogram:
        if exponent == self.exponent:
            return self
        keys, moments = _sum_by_key(self.keys >> min(exponent - self.exponent, 63), self.moments)
        return replace(self, exponent=exponent, keys=keys, moments=moments)

    def _within_limit(self) -> ScoreHistogram:
        histogram = self
        while len(histogram.keys) > self.max_bins:
            histogram = histogram._paired(histogram.exponent + 1)
        return histogram


def _window(scores: FloatArray, low: float, high: float, max_bins: int) -> tuple[int, int, int]:
    """Exponent of the width, first bin and number of bins of a dense window around all but the tails."""
    sample = np.sort(scores[:: max(1, len(scores) // _SAMPLE)].astype(np.float64))
    core_low, core_high = np.quantile(sample, [0.005, 0.995])
    core = core_high - core_low or high - low
    magnitude = max(abs(low), abs(high), 1e-300)
    # half of the bins for the core, the rest for the tails; never finer than the scores' own precision
    exponent = int(np.ceil(np.log2(core / (max_bins / 2)))) if core > 0 else int(np.ceil(np.log2(magnitude))) - 40
    exponent = max(exponent, int(np.ceil(np.log2(magnitude))) - 52, _FINEST)
    width = 2.0**exponent
    first = np.floor(max(low, core_low - core) / width)
    last = np.floor(min(high, core_high + core) / width)
    return exponent, int(first), int(min(last - first, 4.0 * max_bins)) + 1


def _single_pairs(
    scores: FloatArray, targets: AnyArray, weight: FloatArray | None, exponent: int
) -> tuple[IntArray, FloatArray]:
    scores = scores.astype(np.float64)
    weight = np.ones(len(scores)) if weight is None else weight
    mass = weight * targets
    moments = np.stack(
        [np.ones(len(scores)), weight, weight * scores, weight * scores**2, mass, mass * scores, mass * scores**2],
        axis=1,
    )
    return np.floor(scores * 2.0**-exponent).astype(np.int64), moments


def _sum_by_key(keys: IntArray, moments: FloatArray) -> tuple[IntArray, FloatArray]:
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    return keys[starts], np.add.reduceat(moments[order], starts, axis=0)


def _mean_and_spread(moments: FloatArray, otherwise: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each bin, from its mass and first two moments; `otherwise` for empty bins."""
    mass, first, second = moments.T
    occupied = mass > 0
    divisor = np.where(occupied, mass, 1.0)
    mean = np.where(occupied, first / divisor, otherwise)
    variance = np.where(occupied, second / divisor - mean**2, 0.0)
    # cancellation makes this meaningless where a bin is far narrower than its distance from 0
    return mean, np.sqrt(np.clip(variance, 0.0, width**2 / 4))


def _two_points(centre: FloatArray, spread: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    wide = spread > 0
    return (
        np.concatenate([centre - spread, (centre + spread)[wide]]),
        np.concatenate([np.where(wide, mass / 2, mass), mass[wide] / 2]),
    )


def require_both_classes(points: WeightedScores) -> None:
    """Refuse pairs that no probability can be learned from."""
    total, positive = points.weight.sum(), points.target.sum()
    if positive <= 0:
        raise DataError(
            f"labels must contain both classes, got {points.n_pairs:,} pairs and no positive; add positives"
        )
    if not np.any(points.target < points.weight * (1 - 1e-12)):
        raise DataError(
            f"labels must contain both classes, got {points.n_pairs:,} pairs that are all positive "
            f"(mean target {positive / total:.3g}); add pairs without an interaction"
        )
    if points.minimum == points.maximum:
        raise DataError(
            f"scores must differ, but all {points.n_pairs:,} are {points.minimum:.6g}; "
            "a constant score cannot be calibrated: check the recommender"
        )
    if points.maximum - points.minimum < 1e-100:
        raise DataError(
            f"scores must differ by at least 1e-100, got {points.minimum:.6g} to {points.maximum:.6g}; rescale them"
        )
