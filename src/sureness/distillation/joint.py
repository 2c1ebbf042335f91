"""Joint training: both models take turns, ranks are refreshed every few epochs, and each stops at its best."""

from __future__ import annotations

import time
from typing import Literal, TypedDict

import numpy as np

from sureness._progress import Progress, silent
from sureness.data.interactions import Interactions
from sureness.distillation.checkpointing import resume, save
from sureness.distillation.collecting import Side
from sureness.distillation.labels import soft_labels, validation_pairs
from sureness.distillation.participants import LearningParticipant, Participant, Role, Tensors
from sureness.distillation.refresh import refresh
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.distillation.starts import truncated
from sureness.distillation.turns import joint_epoch
from sureness.errors import SettingError
from sureness.models.checkpoints import CheckpointFile
from sureness.models.networks.training import advanced, cloned, copied, judged_users, validated

_REFRESH, _LABELS = 1, 2  # keep the random numbers of a refresh apart from those of its labels
_REPORT_SECONDS, _PARTS = 0.2, 1000  # least time between two reports; parts of an epoch that they tell apart
_PLACES: tuple[Literal[0], Literal[1]] = (0, 1)  # teacher, student


class EpochRow(TypedDict):
    """One epoch of one model in the history."""

    epoch: int
    model: Role
    loss: float | None  # None: judged at the start, before any joint epoch
    metric: float | None  # on the validation set, where it was judged
    seconds: float


class JointTraining:
    """Teacher and student from their start to their best.

    An epoch is a function of the state before it and its number, so that a run can be resumed.
    """

    def __init__(
        self, teacher: Participant, student: Participant, train: Interactions, validation: Interactions | None,
        settings: DistillationSettings,
    ) -> None:  # fmt: skip
        self.participants = (teacher, student)
        self.train, self.validation, self.settings = train, validation, settings
        self.learning = [each for part in self.participants if (each := part.as_learning()) is not None]
        self.number = 0  # finished epochs, including the warm-up
        self.snapshot: dict[str, Tensors] = {}  # the weights at the last refresh
        self.refreshed = 0  # the epoch before which the ranks were refreshed last
        self.history: list[EpochRow] = []
        for each in self.learning:
            if each.fitted:
                each.learner.optimiser.learning_rate *= settings.fitted_rate
            if settings.guides == "best":
                each.guide_from_best()
        self.warm_up = settings.warm_up if any(map(self._warms_up, self.learning)) else 0
        self._check()

    def run(self, checkpoint: CheckpointFile | None = None, progress: Progress = silent) -> None:
        """Train until both have stopped, and leave both at their best."""
        self.reporter = _Reporter(self, progress)
        resumed = checkpoint is not None and resume(self, checkpoint)
        if not resumed and self.warm_up == 0:
            self._begin()
        while self.number < self.warm_up + self.settings.epochs and self._active():
            self._epoch(self.number + 1)
            if checkpoint is not None and checkpoint.due:
                save(self, checkpoint)
        if checkpoint is not None:
            save(self, checkpoint)
        for each in self.learning:
            each.stop()
        self.reporter.end()

    def refresh(self, number: int) -> None:
        """Rank, draw and label for the epochs from `number` on."""
        self.refreshed = number
        self.snapshot = {f"{each.role}_snapshot": copied(each.network) for each in self.learning}
        if self.settings.guides == "best":
            self.snapshot |= {f"{each.role}_guide": cloned(each.best) for each in self.learning}
        teacher, student = self.participants
        current = teacher.current(), student.current()
        guiding = (teacher.guiding(), student.guiding()) if self.settings.guides == "best" else None
        sides = self._sides()
        rng = np.random.default_rng([self.settings.seed, number, _REFRESH])
        drawn = refresh(current, self.train, sides, self.settings, rng, self.reporter.progress, guides=guiding)
        pairs = None
        if self.validation is not None and any(side.direction.labels == "calibrated" for side in sides):
            rng = np.random.default_rng([self.settings.seed, number, _LABELS])
            pairs = validation_pairs(self.train, self.validation, rng)
        for each, side, part in zip(self.learning, sides, drawn, strict=True):
            guide = self.participants[1 - side.learner].guide
            each.learner.imitate(guide, part, soft_labels(side.direction, each.network, guide, pairs))

    # -- preparation ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        for each in self.learning:
            direction = each.learner.direction
            if direction.labels == "calibrated" and self.validation is None:
                raise SettingError("calibrated labels are fitted on a validation set, and none was given; give one, or "
                                   "use labels='sigmoid'")  # fmt: skip
            if direction.positives and each.network.weighs_positives:
                raise SettingError("UBPR weighs every positive by its propensity, and the other model's items have "
                                   "none; use BPR, or positives=0")  # fmt: skip
        if self.settings.student_start == "svd" and not self.participants[1].starts_from_factors:
            raise SettingError("student_start='svd' is for a student whose scores are products of factors (bpr, "
                               "ubpr); use student_start='own'")  # fmt: skip

    def _warms_up(self, each: LearningParticipant) -> bool:
        from_svd = each.role == "student" and self.settings.student_start == "svd"
        return not each.fitted and not from_svd

    def _begin(self) -> None:
        """Between warm-up and joint training: start the student, and validate both for the first time."""
        student = self.participants[1].as_learning()
        if self.settings.student_start == "svd" and student is not None:
            n_factors = student.network.settings.n_factors
            student.network.start_from(truncated(self.participants[0].current(), n_factors, seed=self.settings.seed))
        for each in self._active():
            metric = self._metric(each)
            each.keep_best()
            each.state.best, each.state.best_epoch = -1.0 if metric is None else metric, each.state.epoch
            self._record(each, None, metric, 0.0)

    # -- epochs -----------------------------------------------------------------------------------------------------

    def _epoch(self, number: int) -> None:
        joint = number > self.warm_up
        if joint and (number - self.warm_up - 1) % self.settings.refresh_every == 0:
            self.refresh(number)
        started = time.perf_counter()
        active = [each for each in self._active() if joint or self._warms_up(each)]
        for each in self.learning:
            each.network.settle()  # a graph model guides with the embeddings of the start of the epoch
            each.learner.epochs_since_refresh = number - self.refreshed if self.refreshed else 0
            if joint and not self.settings.keeps_weight_decay:
                each.learner.optimiser.weight_decay = 0.0
        learners = [each.learner for each in active]
        losses = joint_epoch(learners, number, self.settings.seed, self.reporter.steps_of(number))
        self.number = number
        seconds = time.perf_counter() - started
        for each, loss in zip(active, losses, strict=True):
            self._judge(each, loss, seconds)
        if number == self.warm_up:
            self._begin()

    def _judge(self, each: LearningParticipant, loss: float, seconds: float) -> None:
        """Record an epoch of one model, which stops when its metric has stopped rising."""
        joint = self.number - self.warm_up
        due = joint > 0 and (joint % self.settings.validate_every == 0 or joint == self.settings.epochs)
        metric = self._metric(each) if due else None
        last = self.validation is None or self.settings.kept == "last"
        better = last or (metric is not None and metric > each.state.best)
        if better:
            each.keep_best()
        each.state = advanced(each.state, loss, metric, better, seconds)
        self._record(each, loss, metric, seconds)
        if not last and each.state.failures >= self.settings.patience:
            each.stop()

    def _metric(self, each: LearningParticipant) -> float | None:
        if self.validation is None:
            return None
        settings = each.network.settings
        users = judged_users(self.validation, settings.validation_users, settings.seed)
        return validated(each.network, self.train, self.validation, users)

    def _record(self, each: LearningParticipant, loss: float | None, metric: float | None, seconds: float) -> None:
        row: EpochRow = {"epoch": self.number, "model": each.role, "loss": loss, "metric": metric, "seconds": seconds}
        self.history.append(row)

    def _active(self) -> list[LearningParticipant]:
        return [each for each in self.learning if not each.stopped]

    def _sides(self) -> list[Side]:
        directions: tuple[Direction, Direction] = self.settings.to_teacher, self.settings.to_student
        return [
            Side(directions[place], place, self.participants[1 - place].keeps_scores)
            for place in _PLACES
            if self.participants[place] in self.learning
        ]


class _Reporter:
    """Progress of the whole training in parts of epochs, reported at most a few times per second."""

    def __init__(self, training: JointTraining, progress: Progress) -> None:
        self.training, self.progress = training, progress
        self.total = _PARTS * (training.warm_up + training.settings.epochs)
        self.last = 0.0

    def steps_of(self, number: int) -> Progress:
        """Progress of the steps of one epoch."""

        def report(step: str, done: int, total: int) -> None:
            if time.monotonic() - self.last > _REPORT_SECONDS:
                self.last = time.monotonic()
                self.progress(self._text(number), _PARTS * (number - 1) + _PARTS * done // total, self.total)

        return report

    def end(self) -> None:
        """All is done, perhaps earlier than it might have been."""
        self.progress(self._text(self.training.number), self.total, self.total)

    def _text(self, number: int) -> str:
        best = [f"{each.role} {each.state.best:.4f}" for each in self.training.learning if each.state.best >= 0]
        text = f"epoch {number}" + (" (warm-up)" if number <= self.training.warm_up else "")
        return f"{text}: {', '.join(best)}" if best else text
