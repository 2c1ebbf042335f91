"""Methods judged on the same pairs: by all metrics, by group, and by what they promise where lists are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sureness._progress import Progress
from sureness._settings import written
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.calibration.maps import ProbabilityMap
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import EmptyError
from sureness.metrics.calibration import (
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
    reliability_curve,
)
from sureness.metrics.intervals import Interval, by_group, interval
from sureness.numerics.checks import check_ids
from sureness.numerics.grouping import fold_of_groups, group_codes, ranks_within, top_n
from sureness.numerics.ratios import Ratio, ratio_of_sums
from sureness.report.figures.reliability import ProbabilityBands
from sureness.report.formatting import Headline, Tile, Verdict, count, error, percent, ratio, spoken_percent

TOP_N = 10
MOST_GROUPS = 40

MEANINGS = {
    "preference": "the chance that the user would like the item after seeing it (preference)",
    "interaction": "the chance that the user interacts with the item in a period like the held-out one (interaction)",
    "rescaled": "no probability: scores rescaled to lie between 0 and 1 without labels, as a reference",
}
FAMILIES = {"preference": "preference", "interaction": "interaction", "rescaled": "rescaled only"}

PLAIN_NAMES = {
    "ECE": "mean error",
    "largest gap": "largest error",
    f"ECE@{TOP_N}": f"mean error of the top {TOP_N}",
    "NLL": "log loss",
    "Brier": "squared error",
}
"""What the columns of the table of methods mean, with their usual abbreviations."""

FEWEST_PAIRS = 50  # of a bin whose gap counts as the largest
_LOSSES: dict[str, Callable[..., float]] = {"NLL": negative_log_likelihood, "Brier": brier_score}


@dataclass(frozen=True)
class Method:
    """One calibrator as the page shows it."""

    name: str
    ece: Interval
    values: dict[str, float]  # the other metrics by the title of their column
    kind: str  # preference, interaction, or rescaled
    settings: str  # constructor and settings of the calibrator
    facts: tuple[tuple[str, str], ...]  # what it was fitted on and what it learned: name, value

    @property
    def meaning(self) -> str:
        return MEANINGS[self.kind]

    @property
    def family(self) -> str:
        return FAMILIES[self.kind]


def judge_methods(
    pairs: ScoredPairs,
    calibrators: Mapping[str, ProbabilityMap],
    probabilities: Mapping[str, FloatArray],
    *,
    n_resamples: int,
    progress: Progress,
) -> tuple[Method, ...]:
    """Judge all calibrators on the same pairs by all metrics."""
    users = None if pairs.users is None else group_codes(pairs.users)[0]
    top = None if users is None else top_n(users, pairs.scores, TOP_N)
    methods = []
    for done, (name, calibrator) in enumerate(calibrators.items()):
        progress("metrics", done, len(calibrators))
        p = probabilities[name]
        ece = interval("ece", pairs.labels, p, users=users, sample_weight=pairs.weight, n_resamples=n_resamples)
        values = _values(pairs, p, top)
        facts = (*_facts(calibrator), *_words_of_the_field(pairs, p, users, n_resamples))
        methods.append(Method(name, ece, values, _kind(calibrator), written(calibrator), facts))
    progress("metrics", len(calibrators), len(calibrators))
    return tuple(methods)


def best_of_columns(methods: tuple[Method, ...]) -> dict[str, str]:
    """The smallest value of every column, as the table writes it."""
    columns = {"ECE": [method.ece.value for method in methods]}
    columns |= {title: [method.values[title] for method in methods] for title in methods[0].values}
    return {title: error(min(values)) for title, values in columns.items()}


def judge_groups(
    pairs: ScoredPairs, probability: FloatArray, groups: ArrayLike, *, n_resamples: int
) -> list[dict[str, Any]]:
    """Pairs, positives, mean probability and ECE of the main calibrator in every group, the largest groups first."""
    names = check_ids(groups, len(pairs), "groups")
    codes, n_groups = group_codes(names)
    largest = np.argsort(-np.bincount(codes, minlength=n_groups), kind="stable")[:MOST_GROUPS]
    inside = np.isin(codes, largest)
    kept, p = pairs.take(inside), probability[inside]
    positive, promised = _group_means(codes[inside], kept, p)
    table = by_group(
        "ece", kept.labels, p, names[inside], users=kept.users, sample_weight=kept.weight, n_resamples=n_resamples
    )
    rows = [
        {"name": str(name), "n_pairs": n, "positive_share": share, "mean_probability": p, "ece": Interval(*ece)}
        for (name, n, *ece), share, p in zip(table.iter_rows(), positive, promised, strict=True)
    ]
    return sorted(rows, key=lambda row: -row["n_pairs"])


def _values(pairs: ScoredPairs, p: FloatArray, top: BoolArray | None) -> dict[str, float]:
    def measured(measure: Callable[..., float], chosen: ScoredPairs, probability: FloatArray) -> float:
        return measure(chosen.labels, probability, sample_weight=chosen.weight)

    values = {"largest gap": _largest_gap(pairs, p)}
    if top is not None:
        values[f"ECE@{TOP_N}"] = measured(expected_calibration_error, pairs.take(top), p[top])
    return values | {title: measured(measure, pairs, p) for title, measure in _LOSSES.items()}


def _largest_gap(pairs: ScoredPairs, p: FloatArray) -> float:
    """The largest distance in any of 15 equally wide bins that holds enough pairs; NaN if none does."""
    curve = reliability_curve(pairs.labels, p, n_bins=15, sample_weight=pairs.weight)
    n_pairs = np.bincount(np.minimum((15 * p).astype(np.int64), 14), minlength=15)
    gaps = np.abs(curve.observed - curve.confidence)[n_pairs >= FEWEST_PAIRS]
    return float(gaps.max()) if len(gaps) else float("nan")


def _words_of_the_field(
    pairs: ScoredPairs, p: FloatArray, users: IntArray | None, n_resamples: int
) -> Iterator[tuple[str, str]]:
    """What people who sell clicks ask for; weighted by value where the weight of a pair is one."""
    for name, metric in (
        ("predicted over observed", "calibration_ratio"),
        ("normalised entropy", "normalised_entropy"),
    ):
        found = interval(metric, pairs.labels, p, users=users, sample_weight=pairs.weight, n_resamples=n_resamples)
        yield name, str(found)


def _kind(calibrator: ProbabilityMap) -> str:
    return calibrator.estimand_ if calibrator.learns_from_labels else "rescaled"


def _facts(calibrator: ProbabilityMap) -> tuple[tuple[str, str], ...]:
    """Facts of the fit, from the map; its estimand has a column of its own."""
    horizon = {"horizon": str(calibrator.horizon_)} if calibrator.learns_from_labels else {}
    return tuple((name, fact) for name, fact in (horizon | calibrator.learned_facts()).items() if name != "estimand")


def _group_means(codes: IntArray, pairs: ScoredPairs, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of positives and mean probability of every group, in order of first appearance as in `by_group`."""
    place, _ = group_codes(codes)
    weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight
    total = np.bincount(place, weight)
    if not total.all():
        raise EmptyError("every group needs some weight, got groups whose pairs all weigh 0; drop those pairs")
    return np.bincount(place, weight * pairs.labels) / total, np.bincount(place, weight * p) / total


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
    by_rank: tuple[Ratio, ...]  # of the main one, a user's best pair first; empty without users

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

    def at_rank(rank: int, p: FloatArray) -> Ratio:
        there = ranks == rank
        return ratio_of_sums((weight * pairs.labels)[there], (weight * p)[there])

    simple = simple_baselines(pairs, users, ranks)
    main = next(iter(probabilities.values()))
    return Promise(
        by_user=ranks is not None,
        n_pairs=int(best.sum()),
        realised=float(realised.sum() / weight[best].sum()),
        base_rate=float(np.average(pairs.labels, weights=weight)),
        methods=(
            *(row(name, p) for name, p in probabilities.items()),
            *(row(name, p, baseline=True) for name, p in simple.items()),
        ),
        by_rank=() if ranks is None else tuple(at_rank(rank, main) for rank in range(1, int(ranks[best].max()) + 1)),
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
    words, _ = promise_in_words(found, ranks=promise.by_rank, probabilities=bands.ratios)
    return f"{measured}, 95% interval in brackets: {words}." if words else f"{measured}."


def promise_in_words(total: Ratio, **bands: Sequence[Ratio]) -> tuple[str, Verdict]:
    """Whether a promise is kept in total and in most bands, and the colour of that; both empty where it is unknown.

    Parameters
    ----------
    total : Ratio
    **bands : sequence of Ratio
        By what they are bands of; the band of the first ranks or of the highest probabilities first.

    Examples
    --------
    >>> much, little = Ratio(0.8, 0.7, 0.9), Ratio(1.2, 1.1, 1.3)
    >>> print(promise_in_words(Ratio(1.0, 0.9, 1.1), ranks=[much, much, little])[0])
    the promise is kept in total, but 3 of 3 bands of ranks exclude it, and the highest of them promises too much
    """
    if total.low is None or total.high is None:
        return "", ""
    if total.high < 1:
        return "too much is promised where lists are made", "bad"
    if total.low > 1:
        return "more came than was promised", "bad"
    for name, all_bands in bands.items():
        ways = [way for band in all_bands if (way := _way(band)) is not None]
        broken = [way for way in ways if way]
        if len(broken) > MOST_BROKEN * len(ways):
            return (
                f"the promise is kept in total, but {len(broken)} of {counted(len(ways), 'band')} of {name} "
                f"exclude it, and the highest of them promises {broken[0]}"
            ), "bad"
    return "the promise is kept as far as the data can tell", "good"


def _way(band: Ratio) -> str | None:
    """What a band promises, empty where its interval holds the promise; None where it has no interval."""
    if band.low is None or band.high is None:
        return None
    if band.low <= 1 <= band.high:
        return ""
    return "too little" if band.low > 1 else "too much"


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
            promise_in_words(promise.main.ratio, ranks=promise.by_rank, probabilities=bands.ratios)[1],
        ),
    )


def fitted_on(fitted: ProbabilityMap, pairs: ScoredPairs, name: str) -> str:
    """How many pairs a map was fitted on, and whether they may be those that judge it; empty if it does not know.

    Examples
    --------
    >>> from sureness.calibration.nonparametric import MinMaxCalibrator
    >>> pairs = ScoredPairs.of([0.0, 1.0, 2.0], [0, 0, 1])
    >>> fitted_on(MinMaxCalibrator().fit([0.0, 3.0], [0, 1]), pairs, "minmax")
    'minmax was fitted on 2 pairs'
    >>> fitted_on(MinMaxCalibrator().fit(pairs.scores, pairs.labels), pairs, "minmax")
    'minmax was fitted on as many pairs with the same range of scores; if on these, it looks better than on new ones'
    """
    n_pairs, score_range = getattr(fitted, "n_pairs_", None), getattr(fitted, "score_range_", None)
    if n_pairs is None:
        return ""
    if n_pairs == len(pairs) and score_range == (float(pairs.scores.min()), float(pairs.scores.max())):
        return (
            f"{name} was fitted on as many pairs with the same range of scores; if on these, it looks better than on "
            "new ones"
        )
    return f"{name} was fitted on {counted(n_pairs, 'pair')}"


def _many(number: float) -> str:
    return count(number) if number >= 100 else f"{number:.3g}"
