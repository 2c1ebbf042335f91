"""The recommenders of chapter 4: where they are studied, how they are trained, and a trained one with its split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sureness.data import Interactions, Split, union
from sureness.evaluation import top_blocks
from sureness.list_size import Lists
from sureness.models import recommended
from sureness.numerics import members
from sureness.sources import FactorSource, MatrixSource, ScoreSource, fitted_to, id_maps
from sureness_reproduction.base_models import ALS, ALS_GRID, als_is_here, model_cell, split_options
from sureness_reproduction.cells import Cell
from sureness_reproduction.own import is_own
from sureness_reproduction.study import Scale
from sureness_reproduction.types import IntArray
from sureness_reproduction.workbench import Workbench

SEEDS: Mapping[Scale, Sequence[int]] = {"quick": range(2), "full": range(3)}
MAX_SIZE = 50
UTILITIES = ("ndcg", "pdcg", "f1", "tp")
_OTHERS = ("ml-10m", "ml-25m", "amazon-books")  # run where the data folder has them
DATA: dict[str, dict[Scale, Sequence[str]]] = {
    "bpr": {
        "quick": ("ml-100k", "amazon-music"),
        "full": ("citeulike-a", "ml-1m", "amazon-music", "amazon-book-kgat", *_OTHERS),
    },
    "neumf": {"quick": ("ml-100k",), "full": ("citeulike-a", "amazon-music", *_OTHERS)},
    "lightgcn": {"quick": ("ml-100k",), "full": ("citeulike-a", "ml-1m", "amazon-music", *_OTHERS)},
    "als": {"quick": ("ml-100k",), "full": ("citeulike-a", "ml-1m", "amazon-music", "amazon-book-kgat")},
}
SMALL: dict[Scale, Sequence[str]] = {
    "quick": DATA["bpr"]["quick"],
    "full": [name for name in DATA["bpr"]["full"] if name != "amazon-book-kgat"],
}
"""Where AttnCut and MtCut are run too: lists of more users would take them hours."""

_TRIALS = 3
_QUICK: dict[str, dict[str, Any]] = {
    "bpr": {"n_factors": 32, "epochs": 60},
    "neumf": {"n_factors": 32, "epochs": 20},
    "lightgcn": {"n_factors": 32, "epochs": 40},
}
_DENSE = 250_000_000  # pairs whose scores are kept where each costs a pass through a network


def recipe_of(data: str, model: str, scale: Scale) -> dict[str, Any]:
    """How a recommender is trained: the settings known to be good, or the best of a few on validation.

    Examples
    --------
    >>> recipe_of("citeulike-a", "bpr", "full")
    {'trials': 1, 'fixed': {}, 'start': {'popularity': 0.5, 'epochs': 600}}
    >>> recipe_of("amazon-music", "bpr", "full")
    {'trials': 3, 'fixed': {}, 'start': {}}
    """
    if is_own(model):
        return {"trials": 1, "fixed": {}, "start": {}}
    if model == ALS:
        size = {"factors": 64, "iterations": 20} if scale == "full" else {"factors": 32, "iterations": 10}
        return {"trials": len(ALS_GRID) if scale == "full" else 1, "fixed": size, "start": ALS_GRID[3]}
    if scale == "quick":
        return {"trials": 1, "fixed": _QUICK[model], "start": {}}
    known = recommended(data, model)
    return {"trials": 1 if known else _TRIALS, "fixed": {}, "start": known}


def with_recipe(scale: Scale, point: Mapping[str, Any], **more: Any) -> dict[str, Any] | None:
    """How the recommender of a point is trained, and more; ALS is left out where implicit is not installed."""
    if point["model"] == ALS and not als_is_here():
        return None
    return {"recipe": recipe_of(point["data"], point["model"], scale), **more}


def base(*, data: str, model: str, recipe: Mapping[str, Any], seed: int, **_: Any) -> Cell:
    """The cell that trains a recommender on the split of a seed."""
    return model_cell(data=data, protocol="ratio", model=model, seed=seed, **recipe)


def needs_base(**parameters: Any) -> Iterable[Cell]:
    """What every study of one trained recommender needs."""
    yield base(**parameters)


def split_of(bench: Workbench, data: str, seed: int) -> Split:
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


def opened(bench: Workbench, *, data: str, model: str, seed: int, **parameters: Any) -> Opened:
    """The recommender of a cell, and its split."""
    source = bench.found(base(data=data, model=model, seed=seed, **parameters)).source
    return Opened(_kept(source) if model == "neumf" else source, split_of(bench, data, seed))


def _kept(source: ScoreSource) -> ScoreSource:
    """The same scores as one matrix where it is small: studies look at them several times."""
    if source.n_users * source.n_items > _DENSE:
        return source
    users, items = id_maps(source)
    blocks = np.array_split(np.arange(source.n_users), max(source.n_users // 256, 1))
    return MatrixSource(np.concatenate([source.score_block(block) for block in blocks]), users, items)


def ranked(
    source: ScoreSource, seen: Interactions | None, max_size: int, labels: Interactions | None = None, *,
    features: bool = False,
) -> Lists:  # fmt: skip
    """The best candidates of every user with their scores, with hits where labels are given, and embeddings."""
    hidden = None if seen is None else fitted_to(source, seen, "seen")
    known = None if labels is None else fitted_to(source, labels, "labels")
    parts = []
    for block, items, scores in top_blocks(source, np.arange(source.n_users), min(max_size, source.n_items), hidden):
        there = items >= 0
        found: dict[str, Any] = {}
        if known is not None:
            hits = members(items, block, known.row_starts, known.item_rows) & there
            found = {"hits": hits, "n_relevant": known.user_degree[block]}
        if features:
            factors = getattr(source, "source_", source)  # of a recommender of the package
            assert isinstance(factors, FactorSource)
            found["features"] = factors.item_factors[np.maximum(items, 0)]
        lengths = np.count_nonzero(there, axis=1)
        parts.append(Lists(users=block, lengths=lengths, scores=scores.astype(np.float64), **found))
    return Lists.joined(parts)


def samples(users: IntArray, keys: Mapping[str, Any], metrics: Mapping[str, Any]) -> pl.DataFrame:
    """What each user got, in long form: keys, metric, unit and value.

    Examples
    --------
    >>> samples(np.array([7]), {"method": "Top-1"}, {"f1": [0.5]}).rows()
    [('Top-1', 'f1', 7, 0.5)]
    """
    return pl.concat([
        pl.DataFrame({"unit": users, "value": np.asarray(values, dtype=float)}).select(
            **{key: pl.lit(value) for key, value in keys.items()}, metric=pl.lit(name), unit="unit", value="value"
        )
        for name, values in metrics.items()
    ])  # fmt: skip


def judged(lists: Lists, keys: Mapping[str, Any], metrics: Mapping[str, Any]) -> pl.DataFrame:
    """What the users with a relevant item got, see `samples`."""
    rows = np.asarray(lists.n_relevant) > 0
    return samples(lists.users[rows], keys, {name: np.asarray(values)[rows] for name, values in metrics.items()})
