"""How two models rank the same items, and what each costs."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from sureness_reproduction.cells import Tables, work
from sureness_reproduction.distillation.judging import models_needed, models_of
from sureness_reproduction.distillation.works import ROLES, Settings, Told, split_of
from sureness_reproduction.workbench import Workbench

N_POINTS = 1_500  # of a scatter, from each model's ranking


@work(needs=models_needed, judges=True, cost=5)
def compared(bench: Workbench, *, grid: list[Settings], seed: int, **about: Unpack[Told]) -> Tables:
    """The ranks of all test interactions by both models, and those of some items that either ranks high."""
    from sureness.data import union
    from sureness.evaluation import compare_ranks, rank_scatter

    both = models_of(bench, grid=grid, seed=seed, **about)
    split = split_of(bench, about["data"], about["start"])
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
def measured(bench: Workbench, *, grid: list[Settings], seed: int, **about: Unpack[Told]) -> Tables:
    """How many numbers each model has learned, and how long it takes to make the lists of all users."""
    from sureness.evaluation import inference_table

    both = models_of(bench, grid=grid, seed=seed, **about)
    split = split_of(bench, about["data"], about["start"])
    sizes = inference_table({role: both[role] for role in ROLES}, length=50, seen=split.train, repeats=2)
    return {"sizes": sizes.rename({"model": "role"})}
