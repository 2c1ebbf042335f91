"""How two models rank the same items, and what each costs."""

from __future__ import annotations

from typing import Any

import polars as pl

from sureness.reproduce.cells import Tables, work
from sureness.reproduce.distillation.judging import models_needed, models_of
from sureness.reproduce.distillation.works import ROLES, Settings, keeps_counts, split_options
from sureness.reproduce.workbench import Workbench

N_POINTS = 1_500  # of a scatter, from each model's ranking


@work(needs=models_needed, judges=True, cost=5)
def compared(
    bench: Workbench, *, data: str, start: str, model: str, bases: dict[str, Any], schedule: Settings, method: str,
    grid: list[Settings], seed: int,
) -> Tables:  # fmt: skip
    """The ranks of all test interactions by both models, and those of some items that either ranks high."""
    from sureness.data.interactions import union
    from sureness.evaluation.rank_comparison import compare_ranks, rank_scatter

    about: dict[str, Any] = {"data": data, "start": start, "model": model, "bases": bases, "schedule": schedule}
    both = models_of(bench, method=method, grid=grid, seed=seed, **about)
    split = bench.split(data, **split_options(data, keeps_counts(data, start)))
    seen = union([split.train, split.validation])
    found = compare_ranks(both["teacher"], both["student"], split.test, seen=seen)
    scatter = rank_scatter(both["teacher"], both["student"], seen=seen, n_points=N_POINTS, seed=seed)
    summary = {
        "n_items": [found.n_items], "student_better": [found.student_better], "equal": [found.equal],
        "average_difference": [found.average_difference],
        "known_to_student": [scatter.known_to_other("teacher")],
        "known_to_teacher": [scatter.known_to_other("student")],
    }  # fmt: skip
    return {"ranks": found.ranks, "points": scatter.points, "summary": pl.DataFrame(summary)}


@work(needs=models_needed, cost=20)
def measured(
    bench: Workbench, *, data: str, start: str, model: str, bases: dict[str, Any], schedule: Settings, method: str,
    grid: list[Settings], seed: int,
) -> Tables:  # fmt: skip
    """How many numbers each model has learned, and how long it takes to make the lists of all users."""
    from sureness.evaluation.inference import inference_table

    about: dict[str, Any] = {"data": data, "start": start, "model": model, "bases": bases, "schedule": schedule}
    both = models_of(bench, method=method, grid=grid, seed=seed, **about)
    split = bench.split(data, **split_options(data, keeps_counts(data, start)))
    sizes = inference_table({role: both[role] for role in ROLES}, length=50, seen=split.train, repeats=2)
    return {"sizes": sizes.rename({"model": "role"})}
