"""Maps judged on uniformly exposed pairs, with the same users drawn for all of them, so that differences are paired."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from sureness.data import ScoredPairs
from sureness.metrics import METRICS, cell_sums, cluster_sums, judge
from sureness_reproduction.calibration.fitting import CONSTANT, maps_cell, maps_of
from sureness_reproduction.calibration.grid import recommender
from sureness_reproduction.calibration.sets import anchor_rows, test_pairs, uses_anchor
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Finished, Workbench

N_BINS = 15  # of ECE and MCE, as in the dissertation
N_RESAMPLES = 500
JUDGED = ("ece", "mce", "nll", "brier")
RESAMPLED = ("ece", "mce", "nll")
ALL, REST = "all", "rest"


def judged_cell(base: dict[str, Any], pairs: str) -> Cell:
    """The cell that judges all methods fitted on a calibration set."""
    return judged.cell(data=base["data"], base=base, pairs=pairs)


def _needs(*, base: dict[str, Any], pairs: str, **_: Any) -> Iterable[Cell]:
    yield recommender(base)
    yield maps_cell(base, pairs)


@work(needs=_needs, judges=True, cost=2)
def judged(bench: Workbench, *, data: str, base: dict[str, Any], pairs: str) -> Tables:
    """Metrics of every map on all test pairs, and on those that no anchor holds; with values on resampled users."""
    split = bench.split(data, "preference", seed=base["seed"])
    uniform = test_pairs(split, bench.found(recommender(base)).model, data)
    rest = ~anchor_rows(len(uniform), base["seed"])
    parts = {REST: uniform.take(rest)} if uses_anchor(pairs) else {ALL: uniform, REST: uniform.take(rest)}
    rows = [
        {"judged_on": part, "method": method, "risk": risk} | _judgement(test, probability, split.train.n_users)
        for part, test in parts.items()
        for method, risk, probability in probabilities(bench.found(maps_cell(base, pairs)), test.scores)
    ]
    return {"judged": pl.DataFrame(rows)}


def probabilities(maps: Finished, scores: FloatArray) -> Iterator[tuple[str, str, FloatArray]]:
    """Method, risk and probabilities of every map; and one that ignores the scores."""
    for (method, risk), calibrator in maps_of(maps).items():
        yield method, risk, calibrator.probability(scores)
    yield CONSTANT, "", np.full(len(scores), maps.table("about")["constant"].item())


def _judgement(test: ScoredPairs, probability: FloatArray, n_users: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "mean_probability": float(probability.mean()), "largest_probability": float(probability.max()),
        "positive_share": float(test.labels.mean()), "n_pairs": len(test),
    }  # fmt: skip
    for name in JUDGED:
        value, resampled = by_users(name, test, probability, n_users)
        found[name] = value
        if name in RESAMPLED:
            found[f"{name}_resampled"] = resampled.astype(np.float32).tolist()
    return found


def by_users(name: str, test: ScoredPairs, probability: FloatArray, n_users: int) -> tuple[float, FloatArray]:
    """A metric, and its values when users are drawn with replacement; the same draws whatever is judged."""
    metric, pairs = METRICS[name], judge(test.labels, probability)
    cells = metric.cells(pairs, N_BINS)
    assert test.users is not None
    sums = cluster_sums(cells, None, test.users, n_users)
    drawn = (_draws(n_users) @ sums.reshape(n_users, -1)).reshape(N_RESAMPLES, *sums.shape[1:])
    return float(metric.finish(cell_sums(cells, None))), metric.finish(drawn)


@cache
def _draws(n_users: int) -> FloatArray:
    """How often each user is drawn; shape (N_RESAMPLES, n_users)."""
    rng = np.random.default_rng(0)
    return rng.multinomial(n_users, np.full(n_users, 1 / n_users), size=N_RESAMPLES).astype(np.float64)


@work(needs=_needs, judges=True, cost=1)
def predicted(bench: Workbench, *, data: str, base: dict[str, Any], pairs: str) -> Tables:
    """Score, label and the probabilities of every map for every test pair, those of an anchor left out."""
    split = bench.split(data, "preference", seed=base["seed"])
    test = test_pairs(split, bench.found(recommender(base)).model, data)
    if uses_anchor(pairs):
        test = test.take(~anchor_rows(len(test), base["seed"]))
    maps = bench.found(maps_cell(base, pairs))
    columns = {name_of(method, risk): p for method, risk, p in probabilities(maps, test.scores)}
    return {"pairs": pl.DataFrame({"user": test.users, "score": test.scores, "label": test.labels} | columns)}


def name_of(method: str, risk: str) -> str:
    """A method with its risk as people read it.

    Examples
    --------
    >>> name_of("platt", "naive"), name_of("isotonic", "")
    ('platt (naive)', 'isotonic')
    """
    return f"{method} ({risk})" if risk else method
