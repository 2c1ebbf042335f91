"""A small seeded search over settings, compared on the validation set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, part_of, silent
from sureness.data.splitting import Split
from sureness.errors import ArtefactError, DivergedError, FileError, SettingError
from sureness.models.base import Recommender, need_torch
from sureness.models.catalogue import make_recommender
from sureness.models.checkpoints import fingerprint
from sureness.models.settings import Setting, Space, check_names
from sureness.saving.records import read_record, write_record

KIND = "trials"
_MOST_TRIALS = 10_000


@dataclass(frozen=True)
class Tuning:
    """What was tried and what was best."""

    name: str
    best: dict[str, Setting]  # the settings that differ from the defaults
    metric: str
    trials: pl.DataFrame  # trial, metric, epoch, seconds, settings as JSON; the best first

    __repr__ = fields_repr

    def recommender(self, **changes: Setting) -> Recommender:
        """A model with the best settings, to be fitted."""
        return make_recommender(self.name, **(self.best | changes))


def tune(
    name: str,
    split: Split,
    trials: int = 10,
    *,
    seed: int = 0,
    space: Space | None = None,
    start: Mapping[str, Setting] | None = None,
    record: str | PathLike[str] | None = None,
    progress: Progress = silent,
    **settings: Setting,
) -> Tuning:
    """Try the defaults or `start`, then settings drawn at random, and keep what ranks the validation set best.

    Parameters
    ----------
    name : str
        Of the model, such as "bpr".
    split : Split
        Only train and validation are used.
    trials : int
        At most 10,000; fewer are made if there are no more settings to try.
    seed : int
        Of the draw and of every model; the same seed tries the same settings with the same results.
    space : mapping from setting to values, optional
        What to choose from; by default the `search_space` of the model.
    start : mapping, optional
        Values of searched settings to try first, such as those of `recommended`; by default the defaults.
    record : path, optional
        A JSON file of finished trials; those found there are not run again.
    progress : Progress, optional
    **settings
        Settings that are not searched.

    Examples
    --------
    >>> from sureness.data.interactions import Interactions
    >>> from sureness.data.simulator import SimulatorSettings, simulate
    >>> from sureness.data.splitting import by_ratio
    >>> split = by_ratio(Interactions.from_matrix(simulate(SimulatorSettings(n_users=100, n_items=40)).train))
    >>> found = tune("bpr", split, trials=2, n_factors=4, epochs=10)
    >>> found.trials.height, found.recommender().n_factors
    (2, 4)
    """
    if not 1 <= trials <= _MOST_TRIALS:
        raise SettingError(f"trials must be from 1 to {_MOST_TRIALS:,}, got {trials:,}")
    settings = settings | {"seed": seed}
    first = make_recommender(name, **settings)
    need_torch(f"tuning {type(first).__name__}")
    searched = first.search_space if space is None else space
    check_names(type(first).__name__, list(first.get_params()), searched)
    free = {key: values for key, values in searched.items() if key not in settings}
    notebook = _Notebook(record, {"train": fingerprint(split.train), "validation": fingerprint(split.validation)})
    rows = []
    for number, drawn in enumerate(_candidates(free, trials, seed, dict(start or {})), start=1):
        tried = settings | drawn
        result = notebook.find(first.name, tried)
        if result is None:
            report = part_of(progress, number - 1, trials, f"trial {number} of {trials}")
            result = _trial(first.name, tried, split, report)
            notebook.add(first.name, tried, result)
        rows.append({"trial": number, **result, "settings": json.dumps(tried)})
    table = pl.DataFrame(rows).sort("metric", descending=True, maintain_order=True)
    return Tuning(first.name, json.loads(table["settings"][0]), first.metric, table)


def _trial(name: str, settings: Mapping[str, Setting], split: Split, progress: Progress) -> dict[str, Any]:
    model = make_recommender(name, **settings)
    try:
        model.fit(split.train, split.validation, progress=progress)
    except DivergedError:
        return {"metric": -1.0, "epoch": 0, "seconds": 0.0}  # worse than any metric; the search goes on
    seconds = float(model.history_["seconds"].sum())
    return {"metric": model.best_metric_, "epoch": model.best_epoch_, "seconds": seconds}


def _candidates(space: Space, trials: int, seed: int, first: dict[str, Setting]) -> Iterator[dict[str, Setting]]:
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
    """Finished trials on disk, so that an interrupted search resumes."""

    def __init__(self, path: str | PathLike[str] | None, data: dict[str, str]) -> None:
        self.path, self.data = None if path is None else Path(path), data
        self.trials: list[dict[str, Any]] = []
        if self.path is not None and self.path.exists():
            self.trials = _read(self.path)

    def find(self, name: str, settings: Mapping[str, Setting]) -> dict[str, Any] | None:
        wanted = {"model": name, "data": self.data, "settings": json.loads(json.dumps(settings))}
        for trial in self.trials:
            if all(trial.get(key) == value for key, value in wanted.items()):
                return dict(trial["result"])
        return None

    def add(self, name: str, settings: Mapping[str, Setting], result: dict[str, Any]) -> None:
        self.trials.append({"model": name, "data": self.data, "settings": dict(settings), "result": result})
        if self.path is not None:
            write_record(self.path, KIND, {"trials": self.trials})


def _read(path: Path) -> list[dict[str, Any]]:
    if path.is_dir():
        raise FileError(f"cannot read {path}: it is a folder; give the name of a file")
    try:
        return cast(list[dict[str, Any]], read_record(path, KIND)["trials"])
    except ArtefactError as error:
        raise type(error)(f"{path} is not a record of trials, or it is damaged; remove it to start anew") from error
