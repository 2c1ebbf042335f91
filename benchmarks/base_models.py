"""The recommenders under the list-size study: `python -m benchmarks.base_models --data citeulike-a --model bpr`.

Settings are chosen once for a data set and a model, on the validation part of the first split, and trained on three
splits. A folder that is there already is not trained again.
"""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.logs import FOLDER
from sureness.data.recipes import prepare
from sureness.data.splitting import Split
from sureness.evaluation.ranking import evaluate_ranking
from sureness.models.catalogue import make_recommender
from sureness.models.recommended import recommended
from sureness.models.runs import model_folder, save_split
from sureness.models.tuning import tune
from sureness.sources.adapters import from_implicit
from sureness.sources.base import ScoreSource
from sureness.sources.saving import save_source

STORE = Path("build/list-size/models")
SEEDS = (0, 1, 2)
LEAST = {"citeulike-a": 19, "ml-1m": 20, "amazon-music": 20, "amazon-book-kgat": 20}
MODELS = ("bpr", "als", "lightgcn", "neumf")
TRIALS = 3
_METRIC = "ndcg@50"
_ALS = tuple(product((0.01, 0.1, 1.0), (1.0, 10.0)))  # regularisation, and how much more a pair weighs than no pair


def split_for(data: str, seed: int) -> Split:
    """60/20/20 of every user with enough interactions; all interactions count, as in the text."""
    return prepare(data, "ratio", seed=seed, folder=FOLDER / data, per_user=LEAST[data], core=1, positive_above=None)


def train(data: str, model: str, store: Path) -> None:
    """Choose settings on the first split, then train on all that are missing."""
    for seed in SEEDS:
        folder = store / f"{data}-{model}-{seed}"
        if model_folder(folder).exists():
            continue
        split = split_for(data, seed)
        start = time.perf_counter()
        settings = _settings(data, model, store)
        save_split(split, folder, {"data": data, "protocol": "ratio", "seed": seed, "settings": settings})
        source = _fit(model, split, settings, seed, folder)
        value = _judged(source, split)
        print(
            f"{folder.name}: validation {_METRIC} {value:.4f} {settings} {time.perf_counter() - start:.0f} s",
            flush=True,
        )


def _settings(data: str, model: str, store: Path) -> dict[str, Any]:
    file = store / f"{data}-{model}.json"
    if file.exists():
        return dict(json.loads(file.read_text(encoding="utf-8")))
    split = split_for(data, SEEDS[0])
    if model == "als":
        tried = [{"regularization": pull, "alpha": alpha} for pull, alpha in _ALS]
        best = max(tried, key=lambda settings: _judged(_als(split, settings, SEEDS[0]), split))
    elif known := recommended(data, model):
        best = known
    else:
        found = tune(model, split, TRIALS, seed=0, record=store / f"{data}-{model}-trials.json")
        best = {name: value for name, value in found.best.items() if name != "seed"}
    file.write_text(json.dumps(best) + "\n", encoding="utf-8")
    return best


def _fit(model: str, split: Split, settings: dict[str, Any], seed: int, folder: Path) -> ScoreSource:
    if model == "als":
        source = _als(split, settings, seed)
        save_source(source, model_folder(folder))
        return source
    fitted = make_recommender(model, **settings, seed=seed).fit(split.train, split.validation)
    fitted.save(model_folder(folder))
    return fitted


def _als(split: Split, settings: dict[str, Any], seed: int) -> ScoreSource:
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=64, iterations=20, random_state=seed, num_threads=1, **settings)
    model.fit(split.train.matrix, show_progress=False)
    return from_implicit(model, split.train)


def _judged(source: ScoreSource, split: Split) -> float:
    return evaluate_ranking(source, split.validation, seen=split.train, metrics=[_METRIC])[_METRIC]


def main(
    data: Annotated[list[str], typer.Option(help=f"One of {', '.join(LEAST)}; may repeat.")] = [*LEAST],  # noqa: B006
    model: Annotated[list[str], typer.Option(help=f"One of {', '.join(MODELS)}; may repeat.")] = [*MODELS],  # noqa: B006
    store: Annotated[Path, typer.Option(help="Where trained models are kept.")] = STORE,
) -> None:
    """Train what is missing."""
    store.mkdir(parents=True, exist_ok=True)
    for each in data:
        for name in model:
            train(each, name, store)


if __name__ == "__main__":
    typer.run(main)
