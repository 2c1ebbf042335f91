"""The result of calibration in one sentence and four numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._types import FloatArray
from sureness._wording import counted
from sureness.calibration.maps import ProbabilityMap
from sureness.data.scored_pairs import ScoredPairs
from sureness.metrics.reliability import ReliabilityCurve, reliability_curve
from sureness.report.formatting import count, error, percent, points, spoken_percent
from sureness.report.methods import Method

_SHARP = 0.05  # half-width of a frequency's interval that is narrow enough for the headline

_HAPPENED = {"preference": "were liked", "interaction": "were interacted with", "rescaled": "were positive"}


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


def headline(pairs: ScoredPairs, main: Method, probability: FloatArray, before: Method | None) -> Headline:
    """A sentence on the highest bin of probabilities whose frequency is well known."""
    curve = reliability_curve(pairs.labels, probability, sample_weight=pairs.weight)
    n_pairs = reliability_curve(pairs.labels, probability).weight
    place = telling_bin(curve)
    low, high = 100 * curve.edges[place : place + 2]
    promised, observed, at_least, at_most = (
        spoken_percent(values[place]) for values in (curve.confidence, curve.observed, curve.low, curve.high)
    )
    sentence = f"Among items shown with {low:.0f}–{high:.0f}%, {observed} {_HAPPENED[main.kind]}."
    detail = (
        f"The mean predicted probability was {promised}; with {count(n_pairs[place])} pairs, the true share lies "
        f"between {at_least} and {at_most} (95% interval). Over all pairs, {main.name} is off by {_points(main)} on "
        "average"
    )
    then = "." if before is None else f"; before calibration ({before.name}) it was {_points(before)}."
    return Headline(sentence, detail + then)


def telling_bin(curve: ReliabilityCurve) -> int:
    """The highest bin whose frequency is known to within five percentage points, else the fullest bin.

    Examples
    --------
    >>> telling_bin(reliability_curve([0, 1] * 1_000 + [1], [0.55] * 2_000 + [0.95]))
    5
    """
    sharp = np.flatnonzero((curve.weight > 0) & (curve.high - curve.low <= 2 * _SHARP))
    return int(sharp[-1]) if sharp.size else int(np.argmax(curve.weight))


def uncalibrated(methods: tuple[Method, ...]) -> Method | None:
    """The best method that only rescales, which stands for no calibration; None without one beside the main method."""
    rescaled = [method for method in methods[1:] if method.kind == "rescaled"]
    return min(rescaled, key=lambda method: method.ece.value, default=None)


def tiles(
    pairs: ScoredPairs, n_users: int | None, main: Method, before: Method | None, fitted: ProbabilityMap
) -> tuple[Tile, ...]:
    """The four numbers under the headline; `fitted` is the map of the main method."""
    users = Tile("users", "unknown")
    if n_users is not None:
        users = Tile("users", count(n_users), f"{_many(len(pairs) / n_users)} pairs each on average")
    share = float(np.average(pairs.labels, weights=pairs.weight))
    after = f"{main.name}, 95% interval {error(main.ece.low)} to {error(main.ece.high)}"
    ece = Tile("ECE", error(main.ece.value), after)
    if before is not None:
        values = f"{error(before.ece.value)} → {error(main.ece.value)}"
        ece = Tile("ECE before → after", values, f"{before.name} → {after}")
    return (
        Tile("judged pairs", count(len(pairs)), fitted_on(fitted, pairs, main.name)),
        users,
        Tile("positive", percent(share), "share of the judged pairs" + ("" if pairs.weight is None else ", weighted")),
        ece,
    )


def fitted_on(fitted: ProbabilityMap, pairs: ScoredPairs, name: str) -> str:
    """How many pairs a map was fitted on, and whether they look like those that judge it; empty if it does not know.

    Examples
    --------
    >>> from sureness.calibration.rescaling import MinMaxCalibrator
    >>> pairs = ScoredPairs.of([0.0, 1.0, 2.0], [0, 0, 1])
    >>> fitted_on(MinMaxCalibrator().fit([0.0, 3.0], [0, 1]), pairs, "minmax")
    'minmax was fitted on 2 pairs'
    >>> fitted_on(MinMaxCalibrator().fit(pairs.scores, pairs.labels), pairs, "minmax")
    'these look like the pairs that minmax was fitted on'
    """
    n_pairs, score_range = getattr(fitted, "n_pairs_", None), getattr(fitted, "score_range_", None)
    if n_pairs is None:
        return ""
    if n_pairs == len(pairs) and score_range == (float(pairs.scores.min()), float(pairs.scores.max())):
        return f"these look like the pairs that {name} was fitted on"
    return f"{name} was fitted on {counted(n_pairs, 'pair')}"


def _points(method: Method) -> str:
    return f"{points(method.ece.value)} percentage points"


def _many(number: float) -> str:
    return count(number) if number >= 100 else f"{number:.3g}"
