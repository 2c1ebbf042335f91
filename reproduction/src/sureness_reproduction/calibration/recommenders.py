"""What the studies of chapter 2 share: five recommenders, their settings, their split, test pairs and ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sureness.data import RECIPES, ScoredPairs, Split, rated_above, union
from sureness.evaluation import evaluate_ranking, evaluate_within
from sureness.numerics import members
from sureness.sources import ScoreSource, scores_of
from sureness_reproduction.base_models import model_cell
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.own import is_own
from sureness_reproduction.study import QUICK_AND_FULL, Scale, Study
from sureness_reproduction.workbench import Workbench

DATA: dict[Scale, Sequence[str]] = {"quick": ("coat",), "full": ("coat", "yahoo-r3")}
MODELS = ("bpr", "neumf", "cml", "ubpr", "lightgcn")
TEST = ("left_out", "kept")  # test pairs that are also in the training log
_PRINTED = {
    "batch_size": 512, "learning_rate": 0.001, "popularity": 0.0, "l2": 0.0, "adam": "dense", "weight_decay": 0.001,
}  # fmt: skip
_STARTS: dict[str, dict[str, Any]] = {
    "bpr": _PRINTED, "neumf": _PRINTED | {"negatives": 1}, "cml": _PRINTED | {"negatives": 1},
    "ubpr": _PRINTED | {"propensity_power": 0.5, "propensity_clip": 0.1}, "lightgcn": _PRINTED | {"layers": 2},
}  # fmt: skip
"""The settings that the dissertation prints, tried first; weight decay reaches all parameters, as in its code."""

_SEARCH: dict[Scale, tuple[int, dict[str, int]]] = {
    "quick": (3, {"epochs": 40, "patience": 10}),
    "full": (12, {"epochs": 200, "patience": 30}),
}
"""How many settings are tried, and how long a training may take."""

_MOST_PAIRS = 200_000  # uniform pairs that stand for the test of a log of one's own
_METRICS = tuple(f"{metric}@{k}" for metric in ("ndcg", "recall") for k in (1, 3, 5))


def with_recipe(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any]:
    """How the recommender of a point is trained, as the further parameter `recipe`."""
    model = point["model"]
    if is_own(model):
        return {"recipe": {"trials": 1, "fixed": {}, "start": {}}}
    trials, patience = _SEARCH[scale]
    fixed = {"n_factors": 64 if model == "neumf" else 128, "validate_every": 1, **patience}
    return {"recipe": {"trials": trials, "fixed": fixed, "start": _STARTS[model]}}


def recommender(*, data: str, model: str, seed: int, recipe: Mapping[str, Any], **_: Any) -> Iterable[Cell]:
    """The cell of a trained recommender, which every study of chapter 2 needs."""
    yield model_cell(data=data, protocol="preference", model=model, seed=seed, **recipe)


def opened(
    bench: Workbench, *, data: str, seed: int, test: str = "left_out", **parameters: Any
) -> tuple[Split, ScoreSource]:
    """The split of a seed and the recommender that was trained on it."""
    (cell,) = recommender(data=data, seed=seed, **parameters)
    return bench.split(data, "preference", seed=seed, training_pairs=test), bench.found(cell).source


def threshold_of(data: str) -> float:
    """Ratings above it are positive; of a log of one's own, every row is."""
    found = RECIPES[data].positive_above if data in RECIPES else None
    return -np.inf if found is None else found


def test_pairs(split: Split, source: ScoreSource, data: str) -> ScoredPairs:
    """The uniformly exposed pairs with score and label; only for work that judges.

    A log of one's own has none, so pairs outside of training are drawn, and those of the test part are positive.
    """
    if not is_own(data):
        users, items = split.test.user_rows, split.test.item_rows
        labels = rated_above(split.test, threshold_of(data))
    else:
        rng = np.random.default_rng(0)
        users, items = (rng.integers(size, size=_MOST_PAIRS) for size in split.train.shape)
        known = union([split.train, split.validation])
        new = ~members(items[:, None], users, known.row_starts, known.item_rows)[:, 0]
        users, items = users[new], items[new]
        labels = members(items[:, None], users, split.test.row_starts, split.test.item_rows)[:, 0]
    return ScoredPairs(scores=scores_of(source, users, items), labels=labels, users=users, items=items)


@work(needs=recommender, judges=True, cost=1)
def ranked(bench: Workbench, **parameters: Any) -> Tables:
    """NDCG and recall of every user with a positive among the test items; of a log of one's own, over all items."""
    split, source = opened(bench, **parameters)
    if is_own(parameters["data"]):
        quality = evaluate_ranking(source, split.test, seen=split.train, metrics=_METRICS)
    else:
        relevant = rated_above(split.test, threshold_of(parameters["data"]))
        quality = evaluate_within(source, split.test, relevant, metrics=_METRICS)
    table = quality.per_user.rename({"user_id": "unit"}).unpivot(index="unit", variable_name="metric")
    return {"samples": table.select("metric", "unit", "value")}


STUDIES = (
    Study(
        name="calibration-ranking", number="table-2.2", title="Ranking quality of the base models", measure=ranked,
        settings=with_recipe, published="calibration-ranking", rows=("model", "test"),
        grid={"data": DATA, "model": MODELS, "test": TEST, "seed": QUICK_AND_FULL},
        note="Mean over seeds ± deviation / the published number. Test pairs that are also in the training log are "
        "left out, or kept as in the authors' public code.",
    ),
)  # fmt: skip
