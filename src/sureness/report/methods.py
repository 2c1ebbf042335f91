"""All metrics of every calibrator, and what its probabilities mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sureness._progress import Progress
from sureness._settings import written
from sureness._types import BoolArray, FloatArray, IntArray
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
from sureness.numerics.grouping import group_codes, top_n
from sureness.report.formatting import error

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


@dataclass(frozen=True)
class GroupRow:
    """The main calibrator on one group of pairs."""

    name: str
    n_pairs: int
    positive_share: float
    mean_probability: float
    ece: Interval


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
        methods.append(Method(name, ece, values, _kind(calibrator), written(calibrator), _facts(calibrator)))
    progress("metrics", len(calibrators), len(calibrators))
    return tuple(methods)


def best_of_columns(methods: tuple[Method, ...]) -> dict[str, str]:
    """The smallest value of every column, as the table writes it."""
    columns = {"ECE": [method.ece.value for method in methods]}
    columns |= {title: [method.values[title] for method in methods] for title in methods[0].values}
    return {title: error(min(values)) for title, values in columns.items()}


def judge_groups(
    pairs: ScoredPairs, probability: FloatArray, groups: ArrayLike, *, n_resamples: int
) -> tuple[GroupRow, ...]:
    """ECE of the main calibrator in every group, the largest groups first."""
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
        GroupRow(str(name), n_pairs, float(positive[place]), float(promised[place]), Interval(ece, low, high))
        for place, (name, n_pairs, ece, low, high) in enumerate(table.iter_rows())
    ]
    return tuple(sorted(rows, key=lambda row: -row.n_pairs))


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
