"""A small seeded search over settings, judged on the validation set."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sureness.artefacts.files import replacing
from sureness.data.splitting import Split
from sureness.errors import ArtefactError, DataError, FileError
from sureness.models.base import Recommender
from sureness.models.catalogue import make_recommender
from sureness.models.checkpoints import fingerprint

Report = Callable[[str, int, int], None]
Space = Mapping[str, tuple[Any, ...]]

_RATES, _PULLS, _POPULARITY = (
    (0.0005, 0.001, 0.002, 0.005, 0.01),
    (0.001, 0.003, 0.01, 0.03, 0.05, 0.1),
    (0.0, 0.5, 0.75),
)

SPACES: dict[str, Space] = {
    "bpr": {"learning_rate": _RATES, "l2": _PULLS, "batch_size": (256, 1024, 4096), "popularity": _POPULARITY},
    "ubpr": {
        "learning_rate": _RATES, "l2": (*_PULLS, 0.3), "batch_size": (256, 1024, 4096), "popularity": _POPULARITY,
        "propensity_power": (0.25, 0.5), "propensity_clip": (0.1, 0.3),
    },
    "neumf": {
        "learning_rate": _RATES, "l2": (0.0, 1e-5, 1e-4, 1e-3, 1e-2), "batch_size": (512, 2048), "negatives": (1, 4),
        "popularity": _POPULARITY,
    },
    "cml": {
        "learning_rate": _RATES, "margin": (0.2, 0.5, 1.0, 2.0), "batch_size": (512, 2048), "negatives": (1, 4),
        "popularity": _POPULARITY, "radius": (1.0, 2.0),
    },
    "lightgcn": {
        "learning_rate": (0.002, 0.005, 0.01, 0.02), "l2": (1e-5, 1e-4, 1e-3, 1e-2), "batch_size": (2048, 8192),
        "layers": (1, 2, 3), "popularity": _POPULARITY,
    },
    "cdae": {
        "learning_rate": _RATES, "l2": (0.0, 1e-4, 1e-3, 1e-2), "batch_size": (1024, 4096), "dropout": (0.3, 0.5, 0.7),
        "popularity": _POPULARITY,
    },
}  # fmt: skip
"""What the search chooses from, for each recommender."""


@dataclass(frozen=True)
class Tuning:
    """What was tried and what was best."""

    name: str
    best: dict[str, Any]  # the settings that differ from the defaults
    metric: str
    trials: pl.DataFrame  # trial, metric, epoch, seconds, settings as JSON; the best first

    def recommender(self, **changes: Any) -> Recommender:
        """A recommender with the best settings, to be fitted."""
        return make_recommender(self.name, **(self.best | changes))


def tune(
    name: str,
    split: Split,
    trials: int = 10,
    *,
    seed: int = 0,
    space: Space | None = None,
    start: Mapping[str, Any] | None = None,
    record: str | PathLike[str] | None = None,
    progress: Report | None = None,
    **settings: Any,
) -> Tuning:
    """Try the defaults or `start`, then settings drawn at random, and keep what ranks the validation set best.

    Parameters
    ----------
    name : str
        Of the recommender.
    split : Split
        Only train and validation are looked at.
    trials : int
    seed : int
        Of the draw and of every recommender; the same seed tries the same settings with the same result.
    space : mapping from setting to values, optional
        What to choose from; by default `SPACES`.
    start : mapping, optional
        Values of searched settings to try first, such as those of `recommended`; by default the defaults.
    record : path, optional
        A JSON file of finished trials; those found there are not run again.
    progress : callable, optional
    **settings
        Settings that are not searched.

    Examples
    --------
    >>> from sureness.data.interactions import Interactions
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> split = by_ratio(Interactions.from_matrix(simulate(SimulatorSettings(n_users=100, n_items=40)).train))
    >>> found = tune("bpr", split, trials=2, n_factors=4, epochs=10)
    >>> found.trials.height, found.recommender().settings.n_factors
    (2, 4)
    """
    if trials < 1:
        raise DataError(f"trials must be at least 1, got {trials}")
    settings = settings | {"seed": seed}
    first = make_recommender(name, **settings)
    free = {
        key: values for key, values in (SPACES[first.name] if space is None else space).items() if key not in settings
    }
    notebook = _Notebook(record, {"train": fingerprint(split.train), "validation": fingerprint(split.validation)})
    rows = []
    for number, drawn in enumerate(_candidates(free, trials, seed, dict(start or {})), start=1):
        tried = settings | drawn
        result = notebook.find(first.name, tried)
        if result is None:
            result = _trial(first.name, tried, split, number, trials, progress)
            notebook.add(first.name, tried, result)
        rows.append({"trial": number, **result, "settings": json.dumps(tried)})
    table = pl.DataFrame(rows).sort("metric", descending=True, maintain_order=True)
    return Tuning(first.name, json.loads(table["settings"][0]), first.settings.metric, table)


def _trial(
    name: str, settings: dict[str, Any], split: Split, number: int, trials: int, progress: Report | None
) -> dict[str, Any]:
    def told(text: str, done: int, total: int) -> None:
        if progress is not None:
            progress(f"trial {number} of {trials}: {text}", (number - 1) * total + done, trials * total)

    model = make_recommender(name, **settings)
    try:
        model.fit(split.train, split.validation, progress=told)
    except DataError as error:
        if "diverged" not in str(error):
            raise
        return {"metric": -1.0, "epoch": 0, "seconds": 0.0}  # the worst there is; the search goes on
    seconds = float(model.history_["seconds"].sum())
    return {"metric": model.best_metric_, "epoch": model.best_epoch_, "seconds": seconds}


def _candidates(space: Space, trials: int, seed: int, first: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The first settings, then draws without repetition while there are any."""
    rng = np.random.default_rng(seed)
    seen: set[str] = {json.dumps(first)}
    yield first
    for _ in range(trials - 1):
        for _attempt in range(100):
            drawn = {key: values[int(rng.integers(len(values)))] for key, values in space.items()}
            if json.dumps(drawn) not in seen:
                break
        else:
            return
        seen.add(json.dumps(drawn))
        yield drawn


class _Notebook:
    """Finished trials on disk, so that a search that was stopped goes on where it was."""

    def __init__(self, path: str | PathLike[str] | None, data: dict[str, str]) -> None:
        self.path, self.data = None if path is None else Path(path), data
        self.trials: list[dict[str, Any]] = []
        if self.path is not None and self.path.exists():
            self.trials = _read(self.path)

    def find(self, name: str, settings: dict[str, Any]) -> dict[str, Any] | None:
        wanted = {"model": name, "data": self.data, "settings": json.loads(json.dumps(settings))}
        for trial in self.trials:
            if all(trial.get(key) == value for key, value in wanted.items()):
                return dict(trial["result"])
        return None

    def add(self, name: str, settings: dict[str, Any], result: dict[str, Any]) -> None:
        self.trials.append({"model": name, "data": self.data, "settings": settings, "result": result})
        if self.path is not None:
            with replacing(self.path) as temporary:
                temporary.write_text(json.dumps(self.trials, indent=1) + "\n", encoding="utf-8")


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        trials = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ArtefactError(f"{path} is not a record of trials ({error}); remove it to start anew") from error
    if not (isinstance(trials, list) and all(isinstance(trial, dict) and "result" in trial for trial in trials)):
        raise ArtefactError(f"{path} is not a record of trials; remove it to start anew")
    return trials
