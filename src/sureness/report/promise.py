"""Promised against realised where lists are made: each user's best pairs, by every method and by simple baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.data.scored_pairs import ScoredPairs
from sureness.metrics.calibration import negative_log_likelihood
from sureness.numerics.grouping import fold_of_groups, group_codes, ranks_within
from sureness.numerics.ratios import Ratio, ratio_of_sums
from sureness.report.methods import TOP_N

TOP_SHARE = 0.01  # of the pairs, where users are unknown

ONE_RATE, RATE_BY_RANK = "one rate for all pairs", "one rate for each rank"


@dataclass(frozen=True)
class PromiseRow:
    """What one method promised for the best pairs, and how well it does over all pairs."""

    name: str
    promised: float  # mean probability of the best pairs
    ratio: Ratio  # realised over promised
    log_loss: float  # over all pairs
    baseline: bool = False


@dataclass(frozen=True)
class Promise:
    """What came of the best pairs, and what every method promised for them."""

    by_user: bool  # whether the best pairs are those of each user, or of all
    n_pairs: int
    realised: float  # share of the best pairs that came
    base_rate: float  # share of all pairs
    methods: tuple[PromiseRow, ...]  # the first is the main one; simple baselines come last

    @property
    def main(self) -> PromiseRow:
        return self.methods[0]

    @property
    def baseline(self) -> PromiseRow | None:
        """The simple baseline with the lowest log loss; None where there are too few users to fit one."""
        simple = [row for row in self.methods if row.baseline]
        return min(simple, key=lambda row: row.log_loss, default=None)

    @property
    def lift(self) -> float:
        """How many times the base rate came of the best pairs."""
        return self.realised / self.base_rate if self.base_rate else float("nan")

    @property
    def gain(self) -> float:
        """By which part the main method lowers the log loss of the best simple baseline; negative if it is worse."""
        return float("nan") if self.baseline is None else 1 - self.main.log_loss / self.baseline.log_loss


def judge_promise(pairs: ScoredPairs, probabilities: Mapping[str, FloatArray]) -> Promise:
    """Judge methods on each user's ten best judged pairs, or on the best hundredth of all pairs without users."""
    weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight
    ranks = None if pairs.users is None else ranks_within(pairs.users, pairs.scores)
    best = _best_of_all(pairs.scores) if ranks is None else ranks <= TOP_N
    users = np.arange(len(pairs)) if pairs.users is None else group_codes(pairs.users)[0]
    _, owner = np.unique(users[best], return_inverse=True)
    realised = np.bincount(owner, weight[best] * pairs.labels[best])

    def row(name: str, p: FloatArray, *, baseline: bool = False) -> PromiseRow:
        promised = np.bincount(owner, weight[best] * p[best])
        loss = negative_log_likelihood(pairs.labels, p, sample_weight=pairs.weight)
        ratio = ratio_of_sums(realised, promised)
        return PromiseRow(name, float(promised.sum() / weight[best].sum()), ratio, loss, baseline)

    simple = simple_baselines(pairs, users, ranks)
    return Promise(
        by_user=ranks is not None, n_pairs=int(best.sum()),
        realised=float(realised.sum() / weight[best].sum()),
        base_rate=float(np.average(pairs.labels, weights=weight)),
        methods=(
            *(row(name, p) for name, p in probabilities.items()),
            *(row(name, p, baseline=True) for name, p in simple.items()),
        ),
    )  # fmt: skip


def _best_of_all(scores: FloatArray) -> BoolArray:
    """The highest scores; ties at the edge belong to them, so that the order of the pairs does not matter."""
    return np.asarray(scores >= np.quantile(scores, 1 - TOP_SHARE, method="higher"))


def simple_baselines(pairs: ScoredPairs, users: IntArray, ranks: IntArray | None) -> dict[str, FloatArray]:
    """What anybody would try first: the share that came, of all pairs or at each rank.

    Shares for one half of the users are counted in the other half, so a baseline does not know its own labels.
    """
    if users.max(initial=0) < 1:
        return {}
    half = fold_of_groups(users, len(pairs), 2, np.random.default_rng(0))
    found = {ONE_RATE: _rates_of_other_half(pairs, half, np.zeros(len(pairs), dtype=np.int64))}
    if ranks is not None:  # ranks 1, 2-3, 4-7, 8-15 and so on share a rate
        found[RATE_BY_RANK] = _rates_of_other_half(pairs, half, np.log2(ranks).astype(np.int64))
    return found


def _rates_of_other_half(pairs: ScoredPairs, half: IntArray, cell: IntArray) -> FloatArray:
    weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight
    n_cells = int(cell.max()) + 1
    rates = np.empty((2, n_cells))
    for own in (0, 1):
        other = half != own
        total = np.bincount(cell[other], weight[other], n_cells)
        came = np.bincount(cell[other], (weight * pairs.labels)[other], n_cells)
        overall = (came.sum() + 0.5) / (total.sum() + 1)  # never 0 or 1: one label would cost infinity
        rates[own] = (came + overall) / (total + 1)
    return np.asarray(rates[half, cell])
