"""Train a recommender on a log, save it with its split as one run, and judge it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._settings import written
from sureness.errors import CheckpointError, SettingError
from sureness.jobs.judging import judge
from sureness.jobs.logs import LogOptions, SplitLog, named_value, split_log
from sureness.jobs.options import OneOf, plain
from sureness.jobs.outputs import CHECKPOINTS, check_outputs
from sureness.metrics.ranking import RankingQuality
from sureness.models.base import Recommender, need_torch
from sureness.models.catalogue import make_recommender, model_type
from sureness.recommender.run import Run
from sureness.saving.files import sweep, with_ending
from sureness.saving.packed import JSON
from sureness.saving.records import read_record, write_record
from sureness.sources.base import ScoreSource
from sureness.tables.columns import Columns
from sureness.tables.frames import Table

_MODEL, _TRIALS = "model", "trials.json"


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Which recommender is trained, and how."""

    model: Annotated[str, "Kind of recommender.", OneOf(("model",))] = "bpr"
    factors: Annotated[int | None, "Length of the embeddings."] = None
    settings: Annotated[tuple[str, ...], "Any setting, such as learning_rate=0.005; may repeat."] = ()
    tune: Annotated[int, "Try this many settings on the validation set and keep the best."] = 0
    device: Annotated[str, "cpu or cuda."] = "cpu"
    checkpoint_seconds: Annotated[float, "Least time between two checkpoints."] = 10.0


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainResult:
    """A trained recommender, and how well it ranks."""

    output: Path
    log: SplitLog
    recommender: Recommender
    resumed: bool  # whether it went on from a checkpoint
    trials: pl.DataFrame | None  # of the search for settings, best first
    test: RankingQuality | None  # None: the split has no test part

    __repr__ = fields_repr

    @property
    def validation(self) -> dict[str, float | None]:
        """The metric that training stopped by, at its best epoch."""
        return {self.recommender.settings.metric: self.recommender.best_metric_}

    @property
    def seconds(self) -> float:
        """How long the epochs took."""
        return float(self.recommender.history_["seconds"].sum())

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        model = self.recommender
        found: dict[str, Any] = {"data": self.log.about, "notes": self.log.notes}
        if self.trials is not None:
            found["trials"] = self.trials
        found |= {
            "output": self.output, "model": written(model), "parameters": model.n_parameters, "resumed": self.resumed,
            "epochs": model.history_.height, "best_epoch": model.best_epoch_, "seconds": self.seconds,
            "validation": self.validation, "parts": self.log.sizes,
            "test": None if self.test is None else {"users": self.test.n_users, **self.test.means},
        }  # fmt: skip
        return plain(found)  # type: ignore[no-any-return]


def train(
    data: Table,
    output: str | PathLike[str],
    options: TrainOptions | None = None,
    *,
    log: LogOptions | None = None,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> TrainResult:
    """Train a recommender and judge it by its test part; interrupted training resumes when it is called again.

    Parameters
    ----------
    data : str, or table of any kind
        The name of a data set, a file (.parquet, .csv or .tsv), or a table in memory. Named data sets start
        from the best settings known.
    output : path
        Where the run goes (.sureness): the model with its split, whole or not at all.
    options : TrainOptions, optional
    log : LogOptions, optional
    columns : Columns, optional
    progress : Progress
    """
    options, log, target = options or TrainOptions(), log or LogOptions(), Path(output)
    need_torch("training")
    check_outputs([(target, "file")], [data, log.folder])
    given = model_settings(options.model, options.factors, options.settings) | {
        "seed": log.seed, "device": options.device,
    }  # fmt: skip
    found = split_log(data, log, columns=columns, progress=progress)
    checkpoints = Checkpoints(target, (_MODEL, _TRIALS))
    settings, trials = _chosen(options, found, given, checkpoints, progress)
    recommender = make_recommender(options.model, **settings)
    checkpoint = checkpoints.path(_MODEL)
    resumed = checkpoint.exists()
    recommender.fit(
        found.split.train, found.validation, checkpoint=checkpoint, checkpoint_seconds=options.checkpoint_seconds,
        progress=progress,
    )  # fmt: skip
    run = run_of(recommender, found)
    run.save(target)
    checkpoints.clear()
    quality = None if run.test is None else judge(run, progress=progress)
    return TrainResult(
        output=target, log=found, recommender=recommender, resumed=resumed, trials=trials, test=quality
    )  # fmt: skip


def run_of(source: ScoreSource, log: SplitLog, about: Mapping[str, JSON] | None = None) -> Run:
    """A source with the split it was trained on; parts without pairs are left out."""
    parts = {name: part if len(part) else None for name, part in log.split.parts.items()}
    return Run(source, **parts, about={**log.about, **(about or {})})


def _chosen(
    options: TrainOptions, log: SplitLog, given: Mapping[str, Any], checkpoints: Checkpoints, progress: Progress
) -> tuple[dict[str, Any], pl.DataFrame | None]:
    """The settings to train with: the given ones over those of a search or those known to be good; and the search."""
    good = log.good_settings(options.model, given)
    if not options.tune:
        return good, None
    from sureness.models.tuning import tune

    searched = model_type(options.model).search_space
    start = {key: value for key, value in good.items() if key in searched and key not in given}
    fixed = {key: value for key, value in good.items() if key not in start}
    found = tune(
        options.model, log.split, options.tune, start=start, record=checkpoints.path(_TRIALS), progress=progress,
        **fixed,
    )  # fmt: skip
    return found.best, found.trials


def model_settings(name: str, factors: int | None, texts: Sequence[str]) -> dict[str, Any]:
    """The settings of a recommender from words such as epochs=50."""
    defaults = {field.name: field.default for field in fields(model_type(name).settings_type())}
    settings = typed_settings(name, texts, defaults)
    return settings | ({} if factors is None else {"n_factors": factors})


def typed_settings(owner: str, texts: Sequence[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Settings from words such as epochs=50; each gets the type of its default.

    Examples
    --------
    >>> typed_settings("a model", ["epochs=50", "layer_widths=8,4"], {"epochs": 10, "layer_widths": (32, 16)})
    {'epochs': 50, 'layer_widths': (8, 4)}
    """
    settings: dict[str, Any] = {}
    for key, value in map(named_value, texts):
        if key not in defaults:
            raise SettingError(f"{owner} has no setting {key!r}; it has {', '.join(sorted(defaults))}")
        settings[key] = _typed(key, value, defaults[key])
    return settings


def _typed(key: str, value: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[value.lower()]
        if isinstance(default, tuple):
            return tuple(int(part) for part in value.split(","))
        return type(default)(value)
    except (KeyError, ValueError):
        raise SettingError(f"{key} must be like {default!r}, got {value!r}") from None


_KIND = "start-of-training"
_START = "start.json"


@dataclass(frozen=True)
class Checkpoints:
    """The folder ``run.sureness.checkpoints`` beside an output; it goes away once the output is there."""

    output: Path
    names: tuple[str, ...]  # of the files that may be in it

    @property
    def folder(self) -> Path:
        """Where they are."""
        return with_ending(self.output.with_suffix(""), CHECKPOINTS)

    def path(self, name: str) -> Path:
        """The file of a checkpoint; its folder is made when it is first written."""
        assert name in self.names, name
        return self.folder / name

    def begin(self, start: Mapping[str, Any]) -> bool:
        """Note what this training starts from; returns whether it resumes one that was interrupted.

        Checkpoints of another start are refused.
        """
        place = self.folder / _START
        if not place.exists():
            write_record(place, _KIND, {"start": dict(start)})
            return False
        if read_record(place, _KIND)["start"] != start:
            raise CheckpointError(
                f"{self.folder} belongs to a command with another teacher, student or start; remove it to start over, "
                "or give another output"
            )
        return True

    def clear(self) -> None:
        """Remove the checkpoints, what killed writers left of them, and the folder if nothing else is in it."""
        for name in (*self.names, _START):
            sweep(self.folder / name)
            (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()
