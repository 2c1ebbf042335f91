"""ECE of the proposed methods with the propensities that the dissertation compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sureness.calibration import CalibrationSet
from sureness.data import Interactions, ScoredPairs
from sureness.propensity import (
    GivenPropensity,
    LogisticPropensity,
    NaiveBayesPropensity,
    PopularityPropensity,
    RandomPropensity,
    UniformPropensity,
)
from sureness_reproduction.calibration.fitting import PROPOSED, fit
from sureness_reproduction.calibration.grid import base_of, not_run, recommender
from sureness_reproduction.calibration.judging import by_users
from sureness_reproduction.calibration.sets import (
    AS_LOGGED,
    CANDIDATES,
    WITH_BASE_RATE,
    anchor_rows,
    dataset_of,
    set_of,
    test_pairs,
    threshold_of,
    title_of,
    training_log,
)
from sureness_reproduction.calibration.summing import difference, mean_of
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.comparing import spread
from sureness_reproduction.experiment import Experiment, Finder, Plan
from sureness_reproduction.outcome import Outcome, ResultTable
from sureness_reproduction.published import TITLES
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Workbench

ESTIMATORS = ("random", "uniform", "popularity", "naive Bayes", "logistic regression", "published")
_SETS = (AS_LOGGED, CANDIDATES, WITH_BASE_RATE)
_DATA = "coat"
_CLIP = 0.1  # as in the dissertation, where a set takes the targets as they are


def _needs(*, base: dict[str, Any], **_: Any) -> Iterable[Cell]:
    yield recommender(base)


@work(needs=_needs, judges=True, cost=3)
def compared(bench: Workbench, *, data: str, base: dict[str, Any]) -> Tables:
    """Gaussian and Gamma with every propensity on every calibration set, judged without the anchor.

    Naive Bayes needs uniformly exposed ratings; it gets those of the anchor.
    """
    seed = base["seed"]
    split, source = bench.split(data, "preference", seed=seed), bench.found(recommender(base)).model
    uniform, log = test_pairs(split, source, data), training_log(bench, data)
    chosen = anchor_rows(len(uniform), seed)
    anchor, test = uniform.take(chosen), uniform.take(~chosen)
    known = _Known(split.train, split.validation, log, np.asarray(split.test.ratings)[chosen],
                   dataset_of(bench, data).extras["propensities"], seed)  # fmt: skip
    rows = []
    for name, pairs in product(ESTIMATORS, _SETS):
        omega = _Clipped(_MAKERS[name](known)) if pairs == AS_LOGGED else _MAKERS[name](known)
        built = set_of(pairs, source, split, seed=seed, log=log, threshold=threshold_of(data), anchor=anchor,
                       propensity=omega)  # fmt: skip
        for method in PROPOSED:
            row = {"estimator": name, "pairs": pairs, "method": method, "seed": seed}
            rows.append(row | _judged(built, method, data, test, split.train.n_users))
    kinds: dict[str, Any] = {"problem": pl.String, "ece": pl.Float64, "ece_resampled": pl.List(pl.Float32)}
    return {"compared": pl.DataFrame(rows, infer_schema_length=None, schema_overrides=kinds)}


def _judged(built: CalibrationSet, method: str, data: str, test: ScoredPairs, n_users: int) -> dict[str, Any]:
    calibrator, problem = fit(built, method, "unbiased", data)
    if calibrator is None:
        return {"problem": problem, "ece": None, "ece_resampled": None}
    value, drawn = by_users("ece", test, calibrator.probability(test.scores), n_users)
    return {"problem": None, "ece": value, "ece_resampled": drawn.astype(np.float32).tolist()}


# --- the estimators, asked by row and column -------------------------------------------------------------------------


class _Known(NamedTuple):
    """What propensities can be estimated from."""

    train: Interactions  # positives
    held_out: Interactions
    log: Interactions  # all ratings of the training part
    uniform_ratings: FloatArray  # of the anchor
    published: FloatArray  # (n_users, n_items)
    seed: int


class _Clipped:
    """Propensities of at least 0.1, as in the dissertation; how they are meant stays as it is."""

    def __init__(self, model: Any) -> None:
        self.model, self.relative = model, getattr(model, "relative", False)

    def propensity(self, users: Any, items: Any) -> FloatArray:
        return np.asarray(np.maximum(self.model.propensity(users, items), _CLIP))


def _naive_bayes(known: _Known) -> GivenPropensity:
    """The chance of a rating, for the held-out positives whose rating is known."""
    n_pairs = known.log.n_users * known.log.n_items
    model = NaiveBayesPropensity().fit(np.asarray(known.log.ratings), known.uniform_ratings, n_pairs=n_pairs)
    matrix = np.ones(known.log.shape)
    matrix[known.held_out.user_rows, known.held_out.item_rows] = model.of_ratings(np.asarray(known.held_out.ratings))
    return GivenPropensity(matrix)


def _logistic(known: _Known) -> LogisticPropensity:
    """Which pairs are in the log, from what users and items are like."""
    users, items = known.log.user_features, known.log.item_features
    assert users is not None
    assert items is not None
    return LogisticPropensity(seed=known.seed).fit(
        known.log.user_rows, known.log.item_rows, user_features=users.drop("user_id").to_numpy(),
        item_features=items.drop("item_id").to_numpy(),
    )  # fmt: skip


_MAKERS: dict[str, Callable[[_Known], Any]] = {
    "random": lambda known: RandomPropensity(seed=known.seed).fit(items=np.arange(known.log.n_items)),
    "uniform": lambda known: UniformPropensity().fit(),
    "popularity": lambda known: PopularityPropensity().fit(items=known.train.item_rows),
    "naive Bayes": _naive_bayes,
    "logistic regression": _logistic,
    "published": lambda known: GivenPropensity(known.published),
}


# --- the experiment --------------------------------------------------------------------------------------------------


def _bases(plan: Plan) -> list[dict[str, Any]]:
    return [base_of(data, "bpr", seed, plan.scale) for data in plan.data for seed in plan.seeds]


def _cells(plan: Plan) -> Sequence[Cell]:
    return [compared.cell(data=base["data"], base=base) for base in _bases(plan)]


def _outcome(plan: Plan, find: Finder) -> Outcome:
    if not plan.data:
        return Outcome(notes=not_run(plan))
    rows = pl.concat(find(cell).table("compared") for cell in _cells(plan))
    table = pl.DataFrame([
        {"propensity": name, "method": method} | {title_of(pairs): _shown(rows, name, method, pairs) for pairs in _SETS}
        for name in ESTIMATORS
        for method in PROPOSED
    ])  # fmt: skip
    tidy = rows.drop("ece_resampled")
    shown = ResultTable("propensities", "ECE with every propensity, BPR on Coat", table, _CAPTION, tidy)
    return Outcome([shown], findings=[_finding(rows, pairs) for pairs in _SETS], notes=_NOTES)


def _shown(rows: pl.DataFrame, name: str, method: str, pairs: str) -> str:
    part = rows.filter(estimator=name, method=method, pairs=pairs)
    values = part["ece"].drop_nulls()
    if not len(values):
        return f"- ({part['problem'].drop_nulls()[0]})"
    lacking = part.height - len(values)
    return spread(values) + (f" ({lacking} of {part.height} seeds have no minimum)" if lacking else "")


def _finding(rows: pl.DataFrame, pairs: str) -> str:
    """Popularity against every other estimator, for the Gaussian."""
    part = rows.filter(pairs=pairs, method="gaussian").drop_nulls("ece").with_columns(
        method=pl.col("estimator"), risk=pl.lit("")
    )  # fmt: skip
    there = part["estimator"].unique(maintain_order=True).to_list()
    if "popularity" not in there:
        return f"{TITLES[_DATA]}, {title_of(pairs)}: with popularity the risk has no minimum."
    told = []
    for name in (name for name in there if name != "popularity"):
        apart = difference(part, ("popularity", ""), (name, ""))
        order = ("lower" if apart.value < 0 else "higher") + (" beyond chance" if apart.is_told else ", within chance")
        told.append(f"{name} {mean_of(part.filter(estimator=name), 'ece'):.4f} (popularity is {order})")
    lacking = [name for name in ESTIMATORS if name not in there]
    without = f"; {', '.join(lacking)}: no minimum" if lacking else ""
    mean = mean_of(part.filter(estimator="popularity"), "ece")
    return (
        f"{TITLES[_DATA]}, {title_of(pairs)}: Gaussian with popularity has an ECE of {mean:.4f}, with "
        f"{', '.join(told)}{without}."
    )


_CAPTION = (
    "Mean ± deviation over seeds, with the unbiased risk; judged on the test pairs that are not among the 1,000 of the "
    "anchor, nor in training. uniform is the naive risk. '-' with the reason: the risk has no minimum on any seed."
)
_NOTES = (
    "The dissertation draws this figure without printing its numbers, so there is none to stand beside ours; it finds "
    "popularity comparable with naive Bayes and logistic regression.",
    "Naive Bayes learns from the ratings of the anchor, which are left out of the test (the dissertation uses the test "
    "itself); logistic regression learns from the features which pairs are in the training log; published are the "
    "propensities that come with Coat. With a fixed number of negatives all are at least 0.1, as in the dissertation.",
)

EXPERIMENTS = (
    Experiment(
        name="propensities", chapter=2, title="ECE with various propensity estimators",
        shows="the figure of propensity estimation (BPR on Coat)", data={"quick": (_DATA,), "full": (_DATA,)},
        cells=_cells, outcome=_outcome,
    ),
)  # fmt: skip
