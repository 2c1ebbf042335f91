"""The recommenders of chapter 4 and how they are trained, and a trained one beside the parts of its split."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from sureness.data import Split
from sureness.evaluation import evaluate_ranking
from sureness.models import recommended
from sureness.pipeline import Run, open_run
from sureness.sources import MatrixSource, ScoreSource, id_maps
from sureness_reproduction.base_models import chosen_settings, search_before, split_options, trained
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.experiment import Scale
from sureness_reproduction.workbench import Workbench

PROTOCOL = "ratio"
SEEDS: dict[Scale, int] = {"quick": 2, "full": 3}
Recipe = Mapping[str, Any]
"""How a recommender is trained: trials, fixed settings, and settings to start from."""

ALS = "als"
ALS_GRID = [
    {"regularization": pull, "alpha": weight} for pull, weight in product((0.01, 0.1, 1.0), (1.0, 10.0))
]  # how much more a pair weighs than no pair is alpha

_TRIALS = 3
_KNOWN: dict[tuple[str, str], dict[str, Any]] = {
    ("citeulike-a", "neumf"): {"epochs": 60},  # the defaults were the better of two settings, and best at epoch 55
}
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
    if model == ALS:
        size = {"factors": 64, "iterations": 20} if scale == "full" else {"factors": 32, "iterations": 10}
        return {"trials": len(ALS_GRID) if scale == "full" else 1, "fixed": size, "start": ALS_GRID[3]}
    if scale == "quick":
        return {"trials": 1, "fixed": _QUICK[model], "start": {}}
    known = _KNOWN.get((data, model)) or recommended(data, model)
    return {"trials": 1 if known else _TRIALS, "fixed": {}, "start": known}


def base(data: str, model: str, recipe: Recipe, seed: int) -> Cell:
    """The cell that trains a recommender on the split of a seed."""
    trainer = als_trained if model == ALS else trained
    return trainer.cell(data=data, protocol=PROTOCOL, model=model, seed=seed, **recipe)


def needs_base(*, data: str, model: str, recipe: Recipe, seed: int, **_: Any) -> Iterable[Cell]:
    """What every study of one trained recommender needs."""
    yield base(data, model, recipe, seed)


def split_of(bench: Workbench, data: str, seed: int) -> Split:
    """60/20/20 of every user with enough interactions; all interactions count, as in the dissertation."""
    return bench.split(data, PROTOCOL, seed=seed, **split_options(data, PROTOCOL))


def opened(bench: Workbench, data: str, model: str, recipe: Recipe, seed: int) -> Run:
    """A trained recommender with the parts of its split; the test part only for work that judges."""
    source = open_run(bench.found(base(data, model, recipe, seed)).folder / "model.sureness").source
    split = split_of(bench, data, seed)
    known = _kept(source) if model == "neumf" else source
    return Run(known, split.train, split.validation, split.test if bench.judges else None)


def _kept(source: ScoreSource) -> ScoreSource:
    """The same scores as one matrix where it is small: studies look at them several times."""
    if source.n_users * source.n_items > _DENSE:
        return source
    users, items = id_maps(source)
    blocks = np.array_split(np.arange(source.n_users), max(source.n_users // 256, 1))
    return MatrixSource(np.concatenate([source.score_block(block) for block in blocks]), users, items)


# --- ALS of implicit, which is no dependency of the package ---------------------------------------------------------


def als_is_here() -> bool:
    """Whether implicit is installed."""
    return find_spec("implicit") is not None


def als_source(split: Split, settings: Mapping[str, Any], seed: int) -> ScoreSource:
    """Alternating least squares of implicit."""
    from implicit.cpu.als import AlternatingLeastSquares  # type: ignore[import-untyped]

    from sureness.sources import from_implicit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # its advice about the threads of BLAS
        model = AlternatingLeastSquares(random_state=seed, num_threads=1, **settings)
        model.fit(split.train.matrix, show_progress=False)
    return from_implicit(model, split.train)


@work(cost=60)
def als_tuned(
    bench: Workbench, *, data: str, trials: int, fixed: dict[str, Any], start: dict[str, Any], **_: str
) -> Tables:
    """Try the settings of the grid on the validation part of the first split; the best comes first."""
    split = split_of(bench, data, 0)
    others = [settings for settings in ALS_GRID if settings != start]
    rows = []
    for settings in [start, *others][:trials]:
        source = als_source(split, fixed | settings, 0)
        value = evaluate_ranking(source, split.validation, seen=split.train, metrics=["ndcg@50"])["ndcg@50"]
        rows.append({"metric": value, "settings": json.dumps(fixed | settings)})
    return {"trials": pl.DataFrame(rows).sort("metric", descending=True, maintain_order=True)}


@work(needs=partial(search_before, als_tuned), cost=10)
def als_trained(bench: Workbench, *, data: str, seed: int, **recipe: Any) -> Tables:
    """Factorise the training part of a seed with the chosen settings."""
    settings = chosen_settings(bench, als_tuned, data=data, seed=seed, **recipe)
    Run(als_source(split_of(bench, data, seed), settings, seed)).save(bench.place / "model.sureness")
    return {"about": pl.DataFrame({"settings": [json.dumps(settings)]})}
