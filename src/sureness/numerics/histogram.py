"""A mergeable summary of scored pairs, which every calibrator can be fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, Estimand, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError
from sureness.numerics.checks import check_scores, check_targets, check_weight
from sureness.numerics.masking import Masked, core_of, find_masked, masked_of, real_scores, sampled

MAX_BINS = 16_384
"""A histogram with more occupied bins than this merges neighbouring bins."""

_COUNT, _WEIGHT, _, _WEIGHT_SCORE2, _TARGET, _, _TARGET_SCORE2 = range(7)
_TOTALS = slice(7, 10)  # of far scores: pairs with a positive target, target_square, target_noise
_FINEST = -650  # with finer bins the number of a far bin would leave the range of float64


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
    masked: tuple[Masked, ...] = ()  # scores that stood for "no candidate" and were left out

    __repr__ = fields_repr

    @classmethod
    def of(cls, scores: FloatArray, targets: AnyArray, weight: FloatArray | None = None) -> WeightedScores:
        """One point per pair; pairs without weight and masked scores are left out."""
        scores, targets, weight = _weighty(np.asarray(scores, dtype=np.float64), targets, weight)
        low, high = scores.min(), scores.max()
        masked = find_masked(scores, float(low), float(high))
        if masked:
            real = real_scores(scores, masked)
            scores, targets, weight = scores[real], targets[real], None if weight is None else weight[real]
            low, high = scores.min(), scores.max()
        weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
        target = weight * targets
        return cls(
            scores=scores, weight=weight, target=target, target_scores=scores, spread=None, target_spread=None,
            minimum=float(low), maximum=float(high), n_pairs=len(scores), n_positive=int(np.count_nonzero(target)),
            target_square=float(target @ target),
            target_noise=float(target @ targets), masked=tuple(masked),
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
    bins of the finer one are merged. Only occupied bins are stored: one outlier costs one bin. Scores far outside all
    others are kept apart, so that they do not decide the width of the bins; whether they are outliers or stand for "no
    candidate" is decided by `points`, when all pairs are known.

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
    minimum: float  # these and the sums below are without the far scores
    maximum: float
    n_positive: int
    target_square: float
    target_noise: float
    far_keys: FloatArray  # (m,) bins of scores far outside, as floats: they may be larger than any integer
    far_moments: FloatArray  # (m, 10): the moments, and what each adds to the three sums above
    max_bins: int = MAX_BINS
    estimand: Estimand = "interaction"  # what the targets estimate

    __repr__ = fields_repr

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

        scores, targets, weight = _weighty(scores, targets, weight)
        low, high = float(scores.min()), float(scores.max())
        if low == high:
            return cls._far_only(scores, targets, weight, max_bins)
        sample = sampled(scores, low, high)
        bounds = core_of(sample)
        apart = None if bounds is None else (scores < bounds[0]) | (scores > bounds[1])
        if apart is not None:
            near = ~apart
            everything = scores, targets, weight
            scores, targets, weight = scores[near], targets[near], None if weight is None else weight[near]
            low, high = float(scores.min()), float(scores.max())
            sample = sampled(scores, low, high)
        exponent, first_key, n_bins = _window(sample[1:-1], low, high, max_bins)
        dense, outside, (n_positive, target_square, target_noise) = _kernels.bin_moments(
            scores, targets, np.empty(0) if weight is None else weight, 2.0**-exponent, float(first_key), n_bins,
        )  # fmt: skip
        occupied = np.flatnonzero(dense[:, _COUNT])
        keys: IntArray = occupied + first_key
        moments: FloatArray = dense[occupied]
        if outside.size:
            tail_keys, tails = _single_pairs(scores, targets, weight, outside, exponent)
            keys, moments = _sum_by_key(
                np.concatenate([keys, tail_keys.astype(np.int64)]), np.concatenate([moments, tails[:, :7]])
            )
        far: tuple[FloatArray, FloatArray] = (np.empty(0), np.empty((0, 10)))
        if apart is not None:
            far = _sum_by_key(*_single_pairs(*everything, np.flatnonzero(apart), exponent))
        return cls(
            exponent=exponent, keys=keys, moments=moments, minimum=low, maximum=high,
            n_positive=int(n_positive), target_square=float(target_square), target_noise=float(target_noise),
            far_keys=far[0], far_moments=far[1], max_bins=max_bins,
        )._with_near_ones()._within_limit()  # fmt: skip

    @classmethod
    def _far_only(
        cls, scores: FloatArray, targets: AnyArray, weight: FloatArray | None, max_bins: int
    ) -> ScoreHistogram:
        """One score alone does not show whether it is real, or how fine the bins should be: other parts decide."""
        far = _sum_by_key(*_single_pairs(scores, targets, weight, np.arange(len(scores)), _FINEST))
        return cls(
            exponent=_FINEST, keys=np.empty(0, dtype=np.int64), moments=np.empty((0, 7)), minimum=np.inf,
            maximum=-np.inf, n_positive=0, target_square=0.0, target_noise=0.0, far_keys=far[0], far_moments=far[1],
            max_bins=max_bins,
        )  # fmt: skip

    @classmethod
    def of_cells(
        cls, keys: FloatArray, sums: FloatArray, apart: BoolArray, *, exponent: int, minimum: float, maximum: float
    ) -> ScoreHistogram:
        """Out of sums that another engine made over cells of pairs, each cell within one bin.

        Parameters
        ----------
        keys : array of shape (n_cells,)
            The bin of each cell.
        sums : array of shape (n_cells, 10)
            The columns of `moments`, then pairs with a positive target, target_square and target_noise.
        apart : array of shape (n_cells,)
            Which cells are far outside the others.
        exponent : int
        minimum, maximum : float
            Of the scores that are not apart. Where all scores are equal, exponent and keys do not matter.
        """
        if minimum == maximum and not apart.any():
            exponent, apart = _FINEST, np.ones_like(apart)
            keys = np.full(len(keys), np.floor(minimum * 2.0**-exponent))
            minimum, maximum = np.inf, -np.inf
        bins, moments = _sum_by_key(keys[~apart].astype(np.int64), sums[~apart])
        far_keys, far = _sum_by_key(keys[apart], sums[apart])
        totals = moments[:, _TOTALS].sum(axis=0)
        return cls(
            exponent=exponent, keys=bins, moments=moments[:, :7], minimum=minimum, maximum=maximum,
            n_positive=int(totals[0]), target_square=float(totals[1]), target_noise=float(totals[2]),
            far_keys=far_keys, far_moments=far,
        )._with_near_ones()._within_limit()  # fmt: skip

    @property
    def n_pairs(self) -> int:
        return int(self.moments[:, _COUNT].sum() + self.far_moments[:, _COUNT].sum())

    @property
    def mean_target(self) -> float:
        target, weight = (self.moments[:, c].sum() + self.far_moments[:, c].sum() for c in (_TARGET, _WEIGHT))
        return float(target / weight)

    def __add__(self, other: ScoreHistogram) -> ScoreHistogram:
        """The histogram of all pairs of both."""
        if self.estimand != other.estimand:
            raise DataError(f"cannot add histograms of {self.estimand} and of {other.estimand}; fit them apart")
        exponent = max(self.exponent, other.exponent)
        mine, theirs = self._paired(exponent), other._paired(exponent)
        keys, moments = _sum_by_key(
            np.concatenate([mine.keys, theirs.keys]), np.concatenate([mine.moments, theirs.moments])
        )
        apart: FloatArray = np.concatenate([mine.far_keys, theirs.far_keys])
        far_keys, far_moments = _sum_by_key(apart, np.concatenate([mine.far_moments, theirs.far_moments]))
        return (
            ScoreHistogram(
                exponent=exponent,
                keys=keys,
                moments=moments,
                minimum=min(self.minimum, other.minimum),
                maximum=max(self.maximum, other.maximum),
                n_positive=self.n_positive + other.n_positive,
                target_square=self.target_square + other.target_square,
                target_noise=self.target_noise + other.target_noise,
                far_keys=far_keys,
                far_moments=far_moments,
                max_bins=max(self.max_bins, other.max_bins),
                estimand=self.estimand,
            )
            ._with_near_ones()
            ._within_limit()
        )

    def points(self) -> WeightedScores:
        """The bins as weighted points that a calibrator is fitted on; masked scores are left out."""
        moments = np.concatenate([self.moments, self.far_moments[:, :7]])
        scores, spread = _mean_and_spread(moments[:, _WEIGHT : _WEIGHT_SCORE2 + 1], np.zeros(len(moments)), self.width)
        target_scores, target_spread = _mean_and_spread(moments[:, _TARGET : _TARGET_SCORE2 + 1], scores, self.width)
        order = np.argsort(scores, kind="stable")
        masked = [] if core_of(scores[order]) is None else masked_of(scores[order], moments[order, _COUNT])
        real = real_scores(scores, masked)
        kept, far = order[real[order]], self.far_moments[real[len(self.keys) :]]
        low, high = float(scores[kept[0]]), float(scores[kept[-1]])
        if self.minimum <= high and self.maximum >= low:  # the means of the outer bins lie inside their ends
            low, high = min(low, self.minimum), max(high, self.maximum)
        totals = far[:, _TOTALS].sum(axis=0)
        return WeightedScores(
            scores=scores[kept], weight=moments[kept, _WEIGHT], target=moments[kept, _TARGET],
            target_scores=target_scores[kept], spread=spread[kept], target_spread=target_spread[kept],
            minimum=low, maximum=high,
            n_pairs=int(moments[kept, _COUNT].sum()), n_positive=self.n_positive + int(totals[0]),
            target_square=self.target_square + float(totals[1]), target_noise=self.target_noise + float(totals[2]),
            masked=tuple(masked),
        )  # fmt: skip

    @property
    def width(self) -> float:
        """Width of a bin."""
        return float(2.0**self.exponent)

    def _paired(self, exponent: int) -> ScoreHistogram:
        if exponent == self.exponent:
            return self
        keys, moments = _sum_by_key(self.keys >> min(exponent - self.exponent, 63), self.moments)
        far_keys, far_moments = _sum_by_key(
            np.floor(self.far_keys * 2.0 ** (self.exponent - exponent)), self.far_moments
        )
        return replace(self, exponent=exponent, keys=keys, moments=moments, far_keys=far_keys, far_moments=far_moments)

    def _with_near_ones(self) -> ScoreHistogram:
        """What was far from the scores of one part may lie among those of all."""
        far = (self.far_keys + 1) * self.width
        near = (far > self.minimum) & (far - self.width <= self.maximum)
        if not near.any():
            return self
        keys, moments = _sum_by_key(
            np.concatenate([self.keys, self.far_keys[near].astype(np.int64)]),
            np.concatenate([self.moments, self.far_moments[near, :7]]),
        )
        totals = self.far_moments[near, _TOTALS].sum(axis=0)
        return replace(
            self, keys=keys, moments=moments, n_positive=self.n_positive + int(totals[0]),
            target_square=self.target_square + float(totals[1]), target_noise=self.target_noise + float(totals[2]),
            far_keys=self.far_keys[~near], far_moments=self.far_moments[~near],
        )  # fmt: skip

    def _within_limit(self) -> ScoreHistogram:
        histogram = self
        while len(histogram.keys) > self.max_bins:
            histogram = histogram._paired(histogram.exponent + 1)
        return histogram


def _weighty(
    scores: FloatArray, targets: AnyArray, weight: FloatArray | None
) -> tuple[FloatArray, AnyArray, FloatArray | None]:
    """The pairs that have a weight: the others must not even decide where the scores begin and end."""
    if weight is None or weight.min() > 0:
        return scores, targets, weight
    held = weight > 0
    return scores[held], targets[held], weight[held]


def _window(sample: FloatArray, low: float, high: float, max_bins: int) -> tuple[int, int, int]:
    """Exponent of the width, first bin and number of bins of a dense window around all but the tails."""
    core_low, core_high = np.quantile(sample, [0.005, 0.995])
    core = core_high - core_low or high - low
    exponent = exponent_for(core, low, high, max_bins)
    width = 2.0**exponent
    first = np.floor(max(low, core_low - core) / width)
    last = np.floor(min(high, core_high + core) / width)
    return exponent, int(first), int(min(last - first, 4.0 * max_bins)) + 1


def exponent_for(core: float, low: float, high: float, max_bins: int = MAX_BINS) -> int:
    """Exponent of the width of bins: half of them for the core of the scores, the rest for the tails.

    Examples
    --------
    >>> exponent_for(4.0, -3.0, 3.0)
    -11
    """
    magnitude = int(np.ceil(np.log2(max(abs(low), abs(high), 1e-300))))
    exponent = int(np.ceil(np.log2(core / (max_bins / 2)))) if core > 0 else magnitude - 40
    return max(exponent, magnitude - 52, _FINEST)  # never finer than the scores' own precision


def _single_pairs(
    scores: FloatArray, targets: AnyArray, weight: FloatArray | None, chosen: IntArray, exponent: int
) -> tuple[FloatArray, FloatArray]:
    """The bin of each chosen pair, its moments and what it adds to the totals."""
    scores, targets = scores[chosen].astype(np.float64), targets[chosen].astype(np.float64)
    weight = np.ones(len(scores)) if weight is None else weight[chosen]
    mass = weight * targets
    moments = np.stack(
        [np.ones(len(scores)), weight, weight * scores, weight * scores**2, mass, mass * scores, mass * scores**2,
         (mass > 0).astype(np.float64), mass**2, mass * targets],
        axis=1,
    )  # fmt: skip
    return np.floor(scores * 2.0**-exponent), moments


_Keys = TypeVar("_Keys", IntArray, FloatArray)


def _sum_by_key(keys: _Keys, moments: FloatArray) -> tuple[_Keys, FloatArray]:
    if not len(keys):
        return keys, moments
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
            f"labels must contain both classes, got {counted(points.n_pairs, 'pair')} and no positive; add positives"
        )
    if not np.any(points.target < points.weight * (1 - 1e-12)):
        raise DataError(
            f"labels must contain both classes, got {counted(points.n_pairs, 'pair')} that are all positive "
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
