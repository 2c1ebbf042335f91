"""The recommenders under the studies: settings chosen on validation, then trained for every seed."""

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
from sureness.pipeline import Run
from sureness.sources import MatrixSource, ScoreSource
from sureness_reproduction.cells import Cell, Tables, Work, work
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.workbench import Workbench

ALS = "als"
ALS_GRID = [
    {"regularization": pull, "alpha": weight} for pull, weight in product((0.01, 0.1, 1.0), (1.0, 10.0))
]  # how much more a pair weighs than no pair is alpha
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


def model_cell(*, model: str, **parameters: Any) -> Cell:
    """The cell of a recommender: of the package, of implicit, or of one's own."""
    kind = als_trained if model == ALS else own_trained if is_own(model) else trained
    return kind.cell(model=model, **parameters)


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
    return {"trials": tune(model, split, trials, start=start, **fixed).trials}


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


@work(cost=15)
def own_trained(bench: Workbench, *, data: str, protocol: str, model: str, seed: int, **_: Any) -> Tables:
    """Train a recommender of one's own: a class with `fit(train, validation)`, or a function of them and a seed.

    What comes of it has `score_block`; its scores are kept as one matrix.
    """
    split = bench.split(data, protocol, seed=seed, **split_options(data, protocol))
    made: Any = load_own(model)
    parts = (split.train, split.validation)
    source = made().fit(*parts) if isinstance(made, type) else made(*parts, seed)
    blocks = np.array_split(np.arange(split.train.n_users), max(split.train.n_users // 256, 1))
    scores = np.concatenate([np.asarray(source.score_block(block), dtype=np.float32) for block in blocks])
    Run(MatrixSource(scores, split.train.users, split.train.items)).save(bench.place / "model.sureness")
    return {"about": pl.DataFrame({"settings": ["{}"]})}


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
    bench: Workbench, *, data: str, protocol: str, trials: int, fixed: dict[str, Any], start: dict[str, Any], **_: str
) -> Tables:
    """Try the settings of the grid on the validation part of the first split; the best comes first."""
    split = bench.split(data, protocol, seed=0, **split_options(data, protocol))
    others = [settings for settings in ALS_GRID if settings != start]
    rows = []
    for settings in [start, *others][:trials]:
        source = als_source(split, fixed | settings, 0)
        value = evaluate_ranking(source, split.validation, seen=split.train, metrics=["ndcg@50"])["ndcg@50"]
        rows.append({"metric": value, "settings": json.dumps(fixed | settings)})
    return {"trials": pl.DataFrame(rows).sort("metric", descending=True, maintain_order=True)}


@work(needs=partial(search_before, als_tuned), cost=10)
def als_trained(bench: Workbench, *, data: str, protocol: str, seed: int, **recipe: Any) -> Tables:
    """Factorise the training part of a seed with the chosen settings."""
    settings = chosen_settings(bench, als_tuned, data=data, protocol=protocol, seed=seed, **recipe)
    split = bench.split(data, protocol, seed=seed, **split_options(data, protocol))
    Run(als_source(split, settings, seed)).save(bench.place / "model.sureness")
    return {"about": pl.DataFrame({"settings": [json.dumps(settings)]})}
