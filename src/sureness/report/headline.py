"""The result of calibration in short: what was promised where lists are made, and what came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._wording import counted
from sureness.calibration.maps import ProbabilityMap
from sureness.data.scored_pairs import ScoredPairs
from sureness.report.formatting import count, percent, ratio, spoken_percent
from sureness.report.methods import TOP_N, Method
from sureness.report.promise import TOP_SHARE, Promise

OUTCOMES = {"preference": "liked", "interaction": "chosen", "rescaled": "chosen"}
"""What a label of 1 is called where the caller gives no word: "were liked", "not liked"."""


@dataclass(frozen=True)
class Headline:
    """The result in one sentence, and a second one with details."""

    sentence: str
    detail: str


@dataclass(frozen=True)
class Tile:
    """One number with its name."""

    label: str
    value: str
    note: str = ""


def headline(promise: Promise, outcome: str) -> Headline:
    """What was promised for the best pairs and what came; then how sure that is, and what a simple baseline does."""
    promised, came = spoken_percent(promise.main.promised), spoken_percent(promise.realised)
    sentence = f"{best_pairs(promise)} promised {promised}; {came} were {outcome}."
    return Headline(sentence, " ".join([_verdict(promise), _lift(promise), _against_baseline(promise)]).strip())


def best_pairs(promise: Promise) -> str:
    """Which pairs lists would be made of, as the subject of a sentence."""
    return f"Each user's top {TOP_N}" if promise.by_user else f"The top {TOP_SHARE:.0%} of the pairs"


def _verdict(promise: Promise) -> str:
    found = promise.main.ratio
    if found.value is None:
        return "Nothing was promised there, so there is no ratio to judge."
    said = f"Realised over promised is {ratio(found)}"
    if found.low is None or found.high is None:
        return f"{said}."
    if found.high < 1:
        return f"{said}, 95% interval in brackets: too much is promised where lists are made."
    kept = "more came than was promised" if found.low > 1 else "the promise is kept as far as the data can tell"
    return f"{said}, 95% interval in brackets: {kept}."


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
    """The best method that only rescales, which stands for no calibration; None without one beside the main method."""
    rescaled = [method for method in methods[1:] if method.kind == "rescaled"]
    return min(rescaled, key=lambda method: method.ece.value, default=None)


def tiles(pairs: ScoredPairs, n_users: int | None, promise: Promise, outcome: str, fitting: str) -> tuple[Tile, ...]:
    """The four numbers under the headline; `fitting` says what the main map was fitted on."""
    users = Tile("users", "unknown")
    if n_users is not None:
        users = Tile("users", count(n_users), f"{_many(len(pairs) / n_users)} pairs each on average")
    share = float(np.average(pairs.labels, weights=pairs.weight))
    values = f"{percent(promise.main.promised)} → {percent(promise.realised)}"
    return (
        Tile("judged pairs", count(len(pairs)), fitting),
        users,
        Tile(outcome, percent(share), "share of the judged pairs" + ("" if pairs.weight is None else ", weighted")),
        Tile("promised → realised", values, f"{best_pairs(promise).lower()}, {counted(promise.n_pairs, 'pair')}"),
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
