"""The recommenders of chapter 4: where they are studied, how they are trained, and a trained one with its split."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sureness.data import Interactions, Split, union
from sureness.lists import Lists
from sureness.models import recommended
from sureness.numerics import members
from sureness.sources import ScoreSource, fitted_to, id_maps, top_blocks
from sureness_reproduction.base_models import ALS, ALS_GRID, als_is_here, in_memory, needs_recommender, split_options
from sureness_reproduction.declarations import read
from sureness_reproduction.own import is_own
from sureness_reproduction.study import Scale
from sureness_reproduction.tables import samples
from sureness_reproduction.workbench import Workbench

MAX_SIZE = 50
UTILITIES = ("ndcg", "pdcg", "f1", "tp")
LARGE = "amazon-book-kgat"  # lists of so many users would take AttnCut and MtCut hours
SETTINGS = read("list_size")["settings"]
_DENSE = 250_000_000  # pairs whose scores are kept where each costs a pass through a network


def recipe_of(data: str, model: str, scale: Scale) -> dict[str, Any]:
    """How a recommender is trained: the settings known to be good, or the best of a few on validation."""
    if is_own(model):
        return {"trials": 1, "fixed": {}, "start": {}}
    if model == ALS:
        trials = len(ALS_GRID) if scale == "full" else 1
        return {"trials": trials, "fixed": SETTINGS["als"][scale], "start": ALS_GRID[3]}
    if scale == "quick":
        return {"trials": 1, "fixed": SETTINGS["quick"][model], "start": {}}
    known = recommended(data, model)
    return {"trials": 1 if known else 3, "fixed": {}, "start": known}


def with_recipe(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any] | None:
    """How the recommender of a point is trained; ALS is left out where implicit is not installed."""
    if point["model"] == ALS and not als_is_here():
        return None
    return {"recipe": recipe_of(point["data"], point["model"], scale)}


def one_epoch(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any]:
    """The usual recipe with one epoch, where what is measured does not depend on more."""
    recipe = recipe_of(point["data"], point["model"], scale)
    return {"recipe": {**recipe, "trials": 1, "start": {**recipe["start"], "epochs": 1}}}


def preparation(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any]:
    """How the data of a point are prepared."""
    return {"options": {"protocol": "ratio", **split_options(point["data"], "ratio")}}


base = partial(needs_recommender, "ratio")


def split_of(bench: Workbench, *, data: str, seed: int, **_: Any) -> Split:
    """60/20/20 of every user with enough interactions; all interactions count, as in the dissertation."""
    return bench.split(data, "ratio", seed=seed, **split_options(data, "ratio"))


class Opened(NamedTuple):
    """A trained recommender with its split, whose test part is sealed for work that does not judge."""

    source: ScoreSource
    split: Split

    @property
    def seen(self) -> Interactions:
        """What is not recommended again in the test."""
        return union([self.split.train, self.split.validation])


def opened(bench: Workbench, **run: Any) -> Opened:
    """The recommender of a cell, and its split; small matrices of costly scores are kept, to be looked at again."""
    source = bench.found(base(**run)[0]).source
    if run["model"] == "neumf" and source.n_users * source.n_items <= _DENSE:
        source = in_memory(source, *id_maps(source))
    return Opened(source, split_of(bench, **run))


def judged(lists: Lists, keys: Mapping[str, Any], values: Mapping[str, Any]) -> pl.DataFrame:
    """What the users with a relevant item got, see `samples`."""
    rows = np.asarray(lists.n_relevant) > 0
    return samples(lists.users[rows], keys, {name: np.asarray(some)[rows] for name, some in values.items()})


def ranked_lists(
    source: ScoreSource,
    max_size: int,
    *,
    seen: Interactions,
    labels: Interactions | None = None,
    item_features: NDArray[Any] | None = None,
) -> Lists:
    """The best unseen items of every user with their scores, to fit or judge policies without a calibrator."""
    relevant = None if labels is None else fitted_to(source, labels, "labels")
    hidden, width, parts = fitted_to(source, seen, "seen"), min(max_size, source.n_items), []
    for block, items, scores, *_ in top_blocks(source, np.arange(source.n_users), width, hidden):
        known, found = items >= 0, dict[str, Any]()
        if relevant is not None:
            found["hits"] = members(items, block, relevant.row_starts, relevant.item_rows) & known
            found["n_relevant"] = relevant.user_degree[block]
        if item_features is not None:
            found["features"] = item_features[np.maximum(items, 0)]
        lengths = known.sum(axis=1)
        parts.append(Lists(users=block, lengths=lengths, scores=scores.astype(np.float64), items=items, **found))
    return Lists.joined(parts)
