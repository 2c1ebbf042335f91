"""ECE of the proposed methods with the propensities that the dissertation compares."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sureness.data import Interactions
from sureness.propensity import (
    GivenPropensity,
    LogisticPropensity,
    NaiveBayesPropensity,
    PopularityPropensity,
    RandomPropensity,
    UniformPropensity,
)
from sureness_reproduction.calibration import sets
from sureness_reproduction.calibration.errors import N_RESAMPLES, by_users, exploded
from sureness_reproduction.calibration.grid import needs_recommender, opened, test_pairs, threshold_of, with_recipe
from sureness_reproduction.calibration.maps import PROPOSED, fit
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.study import QUICK_AND_FULL, Claim, Study
from sureness_reproduction.types import FloatArray
from sureness_reproduction.workbench import Workbench, load_dataset

_SETS = (sets.AS_LOGGED, sets.CANDIDATES, sets.WITH_BASE_RATE)
_CLIP = 0.1  # as in the dissertation, where a set takes the targets as they are


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


ESTIMATORS: dict[str, Callable[[_Known], Any]] = {
    "random": lambda known: RandomPropensity(seed=known.seed).fit(items=np.arange(known.log.n_items)),
    "uniform": lambda known: UniformPropensity().fit(),
    "popularity": lambda known: PopularityPropensity().fit(items=known.train.item_rows),
    "naive Bayes": _naive_bayes,
    "logistic regression": _logistic,
    "published": lambda known: GivenPropensity(known.published),
}


@work(needs=needs_recommender, judges=True, cost=3)
def with_propensities(bench: Workbench, **parameters: Any) -> Tables:
    """Gaussian and Gamma with every propensity on every calibration set, judged without the anchor.

    Naive Bayes needs uniformly exposed ratings; it gets those of the anchor.
    """
    data, seed = parameters["data"], parameters["seed"]
    split, source = opened(bench, **parameters)
    uniform, log = test_pairs(split, source, data), bench.training_log(data)
    chosen = sets.anchor_rows(len(uniform), seed)
    anchor, test = uniform.take(chosen), uniform.take(~chosen)
    extras = load_dataset(data, bench.shelf.place(data)).extras
    ratings = np.asarray(split.test.ratings)[chosen]
    known = _Known(split.train, split.validation, log, ratings, extras["propensities"], seed)
    numbers, samples = [], []
    for (name, estimator), pairs in product(ESTIMATORS.items(), _SETS):
        omega = _Clipped(estimator(known)) if pairs == sets.AS_LOGGED else estimator(known)
        built = sets.set_of(pairs, source, split, seed=seed, log=log, threshold=threshold_of(data), anchor=anchor,
                            propensity=omega)  # fmt: skip
        for method in PROPOSED:
            calibrator = fit(built, method, "unbiased", data)[0]
            probability = None if calibrator is None else calibrator.probability(test.scores)
            value, drawn = by_users("ece", test, probability, split.train.n_users)
            key = {"estimator": name, "pairs": pairs, "method": method, "metric": "ece"}
            numbers.append(key | {"value": value})
            samples += [] if drawn is None else [key | {"unit": range(N_RESAMPLES), "value": drawn}]
    table = pl.DataFrame(numbers, infer_schema_length=None, schema_overrides={"value": pl.Float64})
    return {"numbers": table, "samples": exploded(samples)}


STUDIES = (
    Study(
        name="propensities", number="figure-2.4", title="ECE with various propensities, BPR", samples="draws",
        measure=with_propensities, settings=with_recipe, rows=("estimator", "method"), columns=("pairs",),
        grid={"data": ["coat"], "model": ["bpr"], "seed": QUICK_AND_FULL},
        claims=[
            Claim("popularity is as good as other estimates", "ece", {"estimator": "popularity", "method": "gaussian"},
                  {"estimator": other, "method": "gaussian"}, "-", ("data", "pairs"))
            for other in ("random", "naive Bayes", "logistic regression")
        ],
        note="With the unbiased risk, judged on test pairs outside of the anchor. Uniform is the naive risk; published "
        "are the propensities that come with Coat. The dissertation draws this figure without numbers.",
    ),
)  # fmt: skip
