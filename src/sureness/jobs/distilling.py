"""Let a large and a small recommender teach each other, save both as one file, and judge them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

from sureness._printing import fields_repr
from sureness._progress import Progress, part_of, silent
from sureness._registry import names
from sureness._settings import written
from sureness.data.interactions import Interactions
from sureness.data.recipes import common_pairs
from sureness.distillation.bidirectional import BidirectionalDistillation
from sureness.distillation.settings import DistillationSettings, distillation_method, method_names
from sureness.errors import LeakError, SettingError
from sureness.jobs.inputs import is_saved
from sureness.jobs.judging import judge
from sureness.jobs.logs import LogOptions, SplitLog, split_log
from sureness.jobs.options import plain
from sureness.jobs.outputs import check_outputs
from sureness.jobs.training import Checkpoints, model_settings, run_of, typed_settings
from sureness.metrics.ranking import RankingQuality, evaluate_ranking
from sureness.models.base import as_recommender, need_torch
from sureness.models.catalogue import make_recommender
from sureness.recommender.run import DistilledRuns, open_run
from sureness.saving.objects import split_path
from sureness.saving.packed import JSON
from sureness.sources.base import ScoreSource, id_maps, n_parameters
from sureness.sources.function import AlignedSource
from sureness.tables.columns import Columns
from sureness.tables.frames import Table

Role = Literal["teacher", "student"]
ROLES: tuple[Role, Role] = ("teacher", "student")
_TOGETHER = "both"


@dataclass(frozen=True, kw_only=True)
class DistillOptions:
    """Who teaches whom, and how."""

    teacher: Annotated[str, "Kind and length of embeddings, such as bpr:50; or a saved run, model or source."]
    student: Annotated[str, "The same for the small one, such as bpr:5."]
    method: Annotated[str, f"How to distil: {', '.join(method_names())}."] = "bd"
    teacher_set: Annotated[tuple[str, ...], "Any setting of the teacher, such as learning_rate=0.005; may repeat."] = ()
    student_set: Annotated[tuple[str, ...], "Any setting of the student; may repeat."] = ()
    settings: Annotated[tuple[str, ...], "Any setting of the method, such as to_student__weight=1.0; may repeat."] = ()
    pretrain: Annotated[bool, "Train both alone until validation stops rising, or warm up for a few epochs."] = True
    device: Annotated[str, "cpu or cuda."] = "cpu"
    checkpoint_seconds: Annotated[float, "Least time between two checkpoints."] = 10.0

    def method_settings(self, seed: int) -> DistillationSettings:
        """The settings of the method with the given changes."""
        usual = distillation_method(self.method)
        defaults = {name: value for name, value in asdict(usual).items() if not isinstance(value, dict)}
        for name in ("to_teacher", "to_student"):
            defaults |= {f"{name}__{inner}": value for inner, value in asdict(getattr(usual, name)).items()}
        return usual.changed(**{"seed": seed} | typed_settings("distillation", self.settings, defaults))


@dataclass(frozen=True, eq=False, kw_only=True)
class DistillResult:
    """Both models before and after, judged alike."""

    output: Path
    log: SplitLog
    method: str
    settings: DistillationSettings
    pretrain: bool
    resumed: bool  # whether it went on from a checkpoint
    warm_up: int  # epochs alone
    epochs: int  # together
    metric: str  # of training, on the validation part
    models: Mapping[str, Mapping[str, Any]]
    """Of "teacher alone", "student alone", "teacher" and "student": model, parameters, validation and test, each None
    where it is not known; validation is the metric of training, test a RankingQuality."""

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found: dict[str, Any] = {"data": self.log.about, "notes": self.log.notes, "parts": self.log.sizes}
        for name in ("output", "method", "pretrain", "resumed", "warm_up", "epochs", "metric"):
            found[name] = getattr(self, name)
        found |= {
            "settings": self.settings.plain(),
            "models": {name: _plain(each) for name, each in self.models.items()},
        }
        return plain(found)  # type: ignore[no-any-return]


def _plain(model: Mapping[str, Any]) -> dict[str, Any]:
    test: RankingQuality | None = model["test"]
    known = {name: value for name, value in model.items() if name != "validation" or value is not None}
    return {**known, "test": {} if test is None else {"users": test.n_users, **test.means}}


def distill(
    data: Table,
    output: str | PathLike[str],
    options: DistillOptions,
    *,
    log: LogOptions | None = None,
    columns: Columns | None = None,
    progress: Progress = silent,
) -> DistillResult:
    """Let two recommenders teach each other, and judge both by the test part.

    A saved model is where its role starts from; where the method keeps it fixed, it may be any source of scores. A
    fixed model that is not saved is trained first. Interrupted training resumes when it is called again.

    Parameters
    ----------
    data : str, or table of any kind
        The name of a data set, a file (.parquet, .csv or .tsv), or a table in memory.
    output : path
        One file (.sureness) for both runs: its parts are ``teacher`` and ``student``.
    options : DistillOptions
    log : LogOptions, optional
    columns : Columns, optional
    progress : Progress
    """
    log, target = log or LogOptions(), Path(output)
    need_torch("distillation")
    read = [data, log.folder, options.teacher, options.student]
    check_outputs([(target, "file")], read)
    settings = options.method_settings(log.seed)
    starts = [_start(role, options) for role in ROLES]
    found = split_log(data, log, columns=columns, progress=progress)
    return _Distilling(found, settings, options, target, progress).result(starts)


@dataclass(frozen=True)
class _Start:
    """What one of the two starts from."""

    role: Role
    text: str
    kind: str | None  # None: it is a saved run, model or source
    settings: Mapping[str, Any]

    def identity(self) -> str:
        """What must not change between a command and the one that resumes it."""
        if self.kind is not None:
            return self.kind
        file, parts = split_path(Path(self.text))
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()[:16]
        return "/".join((digest, *parts))

    def opened(self, log: SplitLog, device: str, seed: int) -> ScoreSource:
        """The model to start from: fitted, if it was saved."""
        if self.kind is not None:
            given = {"seed": seed, "device": device, **self.settings}
            return make_recommender(self.kind, **log.good_settings(self.kind, given))
        run = open_run(self.text)
        if run.train is not None:
            self._refuse_leaks(run.train.aligned(log.split.train.users, log.split.train.items), log)
        model = as_recommender(run.source)
        return run.source if model is None else model.set_params(device=device)

    def _refuse_leaks(self, learned: Interactions, log: SplitLog) -> None:
        """A model that was trained on what it is judged by would look better than it is."""
        for name in ("validation", "test"):
            part = log.split.parts[name]
            if n_known := common_pairs(learned, part):
                raise LeakError(
                    f"the {self.role} in {self.text} was trained on {n_known:,} of the {len(part):,} {name} pairs of "
                    "this split, so they cannot judge it; give the data, the protocol and the seed of its training"
                )


def _start(role: Role, options: DistillOptions) -> _Start:
    """What a role says: a kind with its size and settings, or something saved."""
    text, words = getattr(options, role), getattr(options, f"{role}_set")
    name, colon, size = text.partition(":")
    kind = name.lower()
    if kind in names("model"):
        if colon and not size.isdecimal():
            raise SettingError(f"the length of the {role} must be a whole number as in {name}:50, got {text!r}")
        return _Start(role, text, kind, model_settings(kind, int(size) if colon else None, words))
    if not is_saved(Path(text)):
        raise SettingError(
            f"the {role} must be a recommender such as bpr:50 (there are {', '.join(names('model'))}) or a saved run, "
            f"model or source, got {text!r}"
        )
    if words:
        raise SettingError(f"{role}_set belongs to a {role} such as bpr:50, got the saved {text}; leave it out")
    return _Start(role, text, None, {})


@dataclass(frozen=True, eq=False)
class _Distilling:
    """One distillation, once its data are read."""

    log: SplitLog
    settings: DistillationSettings
    options: DistillOptions
    output: Path
    progress: Progress

    @property
    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.output, (*ROLES, _TOGETHER))

    def result(self, starts: list[_Start]) -> DistillResult:
        """Train both alone, let them teach each other, judge, and save both."""
        given = {each.role: each.opened(self.log, self.options.device, self.settings.seed) for each in starts}
        pair = BidirectionalDistillation.from_settings(given["teacher"], given["student"], self.settings)
        pair.check(self.log.split.train, self.log.validation, assume_fitted=True)
        first = {str(each.role): each.identity() for each in starts}
        resumed = self.checkpoints.begin({**first, "pretrain": self.options.pretrain})
        alone = {role: self._alone(role, model) for role, model in given.items()}
        metric = next(own.settings.metric for model in alone.values() if (own := as_recommender(model)) is not None)
        both = self._together(alone)
        models: dict[Role, ScoreSource] = {"teacher": both.teacher_, "student": both.student_}
        self._save(models)
        judged = {f"{role} alone": self._judged(model, metric) for role, model in alone.items() if _fitted(model)}
        for role, model in models.items():
            same = judged.get(f"{role} alone") if model is alone[role] else None
            judged[role] = same or self._judged(model, metric)
        return DistillResult(
            output=self.output, log=self.log, method=self.options.method, settings=self.settings,
            pretrain=self.options.pretrain, resumed=resumed, warm_up=both.warm_up_, metric=metric, models=judged,
            epochs=int(max(both.history_["epoch"])) - both.warm_up_,
        )  # fmt: skip

    def _alone(self, role: Role, model: ScoreSource) -> ScoreSource:
        """A fitted model, or one that warms up in joint training."""
        learns = bool(getattr(self.settings, f"{role}_learns"))
        own = as_recommender(model)
        if own is None or own.is_fitted or (learns and not self.options.pretrain):
            return model
        return own.fit(
            self.log.split.train, self.log.validation, checkpoint=self.checkpoints.path(role),
            checkpoint_seconds=self.options.checkpoint_seconds, progress=self._part(role),
        )  # fmt: skip

    def _together(self, starts: Mapping[Role, ScoreSource]) -> BidirectionalDistillation[Any, Any]:
        both = BidirectionalDistillation.from_settings(starts["teacher"], starts["student"], self.settings)
        both.fit(
            self.log.split.train, self.log.validation, checkpoint=self.checkpoints.path(_TOGETHER),
            checkpoint_seconds=self.options.checkpoint_seconds, progress=self.progress,
        )  # fmt: skip
        return both

    def _save(self, models: Mapping[Role, ScoreSource]) -> None:
        """Both runs in one file; then the checkpoints are not needed any more."""
        runs = {}
        for role, model in models.items():
            about = {"method": self.options.method, "role": role, "settings": self.settings.plain()}
            runs[role] = run_of(model, self.log, {"distilled": about})
        DistilledRuns(runs["teacher"], runs["student"]).save(self.output)
        self.checkpoints.clear()

    def _judged(self, model: ScoreSource, metric: str) -> dict[str, Any]:
        """How a model does on validation and test; items that it does not know are not shown."""
        run = run_of(self._aligned(model), self.log)
        validation = None
        if run.validation is not None:
            found = evaluate_ranking(
                run.source, run.validation, seen=run.train, metrics=[metric], progress=self._part("judging")
            )
            validation = found[metric]
        own = as_recommender(model)  # another source would print its arrays
        test = None if run.test is None else judge(run, progress=self._part("judging"))
        name = type(model).__name__ if own is None else written(own)
        return {"model": name, "parameters": n_parameters(model), "validation": validation, "test": test}

    def _aligned(self, model: ScoreSource) -> ScoreSource:
        """The model, re-indexed to the ids of the training log where its own are others."""
        train = self.log.split.train
        users, items = id_maps(model)
        same = users.same_as(train.users) and items.same_as(train.items)
        return model if same else AlignedSource.of(model, train)

    def _part(self, name: str) -> Progress:
        return part_of(self.progress, 0, 1, name)


def _fitted(model: ScoreSource) -> bool:
    own = as_recommender(model)
    return own is None or own.is_fitted
