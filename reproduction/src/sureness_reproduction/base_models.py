"""The recommenders under the experiments: settings chosen on validation, then trained for every seed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import Any

import polars as pl

from sureness_reproduction.cells import Cell, Tables, Work, work
from sureness_reproduction.workbench import Workbench

LEAST = {"citeulike-a": 19}
"""Fewest interactions of a user in chapter 4 where it is not 20: 19 gives the published size of CiteULike."""


def split_options(data: str, protocol: str) -> dict[str, Any]:
    """How a data set is prepared under a protocol of the dissertation.

    Examples
    --------
    >>> split_options("ml-100k", "ratio")
    {'per_user': 20, 'core': 1, 'positive_above': None}
    """
    if protocol == "ratio":
        return {"per_user": LEAST.get(data, 20), "core": 1, "positive_above": None}
    return {}


def search_before(search: Work, *, trials: int, seed: int, **recipe: Any) -> Iterable[Cell]:
    """The search for settings that a training needs: none with one trial; all seeds share one."""
    if trials > 1:
        yield search.cell(trials=trials, **recipe)


def chosen_settings(
    bench: Workbench, search: Work, *, fixed: dict[str, Any], start: dict[str, Any], **recipe: Any
) -> dict[str, Any]:
    """The best settings of the search; with one trial, the start is taken as it is."""
    for cell in search_before(search, fixed=fixed, start=start, **recipe):
        return dict(json.loads(bench.found(cell).table("trials")["settings"][0]))
    return fixed | start


@work(cost=60)
def tuned(
    bench: Workbench, *, data: str, protocol: str, model: str, trials: int, fixed: dict[str, Any], start: dict[str, Any]
) -> Tables:
    """Try settings on the validation part of the first split; the best comes first."""
    from sureness.models import tune

    split = bench.split(data, protocol, seed=0, **split_options(data, protocol))
    found = tune(model, split, trials, start=start, **fixed)
    return {"trials": found.trials}


@work(needs=partial(search_before, tuned), cost=15)
def trained(bench: Workbench, *, data: str, protocol: str, model: str, seed: int, **recipe: Any) -> Tables:
    """Train with the chosen settings on the split of a seed; `recipe` is trials, fixed and start, as for `tuned`."""
    from sureness.models import make_recommender

    settings = chosen_settings(bench, tuned, data=data, protocol=protocol, model=model, seed=seed, **recipe)
    split = bench.split(data, protocol, seed=seed, **split_options(data, protocol))
    fitted = make_recommender(model, **(settings | {"seed": seed})).fit(split.train, split.validation)
    bench.save(fitted)
    chosen = json.dumps({name: value for name, value in settings.items() if name != "seed"})
    about = {"settings": [chosen], "validation": [fitted.best_metric_], "epoch": [fitted.best_epoch_]}
    return {"about": pl.DataFrame(about)}
