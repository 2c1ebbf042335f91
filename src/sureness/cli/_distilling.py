"""What `distill` does once its words are understood: train both alone, let them teach each other, judge, write."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl
from rich.progress import Progress

from sureness._artefacts import MANIFEST
from sureness.artefacts.files import replacing
from sureness.cli._console import steps_of
from sureness.cli._judging import LEAVE_ONE_OUT, judged_run
from sureness.cli._training import Prepared, model_settings, typed_settings
from sureness.data.interactions import Interactions, union
from sureness.data.recipes.base import common_pairs
from sureness.distillation.methods import distillation_method
from sureness.distillation.settings import DistillationSettings
from sureness.errors import DataError
from sureness.evaluation.ranking import evaluate_ranking
from sureness.sources.base import ScoreSource, id_maps

ROLES = ("teacher", "student")


@dataclass(frozen=True)
class Asked:
    """One of the two as it was asked for."""

    role: str
    text: str
    kind: str | None  # None: the text is a folder
    settings: dict[str, Any]

    def start(self) -> str:
        """What must not change between a command and the one that goes on from its checkpoints."""
        if self.kind is not None:
            return self.kind
        from sureness.models.runs import model_file, source_folder

        places = [
            model_file(self.text),
            source_folder(self.text) / MANIFEST,
            Path(self.text),
            Path(self.text) / MANIFEST,
        ]
        place = next(place for place in places if place.is_file())
        return hashlib.sha256(place.read_bytes()).hexdigest()[:16]

    def opened(self, log: Prepared, device: str) -> ScoreSource:
        """The model to start from: fitted, if it comes from a folder."""
        from sureness.models.base import Recommender
        from sureness.models.catalogue import make_recommender
        from sureness.models.runs import load_run

        if self.kind is not None:
            return make_recommender(self.kind, **log.good_settings(self.kind, self.settings))
        run = load_run(self.text)
        if run.train is not None:
            _refuse_leaks(self, run.train.aligned(log.split.train.users, log.split.train.items), log)
        return run.source.set_params(device=device) if isinstance(run.source, Recommender) else run.source


def asked_model(role: str, text: str, setting: list[str], device: str, seed: int, output: Path) -> Asked:
    """What --teacher or --student says: a kind with its size and settings, or a folder."""
    from sureness.models.catalogue import model_names

    name, colon, size = text.partition(":")
    if name.lower() in model_names():
        if colon and not size.isdecimal():
            raise DataError(f"the length of --{role} must be a whole number as in {name}:50, got {text!r}")
        factors = int(size) if colon else None
        return Asked(role, text, name.lower(), model_settings(name.lower(), factors, setting, device, seed))
    if not Path(text).exists():
        raise DataError(
            f"--{role} must be a recommender such as bpr:50 (there are {', '.join(model_names())}) or the folder of a "
            f"run, a model or a source, got {text!r}"
        )
    if setting:
        raise DataError(f"--{role}-set belongs to a {role} such as bpr:50, got the folder {text}; leave it out")
    place, target = Path(text).resolve(), output.resolve()
    if target in (place, *place.parents):
        raise DataError(f"the {role} {text} is in the output {output}, which would replace it; give another folder")
    return Asked(role, text, None, {})


def method_settings(method: str, setting: list[str], seed: int) -> DistillationSettings:
    """The settings of a method, with changes out of words."""
    usual = distillation_method(method)
    defaults = {name: value for name, value in asdict(usual).items() if not isinstance(value, dict)}
    for name in ("to_teacher", "to_student"):
        defaults |= {f"{name}__{inner}": value for inner, value in asdict(getattr(usual, name)).items()}
    return usual.changed(**{"seed": seed} | typed_settings("distillation", setting, defaults))


def _refuse_leaks(asked: Asked, learned: Interactions, log: Prepared) -> None:
    """A model that has learned from what it is judged by would look better than it is."""
    for name in ("validation", "test"):
        part = log.split.parts[name]
        if n_known := common_pairs(learned, part):
            raise DataError(
                f"the {asked.role} in {asked.text} has learned from {n_known:,} of the {len(part):,} {name} pairs of "
                "this split, so it cannot be judged by them; give the data, the protocol and the seed of its training"
            )


@dataclass(frozen=True, eq=False)
class Work:
    """All that one command has to do, once its data are read."""

    log: Prepared
    settings: DistillationSettings
    output: Path
    pretrain: bool
    seconds: float  # between checkpoints
    bar: Progress
    report: Path | None = None  # where the page goes

    def result(self, method: str, asked: list[Asked], device: str) -> dict[str, Any]:
        """Train, distil, judge and write both."""
        given = {each.role: each.opened(self.log, device) for each in asked}
        self._refuse_early(given)
        resumed = self._started({each.role: each.start() for each in asked} | {"pretrain": self.pretrain})
        starts = {role: self._alone(role, model) for role, model in given.items()}
        metric = next(model.settings.metric for model in starts.values() if hasattr(model, "settings"))
        judged = {f"{role} alone": self._judged(model, metric) for role, model in starts.items() if _fitted(model)}
        distilled, about, history = self._together(starts)
        for role, model in distilled.items():
            known = judged.get(f"{role} alone") if model is starts[role] else None
            judged[role] = known or self._judged(model, metric)
            self._write(role, model, {"method": method, "role": role, "settings": self.settings.plain()})
        headline = self._page(starts, distilled, about["warm_up"], metric, history)
        self._clear()
        return {
            "data": self.log.about, "notes": self.log.notes, "output": str(self.output), "method": method,
            "settings": self.settings.plain(), "pretrain": self.pretrain, "resumed": resumed, **about,
            "parts": {part: len(pairs) for part, pairs in self.log.split.parts.items()}, "metric": metric,
            "models": judged, "report": None if self.report is None else str(self.report), "headline": headline,
        }  # fmt: skip

    def learns(self, role: str) -> bool:
        """Whether the method changes it."""
        return bool(getattr(self.settings, f"{role}_learns"))

    def _refuse_early(self, given: dict[str, ScoreSource]) -> None:
        """What cannot be distilled or shown is refused before anything is trained."""
        if self.report is not None and not len(self.log.split.test):
            raise DataError("--report judges the models by a test part, and this split has none; leave it out")
        from sureness.distillation.bidirectional import BidirectionalDistillation

        train = self.log.split.train
        both = BidirectionalDistillation.from_settings(given["teacher"], given["student"], self.settings)
        both.check(train, self.log.validation, assume_fitted=True)

    def _started(self, starts: dict[str, Any]) -> bool:
        """Make the folders; returns whether there are checkpoints to go on from. Those of another start are refused."""
        from sureness.models.runs import check_folder

        for folder in (self.output, *(self.output / role for role in ROLES)):
            check_folder(folder)
        path, told = self._checkpoint("starts.json"), json.dumps(starts, indent=1) + "\n"
        if not path.exists():
            with replacing(path) as temporary:
                temporary.write_text(told, encoding="utf-8")
            return False
        if path.read_text(encoding="utf-8") != told:
            raise DataError(
                f"{path.parent} belongs to a command with another teacher, student or start; remove it to begin anew, "
                "or give another folder"
            )
        return True

    def _checkpoint(self, name: str) -> Path:
        return self.output / "checkpoints" / name

    def _clear(self) -> None:
        """Remove the checkpoints, and nothing else that is beside them."""
        for name in (*ROLES, "both", "starts.json"):
            self._checkpoint(name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._checkpoint("").rmdir()

    def _alone(self, role: str, model: Any) -> Any:
        """A model that is fitted, or one that will warm up later."""
        if _fitted(model) or (self.learns(role) and not self.pretrain):
            return model
        return model.fit(
            self.log.split.train, self.log.validation, checkpoint=self._checkpoint(role),
            checkpoint_seconds=self.seconds, progress=self._steps(f"{role}: "),
        )  # fmt: skip

    def _together(self, starts: dict[str, ScoreSource]) -> tuple[dict[str, ScoreSource], dict[str, Any], pl.DataFrame]:
        from sureness.distillation.bidirectional import BidirectionalDistillation

        both = BidirectionalDistillation.from_settings(starts["teacher"], starts["student"], self.settings)
        both.fit(
            self.log.split.train, self.log.validation, checkpoint=self._checkpoint("both"),
            checkpoint_seconds=self.seconds, progress=self._steps(),
        )  # fmt: skip
        last: Any = both.history_["epoch"].max()
        about = {"warm_up": both.warm_up_, "epochs": last - both.warm_up_}
        return {"teacher": both.teacher_, "student": both.student_}, about, both.history_

    def _page(
        self, starts: dict[str, ScoreSource], distilled: dict[str, ScoreSource], warm_up: int, metric: str,
        history: pl.DataFrame,
    ) -> str | None:  # fmt: skip
        """Write the page, if one is asked for; returns its first sentence."""
        if self.report is None:
            return None
        from sureness.report.distillation import DistilledModels, TrainingRecord, gather_distillation
        from sureness.report.part_pages import write_distillation_report

        models: dict[str, dict[str, ScoreSource]] = {role: {} for role in ROLES}
        for role in ROLES:
            alone = {role.capitalize(): self._seen_by_log(starts[role])} if _fitted(starts[role]) else {}
            learned = {f"Distilled {role}": distilled[role]} if distilled[role] is not starts[role] else {}
            models[role] = alone | learned
        both = tuple(list(models[role])[-1] for role in ROLES)
        after = (both[0], both[1]) if all(len(each) > 1 for each in models.values()) else None
        seen = union([part for part in (self.log.split.train, self.log.validation) if part is not None])
        named = [pair for some in models.values() for pair in some.items()]
        about = {name: repr(model) for name, model in named if hasattr(model, "settings")}
        found = gather_distillation(
            DistilledModels(teachers=models["teacher"], students=models["student"], after=after, about=about),
            self.log.split.test, seen=seen,
            training=TrainingRecord(history=history, warm_up=warm_up, metric=metric), progress=self._steps("report: "),
        )  # fmt: skip
        return write_distillation_report(self.report, found, progress=self._steps("report: ")).headline

    def _seen_by_log(self, model: Any) -> ScoreSource:
        """The model, or what the training log knows of it where its ids are others."""
        from sureness.distillation.aligned import AlignedSource

        train = self.log.split.train
        users, items = id_maps(model)
        same = users.same_as(train.users) and items.same_as(train.items)
        return cast(ScoreSource, model) if same else AlignedSource.of(model, train)

    def _judged(self, model: Any, metric: str) -> dict[str, Any]:
        """How a model does on validation and test; what it does not know, it does not show."""
        from sureness.models.runs import Run

        split, about = self.log.split, self.log.about
        source = self._seen_by_log(model)
        row: dict[str, Any] = {"model": repr(model) if hasattr(model, "settings") else type(model).__name__}
        row["parameters"] = getattr(model, "n_parameters", None)
        show, validation, test = self._steps("judging: "), self.log.validation, None
        if validation is not None:
            found = evaluate_ranking(source, validation, seen=split.train, metrics=[metric], progress=show)
            row["validation"] = found[metric]
        if len(split.test):
            metrics = None if about["protocol"] == "preference" else list(LEAVE_ONE_OUT)
            test = judged_run(Run(source, split.train, split.validation, split.test, about), metrics, show)
        return row | {"test": {} if test is None else {"users": test.n_users, **test.means}}

    def _steps(self, what: str = "") -> Callable[[str, int, int], None]:
        """The bars of one stage; those of the stage before go."""
        for task in self.bar.task_ids:
            self.bar.remove_task(task)
        show = steps_of(self.bar)
        return lambda step, done, total: show(what + step, done, total)

    def _write(self, role: str, model: Any, distilled: dict[str, Any]) -> None:
        """One run, as `sureness train` writes it."""
        from sureness.models.runs import model_file, save_split, source_folder
        from sureness.sources.saving import save_source

        folder = self.output / role
        save_split(self.log.split, folder, self.log.about | {"distilled": distilled})
        model.save(model_file(folder)) if hasattr(model, "fit") else save_source(model, source_folder(folder))


def _fitted(model: ScoreSource) -> bool:
    from sureness.models.base import Recommender

    return not isinstance(model, Recommender) or model.is_fitted
