"""AttnCut and MtCut: settings chosen and networks trained on validation lists, sizes for the lists of the test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from typing import Any

import polars as pl

from sureness.lists import Lists
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.list_size.runs import SETTINGS, UTILITIES, Opened, base, opened, ranked_lists, recipe_of
from sureness_reproduction.study import Scale
from sureness_reproduction.workbench import Workbench

CUTS: dict[str, dict[str, Any]] = SETTINGS["cut_methods"]
"""The kind of each learned method, and settings that are not searched."""


def cuts_of(data: str, scale: Scale) -> dict[str, Any]:
    """How they are trained, and the recommender whose lists their settings are chosen on."""
    chosen_on = {"data": data, "model": "bpr", "recipe": recipe_of(data, "bpr", "full")} if scale == "full" else {}
    return {**SETTINGS["cuts"][scale], "chosen_on": chosen_on}


def cut_cells(*, methods: list[str], cuts: dict[str, Any], **run: Any) -> dict[Any, Cell]:
    """The cells with the sizes of the learned methods among some, by utility and name."""
    found = {}
    for name, utility in product((name for name in methods if name in CUTS), UTILITIES):
        trained = cuts | {"kind": CUTS[name]["kind"], "schedule": cuts["schedule"] | CUTS[name].get("fixed", {})}
        found[utility, name] = cut_sizes.cell(utility=utility, **run, **trained)
    return found


def _features(made: Opened, settings: Mapping[str, Any]) -> Any:
    """The embeddings of the items, where a method takes them."""
    factors: Any = getattr(made.source, "source_", made.source)  # of a recommender of the package
    return factors.item_factors if "features" in settings else None


def _past_lists(made: Opened, max_size: int, settings: Mapping[str, Any]) -> Lists:
    """The lists before the validation part, whose items are the hits."""
    train, validation, features = made.split.train, made.split.validation, _features(made, settings)
    return ranked_lists(made.source, max_size, seen=train, labels=validation, item_features=features)


@work(needs=base, cost=120)
def cut_chosen(
    bench: Workbench, *, utility: str, kind: str, max_size: int, trials: int, schedule: dict[str, Any], **run: Any
) -> Tables:
    """Try settings of the dissertation's grid on validation lists of held-out users; the best comes first."""
    from sureness_reproduction.truncation import tune_cut

    made = opened(bench, **run)
    lists = _past_lists(made, max_size, schedule)
    fixed = schedule | {"epochs": min(16, schedule["epochs"]), "max_size": max_size}
    return {"trials": tune_cut(kind, lists, utility, trials, seed=0, halving=2, **fixed).trials}


def _chosen(*, chosen_on: dict[str, Any], **cut: Any) -> list[Cell]:
    """The search for settings, where there is one."""
    about = {name: cut[name] for name in ("utility", "kind", "max_size", "trials", "schedule")}
    return [cut_chosen.cell(**chosen_on, seed=0, **about)] if cut["trials"] > 1 else []


@work(needs=lambda **cut: [*base(**cut), *_chosen(**cut)], cost=30)
def cut_sizes(bench: Workbench, **cut: Any) -> Tables:
    """Train on the validation lists; the sizes of the lists that the test will judge come from their scores alone."""
    from sureness_reproduction.truncation import cut_type

    settings, max_size, made = dict(cut["schedule"]), cut["max_size"], opened(bench, **cut)
    for choice in _chosen(**cut):
        settings |= json.loads(bench.found(choice).table("trials")["settings"][0])
    policy = cut_type(cut["kind"])(cut["utility"], max_size=max_size, seed=cut["seed"], **settings)
    policy.fit(_past_lists(made, max_size, settings))
    lists = ranked_lists(made.source, max_size, seen=made.seen, item_features=_features(made, settings))
    return {"sizes": pl.DataFrame({"user": lists.users, "size": policy.sizes(lists)})}
