"""What list-size methods were worth to each user of the test, and how well their probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from sureness.list_size import ListSizePolicy, compare_policies
from sureness.workflows import PERSONAL
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.list_size.cutting import KINDS, GivenSizes, cut_sizes, ranked
from sureness_reproduction.list_size.policy_study import UTILITIES, VARIANTS, calibration_of, recommender_of, study
from sureness_reproduction.list_size.runs import Recipe, needs_base, opened
from sureness_reproduction.workbench import Workbench

PUBLISHED, GLOBAL, UNCALIBRATED = (variant.name for variant in VARIANTS[1:])
_BY_NAME = {variant.name: variant for variant in VARIANTS}


@work(needs=needs_base, judges=True, cost=15)
def utilities_judged(
    bench: Workbench, *, data: str, model: str, recipe: Recipe, seed: int, variant: str, max_size: int
) -> Tables:
    """The utility and size of every user's list by one form of PerK; with the shrunk line also by plain ones."""
    run = opened(bench, data, model, recipe, seed)
    values, _ = study(run, max_size=max_size, variants=[_BY_NAME[variant]], with_errors=False)
    return {"values": values if variant == PERSONAL else values.filter(policy=variant)}


@work(needs=needs_base, judges=True, cost=15)
def errors_judged(
    bench: Workbench, *, data: str, model: str, recipe: Recipe, seed: int, variant: str, max_size: int
) -> Tables:
    """Calibration errors over all candidates, and over the longest lists."""
    run, chosen = opened(bench, data, model, recipe, seed), _BY_NAME[variant]
    assert run.train is not None
    assert run.validation is not None
    assert run.test is not None
    recommender = recommender_of(run, chosen, max_size)
    found = calibration_of(recommender, run.test, recommender.lists(labels=run.test))
    return {"errors": pl.DataFrame([{"variant": variant, **found}])}


def _cuts_of(*, cuts: dict[str, Any], **parameters: Any) -> dict[tuple[str, str], Cell]:
    return {
        (utility, kind): cut_sizes.cell(utility=utility, kind=kind, **parameters, **cuts)
        for utility in UTILITIES for kind in KINDS
    }  # fmt: skip


def _needs_cuts(**parameters: Any) -> Iterable[Cell]:
    yield from needs_base(**parameters)
    yield from _cuts_of(**parameters).values()


@work(needs=_needs_cuts, judges=True, cost=3)
def cuts_judged(
    bench: Workbench, *, data: str, model: str, recipe: Recipe, seed: int, max_size: int, cuts: dict[str, Any]
) -> Tables:
    """The same for AttnCut and MtCut, whose sizes were chosen without the test."""
    run = opened(bench, data, model, recipe, seed)
    lists = ranked(run.source, run.seen(), max_size, run.test)
    cells = _cuts_of(data=data, model=model, recipe=recipe, seed=seed, max_size=max_size, cuts=cuts)
    rows = []
    for utility in UTILITIES:
        policies: dict[str, ListSizePolicy] = {
            label: GivenSizes(bench.found(cells[utility, kind]).table("sizes"), max_size)
            for kind, label in KINDS.items()
        }
        found = compare_policies(policies, lists, utility)
        rows += [
            pl.DataFrame({"user": found.users, "value": found.values[name], "size": found.sizes[name]}).select(
                utility=pl.lit(utility), policy=pl.lit(name), user="user", value="value", size="size"
            )
            for name in policies
        ]
    return {"values": pl.concat(rows)}


def study_parameters(data: str, model: str, recipe: Recipe, seed: int, max_size: int) -> dict[str, Any]:
    """What all studies of a trained recommender are called with."""
    return {"data": data, "model": model, "recipe": dict(recipe), "seed": seed, "max_size": max_size}
