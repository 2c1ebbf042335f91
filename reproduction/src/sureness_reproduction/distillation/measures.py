"""What is measured of two models: hits of the test items, counted in two ways, their ranks, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sureness.data import union
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.distillation.training import models_needed, models_of, split_of
from sureness_reproduction.types import IntArray
from sureness_reproduction.workbench import Workbench

METRICS = ("hit@50", "hit@100", "ndcg@50", "ndcg@100")
PUBLIC, MASKED = "as the public code counts", "seen items masked"
DIFFERENCE, BETTER = "average rank difference", "student ranks higher"
STAGES = {"alone": "before", "bd": "after"}
N_POINTS = 1_500  # of a scatter, from each model's ranking


@work(needs=models_needed, judges=True, cost=2)
def judged(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Every user's test numbers, all unseen items ranked."""
    from sureness.evaluation import evaluate_ranking

    split = split_of(bench, parameters["data"], parameters["start"])
    seen, parts = union([split.train, split.validation]), []
    for role, model in models_of(bench, **parameters).items():
        users = evaluate_ranking(model, split.test, seen=seen, metrics=METRICS).per_user.rename({"user_id": "unit"})
        keys = {"role": pl.lit(role), "method": pl.lit(methods[0])}
        parts.append(users.unpivot(METRICS, index="unit", variable_name="metric").select(**keys, **_REST))
    return {"samples": pl.concat(parts)}


_REST = {name: pl.col(name) for name in ("metric", "unit", "value")}


@work(needs=models_needed, judges=True, cost=5)
def counted(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Hits and NDCG of every test item: counted as in the public code, and with seen items masked."""
    from sureness.evaluation import held_out_ranks

    split, parts = split_of(bench, parameters["data"], parameters["start"]), []
    seen_score = 0.0 if parameters["model"] == "bpr" else -np.inf  # CDAE's are probabilities: 0 is below all others
    for role, model in models_of(bench, **parameters).items():
        public = held_out_ranks(model, split.test, seen=split.train, seen_score=seen_score)
        masked = held_out_ranks(model, split.test, seen=union([split.train, split.validation]))
        for counting, ranks in ((PUBLIC, public + 1), (MASKED, masked)):
            keys = {"role": pl.lit(role), "method": pl.lit(methods[0]), "counting": pl.lit(counting)}
            parts.append(at_ranks(ranks).select(**keys, **_REST))
    return {"samples": pl.concat(parts)}


def at_ranks(ranks: IntArray) -> pl.DataFrame:
    """H and N at 50 and 100 of every test item; the public code counts from rank 1 and hits below 50.

    Examples
    --------
    >>> at_ranks(np.array([1, 49, 50, 51])).filter(metric="hit@50")["value"].to_list()
    [1.0, 1.0, 1.0, 0.0]
    """
    hits = {f"hit@{k}": (ranks <= k).astype(float) for k in (50, 100)}
    gains = {f"ndcg@{k}": (ranks <= k) / np.log2(ranks + 1) for k in (50, 100)}
    return pl.DataFrame({"unit": np.arange(len(ranks)), **hits, **gains}).unpivot(index="unit", variable_name="metric")


@work(needs=models_needed, judges=True, cost=5)
def compared(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """The ranks of all test interactions by both models, and those of some items that either ranks high."""
    from sureness.evaluation import compare_ranks, rank_scatter

    both = models_of(bench, **parameters)
    split = split_of(bench, parameters["data"], parameters["start"])
    seen = union([split.train, split.validation])
    found = compare_ranks(both["teacher"], both["student"], split.test, seen=seen)
    scatter = rank_scatter(both["teacher"], both["student"], seen=seen, n_points=N_POINTS, seed=parameters["seed"])
    numbers = {
        DIFFERENCE: found.average_difference, BETTER: found.student_better, "equal": found.equal,
        "teacher's first items in the student's first tenth": scatter.known_to_other("teacher"),
        "student's in the teacher's": scatter.known_to_other("student"),
    }  # fmt: skip
    table = pl.DataFrame({"metric": list(numbers), "value": list(numbers.values())})
    stage = pl.lit(STAGES.get(methods[0], methods[0]))
    ranks = found.ranks.with_columns(n_items=pl.lit(found.n_items))
    return {"numbers": table.select("metric", "value", stage=stage), "ranks": ranks, "points": scatter.points}


@work(needs=models_needed, cost=20)
def sized(bench: Workbench, **parameters: Any) -> Tables:
    """How many million numbers each model has learned, and how many seconds the lists of all users take."""
    from sureness.evaluation import inference_table

    train = split_of(bench, parameters["data"], parameters["start"]).train
    sizes = inference_table(models_of(bench, **parameters), length=50, seen=train, repeats=2)
    found = sizes.select(role="model", parameters=pl.col("parameters") / 1e6, time="seconds")
    return {"numbers": found.unpivot(index="role", variable_name="metric")}
