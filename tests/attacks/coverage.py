"""Do 95% intervals cover, and does a choice among equals fall on one of them too often? Counted in simulated worlds.

``python -m tests.attacks.coverage`` prints the tables of docs/measured/intervals.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, ndtri

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration import CalibrationSet, PlattCalibrator, cross_validate
from sureness.calibration.choosing import Folds
from sureness.metrics import interval
from sureness.metrics.resampling import confidence_in_gains, resampled_means

METRICS = ("ece", "adaptive_ece", "debiased_ece", "ece@5", "mce", "nll", "brier")
BOUNDED = ("ece", "adaptive_ece", "mce")
SMALL_ERROR = 0.015
CORRELATIONS = (0.0, 0.5, 0.8, 0.95)
N_BINS = 15


def _uniform(u: FloatArray) -> FloatArray:
    return 0.02 + 0.96 * u


def _skewed(u: FloatArray) -> FloatArray:
    """Most probabilities are small, as among all items of a catalogue."""
    return 0.98 * (1 - (1 - u) ** 0.25)


def _rare(u: FloatArray) -> FloatArray:
    """One percent of the pairs are positive."""
    return 0.002 + 0.4 * u**49


@dataclass(frozen=True)
class World:
    """Pairs with known true probabilities, a share of which follows one draw per user."""

    n_pairs: int
    n_users: int
    error: float = 0.0  # true probability minus predicted one
    where: tuple[float, float] = (0.0, 1.0)  # the predicted probabilities that are wrong by that
    shape: Callable[[FloatArray], FloatArray] = _uniform
    alike: float = 0.3  # share of a user's labels that one common draw decides
    heavy: bool = False  # whether a few users have most of the pairs
    weighted: bool = False

    def truth(self, p: FloatArray) -> FloatArray:
        return p + self.error * ((p >= self.where[0]) & (p < self.where[1]))

    def draw(self, rng: np.random.Generator) -> tuple[BoolArray, FloatArray, IntArray, FloatArray | None]:
        """Labels, predicted probabilities, users and weights."""
        p = self.shape(rng.random(self.n_pairs))
        place = rng.random(self.n_pairs) ** (3 if self.heavy else 1)
        users = (place * self.n_users).astype(np.int64)
        shared = rng.random(self.n_users)[users]
        chance = np.where(rng.random(self.n_pairs) < self.alike, shared, rng.random(self.n_pairs))
        weight = rng.choice([1.0, 5.0], self.n_pairs) if self.weighted else None
        return chance < self.truth(p), p, users, weight

    def value(self, metric: str, fine: int = 1_000_000) -> float:
        """The value of a metric for endlessly many pairs; over a user's top items, errors must be everywhere."""
        p = self.shape((np.arange(fine) + 0.5) / fine)
        q = self.truth(p)
        if metric == "nll":
            return float(-np.mean(q * np.log(p) + (1 - q) * np.log1p(-p)))
        if metric == "brier":
            return float(np.mean((p - q) ** 2 + q * (1 - q)))
        mass = metric.startswith("adaptive")
        bins = np.minimum((np.arange(fine) / fine if mass else p) * N_BINS, N_BINS - 1).astype(np.int64)
        gaps, pairs = np.abs(np.bincount(bins, q - p, N_BINS)), np.bincount(bins, minlength=N_BINS)
        return float((gaps / np.maximum(pairs, 1)).max() if metric == "mce" else gaps.sum() / fine)


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of one metric held the true value, and how wide they were."""

    world: World
    metric: str
    simulations: int
    covered: int
    width: float  # mean

    @property
    def share(self) -> float:
        return self.covered / self.simulations


def coverage(
    world: World, metrics: Sequence[str] = METRICS, simulations: int = 400, n_resamples: int = 1_000, seed: int = 0
) -> list[Coverage]:
    """Draw a world again and again, and compare intervals with the truth."""
    rng = np.random.default_rng(seed)
    truths = {metric: world.value(metric) for metric in metrics}
    covered, width = dict.fromkeys(metrics, 0), dict.fromkeys(metrics, 0.0)
    for _ in range(simulations):
        labels, p, users, weight = world.draw(rng)
        for metric, truth in truths.items():
            found = interval(metric, labels, p, users=users, sample_weight=weight, n_resamples=n_resamples)
            covered[metric] += found.low <= truth + 1e-12 and truth - 1e-12 <= found.high
            width[metric] += (found.high - found.low) / simulations
    return [Coverage(world, metric, simulations, covered[metric], width[metric]) for metric in metrics]


def worlds() -> list[World]:
    """The worlds of the promise: two truths, two numbers of pairs, three numbers of users."""
    return [
        World(n_pairs, n_users, error)
        for error in (0.0, SMALL_ERROR)
        for n_pairs in (3_000, 20_000)
        for n_users in (50, n_pairs // 20, 5_000)
    ]


def other_worlds() -> dict[str, World]:
    """Worlds in which intervals are harder, by name."""
    plain = World(20_000, 1_000)
    return {
        "error 0.15 in one of 15 bins": replace(plain, error=0.15, where=(7 / 15, 8 / 15)),
        "small probabilities": replace(plain, shape=_skewed),
        "small probabilities, error 0.015": replace(plain, shape=_skewed, error=SMALL_ERROR),
        "1% positives": replace(plain, shape=_rare),
        "1% positives, error 0.005": replace(plain, shape=_rare, error=0.005),
        "a few heavy users": replace(plain, n_users=200, heavy=True, error=SMALL_ERROR),
        "weights of 1 and 5": replace(plain, weighted=True, error=SMALL_ERROR),
        "10 users": replace(plain, n_users=10, n_pairs=3_000),
        "10 users, error 0.015": replace(plain, n_users=10, n_pairs=3_000, error=SMALL_ERROR),
        "large error (0.1)": replace(plain, where=(0.3, 0.9), error=0.1),
    }


def false_wins(
    correlation: float,
    simulations: int = 1_000,
    n_users: int = 400,
    n_ways: int = 5,
    sure: float = 0.9,
    n_resamples: int = 1_000,
    seed: int = 0,
) -> int:
    """How often one of several ways that are worth exactly as much as the simple one is called better."""
    rng = np.random.default_rng(seed)
    wins = 0
    for _ in range(simulations):
        shared, own = rng.standard_normal((n_users, 1)), rng.standard_normal((n_users, n_ways))
        gains = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
        wins += bool((confidence_in_gains(gains.mean(axis=0), resampled_means(gains, n_resamples, rng)) >= sure).any())
    return wins


def out_of_fold_coverage(
    slope: float, simulations: int = 400, n_pairs: int = 3_000, n_folds: int = 5, seed: int = 0
) -> Coverage:
    """How often the out-of-fold ECE of Platt scaling covers the mean error of the maps of the folds.

    The true log-odds are ``slope * score - 1``; with slope 0 the scores say nothing.
    """
    rng = np.random.default_rng(seed)
    grid = ndtri((np.arange(20_000) + 0.5) / 20_000)  # the scores of endlessly many pairs
    covered, width = 0, 0.0
    for _ in range(simulations):
        scores = rng.normal(size=n_pairs)
        data = CalibrationSet.from_pairs(scores, rng.random(n_pairs) < expit(slope * scores - 1))
        folds = Folds.of(data, n_folds, seed=0)
        maps = [PlattCalibrator().fit_set(data.with_pairs(folds.pairs.take(folds.fold != f))) for f in range(n_folds)]
        truth = np.mean([_binned_error(m.probability(grid), expit(slope * grid - 1)) for m in maps])
        found = cross_validate(PlattCalibrator(), data, metrics=["ece"], n_folds=n_folds)["ece"]
        covered += bool(found.low <= truth <= found.high)
        width += (found.high - found.low) / simulations
    return Coverage(World(n_pairs, n_pairs), "ece", simulations, covered, width)


def _binned_error(p: FloatArray, q: FloatArray) -> float:
    bins = np.minimum(p * N_BINS, N_BINS - 1).astype(np.int64)
    return float(np.abs(np.bincount(bins, q - p, N_BINS)).sum() / len(p))


def tables(simulations: int = 400) -> Iterator[str]:
    """The lines of the tables of the documentation, as they are known."""
    yield _row("truth", "pairs", "users", *METRICS)
    for world in worlds():
        found = coverage(world, simulations=simulations)
        yield _row(_truth(world), f"{world.n_pairs:,}", f"{world.n_users:,}", *(f"{one.share:.3f}" for one in found))
        yield _row("mean width", "", "", *(f"{one.width:.4f}" for one in found))
    yield _row("pairs", "users", "truth", *BOUNDED)
    for error in (0.0, SMALL_ERROR):
        for n_pairs in (5_000, 20_000, 80_000, 320_000):
            found = coverage(World(n_pairs, n_pairs // 20, error), BOUNDED, simulations // 20)
            widths = (f"{one.width:.4f}, {one.width * n_pairs**0.5:.2f}" for one in found)
            yield _row(f"{n_pairs:,}", f"{n_pairs // 20:,}", _truth(found[0].world), *widths)
    yield _row("world", *BOUNDED)
    for name, world in other_worlds().items():
        found = coverage(world, BOUNDED, simulations // 2)
        yield _row(name, *(f"{one.share:.3f} ({one.width:.4f})" for one in found))
    yield _row("scores", "pairs", "out-of-fold ece")
    for slope in (0.0, 1.0):
        for n_pairs in (3_000, 20_000):
            one = out_of_fold_coverage(slope, simulations // 4, n_pairs)
            yield _row("informative" if slope else "noise", f"{n_pairs:,}", f"{one.share:.3f} ({one.width:.4f})")
    yield _row("correlation", "false wins")
    for correlation in CORRELATIONS:
        yield _row(str(correlation), f"{false_wins(correlation) / 1_000:.3f}")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _truth(world: World) -> str:
    return f"error {world.error}" if world.error else "perfect"


if __name__ == "__main__":
    for line in tables(*map(int, sys.argv[1:])):
        sys.stdout.write(line)
        sys.stdout.flush()
