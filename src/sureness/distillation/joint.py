"""Joint training: both models take turns, ranks are refreshed every few epochs, and each stops at its best.

Checkpoints store no drawn items. They store the weights at the last refresh, from which the same items are drawn again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from os import PathLike
from typing import Any, Literal

import numpy as np
import torch

from sureness._progress import Progress, part_of, seldom, silent
from sureness.data.interactions import Interactions
from sureness.distillation.learner import soft_labels, validation_pairs
from sureness.distillation.participants import LearningParticipant, Participant, Tensors
from sureness.distillation.refresh import Side, refresh
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.distillation.starts import truncated
from sureness.errors import SettingError
from sureness.models.checkpoints import CheckpointFile, TrainingState, fingerprint
from sureness.models.networks.training import (
    Trainer,
    advanced,
    cloned,
    copied,
    judged_users,
    seeded,
    using_threads,
    validated,
)
from sureness.saving.packed import JSON

_REFRESH, _LABELS = 1, 2  # keep the random numbers of a refresh apart from those of its labels
_PARTS_OF_A_CHECKPOINT = ("network", "best", "optimiser", "snapshot", "guide")
_PLACES: tuple[Literal[0], Literal[1]] = (0, 1)  # teacher, student


class JointTraining:
    """Teacher and student from their start to their best.

    An epoch is a function of the state before it and its number, so that a run can be resumed.
    """

    def __init__(
        self,
        teacher: Participant,
        student: Participant,
        train: Interactions,
        validation: Interactions | None,
        settings: DistillationSettings,
    ) -> None:
        self.participants = (teacher, student)
        self.train, self.validation, self.settings = train, validation, settings
        self.learning = [each for each in self.participants if isinstance(each, LearningParticipant)]
        self.number = 0  # finished epochs, including the warm-up
        self.snapshot: dict[str, Tensors] = {}  # the weights at the last refresh
        self.refreshed = 0  # the epoch before which the ranks were refreshed last
        self.progress: Progress = silent
        self.history: list[dict[str, Any]] = []  # rows of epoch, model, loss, metric, seconds
        for each in self.learning:
            if each.fitted:
                each.learner.optimiser.learning_rate *= settings.fitted_rate
            if settings.guides == "best":
                each.guide_from_best()
        self.rates = [each.learner.optimiser.learning_rate for each in self.learning]  # of the first joint epoch
        self.warm_up = settings.warm_up if any(map(self._warms_up, self.learning)) else 0
        self._check()

    def run(self, checkpoint: CheckpointFile | None = None, progress: Progress = silent) -> None:
        """Train until both have stopped, and leave both at their best."""
        self.progress, n_epochs = seldom(progress), self.warm_up + self.settings.epochs
        resumed = checkpoint is not None and self._resume(checkpoint)
        if not resumed and self.warm_up == 0:
            self._begin()
        while self.number < n_epochs and self._active():
            self._epoch(self.number + 1)
            if checkpoint is not None and checkpoint.due:
                self._save(checkpoint)
        if checkpoint is not None:
            self._save(checkpoint)
        for each in self.learning:
            each.stop()
        progress(self._text(self.number), n_epochs, n_epochs)

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
        drawn = refresh(current, self.train, sides, self.settings, rng, self.progress, guides=guiding)
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
                raise SettingError(
                    "calibrated labels are fitted on a validation set, and none was given; give one, or "
                    "use labels='sigmoid'"
                )
            if direction.positives and each.network.weighs_positives:
                raise SettingError(
                    "UBPR weighs every positive by its propensity, and the other model's items have "
                    "none; use BPR, or positives=0"
                )
        student = self.participants[1].network
        if self.settings.student_start == "svd" and not (student and student.starts_from_factors):
            raise SettingError(
                "student_start='svd' is for a student whose scores are products of factors (bpr, "
                "ubpr); use student_start='own'"
            )

    def _warms_up(self, each: LearningParticipant) -> bool:
        from_svd = each.role == "student" and self.settings.student_start == "svd"
        return not each.fitted and not from_svd

    def _begin(self) -> None:
        """Between warm-up and joint training: start the student, and validate both for the first time."""
        student = self.participants[1]
        if self.settings.student_start == "svd" and isinstance(student, LearningParticipant):
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
        for each, rate in zip(self.learning, self.rates, strict=True):
            each.learner.optimiser.learning_rate = rate * self.settings.rate_share(number - self.warm_up)
            each.network.settle()  # a graph model guides with the embeddings of the start of the epoch
            each.learner.epochs_since_refresh = number - self.refreshed if self.refreshed else 0
        learners = [each.learner for each in active]
        steps = part_of(self.progress, number - 1, self.warm_up + self.settings.epochs, self._text(number))
        losses = joint_epoch(learners, number, self.settings.seed, steps)
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
        better = self.validation is None or (metric is not None and metric > each.state.best)
        if better:
            each.keep_best()
        each.state = advanced(each.state, loss, metric, better, seconds)
        self._record(each, loss, metric, seconds)
        if self.validation is not None and each.state.failures >= self.settings.patience:
            each.stop()

    def _metric(self, each: LearningParticipant) -> float | None:
        if self.validation is None:
            return None
        settings = each.network.settings
        users = judged_users(self.validation, settings.validation_users, settings.seed)
        return validated(each.network, self.train, self.validation, users)

    def _record(self, each: LearningParticipant, loss: float | None, metric: float | None, seconds: float) -> None:
        row = {"epoch": self.number, "model": each.role, "loss": loss, "metric": metric, "seconds": seconds}
        self.history.append(row)

    def _text(self, number: int) -> str:
        """How far training is, in words."""
        best = [f"{each.role} {each.state.best:.4f}" for each in self.learning if each.state.best >= 0]
        text = f"epoch {number}" + (" (warm-up)" if number <= self.warm_up else "")
        return f"{text}: {', '.join(best)}" if best else text

    def _active(self) -> list[LearningParticipant]:
        return [each for each in self.learning if not each.stopped]

    def _sides(self) -> list[Side]:
        directions: tuple[Direction, Direction] = self.settings.to_teacher, self.settings.to_student
        return [
            Side(directions[place], place, self.participants[1 - place].keeps_scores)
            for place in _PLACES
            if self.participants[place] in self.learning
        ]

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def checkpoint_file(self, path: str | PathLike[str], every_seconds: float) -> CheckpointFile:
        """The checkpoint of this training; one of other data, settings or starting weights is refused."""
        falling = self.settings.end_rate < 1  # then the rate of every epoch depends on their number
        settings = {name: value for name, value in self.settings.plain().items() if falling or name != "epochs"}
        identity: dict[str, JSON] = {"model": "distillation", "settings": settings, "train": fingerprint(self.train)}
        identity["validation"] = None if self.validation is None else fingerprint(self.validation)
        for each in self.participants:
            identity |= each.identity()
        return CheckpointFile(path, identity, every_seconds)

    def _save(self, checkpoint: CheckpointFile) -> None:
        """Write the state of the training; the old checkpoint stays until the new one is complete."""
        tensors, counters = dict(self.snapshot), {}
        for each in self.learning:
            optimiser = each.learner.optimiser
            parts = {"network": each.network.state_dict(), "best": each.best, "optimiser": optimiser.state()}
            tensors |= {f"{each.role}_{part}": named for part, named in parts.items()}
            counters[each.role] = {"state": asdict(each.state), "stopped": each.stopped, "steps": optimiser.steps}
        body = {
            "number": self.number,
            "refreshed": self.refreshed,
            "history": self.history,
            "participants": counters,
        }
        checkpoint.write(tensors, body)

    def _resume(self, checkpoint: CheckpointFile) -> bool:
        """Restore the state of the training; False if there is no checkpoint yet."""
        names = [f"{each.role}_{part}" for each in self.participants for part in _PARTS_OF_A_CHECKPOINT]
        found = checkpoint.read(names)
        if found is None:
            return False
        tensors, body = found
        checkpoint.refuse_longer(body["number"], self.warm_up + self.settings.epochs)
        self.number, self.history = body["number"], body["history"]
        if body["refreshed"]:
            for each in self.learning:
                each.network.load_state_dict(tensors[f"{each.role}_snapshot"])
                if self.settings.guides == "best":
                    each.best = tensors[f"{each.role}_guide"]
            self.refresh(body["refreshed"])
        for each in self.learning:
            saved, network = body["participants"][each.role], each.network
            network.load_state_dict(tensors[f"{each.role}_network"])
            network.eval()
            each.learner.optimiser.restore(tensors[f"{each.role}_optimiser"], saved["steps"])
            each.best = {name: tensor.to(network.device) for name, tensor in tensors[f"{each.role}_best"].items()}
            each.state, each.stopped = TrainingState(**saved["state"]), saved["stopped"]
        return True


def interleaved(counts: Sequence[int]) -> Iterator[int]:
    """The order of steps that lets all end their epoch together, however many steps each takes.

    Examples
    --------
    >>> list(interleaved([2, 4]))
    [1, 0, 1, 1, 0, 1]
    """
    turns = [((done + 0.5) / count, number) for number, count in enumerate(counts) for done in range(count)]
    yield from (number for _, number in sorted(turns))


def joint_epoch(trainers: Sequence[Trainer], number: int, seed: int, progress: Progress = silent) -> list[float]:
    """One epoch of all trainers, step by step in turn; returns the mean loss of each.

    Each trainer gets the random numbers that it would get if it trained alone.
    """
    counts = [trainer.batches.n_batches for trainer in trainers]
    totals = [0.0] * len(trainers)
    threads = max((trainer.settings.threads for trainer in trainers), default=1)
    with seeded(seed, number), using_threads(threads):
        epochs = [trainer.steps(number) for trainer in trainers]
        states = {
            turn: _random_state(trainer.settings.seed, number)
            for turn, trainer in enumerate(trainers)
            if trainer.network.draws_dropout
        }
        for done, turn in enumerate(interleaved(counts), start=1):
            if turn in states:
                torch.set_rng_state(states[turn])
            totals[turn] += next(epochs[turn])
            if turn in states:
                states[turn] = torch.get_rng_state()
            progress("steps", done, sum(counts))
        for epoch in epochs:
            next(epoch, None)  # runs what follows the last step
    return [
        trainer.checked(total / count, number) for trainer, total, count in zip(trainers, totals, counts, strict=True)
    ]


def _random_state(*seed: int) -> torch.Tensor:
    with seeded(*seed):
        return torch.get_rng_state()
