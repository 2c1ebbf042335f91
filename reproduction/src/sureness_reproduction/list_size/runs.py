"""The recommenders of chapter 4: where they are studied, how they are trained, and a trained one with its split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sureness.data import Interactions, Split, union
from sureness.evaluation import top_blocks
from sureness.list_size import Lists
from sureness.models import recommended
from sureness.numerics import members
from sureness.sources import MatrixSource, ScoreSource, fitted_to, id_maps
from sureness_reproduction.base_models import ALS, ALS_GRID, als_is_here, model_cell, split_options
from sureness_reproduction.cells import Cell
from sureness_reproduction.declarations import read
from sureness_reproduction.own import is_own
from sureness_reproduction.study import Scale
from sureness_reproduction.types import IntArray
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


def preparation(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any]:
    """How the data of a point are prepared."""
    return {"options": {"protocol": "ratio", **split_options(point["data"], "ratio")}}


def base(*, data: str, model: str, recipe: Mapping[str, Any], seed: int, **_: Any) -> list[Cell]:
    """The cell that trains a recommender on the split of a seed, which every study of one needs."""
    return [model_cell(data=data, protocol="ratio", model=model, seed=seed, **recipe)]


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
        blocks = np.array_split(np.arange(source.n_users), max(source.n_users // 256, 1))
        source = MatrixSource(np.concatenate([source.score_block(block) for block in blocks]), *id_maps(source))
    return Opened(source, split_of(bench, **run))


def ranked(
    source: ScoreSource, seen: Interactions, max_size: int, labels: Interactions | None = None, features: bool = False
) -> Lists:
    """The best candidates of every user with their scores, with hits where labels are given, and embeddings."""
    known, parts = None if labels is None else fitted_to(source, labels, "labels"), []
    hidden, width = fitted_to(source, seen, "seen"), min(max_size, source.n_items)
    for block, items, scores in top_blocks(source, np.arange(source.n_users), width, hidden):
        there, found = items >= 0, dict[str, Any]()
        if known is not None:
            found["hits"] = members(items, block, known.row_starts, known.item_rows) & there
            found["n_relevant"] = known.user_degree[block]
        if features:
            factors: Any = getattr(source, "source_", source)  # of a recommender of the package
            found["features"] = factors.item_factors[np.maximum(items, 0)]
        parts.append(Lists(users=block, lengths=there.sum(axis=1), scores=scores.astype(np.float64), **found))
    return Lists.joined(parts)


def samples(users: IntArray, keys: Mapping[str, Any], metrics: Mapping[str, Any]) -> pl.DataFrame:
    """What each user got, in long form: keys, metric, unit and value."""
    wide = pl.DataFrame({"unit": users} | {name: np.asarray(values, dtype=float) for name, values in metrics.items()})
    named = {key: pl.lit(value) for key, value in keys.items()}
    return wide.unpivot(index="unit", variable_name="metric").select(
        **named, metric="metric", unit="unit", value="value"
    )


def judged(lists: Lists, keys: Mapping[str, Any], metrics: Mapping[str, Any]) -> pl.DataFrame:
    """What the users with a relevant item got, see `samples`."""
    rows = np.asarray(lists.n_relevant) > 0
    return samples(lists.users[rows], keys, {name: np.asarray(values)[rows] for name, values in metrics.items()})
