"""What the calibration is worth: list sizes with no map, one map for all, and a map for each user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sureness.list_size import ExpectedUtility, compare_policies
from sureness_reproduction.cells import Tables, work
from sureness_reproduction.list_size.perk import (
    GLOBAL,
    OURS,
    PUBLISHED,
    UNCALIBRATED,
    calibration_of,
    form_of,
    recommender_of,
)
from sureness_reproduction.list_size.runs import MAX_SIZE, SEEDS, SMALL, UTILITIES, needs_base, opened, with_recipe
from sureness_reproduction.study import Claim, Scale, Study
from sureness_reproduction.workbench import Workbench

CALIBRATIONS = {
    UNCALIBRATED: "uncalibrated", GLOBAL: "global", PUBLISHED: "user-wise", OURS: "user-wise, shrunk line",
}  # fmt: skip


@work(needs=needs_base, judges=True, cost=20)
def by_calibration(bench: Workbench, *, methods: list[str], max_size: int, **run: Any) -> Tables:
    """Calibration errors over all candidates and the longest lists, and the utility of every user."""
    made = opened(bench, **run)
    assert made.test is not None
    numbers, samples = [], []
    for method in methods:
        name = CALIBRATIONS.get(method, method)
        form = form_of(method)
        recommender = recommender_of(made, form, max_size)
        lists = recommender.lists(labels=made.test)
        errors = calibration_of(recommender, made.test, lists)
        for utility in UTILITIES:
            policy = ExpectedUtility(utility, max_size=max_size, method=form.method)
            found = compare_policies({method: policy}, lists, utility)
            key = {"calibration": name, "metric": utility}
            samples.append(pl.DataFrame(key | {"unit": found.users, "value": found.values[method]}))
            errors[utility] = float(found.values[method].mean())
        numbers += [{"calibration": name, "metric": metric, "value": value} for metric, value in errors.items()]
    return {"numbers": pl.DataFrame(numbers), "samples": pl.concat(samples)}


def settings(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    """The recipe of the recommender; at quick scale NeuMF and BPR alone."""
    recipe = with_recipe(scale, point)
    return None if recipe is None else recipe | {"max_size": MAX_SIZE}


_MODELS: dict[Scale, Sequence[str]] = {"quick": ("neumf", "bpr"), "full": ("neumf", "bpr", "lightgcn", "als")}

STUDIES = (
    Study(
        name="list-size-calibration", number="table-4.2", title="What calibration is worth for list sizes",
        measure=by_calibration, settings=settings, published="list-size-calibration", rows=("calibration",), digits=5,
        grid={"data": {"quick": ("ml-100k",), "full": SMALL["full"]}, "model": _MODELS,
              "methods": [list(CALIBRATIONS)], "seed": SEEDS},
        claims=[
            Claim(f"a map for each user beats {text}", utility, {"calibration": "user-wise"}, {"calibration": other})
            for text, other in (("one map for all", "global"), ("none", "uncalibrated"))
            for utility in UTILITIES
        ],
        note="ECE with 15 bins over all candidates, as in the dissertation, and over each user's first 50, of which "
        "lists are made. Uncalibrated: the sigmoid of the score. The dissertation has NCF only.",
    ),
)  # fmt: skip
