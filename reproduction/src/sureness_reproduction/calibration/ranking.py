"""How well the five recommenders rank each user's uniformly exposed test items."""

from __future__ import annotations

from typing import Any

import polars as pl

from sureness.data import rated_above
from sureness.evaluation import evaluate_ranking, evaluate_within
from sureness_reproduction.calibration.grid import (
    DATA,
    MODELS,
    TEST,
    needs_recommender,
    opened,
    threshold_of,
    with_recipe,
)
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.own import is_own
from sureness_reproduction.study import QUICK_AND_FULL, Study
from sureness_reproduction.workbench import Workbench

METRICS = tuple(f"{metric}@{k}" for metric in ("ndcg", "recall") for k in (1, 3, 5))


@work(needs=needs_recommender, judges=True, cost=1)
def ranked(bench: Workbench, **parameters: Any) -> Tables:
    """NDCG and recall of every user with a positive among the test items; of a log of one's own, over all items."""
    split, source = opened(bench, **parameters)
    if is_own(parameters["data"]):
        quality = evaluate_ranking(source, split.test, seen=split.train, metrics=METRICS)
    else:
        relevant = rated_above(split.test, threshold_of(parameters["data"]))
        quality = evaluate_within(source, split.test, relevant, metrics=METRICS)
    return {"samples": long(quality.per_user)}


def long(per_user: pl.DataFrame, **keys: str) -> pl.DataFrame:
    """Every user's metrics as samples: keys, metric, unit, value."""
    table = per_user.rename({"user_id": "unit"}).unpivot(index="unit", variable_name="metric")
    return table.select(
        **{name: pl.lit(key) for name, key in keys.items()}, metric="metric", unit="unit", value="value"
    )


STUDIES = (
    Study(
        name="calibration-ranking", number="table-2.2", title="Ranking quality of the base models", measure=ranked,
        settings=with_recipe, published="calibration-ranking", rows=("model",),
        grid={"data": DATA, "model": MODELS, "test": TEST, "seed": QUICK_AND_FULL},
        note="Mean over seeds ± deviation / the published number. Test pairs that are also in the training log are "
        "left out, or kept as in the authors' public code.",
    ),
)  # fmt: skip
