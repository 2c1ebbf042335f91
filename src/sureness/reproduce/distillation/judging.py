"""The judgement of what chapter 3 trained: test numbers of every model, and every user's for paired tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from sureness.reproduce.cells import Cell, Tables, work
from sureness.reproduce.distillation.works import (
    METRICS,
    ROLES,
    Settings,
    alone_cell,
    distilled,
    keeps_counts,
    learned,
    split_options,
)
from sureness.reproduce.workbench import Workbench


def models_needed(*, method: str, grid: list[Settings], seed: int, **about: Any) -> Iterable[Cell]:
    """The cells that hold the models of a method."""
    if method in ("alone", "svd"):
        for role in ROLES if method == "alone" else ROLES[:1]:
            yield alone_cell(role, seed, **about)
    else:
        yield distilled.cell(**about, method=method, grid=grid, seed=seed)


def models_of(bench: Workbench, *, method: str, grid: list[Settings], seed: int, **about: Any) -> dict[str, Any]:
    """The models that a method made, by their role."""
    from sureness.distillation.starts import truncated

    if method == "alone":
        return {role: bench.found(alone_cell(role, seed, **about)).model for role in ROLES}
    if method == "svd":
        teacher = bench.found(alone_cell("teacher", seed, **about)).model
        return {"student": truncated(teacher.source_, about["bases"]["student"][0]["n_factors"])}
    return learned(bench.found(distilled.cell(**about, method=method, grid=grid, seed=seed)))


@work(needs=models_needed, judges=True, cost=2)
def judged(
    bench: Workbench, *, data: str, start: str, model: str, bases: dict[str, Any], schedule: Settings, method: str,
    grid: list[Settings], seed: int,
) -> Tables:  # fmt: skip
    """The test numbers of the models a method made, and every user's for paired tests."""
    from sureness.data.interactions import union
    from sureness.evaluation.ranking import evaluate_ranking

    about: dict[str, Any] = {"data": data, "start": start, "model": model, "bases": bases, "schedule": schedule}
    split = bench.split(data, **split_options(data, keeps_counts(data, start)))
    seen = union([split.train, split.validation])
    found = {}
    for role, each in models_of(bench, method=method, grid=grid, seed=seed, **about).items():
        found[role] = evaluate_ranking(each, split.test, seen=seen, metrics=METRICS).per_user
    return judgement(found)


def judgement(per_user: Mapping[str, pl.DataFrame]) -> Tables:
    """Every user's numbers by role as the tables of a judged cell.

    Examples
    --------
    >>> judgement({"student": pl.DataFrame({"user_id": [1, 2], "hit@50": [1.0, 0.0]})})["quality"].rows()
    [('student', 'hit@50', 0.5)]
    """
    users = pl.concat([table.select(pl.lit(role).alias("role"), pl.all()) for role, table in per_user.items()])
    means = users.drop("user_id").group_by("role", maintain_order=True).mean()
    return {"quality": means.unpivot(index="role", variable_name="metric"), "users": users}
