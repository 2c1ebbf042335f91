"""Calibration errors from sums over cells of pairs, and the bounds of their confidence intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sureness._types import FloatArray

WEIGHT, SQUARED_WEIGHT, PREDICTED, OBSERVED = range(4)
"""The columns of the sums of a cell."""


def weighted_gaps(sums: FloatArray) -> FloatArray:
    """Mean distance between observed frequency and mean probability, weighted by the cells."""
    gaps = np.abs(sums[..., OBSERVED] - sums[..., PREDICTED]).sum(axis=-1)
    return np.asarray(gaps / sums[..., WEIGHT].sum(axis=-1))


def largest_gap(sums: FloatArray) -> FloatArray:
    """Largest distance between observed frequency and mean probability of a cell."""
    weight = sums[..., WEIGHT]
    gaps = np.abs(sums[..., OBSERVED] - sums[..., PREDICTED]) / np.where(weight > 0, weight, 1.0)
    return np.asarray(gaps.max(axis=-1))


def debiased_gaps(sums: FloatArray) -> FloatArray:
    """`weighted_gaps` minus what sampling noise adds to them; see `debiased_calibration_error`."""
    from scipy.special import ndtr  # slow to import, and only needed here

    weight = np.where(sums[..., WEIGHT] > 0, sums[..., WEIGHT], 1.0)
    frequency = sums[..., OBSERVED] / weight
    gap = np.abs(frequency - sums[..., PREDICTED] / weight)
    pairs = np.maximum(weight**2 / np.where(sums[..., SQUARED_WEIGHT] > 0, sums[..., SQUARED_WEIGHT], 1.0), 1.0)
    error = np.sqrt(np.clip(frequency * (1 - frequency), 0, None) / np.maximum(pairs - 1, 1.0))
    ratio = gap / np.where(error > 0, error, 1.0)
    # mean of |N(gap, error)|, the folded normal
    folded = error * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + gap * (1 - 2 * ndtr(-ratio))
    bare = np.where(error > 0, 2 * gap - folded, gap)
    total = (bare * sums[..., WEIGHT]).sum(axis=-1) / sums[..., WEIGHT].sum(axis=-1)
    return np.asarray(np.maximum(total, 0.0))  # the sum is clipped, not each bin, which would bring the bias back


_CLEAR = 2.5  # standard errors from which on the sign of a gap counts as known
_HALVINGS = 30


class _Gaps(NamedTuple):
    """Observed minus predicted in every cell that holds pairs, and how precisely it is known."""

    gap: FloatArray  # (n_cells,)
    covariance: FloatArray  # (n_cells, n_cells)
    error: FloatArray  # (n_cells,) standard errors, never 0
    freedom: FloatArray  # (n_cells,) degrees of freedom of the standard errors
    predicted: FloatArray  # (n_cells,) mean probability
    share: FloatArray  # (n_cells,) weight of the cell in units of the gap: its share of all pairs, or 1

    @property
    def most(self) -> FloatArray:
        """The largest gaps that frequencies in [0, 1] can leave."""
        return np.maximum(self.predicted, 1 - self.predicted) * self.share

    @property
    def signs(self) -> FloatArray:
        return np.where(self.gap < 0, -1.0, 1.0)


def mean_bounds(sums: FloatArray, level: float, *_: object) -> tuple[float, float]:
    """Bounds of the mean of losses that are not negative; all are in one cell."""
    losses, weight = sums[:, 0, PREDICTED], sums[:, 0, WEIGHT]
    total, n_clusters = weight.sum(), max(len(sums), 2)
    mean = losses.sum() / total
    error = np.sqrt((((losses - weight * mean) / total) ** 2).sum() * n_clusters / (n_clusters - 1))
    reach = float(_student(1 - (1 - level) / 2, _freedom(weight)) * error)
    return max(0.0, float(mean) - reach), float(mean) + reach


def ratio_bounds(sums: FloatArray, level: float, *_: object) -> tuple[float, float]:
    """Bounds of predicted over observed: the ratios that the sums of clusters do not contradict (Fieller)."""
    predicted, observed = sums[:, 0, PREDICTED], sums[:, 0, OBSERVED]
    return _ratio_bounds(predicted, observed, _reach(sums[:, 0, WEIGHT], level))


def entropy_bounds(sums: FloatArray, level: float, *_: object) -> tuple[float, float]:
    """Bounds of the mean loss over that of the base rate, by linearisation."""
    weight, loss, observed = (sums[:, 0, column] for column in (WEIGHT, PREDICTED, OBSERVED))
    total = weight.sum()
    rate, mean = observed.sum() / total, loss.sum() / total
    if not 0 < rate < 1:
        return 0.0, float("inf")
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log1p(-rate))
    slope = np.log1p(-rate) - np.log(rate)  # of the entropy
    influence = (loss - weight * mean) / entropy - mean / entropy**2 * slope * (observed - weight * rate)
    n_clusters = max(len(sums), 2)
    error = np.sqrt((influence**2).sum() * n_clusters / (n_clusters - 1)) / total
    reach = _reach(weight, level) * float(error)
    return max(0.0, mean / entropy - reach), float(mean / entropy + reach)


def _reach(weight: FloatArray, level: float) -> float:
    return float(_student(1 - (1 - level) / 2, _freedom(weight)))


def _ratio_bounds(above: FloatArray, below: FloatArray, reach: float) -> tuple[float, float]:
    """Ratios r for which the sum of ``above - r * below`` over clusters may be 0."""
    n = max(len(above), 2)
    a, b = above.sum(), below.sum()
    centred_a, centred_b = above - a / n, below - b / n
    scale = reach**2 * n / (n - 1)
    aa, ab, bb = (
        scale * float(x @ y) for x, y in ((centred_a, centred_a), (centred_a, centred_b), (centred_b, centred_b))
    )
    square, linear, constant = b * b - bb, a * b - ab, a * a - aa
    if square <= 0:
        return 0.0, float("inf")  # so few positives that there may be none
    root = np.sqrt(max(linear**2 - square * constant, 0.0))
    return max(0.0, float((linear - root) / square)), float((linear + root) / square)


def total_gap_bounds(sums: FloatArray, level: float, n_draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """Bounds of the mean absolute gap of a population, ``sum_b |E[w (y - p); bin b]| / E[w]``.

    Parameters
    ----------
    sums : array of shape (n_clusters, n_cells, 4)
        The sums of every cell in every cluster of pairs; clusters are independent.
    level : float
    n_draws : int
        How often noise is drawn to learn its distribution.
    rng : numpy.random.Generator
    """
    sums = _filled(sums)
    found = _estimated(sums, np.broadcast_to(sums[..., WEIGHT].sum(axis=1, keepdims=True), sums.shape[:2]))
    noise, tail = _noise(found, n_draws, rng), (1 - level) / 2
    return _total_at_least(found, noise, tail), _total_at_most(found, noise, tail)


def mean_total_gap_bounds(
    sums: FloatArray, level: float, n_draws: int, rng: np.random.Generator, *, n_parts: int
) -> tuple[float, float]:
    """Bounds of the mean over parts of the pairs of what `total_gap_bounds` bounds, each part with its own cells.

    The map that is judged on one part may have been fitted on the others. Then the error of one goes with the noise of
    the others, and only the lower bound can be that of all cells together. The upper one is the mean of those of the
    parts, each as far out as the mean of independent noise asks for.
    """
    from scipy.special import ndtr, ndtri  # slow to import, and only needed here

    parts = [part for part in np.split(sums, n_parts, axis=1) if part[..., WEIGHT].any()]
    inner = 1 - 2 * ndtr(ndtri((1 - level) / 2) / np.sqrt(max(len(parts) - 1, 1)))  # the maps share most pairs
    highs = [total_gap_bounds(part, inner, n_draws, rng)[1] for part in parts]
    high = np.average(highs, weights=[part[..., WEIGHT].sum() for part in parts])
    return total_gap_bounds(sums, level, n_draws, rng)[0], float(high)


def largest_gap_bounds(sums: FloatArray, level: float, *_: object) -> tuple[float, float]:
    """Bounds of the largest absolute gap of a population, ``max_b |E[w (y - p); bin b]| / E[w; bin b]``.

    The largest gap is at least what any cell proves, which asks for bounds that hold in all cells at once. It is that
    of one cell, so above it is enough that the bound of each cell holds alone.
    """
    sums = _filled(sums)
    found, tail = _estimated(sums, sums[..., WEIGHT]), (1 - level) / 2
    size = np.abs(found.gap)
    low = size - _student(1 - tail / (2 * len(size)), found.freedom) * found.error
    high = size + _student(1 - tail, found.freedom) * found.error
    return max(0.0, float(low.max())), float(np.minimum(high, found.most).max())


def _student(probability: float, freedom: FloatArray) -> FloatArray:
    """A quantile of Student's t."""
    from scipy.special import stdtrit  # slow to import, and only needed here

    return np.asarray(stdtrit(freedom, probability))


def _freedom(weight: FloatArray) -> FloatArray:
    """Degrees of freedom of standard errors; clusters of unequal weight count as fewer."""
    return np.asarray(np.maximum(weight.sum(axis=0) ** 2 / (weight**2).sum(axis=0) - 1, 1))


# --- gaps and their noise ------------------------------------------------------------------------------------------


def _filled(sums: FloatArray) -> FloatArray:
    """Only cells that hold pairs."""
    return sums[:, sums[..., WEIGHT].any(axis=0)]


def _estimated(sums: FloatArray, weight: FloatArray) -> _Gaps:
    """Gaps per unit of weight; `weight` is that of the cluster in the cell, or in all cells."""
    gaps, total, cells = sums[..., OBSERVED] - sums[..., PREDICTED], weight.sum(axis=0), sums.sum(axis=0)
    gap = gaps.sum(axis=0) / total
    residuals = (gaps - weight * gap) / total  # of a ratio of two sums
    n_clusters = max(len(sums), 2)
    covariance = residuals.T @ residuals * n_clusters / (n_clusters - 1)
    predicted = np.clip(cells[:, PREDICTED] / cells[:, WEIGHT], 0, 1)
    # at least the noise of independent labels; and that of one more pair, because few pairs may all have one label
    squares, share = cells[:, SQUARED_WEIGHT], cells[:, WEIGHT] / total
    independent = squares * predicted * (1 - predicted) / total**2
    one_more = (squares / cells[:, WEIGHT] / total) ** 2
    covariance[np.diag_indices_from(covariance)] += np.maximum(independent - covariance.diagonal(), 0) + one_more
    error = np.sqrt(np.maximum(covariance.diagonal(), np.finfo(float).tiny))
    return _Gaps(gap, covariance, error, _freedom(weight), predicted, share)


def _noise(found: _Gaps, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Draws of the noise of all gaps; shape (n_draws, n_cells). Student's t, because its size is an estimate too."""
    values, vectors = np.linalg.eigh(found.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    freedom = found.freedom.min()
    scale = np.sqrt(freedom / rng.chisquare(freedom, size=(n_draws, 1)))
    return np.asarray(rng.standard_normal((n_draws, len(root))) @ root * scale)


# --- the mean absolute gap -----------------------------------------------------------------------------------------


def _total_at_least(found: _Gaps, noise: FloatArray, tail: float) -> float:
    """The largest of several lower bounds that hold at once.

    The absolute gaps are at least any sum of them with signs. Two such sums are tried, which see the common failures:
    all probabilities too high or too low, and too far from or too near to their mean.
    """
    above = found.predicted >= found.predicted @ found.share
    signs = np.stack([np.ones(len(above)), np.where(above, 1.0, -1.0)], axis=1)
    signs = np.concatenate([signs, -signs], axis=1)
    values = np.append(found.gap @ signs, np.abs(found.gap).sum())
    drawn = np.column_stack([noise @ signs, _inflation(found, noise)])
    centre, spread = np.append(np.zeros(4), drawn[:, -1].mean()), drawn.std(axis=0)
    reach = np.quantile(((drawn - centre) / spread).max(axis=1), 1 - tail)
    return max(0.0, float((values - centre - reach * spread).max()))


def _inflation(found: _Gaps, noise: FloatArray) -> FloatArray:
    """The most that noise adds to the sum of absolute gaps: less in cells whose gap is surely not 0."""
    least = np.maximum(np.abs(found.gap) - _CLEAR * found.error, 0)
    return np.asarray((np.abs(least + noise * found.signs) - least).sum(axis=1))


def _total_at_most(found: _Gaps, noise: FloatArray, tail: float) -> float:
    """The largest sum of absolute gaps under which one as small as the observed one is not too unlikely.

    Of all gaps with one sum of absolute values, noise adds least to those that are equally many standard errors away
    from 0 in every cell, with signs in which the noise of the cells adds up.
    """
    observed, noise = np.abs(found.gap).sum(), noise * _unfavourable_signs(found)
    low, high = 0.0, float((observed + np.abs(noise).sum(axis=1).max()) / found.error.sum())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        drawn = np.abs(middle * found.error + noise).sum(axis=1)
        low, high = (middle, high) if np.quantile(drawn, tail) < observed else (low, middle)
    return min(high * float(found.error.sum()), float(found.most.sum()))


def _unfavourable_signs(found: _Gaps) -> FloatArray:
    """The sign of each gap where it is clear, elsewhere the one that goes with the noise of most other cells."""
    together = np.linalg.eigh(found.covariance / np.outer(found.error, found.error))[1][:, -1]
    together = together * np.where(together @ (found.gap / found.error) < 0, -1, 1)
    clear = np.abs(found.gap) > _CLEAR * found.error
    return np.where(np.where(clear, found.gap, together) < 0, -1.0, 1.0)
