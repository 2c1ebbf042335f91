"""The only training loop: batches, early stopping, checkpoints, progress."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace

import numpy as np
import torch
from torch import Tensor

from sureness._progress import Progress, part_of, seldom, silent
from sureness._types import IntArray
from sureness.data.interactions import Interactions
from sureness.errors import DivergedError, EmptyError
from sureness.metrics.ranking import evaluate_ranking
from sureness.models.checkpoints import CheckpointFile, TrainingState
from sureness.models.networks.batches import Batch, SoftItems
from sureness.models.networks.network import Network, soft_label_loss
from sureness.models.networks.optimiser import DenseAdam, RowAdam

logger = logging.getLogger(__name__)


class Trainer:
    """One network with its optimiser and its batches; an epoch is a function of seed and number alone."""

    def __init__(self, network: Network, train: Interactions) -> None:
        self.network, self.train = network, train
        self.settings = network.settings
        self.optimiser = _optimiser(network)
        self.batches = network.batches(train)
        rows = self.settings.adam == "rows"
        self.fused = network.has_fused_step and rows and network.device.type == "cpu"
        if not self.batches.n_batches:
            raise EmptyError("there is nothing to learn from: no user has both a seen and an unseen item")

    def epoch(self, number: int, progress: Progress = silent) -> float:
        """One pass over the log; returns the mean loss."""
        total, self.optimiser.learning_rate = 0.0, self.settings.rate_of(number)
        with seeded(self.settings.seed, number), using_threads(self.settings.threads):
            for done, loss in enumerate(self.steps(number), start=1):
                total += loss
                progress("steps", done, self.batches.n_batches)
        return self.checked(total / self.batches.n_batches, number)

    def steps(self, number: int) -> Iterator[float]:
        """The losses of the steps of one epoch; a step is made when its loss is read."""
        rng = np.random.default_rng([self.settings.seed, number])
        self.network.train()
        for batch in self.batches.epoch(rng):
            yield self.step(batch)
        self.network.eval()

    def step(self, batch: Batch, soft: SoftItems | None = None) -> float:
        """One step on one batch, and on the soft labels of another model if there are any; returns its mean loss."""
        if self.fused:
            loss = self.network.fused_step(batch, self.optimiser, soft)
        else:
            mean = self.network.loss(batch).mean()
            if soft is not None:
                mean = mean + self._soft_loss(batch, soft).mean()
            mean.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step(len(batch.users) if self.settings.summed else 1)
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
            raise DivergedError(
                f"training diverged: the loss of epoch {number} is {loss}; lower the learning rate "
                f"({self.settings.learning_rate}) or start smaller (start_scale={self.settings.start_scale})"
            )
        return loss


def _optimiser(network: Network) -> RowAdam:
    settings = network.settings
    if settings.adam == "rows":
        return RowAdam(network, settings.learning_rate)
    return DenseAdam(network, settings.learning_rate, weight_decay=settings.weight_decay)


def train_network(
    network: Network,
    train: Interactions,
    validation: Interactions | None,
    *,
    checkpoint: CheckpointFile | None = None,
    progress: Progress = silent,
) -> TrainingState:
    """Train until the validation metric stops rising, and leave the network at its best epoch.

    Without validation all epochs are run and the last one stays. Killed and called again with the same checkpoint,
    training resumes and ends the same.
    """
    trainer = Trainer(network, train)
    settings = network.settings
    state, best = TrainingState(), copied(network)
    if checkpoint is not None and (found := _resumed(checkpoint, network, trainer.optimiser)) is not None:
        best, state = found
        checkpoint.refuse_longer(state.epoch, settings.epochs)
        logger.info("resumed at epoch %d from %s", state.epoch, checkpoint.path)
    judged = None if validation is None else judged_users(validation, settings.validation_users, settings.seed)
    report = seldom(progress)
    while state.epoch < settings.epochs and not (validation and state.failures >= settings.patience):
        started = time.perf_counter()
        number = state.epoch + 1
        loss = trainer.epoch(number, part_of(report, state.epoch, settings.epochs, _shown(state, settings.metric)))
        metric = None
        if validation is not None and (number % settings.validate_every == 0 or number == settings.epochs):
            metric = validated(network, train, validation, judged)
        better = metric is None if validation is None else metric is not None and metric > state.best
        if better:
            best = copied(network)
        state = advanced(state, loss, metric, better, time.perf_counter() - started)
        if checkpoint is not None and checkpoint.due:
            _save(checkpoint, network, trainer.optimiser, best, state)
    if checkpoint is not None:
        _save(checkpoint, network, trainer.optimiser, best, state)
    network.load_state_dict(best)
    network.eval()
    network.settle()
    logger.info("trained for %d epochs, the best is %d", state.epoch, state.best_epoch)
    n_steps = settings.epochs * trainer.batches.n_batches
    progress(_shown(state, settings.metric), n_steps, n_steps)
    return state


def _save(
    checkpoint: CheckpointFile, network: Network, optimiser: RowAdam, best: dict[str, Tensor], state: TrainingState
) -> None:
    """Write how far training is; the old file stays until the new one is complete."""
    parts = {"network": network.state_dict(), "best": best, "optimiser": optimiser.state()}
    checkpoint.write(parts, {"training": asdict(state), "steps": optimiser.steps})


def _resumed(
    checkpoint: CheckpointFile, network: Network, optimiser: RowAdam
) -> tuple[dict[str, Tensor], TrainingState] | None:
    """Put network and optimiser back where they were; None if there is no file yet."""
    found = checkpoint.read(("network", "best", "optimiser"))
    if found is None:
        return None
    parts, body = found
    network.load_state_dict(parts["network"])
    optimiser.restore(parts["optimiser"], body["steps"])
    best = {name: tensor.to(network.device) for name, tensor in parts["best"].items()}
    return best, TrainingState(**body["training"])


@contextmanager
def seeded(*seed: int) -> Iterator[None]:
    """Torch's random numbers follow from `seed` inside, and its random state is restored afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        yield


@contextmanager
def using_threads(n_threads: int) -> Iterator[None]:
    """Torch uses this many threads inside, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _shown(state: TrainingState, metric: str) -> str:
    """How far training is, in words."""
    if not state.history:
        return "training"
    text = f"epoch {state.epoch} loss {state.history[-1]['loss']:.4f}"
    return text + (f" {metric} {state.best:.4f} at {state.best_epoch}" if state.best >= 0 else "")


def advanced(state: TrainingState, loss: float, metric: float | None, better: bool, seconds: float) -> TrainingState:
    """The state after one more epoch."""
    number = state.epoch + 1
    row = {"epoch": number, "loss": loss, "metric": metric, "seconds": seconds}
    return replace(
        state,
        epoch=number,
        seconds=state.seconds + seconds,
        history=[*state.history, row],
        best=state.best if metric is None or not better else metric,
        best_epoch=number if better else state.best_epoch,
        failures=0 if better else state.failures + (metric is not None),
    )


def validated(network: Network, train: Interactions, validation: Interactions, users: IntArray | None) -> float:
    """The validation metric of a network as it is."""
    network.settle()
    source = network.source(train.users, train.items)
    return evaluate_ranking(source, validation, seen=train, metrics=[network.settings.metric], users=users)[
        network.settings.metric
    ]


def judged_users(validation: Interactions, most: int, seed: int) -> IntArray:
    """The users that validations are based on: all that have a pair, or `most` of them drawn with the seed."""
    some = np.flatnonzero(validation.user_degree)
    if len(some) <= most:
        return some
    return np.sort(np.random.default_rng([seed, 0]).choice(some, most, replace=False))


def copied(network: Network) -> dict[str, Tensor]:
    """A copy of the tensors of a network."""
    return cloned(network.state_dict())


def cloned(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A copy of tensors."""
    return {name: tensor.detach().clone() for name, tensor in state.items()}
