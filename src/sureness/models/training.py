"""The only training loop: batches, early stopping, checkpoints, progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from sureness._types import IntArray
from sureness.data.interactions import Interactions
from sureness.errors import DataError
from sureness.evaluation.ranking import evaluate_ranking
from sureness.models.batches import Batch, SoftItems
from sureness.models.checkpoints import Checkpoint, Progress
from sureness.models.losses import soft_label_loss
from sureness.models.network import Network
from sureness.models.optimiser import RowAdam

Report = Callable[[str, int, int], None]

_REPORT_SECONDS = 0.2


class Trainer:
    """One network with its optimiser and its batches; an epoch is a function of seed and number alone."""

    def __init__(self, network: Network, train: Interactions) -> None:
        self.network, self.train = network, train
        self.settings = network.settings
        self.optimiser = RowAdam(network, self.settings.learning_rate)
        self.batches = network.batches(train)
        self.fused = network.has_fused_step and network.device.type == "cpu"
        if not self.batches.n_batches:
            raise DataError("there is nothing to learn from: no user has both a seen and an unseen item")

    def epoch(self, number: int, on_batch: Callable[[int], None] | None = None) -> float:
        """One pass over the log; returns the mean loss."""
        total = 0.0
        with seeded(self.settings.seed, number), using_threads(self.settings.threads):
            for done, loss in enumerate(self.steps(number), start=1):
                total += loss
                if on_batch is not None:
                    on_batch(done)
        return self.checked(total / self.batches.n_batches, number)

    def steps(self, number: int) -> Iterator[float]:
        """The steps of one epoch, each made when its loss is asked for."""
        rng = np.random.default_rng([self.settings.seed, number])
        self.network.train()
        for batch in self.batches.epoch(rng):
            yield self.step(batch)
        self.network.eval()

    def step(self, batch: Batch, soft: SoftItems | None = None) -> float:
        """One step on one batch, and on another model's opinions where there are some; returns its mean loss."""
        if self.fused:
            loss = self.network.fused_step(batch, self.optimiser, soft)
        else:
            mean = self.network.loss(batch).mean()
            if soft is not None:
                mean = mean + self._soft_loss(batch, soft).mean()
            mean.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            loss = float(mean.detach())
        self.network.after_step(batch, soft)
        return loss

    def _soft_loss(self, batch: Batch, soft: SoftItems) -> Tensor:
        network = self.network
        weights = np.where(soft.items >= 0, soft.weights, np.float32(0.0))
        scores = network.score(
            network.tensor(batch.users), network.tensor(np.where(soft.items >= 0, soft.items, batch.positives[:, None]))
        )
        labels, weighed = (torch.from_numpy(values).to(network.device) for values in (soft.labels, weights))
        return soft_label_loss(scores, labels, weighed, soft.slope, soft.shift)

    def checked(self, loss: float, number: int) -> float:
        """The loss of an epoch, if training did not diverge."""
        if not math.isfinite(loss):
            raise DataError(
                f"training diverged: the loss of epoch {number} is {loss}; lower the learning rate "
                f"({self.settings.learning_rate}) or start smaller (start_scale={self.settings.start_scale})"
            )
        return loss


def train_network(
    network: Network,
    train: Interactions,
    validation: Interactions | None,
    *,
    checkpoint: Checkpoint | None = None,
    report: Report | None = None,
) -> Progress:
    """Train until the validation metric stops rising, and leave the network at its best epoch.

    Without validation all epochs are run and the last one stays. Killed and called again with the same checkpoint, it
    goes on to the same end.
    """
    trainer = Trainer(network, train)
    settings = network.settings
    progress, best = Progress(), copied(network)
    if checkpoint is not None and (found := checkpoint.load(network, trainer.optimiser)) is not None:
        best, progress = found
    judged = None if validation is None else judged_users(validation, settings.validation_users, settings.seed)
    shown = _Shown(report, trainer.batches.n_batches, settings.epochs, settings.metric if validation else None)
    while progress.epoch < settings.epochs and not (validation and progress.failures >= settings.patience):
        started = time.perf_counter()
        number = progress.epoch + 1
        shown.epoch(progress)
        loss = trainer.epoch(number, shown.batch)
        metric = None
        if validation is not None and (number % settings.validate_every == 0 or number == settings.epochs):
            metric = validated(network, train, validation, judged)
        better = metric is None if validation is None else metric is not None and metric > progress.best
        if better:
            best = copied(network)
        progress = advanced(progress, loss, metric, better, time.perf_counter() - started)
        if checkpoint is not None:
            checkpoint.save(network, trainer.optimiser, best, progress)
    if checkpoint is not None:
        checkpoint.save(network, trainer.optimiser, best, progress, now=True)
    network.load_state_dict(best)
    network.eval()
    network.settle()
    shown.end(progress)
    return progress


@contextmanager
def seeded(*seed: int) -> Iterator[None]:
    """Torch's random numbers follow from these, and are left as they were found."""
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        yield


@contextmanager
def using_threads(n_threads: int) -> Iterator[None]:
    """Torch works with so many threads, and afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Shown:
    """What is told of the training, not too often."""

    def __init__(self, report: Report | None, n_batches: int, epochs: int, metric: str | None) -> None:
        self.report, self.n_batches, self.epochs, self.metric = report, n_batches, epochs, metric
        self.text, self.done, self.last = "", 0, 0.0

    def epoch(self, progress: Progress) -> None:
        self.text, self.done = self._told(progress), progress.epoch * self.n_batches

    def batch(self, n: int) -> None:
        if self.report is not None and time.monotonic() - self.last > _REPORT_SECONDS:
            self.last = time.monotonic()
            self.report(self.text, self.done + n, self.epochs * self.n_batches)

    def end(self, progress: Progress) -> None:
        if self.report is not None:
            self.report(self._told(progress), self.epochs * self.n_batches, self.epochs * self.n_batches)

    def _told(self, progress: Progress) -> str:
        if not progress.history:
            return "training"
        text = f"epoch {progress.epoch} loss {progress.history[-1]['loss']:.4f}"
        return text + (f" {self.metric} {progress.best:.4f} at {progress.best_epoch}" if progress.best >= 0 else "")


def advanced(progress: Progress, loss: float, metric: float | None, better: bool, seconds: float) -> Progress:
    number = progress.epoch + 1
    row = {"epoch": number, "loss": loss, "metric": metric, "seconds": seconds}
    return replace(
        progress, epoch=number, seconds=progress.seconds + seconds, history=[*progress.history, row],
        best=progress.best if metric is None or not better else metric,
        best_epoch=number if better else progress.best_epoch,
        failures=0 if better else progress.failures + (metric is not None),
    )  # fmt: skip


def validated(network: Network, train: Interactions, validation: Interactions, users: IntArray | None) -> float:
    network.settle()
    source = network.source(train.users, train.items)
    return evaluate_ranking(source, validation, seen=train, metrics=[network.settings.metric], users=users)[
        network.settings.metric
    ]


def judged_users(validation: Interactions, most: int, seed: int) -> IntArray:
    some = np.flatnonzero(validation.user_degree)
    if len(some) <= most:
        return some
    return np.sort(np.random.default_rng([seed, 0]).choice(some, most, replace=False))


def copied(network: Network) -> dict[str, Tensor]:
    return cloned(network.state_dict())


def cloned(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in state.items()}
