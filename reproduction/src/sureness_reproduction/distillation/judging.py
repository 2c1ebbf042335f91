"""The judgement of what chapter 3 trained: test numbers of every model, and every user's for paired tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import polars as pl

from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.distillation.works import (
    METRICS,
    ROLES,
    Settings,
    Told,
    alone_cell,
    distilled,
    learned,
    split_of,
)
from sureness_reproduction.workbench import Workbench


def models_needed(*, grid: list[Settings], seed: int, **about: Unpack[Told]) -> Iterable[Cell]:
    """The cells that hold the models of a method."""
    method = about["method"]
    if method in ("alone", "svd"):
        for role in ROLES if method == "alone" else ROLES[:1]:
            yield alone_cell(role, seed, **about)
    else:
        yield distilled.cell(**about, grid=grid, seed=seed)


def models_of(bench: Workbench, *, grid: list[Settings], seed: int, **about: Unpack[Told]) -> dict[str, Any]:
    """The models that a method made, by their role."""
    from sureness.distillation import truncated

    method = about["method"]
    if method == "alone":
        return {role: bench.found(alone_cell(role, seed, **about)).model for role in ROLES}
    if method == "svd":
        teacher = bench.found(alone_cell("teacher", seed, **about)).model
        return {"student": truncated(teacher.source_, about["bases"]["student"][0]["n_factors"])}
    return learned(bench.found(distilled.cell(**about, grid=grid, seed=seed)))


@work(needs=models_needed, judges=True, cost=2)
def judged(bench: Workbench, *, grid: list[Settings], seed: int, **about: Unpack[Told]) -> Tables:
    """The test numbers of the models a method made, and every user's for paired tests."""
    from sureness.data import union
    from sureness.evaluation import evaluate_ranking

    split = split_of(bench, about["data"], about["start"])
    seen = union([split.train, split.validation])
    found = {}
    for role, each in models_of(bench, grid=grid, seed=seed, **about).items():
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
