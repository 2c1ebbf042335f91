"""What is measured in chapter 3: how two models rank, also as the public code counts, their ranks and their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sureness import metrics
from sureness.data import union
from sureness.sources import n_parameters
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.distillation.ranks import (
    compare_ranks,
    drawn_items,
    held_out_ranks,
    known_to_other,
    seconds_of_lists,
)
from sureness_reproduction.distillation.training import models_needed, models_of, split_of
from sureness_reproduction.tables import numbers, samples
from sureness_reproduction.workbench import Workbench

METRICS = ("hit@50", "hit@100", "ndcg@50", "ndcg@100")
PUBLIC, MASKED = "as the public code counts", "seen items masked"
DIFFERENCE, BETTER = "average rank difference", "student ranks higher"
STAGES = {"alone": "before", "bd": "after"}


@work(needs=models_needed, judges=True, cost=2)
def judged(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Every user's test numbers, all unseen items ranked; and hits on validation."""
    split, parts = split_of(bench, **parameters), []
    seen = union([split.train, split.validation])
    for role, model in models_of(bench, **parameters).items():
        for held_out, known, names, prefix in (
            (split.test, seen, METRICS, ""), (split.validation, split.train, METRICS[:1], "validation "),
        ):  # fmt: skip
            users = metrics.evaluate_ranking(model, held_out, seen=known, metrics=names).per_user
            found = {f"{prefix}{name}": users[name] for name in names}
            parts.append(samples(users["user_id"], {"role": role, "method": methods[0]}, found))
    return {"samples": pl.concat(parts)}


@work(needs=models_needed, judges=True, cost=5)
def counted(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """Hits and NDCG of every test item: counted as in the public code, and with seen items masked."""
    split, parts = split_of(bench, **parameters), []
    seen_score = 0.0 if parameters["model"] == "bpr" else -np.inf  # CDAE's are probabilities: 0 is below all others
    for role, model in models_of(bench, **parameters).items():
        public = held_out_ranks(model, split.test, split.train, seen_score)
        masked = held_out_ranks(model, split.test, union([split.train, split.validation]))
        for counting, ranks in ((PUBLIC, public + 1), (MASKED, masked)):
            keys = {"role": role, "method": methods[0], "counting": counting}
            parts.append(samples(np.arange(len(ranks)), keys, at_ranks(ranks)))
    return {"samples": pl.concat(parts)}


def at_ranks(ranks: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """H and N at 50 and 100 of every test item; the public code counts from rank 1 and hits below 50."""
    hits = {f"hit@{k}": ranks <= k for k in (50, 100)}
    return hits | {f"ndcg@{k}": (ranks <= k) / np.log2(ranks + 1) for k in (50, 100)}


@work(needs=models_needed, judges=True, cost=5)
def compared(bench: Workbench, *, methods: list[str], **parameters: Any) -> Tables:
    """The ranks of all test interactions by both models, and those of some items that either ranks high."""
    both, split = models_of(bench, **parameters), split_of(bench, **parameters)
    teacher, student, seen = both["teacher"], both["student"], union([split.train, split.validation])
    found = compare_ranks(teacher, student, split.test, seen)
    points = drawn_items(teacher, student, seen, 1_500, parameters["seed"])
    values = {
        DIFFERENCE: np.abs(found.difference).mean(), BETTER: np.mean(found.difference > 0),
        "equal": np.mean(found.difference == 0),
        "teacher's first items in the student's first tenth": known_to_other(points, "teacher", found.n_items),
        "student's in the teacher's": known_to_other(points, "student", found.n_items),
    }  # fmt: skip
    ranks = found.table.with_columns(n_items=pl.lit(found.n_items))
    stage = {"stage": STAGES.get(methods[0], methods[0])}
    return {"numbers": numbers(stage, values), "ranks": ranks, "points": points}


@work(needs=models_needed, cost=20)
def sized(bench: Workbench, **parameters: Any) -> Tables:
    """How many million numbers each model has learned, and how many seconds the lists of all users take."""
    models, train = models_of(bench, **parameters), split_of(bench, **parameters).train
    rows = [(role, (n_parameters(each) or 0) / 1e6, seconds_of_lists(each, train)) for role, each in models.items()]
    found = pl.DataFrame(rows, schema=["role", "parameters", "time"], orient="row")
    return {"numbers": found.unpivot(index="role", variable_name="metric")}
