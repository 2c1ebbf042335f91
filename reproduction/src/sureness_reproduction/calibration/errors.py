"""ECE, MCE and NLL of all methods, risks and models, with the same users drawn for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from sureness.data import ScoredPairs
from sureness.metrics import METRICS, cell_sums, cluster_sums, judge
from sureness_reproduction.calibration import sets
from sureness_reproduction.calibration.grid import DATA, MODELS, TEST, opened, recommender, test_pairs, with_recipe
from sureness_reproduction.calibration.maps import ALL, COMPETITORS, IN_TEXT, PLAIN, PROPOSED, maps_cell, probabilities
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.study import QUICK_AND_FULL, Claim, Scale, Study
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Workbench

N_BINS = 15  # of ECE and MCE, as in the dissertation
N_RESAMPLES = 500
RESAMPLED = ("ece", "mce", "nll")


def needs_maps(**parameters: Any) -> Iterable[Cell]:
    """The recommender and the maps that are judged."""
    yield recommender(**parameters)
    yield maps_cell(**parameters)


@work(needs=needs_maps, judges=True, cost=2)
def judged(bench: Workbench, *, pairs: str, methods: list[str], **parameters: Any) -> Tables:
    """Metrics of every map on the test pairs that no anchor holds, and their values on resampled users."""
    split, source = opened(bench, **parameters)
    test = judged_pairs(test_pairs(split, source, parameters["data"]), pairs, parameters["seed"])
    found = bench.found(maps_cell(pairs=pairs, methods=methods, **parameters))
    numbers, samples = [], []
    for method, risk, probability in probabilities(found, test.scores):
        for metric in (*RESAMPLED, "brier", "mean probability"):
            key = {"method": method, "risk": risk, "metric": metric}
            value, drawn = by_users(metric, test, probability, split.train.n_users)
            numbers.append(key | {"value": value})
            if drawn is not None:
                samples.append(key | {"unit": range(N_RESAMPLES), "value": drawn})
    table = pl.DataFrame(numbers, infer_schema_length=None, schema_overrides={"value": pl.Float64})
    return {"numbers": table, "samples": exploded(samples)}


def judged_pairs(uniform: ScoredPairs, pairs: str, seed: int) -> ScoredPairs:
    """The pairs on which maps of a calibration set are judged: those of an anchor are left out."""
    return uniform.take(~anchor) if (anchor := sets.anchor_rows(len(uniform), seed)).any() and sets.uses_anchor(
        pairs
    ) else uniform  # fmt: skip


def by_users(
    name: str, test: ScoredPairs, probability: FloatArray | None, n_users: int
) -> tuple[float | None, FloatArray | None]:
    """A metric, and its values when users are drawn with replacement; the same draws whatever is judged."""
    if probability is None:
        return None, None
    if name == "mean probability":
        return float(probability.mean()), None
    metric, pairs = METRICS[name], judge(test.labels, probability)
    cells = metric.cells(pairs, N_BINS)
    value = float(metric.finish(cell_sums(cells, None)))
    if name not in RESAMPLED:
        return value, None
    assert test.users is not None
    sums = cluster_sums(cells, None, test.users, n_users)
    drawn = (_draws(n_users) @ sums.reshape(n_users, -1)).reshape(N_RESAMPLES, *sums.shape[1:])
    return value, np.asarray(metric.finish(drawn), dtype=np.float32)


@cache
def _draws(n_users: int) -> FloatArray:
    """How often each user is drawn; shape (N_RESAMPLES, n_users)."""
    rng = np.random.default_rng(0)
    return rng.multinomial(n_users, np.full(n_users, 1 / n_users), size=N_RESAMPLES).astype(np.float64)


def exploded(samples: list[dict[str, Any]]) -> pl.DataFrame:
    """One row for each draw."""
    return pl.concat([pl.DataFrame(row) for row in samples]) if samples else pl.DataFrame()


# --- the studies -----------------------------------------------------------------------------------------------------

_LOWEST = "Gaussian or Gamma with the unbiased risk has the lowest ECE"
_OVER = "it improves on the best of Platt and Beta with the unbiased risk (5.21 to 25.85%)"
_LOWER = "the unbiased risk lowers the ECE of {} (7.40 to 76.52%)"
_PER = ("data", "model", "pairs")


def _rows(risk: str, *methods: str) -> dict[str, Any]:
    return {"method": methods, "risk": risk, "test": "left_out"}


_OURS, _COMPETITORS = _rows("unbiased", *PROPOSED), _rows("unbiased", *COMPETITORS)
CLAIMS = (
    Claim(_LOWEST, "ece", _OURS, (_rows("", *PLAIN), _rows("naive", *IN_TEXT), _COMPETITORS), "-", _PER),
    Claim(_OVER, "ece", _OURS, _COMPETITORS, "-", _PER),
    *(Claim(_LOWER.format(name), "ece", _rows("unbiased", name), _rows("naive", name), "-", _PER) for name in IN_TEXT),
)
_MAIN = (sets.AS_LOGGED, sets.WITH_BASE_RATE, sets.WITH_ANCHOR)
_NOTE = (
    "Mean over seeds with a 95% interval for draws of users and seeds / the published number. A risk without a minimum "
    "on some seeds has fewer of them. Risk –: fitted to the labels as they are. The constant gives every pair the same "
    "probability and ranks nothing."
)


def settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    """The recipe of the recommender; sets that a log of one's own does not have are left out."""
    return with_recipe(scale, point) if sets.can_build(point["pairs"], point["data"]) else None


def _study(metric: str, number: str, title: str, pairs: tuple[str, ...]) -> Study:
    return Study(
        name=metric, number=number, title=title, measure=judged, settings=settings, metrics=(metric,),
        grid={"data": DATA, "model": MODELS, "test": TEST, "pairs": pairs, "methods": [ALL], "seed": QUICK_AND_FULL},
        published=metric, beside={"pairs": sets.AS_LOGGED}, claims=CLAIMS if metric == "ece" else (),
        rows=("method", "risk"), columns=("model",), samples="draws", note=_NOTE,
    )  # fmt: skip


_RATIOS: dict[Scale, list[str]] = {
    "quick": [sets.AS_LOGGED, *map(sets.negatives, (1, 3, 13, 57)), sets.CANDIDATES, sets.RATINGS],
    "full": [
        sets.AS_LOGGED, *map(sets.negatives, (1, 2, 3, 5, 7, 9, 13, 19, 49, 57, 99)), sets.CANDIDATES, sets.RATINGS,
    ],
}  # fmt: skip

STUDIES = (
    _study("ece", "table-2.3", "Expected calibration error", (*_MAIN, sets.RATINGS, sets.CANDIDATES)),
    _study("mce", "table-2.4", "Maximum calibration error", _MAIN),
    _study("nll", "table-2.5", "Negative log-likelihood", _MAIN),
    Study(
        name="negatives", number="", title="ECE by the number of negatives per positive", measure=judged,
        settings=settings, metrics=("ece", "mean probability"), where={"method": IN_TEXT},
        grid={"data": DATA, "model": MODELS, "test": TEST[:1], "pairs": _RATIOS, "methods": [ALL],
              "seed": QUICK_AND_FULL},
        average=("model", "method"), rows=("pairs",), columns=("metric", "risk"),
        note="Means over models and the four parametric methods of the dissertation, maps without a minimum left out. "
        "The dissertation does not say its number; its public code has 57 on Yahoo!R3.",
    ),
)  # fmt: skip
