"""The joint loop: two models take turns, look at each other's ranks every few epochs, and stop each at its best."""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sureness.data.interactions import Interactions
from sureness.distillation.foreign import ForeignSource
from sureness.distillation.labels import judged_pairs, labelling
from sureness.distillation.learner import Learner
from sureness.distillation.pools import Side, refresh
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.distillation.starts import truncated
from sureness.errors import DataError
from sureness.models.checkpoints import CheckpointFile
from sureness.models.networks.bpr import BPRNetwork
from sureness.models.networks.network import Network
from sureness.models.networks.training import advanced, cloned, copied, judged_users, seeded, using_threads, validated
from sureness.models.networks.ubpr import UBPRNetwork
from sureness.models.state import TrainingState
from sureness.sources.base import ScoreSource

Report = Callable[[str, int, int], None]

_REFRESH, _LABELS = 1, 2  # what a random number is for, beside seed and epoch
_TOLD_APART = 16  # users whose scores tell one source from another
_REPORT_SECONDS, _PARTS = 0.2, 1000  # time between two reports; parts of an epoch they tell apart


class Pupil:
    """One of the two models, with what is known of its training."""

    def __init__(
        self, name: str, model: Network | ForeignSource, train: Interactions, direction: Direction, *, learns: bool,
        warm: bool,
    ) -> None:  # fmt: skip
        self.name, self.model, self.train = name, model, train
        self.voice = model  # what the other model hears
        self.learns = learns and isinstance(model, Network)
        self.warm = warm  # whether it was fitted before, and needs no warm-up
        self.progress = TrainingState()
        self.stopped = False
        self.learner = Learner(model, train, direction) if self.learns and isinstance(model, Network) else None
        self.best: dict[str, Tensor] = copied(model) if isinstance(model, Network) else {}

    @property
    def network(self) -> Network:
        """The model, where it is one of ours."""
        assert isinstance(self.model, Network)
        return self.model

    @property
    def active(self) -> bool:
        """Whether it still learns."""
        return self.learner is not None and not self.stopped

    def fingerprint(self) -> str:
        """A short word that changes when the model does: by its tensors, of a source by some of its scores."""
        digest = hashlib.sha256()
        if isinstance(self.model, Network):
            for name, tensor in sorted(self.model.state_dict().items()):
                digest.update(name.encode() + tensor.detach().cpu().numpy().tobytes())
        else:
            digest.update(self.model.score_block(np.arange(min(_TOLD_APART, self.model.n_users))).tobytes())
        return digest.hexdigest()[:16]

    def speak_from_best(self) -> None:
        """From now on the other model hears what this one was at its best, at each refresh."""
        kept = self.network.state_dict()
        shared = {id(part): part for name, part in self.network.named_buffers() if name not in kept}
        self.voice = copy.deepcopy(self.network, shared)

    def present(self) -> ScoreSource:
        """Its scores as they are now."""
        return self.model if isinstance(self.model, ForeignSource) else _source(self.model, self.train)

    def spoken(self) -> ScoreSource:
        """The scores that the other model hears of; those of now, unless it speaks from its best."""
        if isinstance(self.voice, ForeignSource) or self.voice is self.model:
            return self.present()
        self.voice.load_state_dict(self.best)
        self.voice.eval()
        return _source(self.voice, self.train)

    def stop(self) -> None:
        """Go back to the best, and stay there."""
        self.stopped = True
        self.network.load_state_dict(self.best)
        self.network.eval()
        self.network.settle()

    def state(self) -> dict[str, dict[str, Tensor]]:
        """What a checkpoint keeps."""
        if self.learner is None:
            return {}
        tensors = {"network": self.learner.network.state_dict(), "best": self.best,
                   "optimiser": self.learner.optimiser.state()}  # fmt: skip
        return {f"{self.name}_{part}": named for part, named in tensors.items()}


class JointTraining:
    """Teacher and student from their start to their best; an epoch follows from the state before it and its number."""

    def __init__(
        self, teacher: Pupil, student: Pupil, train: Interactions, validation: Interactions | None,
        settings: DistillationSettings,
    ) -> None:  # fmt: skip
        self.pupils = (teacher, student)
        self.train, self.validation, self.settings = train, validation, settings
        self.number = 0  # finished epochs, warm-up among them
        self.snapshot: dict[str, dict[str, Tensor]] = {}  # what the last refresh saw of both
        self.refreshed = 0  # the epoch before which that was
        self.history: list[dict[str, Any]] = []
        for pupil in self.pupils:
            if pupil.warm and pupil.learner is not None:
                pupil.learner.optimiser.learning_rate *= settings.fitted_rate
            if pupil.learner is not None and settings.guides == "best":
                pupil.speak_from_best()
        self.warm_up = settings.warm_up if any(pupil.learner and self._warms_up(pupil) for pupil in self.pupils) else 0
        self._check()

    def _check(self) -> None:
        for pupil, direction in zip(self.pupils, self._directions(), strict=True):
            if pupil.learner is None:
                continue
            if direction.labels == "calibrated" and self.validation is None:
                raise DataError("calibrated labels are fitted on a validation set, and none was given; give one, or "
                                "use labels='sigmoid'")  # fmt: skip
            if direction.positives and isinstance(pupil.model, UBPRNetwork):
                raise DataError("UBPR weighs every positive by its propensity, and the other model's items have none; "
                                "use BPR, or positives=0")  # fmt: skip
        if self.settings.student_start == "svd" and not isinstance(self.pupils[1].model, BPRNetwork):
            raise DataError("student_start='svd' is for a student whose scores are products of factors (bpr, ubpr); "
                            "use student_start='own'")  # fmt: skip

    def _directions(self) -> tuple[Direction, Direction]:
        return self.settings.to_teacher, self.settings.to_student

    # -- the loop ---------------------------------------------------------------------------------------------------

    def run(self, checkpoint: CheckpointFile | None = None, report: Report | None = None) -> None:
        """Train until both have stopped, and leave both at their best."""
        self.shown = _Shown(report, self)
        resumed = checkpoint is not None and self._resume(checkpoint)
        if not resumed and self.warm_up == 0:
            self._begin()
        while self.number < self.warm_up + self.settings.epochs and self._learning():
            self._epoch(self.number + 1)
            if checkpoint is not None and checkpoint.due:
                self._save(checkpoint)
        if checkpoint is not None:
            self._save(checkpoint)
        for pupil in self.pupils:
            if pupil.learner is not None:
                pupil.stop()
        self.shown.end()

    def _learning(self) -> list[Pupil]:
        return [pupil for pupil in self.pupils if pupil.active]

    def _begin(self) -> None:
        """What happens between warm-up and distillation: the start of the student, and a first judgement of both."""
        teacher, student = self.pupils
        if self.settings.student_start == "svd" and student.learner is not None:
            assert isinstance(student.model, BPRNetwork)
            start = truncated(teacher.present(), student.model.settings.n_factors, seed=self.settings.seed)
            used = int(np.flatnonzero(np.any(start.user_factors, axis=0)).max(initial=-1)) + 1  # beyond: its own start
            for name in ("user_factors", "item_factors"):
                getattr(student.model, name).data[:, :used].copy_(torch.from_numpy(getattr(start, name)[:, :used]))
        for pupil in self._learning():
            metric = self._metric(pupil)
            pupil.best = copied(pupil.network)
            pupil.progress.best, pupil.progress.best_epoch = -1.0 if metric is None else metric, pupil.progress.epoch
            self._note(pupil, None, metric, 0.0)

    def _epoch(self, number: int) -> None:
        together = number > self.warm_up
        if together and (number - self.warm_up - 1) % self.settings.refresh_every == 0:
            self._refresh(number)
        started = time.perf_counter()
        active = [pupil for pupil in self._learning() if together or self._warms_up(pupil)]
        losses = self._steps(active, number)
        self.number = number
        seconds = time.perf_counter() - started
        for pupil, loss in zip(active, losses, strict=True):
            self._judge(pupil, loss, seconds)
        if number == self.warm_up:
            self._begin()

    def _warms_up(self, pupil: Pupil) -> bool:
        return not pupil.warm and not (pupil is self.pupils[1] and self.settings.student_start == "svd")

    def _steps(self, active: list[Pupil], number: int) -> list[float]:
        learners = [pupil.learner for pupil in active if pupil.learner is not None]
        for pupil in self.pupils:
            if isinstance(pupil.model, Network):
                pupil.model.settle()  # a graph model speaks from where it was when the epoch began
        for learner in learners:
            learner.turn = number - self.refreshed if self.refreshed else 0
        counts = [learner.batches.n_batches for learner in learners]
        totals = [0.0] * len(learners)
        threads = max((learner.settings.threads for learner in learners), default=1)
        with seeded(self.settings.seed, number), using_threads(threads):
            epochs = [learner.steps(number) for learner in learners]
            states = [_random_state(learner.settings.seed, number) for learner in learners]
            for done, who in enumerate(interleaved(counts), start=1):
                torch.set_rng_state(states[who])
                totals[who] += next(epochs[who])
                states[who] = torch.get_rng_state()
                self.shown.step(number, done, sum(counts))
            for epoch in epochs:
                next(epoch, None)  # lets it end
        return [
            learner.checked(total / count, number)
            for learner, total, count in zip(learners, totals, counts, strict=True)
        ]

    def _judge(self, pupil: Pupil, loss: float, seconds: float) -> None:
        """Note an epoch of one model; it stops when its metric has stopped rising."""
        since = self.number - self.warm_up
        due = since > 0 and (since % self.settings.validate_every == 0 or since == self.settings.epochs)
        metric = self._metric(pupil) if due else None
        better = self.validation is None or (metric is not None and metric > pupil.progress.best)
        if better:
            pupil.best = copied(pupil.network)
        pupil.progress = advanced(pupil.progress, loss, metric, better, seconds)
        self._note(pupil, loss, metric, seconds)
        if self.validation is not None and pupil.progress.failures >= self.settings.patience:
            pupil.stop()

    def _metric(self, pupil: Pupil) -> float | None:
        if self.validation is None:
            return None
        settings = pupil.network.settings
        users = judged_users(self.validation, settings.validation_users, settings.seed)
        return validated(pupil.network, self.train, self.validation, users)

    def _note(self, pupil: Pupil, loss: float | None, metric: float | None, seconds: float) -> None:
        row = {"epoch": self.number, "model": pupil.name, "loss": loss, "metric": metric, "seconds": seconds}
        self.history.append(row)

    # -- looking at each other --------------------------------------------------------------------------------------

    def _refresh(self, number: int) -> None:
        """Ranks, draws and labels for the coming epochs."""
        started = time.perf_counter()
        self.refreshed = number
        learning = [pupil for pupil in self.pupils if pupil.learner is not None]
        self.snapshot = {f"{pupil.name}_snapshot": copied(pupil.network) for pupil in learning}
        if self.settings.guides == "best":
            self.snapshot |= {f"{pupil.name}_voice": cloned(pupil.best) for pupil in learning}
        sides = [
            Side(direction, place, isinstance(self.pupils[1 - place].model, ForeignSource))
            for place, direction in enumerate(self._directions())
            if self.pupils[place].learner is not None
        ]
        rng = np.random.default_rng([self.settings.seed, number, _REFRESH])
        sources = (self.pupils[0].present(), self.pupils[1].present())
        spoken = (self.pupils[0].spoken(), self.pupils[1].spoken()) if self.settings.guides == "best" else None
        lessons = refresh(sources, self.train, sides, self.settings, rng, self.shown.report, spoken=spoken)
        pairs = None
        if self.validation is not None and any(side.direction.labels == "calibrated" for side in sides):
            pairs = judged_pairs(
                self.train, self.validation, np.random.default_rng([self.settings.seed, number, _LABELS])
            )
        for side, lesson in zip(sides, lessons, strict=True):
            learner, guide = self.pupils[side.learner].learner, self.pupils[1 - side.learner].voice
            assert learner is not None
            scores = None if pairs is None else guide.opinions(pairs[0], pairs[1][:, None])[:, 0]
            learner.listen(lesson, guide, labelling(side.direction, learner.network, scores, pairs))
        self.refresh_seconds = time.perf_counter() - started

    # -- surviving --------------------------------------------------------------------------------------------------

    def _save(self, checkpoint: CheckpointFile) -> None:
        parts = dict(self.snapshot)
        for pupil in self.pupils:
            parts |= pupil.state()
        body = {
            "number": self.number, "refreshed": self.refreshed, "history": self.history,
            "pupils": {
                pupil.name: {
                    "progress": asdict(pupil.progress), "stopped": pupil.stopped,
                    "steps": 0 if pupil.learner is None else pupil.learner.optimiser.steps,
                }
                for pupil in self.pupils
            },
        }  # fmt: skip
        checkpoint.write(parts, body)

    def _resume(self, checkpoint: CheckpointFile) -> bool:
        names = [
            f"{pupil.name}_{part}"
            for pupil in self.pupils
            for part in ("network", "best", "optimiser", "snapshot", "voice")
        ]
        found = checkpoint.read(names)
        if found is None:
            return False
        parts, body = found
        self.number, self.history = body["number"], body["history"]
        learning = [pupil for pupil in self.pupils if pupil.learner is not None]
        if body["refreshed"]:
            for pupil in learning:
                pupil.network.load_state_dict(parts[f"{pupil.name}_snapshot"])
                if self.settings.guides == "best":
                    pupil.best = parts[f"{pupil.name}_voice"]
            self._refresh(body["refreshed"])
        for pupil in learning:
            self._put_back(pupil, parts, body["pupils"][pupil.name])
        return True

    def _put_back(self, pupil: Pupil, parts: dict[str, dict[str, Tensor]], told: dict[str, Any]) -> None:
        assert pupil.learner is not None
        network = pupil.learner.network
        network.load_state_dict(parts[f"{pupil.name}_network"])
        network.eval()
        pupil.learner.optimiser.restore(parts[f"{pupil.name}_optimiser"], told["steps"])
        pupil.best = {name: tensor.to(network.device) for name, tensor in parts[f"{pupil.name}_best"].items()}
        pupil.progress, pupil.stopped = TrainingState(**told["progress"]), told["stopped"]


def _source(network: Network, train: Interactions) -> ScoreSource:
    network.settle()
    return network.source(train.users, train.items)


def interleaved(counts: list[int]) -> Iterator[int]:
    """Whose turn it is, so that all end their epoch together, however many steps each has.

    Examples
    --------
    >>> list(interleaved([2, 4]))
    [1, 0, 1, 1, 0, 1]
    """
    turns = [((place + 0.5) / count, who) for who, count in enumerate(counts) for place in range(count)]
    yield from (who for _, who in sorted(turns))


def _random_state(*seed: int) -> Tensor:
    """Torch's random numbers as training alone would find them."""
    with seeded(*seed):
        return torch.get_rng_state()


class _Shown:
    """What is told of the training, not too often."""

    def __init__(self, report: Report | None, training: JointTraining) -> None:
        self.report, self.training = report, training
        self.total = training.warm_up + training.settings.epochs
        self.last = 0.0

    def step(self, number: int, done: int, steps: int) -> None:
        if self.report is not None and time.monotonic() - self.last > _REPORT_SECONDS:
            self.last = time.monotonic()
            self.report(self._told(number), _PARTS * (number - 1) + _PARTS * done // steps, _PARTS * self.total)

    def end(self) -> None:
        if self.report is not None:
            self.report(self._told(self.training.number), _PARTS * self.total, _PARTS * self.total)

    def _told(self, number: int) -> str:
        best = [f"{pupil.name} {pupil.progress.best:.4f}" for pupil in self.training.pupils if pupil.progress.best >= 0]
        text = f"epoch {number}" + (" (warm-up)" if number <= self.training.warm_up else "")
        return f"{text}: {', '.join(best)}" if best else text
