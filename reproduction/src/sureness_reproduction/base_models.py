"""The data and recommenders under the studies: settings chosen on validation, then trained for every seed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from sureness import models
from sureness.data import IdMap, Split, union
from sureness.metrics import evaluate_ranking
from sureness.recommender import Run
from sureness.sources import MatrixSource, ScoreSource, from_implicit
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.tables import numbers
from sureness_reproduction.workbench import Workbench

ALS = "als"  # of implicit, which is no dependency of the package
ALS_GRID = [{"regularization": pull, "alpha": weight} for pull, weight in product((0.01, 0.1, 1.0), (1.0, 10.0))]
"""How much more a pair weighs than no pair is alpha."""

LEAST = {"citeulike-a": 19}
"""Fewest interactions of a user in chapter 4 where it is not 20: 19 gives the published size of CiteULike."""


def split_options(data: str, protocol: str) -> dict[str, Any]:
    """How a data set is prepared under a protocol of the dissertation."""
    return {} if protocol != "ratio" else {"per_user": LEAST.get(data, 20), "core": 1, "positive_above": None}


@work(cost=60)
def tuned(
    bench: Workbench, *, data: str, protocol: str, model: str, trials: int, fixed: dict[str, Any], start: dict[str, Any]
) -> Tables:
    """Try settings on the validation part of the first split; the best comes first."""
    split = bench.split(data, protocol, seed=0, **split_options(data, protocol))
    if model != ALS:
        return {"trials": models.tune(model, split, trials, start=start, **fixed).trials}
    rows = []
    for settings in [start, *(settings for settings in ALS_GRID if settings != start)][:trials]:
        source = als_source(split, fixed | settings, 0)
        value = evaluate_ranking(source, split.validation, seen=split.train, metrics=["ndcg@50"])["ndcg@50"]
        rows.append({"metric": value, "settings": json.dumps(fixed | settings)})
    return {"trials": pl.DataFrame(rows).sort("metric", descending=True, maintain_order=True)}


def _search(*, model: str, trials: int, seed: int = 0, **recipe: Any) -> Iterable[Cell]:
    """The search for settings that a training needs: none with one trial; all seeds share one."""
    return [tuned.cell(model=model, trials=trials, **recipe)] if trials > 1 and not is_own(model) else []


@work(needs=_search, cost=15)
def trained(
    bench: Workbench, *, data: str, protocol: str, model: str, seed: int, fixed: dict[str, Any], start: dict[str, Any],
    trials: int,
) -> Tables:  # fmt: skip
    """Train with the best settings of the search, or with one trial those of the start, on the split of a seed.

    A user's own recommender is a class with `fit(train, validation)`, or a function of them and a seed. What comes of
    it has `score_block`; its scores are kept as one matrix.
    """
    settings = fixed | start
    for search in _search(data=data, protocol=protocol, model=model, trials=trials, fixed=fixed, start=start):
        settings = dict(json.loads(bench.found(search).table("trials")["settings"][0]))
    split = bench.split(data, protocol, seed=seed, **split_options(data, protocol))
    about: dict[str, Any] = {"settings": json.dumps({name: settings[name] for name in settings if name != "seed"})}
    if model == ALS or is_own(model):
        source = als_source(split, settings, seed) if model == ALS else _own_source(split, model, seed)
        Run(source).save(bench.place / "model.sureness")
    else:
        fitted = models.make_recommender(model, **(settings | {"seed": seed})).fit(split.train, split.validation)
        bench.save(fitted)
        about |= {"validation": fitted.best_metric_, "epoch": fitted.best_epoch_}
    return {"about": pl.DataFrame([about])}


def needs_recommender(protocol: str, /, *, data: str, model: str, seed: int, recipe: Any, **_: Any) -> list[Cell]:
    """The cell that trains the recommender of a point, which every study of one needs."""
    return [trained.cell(data=data, protocol=protocol, model=model, seed=seed, **recipe)]


def _own_source(split: Split, model: str, seed: int) -> ScoreSource:
    made, parts = load_own(model), (split.train, split.validation)
    source = made().fit(*parts) if isinstance(made, type) else made(*parts, seed)
    return in_memory(source, split.train.users, split.train.items)


def in_memory(source: Any, users: IdMap, items: IdMap) -> MatrixSource:
    """All scores of a source as one matrix."""
    blocks = np.array_split(np.arange(len(users)), max(len(users) // 256, 1))
    scores = [np.asarray(source.score_block(block), dtype=np.float32) for block in blocks]
    return MatrixSource(np.concatenate(scores), users, items)


def als_is_here() -> bool:
    """Whether implicit is installed."""
    return find_spec("implicit") is not None


def als_source(split: Split, settings: Mapping[str, Any], seed: int) -> ScoreSource:
    """Alternating least squares of implicit."""
    from implicit.cpu.als import AlternatingLeastSquares  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # its advice about the threads of BLAS
        model = AlternatingLeastSquares(random_state=seed, num_threads=1, **settings)
        model.fit(split.train.matrix, show_progress=False)
    return from_implicit(model, split.train)


@work(judges=True, cost=5)
def counted(bench: Workbench, *, data: str, seed: int, options: dict[str, Any]) -> Tables:
    """Users, items, interactions and the share of pairs that have none, in percent."""
    split = bench.split(data, **options)
    whole = union([split.train, split.validation, split.test])
    sparsity = 100 * (1 - len(whole) / (whole.n_users * whole.n_items))
    found = {"users": whole.n_users, "items": whole.n_items, "interactions": len(whole), "sparsity": sparsity}
    return {"numbers": numbers({}, found)}
