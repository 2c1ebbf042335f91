"""What was promised where lists are made, what came, and the headline about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.calibration.maps import ProbabilityMap
from sureness.data.scored_pairs import ScoredPairs
from sureness.metrics.calibration import negative_log_likelihood
from sureness.numerics.grouping import fold_of_groups, group_codes, ranks_within
from sureness.numerics.ratios import Ratio, ratio_of_sums
from sureness.report.figures.reliability import ProbabilityBands
from sureness.report.formatting import Headline, Tile, Verdict, count, percent, ratio, spoken_percent
from sureness.report.methods import TOP_N, Method

MOST_BROKEN = 0.25  # share of bands whose interval may exclude the promise; at 95%, chance alone breaks a few
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
        by_user=ranks is not None,
        n_pairs=int(best.sum()),
        realised=float(realised.sum() / weight[best].sum()),
        base_rate=float(np.average(pairs.labels, weights=weight)),
        methods=(
            *(row(name, p) for name, p in probabilities.items()),
            *(row(name, p, baseline=True) for name, p in simple.items()),
        ),
    )


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


OUTCOMES = {"preference": "liked", "interaction": "chosen", "rescaled": "chosen"}
"""What a label of 1 is called where the caller gives no word: "were liked", "not liked"."""


def headline(promise: Promise, outcome: str, bands: ProbabilityBands) -> Headline:
    """What was promised for the best pairs and what came; then how sure that is, and what a simple baseline does."""
    promised, came = spoken_percent(promise.main.promised), spoken_percent(promise.realised)
    sentence = f"{best_pairs(promise)} promised {promised}; {came} were {outcome}."
    return Headline(sentence, " ".join([_verdict(promise, bands), _lift(promise), _against_baseline(promise)]).strip())


def best_pairs(promise: Promise) -> str:
    """Which pairs lists would be made of, as the subject of a sentence."""
    return f"Each user's top {TOP_N}" if promise.by_user else f"The top {TOP_SHARE:.0%} of the pairs"


def _verdict(promise: Promise, bands: ProbabilityBands) -> str:
    found = promise.main.ratio
    if found.value is None:
        return "Nothing was promised there, so there is no ratio to judge."
    measured = f"Realised over promised is {ratio(found)}"
    if found.low is None or found.high is None:
        return f"{measured}."
    if found.high < 1:
        verdict = "too much is promised where lists are made"
    elif found.low > 1:
        verdict = "more came than was promised"
    elif bands.n_broken > MOST_BROKEN * len(bands.names):
        verdict = (
            f"the promise is kept there on average, but {bands.n_broken} of {counted(len(bands.names), 'band')} of "
            "probabilities promised clearly more or less than came"
        )
    else:
        verdict = "the promise is kept as far as the data can tell"
    return f"{measured}, 95% interval in brackets: {verdict}."


def _colour(promise: Promise, bands: ProbabilityBands) -> Verdict:
    """Whether the promise is kept in total and in most bands; nothing where it is unknown."""
    found = promise.main.ratio
    if found.low is None or found.high is None:
        return ""
    return "good" if found.low <= 1 <= found.high and bands.n_broken <= MOST_BROKEN * len(bands.names) else "bad"


def _lift(promise: Promise) -> str:
    if not promise.base_rate:
        return ""
    return f"What came is {_many(promise.lift)} times the {spoken_percent(promise.base_rate)} of all judged pairs."


def _against_baseline(promise: Promise) -> str:
    simple = promise.baseline
    if simple is None:
        return ""
    how = "lower" if promise.gain >= 0 else "higher"
    return (
        f"The log loss of {promise.main.name} over all pairs is {percent(abs(promise.gain))} {how} than that of the "
        f"best simple baseline, {simple.name}."
    )


def uncalibrated(methods: tuple[Method, ...]) -> Method | None:
    """The best method that only rescales, which stands for no calibration; None if only the main method does."""
    rescaled = [method for method in methods[1:] if method.kind == "rescaled"]
    return min(rescaled, key=lambda method: method.ece.value, default=None)


def tiles(
    pairs: ScoredPairs, n_users: int | None, promise: Promise, outcome: str, fitting: str, bands: ProbabilityBands
) -> tuple[Tile, ...]:
    """The four numbers under the headline; `fitting` is what the main map was fitted on."""
    users = Tile("users", "unknown")
    if n_users is not None:
        users = Tile("users", count(n_users), f"{_many(len(pairs) / n_users)} pairs each on average")
    share = float(np.average(pairs.labels, weights=pairs.weight))
    values = f"{percent(promise.main.promised)} → {percent(promise.realised)}"
    return (
        Tile("judged pairs", count(len(pairs)), fitting),
        users,
        Tile(outcome, percent(share), "share of the judged pairs" + ("" if pairs.weight is None else ", weighted")),
        Tile(
            "promised → realised",
            values,
            f"{best_pairs(promise).lower()}, {counted(promise.n_pairs, 'pair')}",
            _colour(promise, bands),
        ),
    )


def fitted_on(fitted: ProbabilityMap, pairs: ScoredPairs, name: str) -> str:
    """How many pairs a map was fitted on, and whether they look like those that judge it; empty if it does not know.

    Examples
    --------
    >>> from sureness.calibration.nonparametric import MinMaxCalibrator
    >>> pairs = ScoredPairs.of([0.0, 1.0, 2.0], [0, 0, 1])
    >>> fitted_on(MinMaxCalibrator().fit([0.0, 3.0], [0, 1]), pairs, "minmax")
    'minmax was fitted on 2 pairs'
    >>> fitted_on(MinMaxCalibrator().fit(pairs.scores, pairs.labels), pairs, "minmax")
    'these look like the pairs that minmax was fitted on, so it looks better than on new ones'
    """
    n_pairs, score_range = getattr(fitted, "n_pairs_", None), getattr(fitted, "score_range_", None)
    if n_pairs is None:
        return ""
    if n_pairs == len(pairs) and score_range == (float(pairs.scores.min()), float(pairs.scores.max())):
        return f"these look like the pairs that {name} was fitted on, so it looks better than on new ones"
    return f"{name} was fitted on {counted(n_pairs, 'pair')}"


def _many(number: float) -> str:
    return count(number) if number >= 100 else f"{number:.3g}"
