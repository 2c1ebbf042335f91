"""Train a network on lists until its utility for held-out users stops rising."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Protocol, Self

import numpy as np
import torch

from sureness import Progress, silent
from sureness.errors import DivergedError
from sureness_reproduction.truncation.networks import CutNetwork, Inputs, Labels, Scales


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


class Schedule(Protocol):
    """How a network is trained: the settings of a `CutPolicy`."""

    learning_rate: float
    weight_decay: float
    batch_size: int
    epochs: int
    patience: int
    seed: int
    threads: int


class CutTraining:
    """The training of a network, which can be stopped after any epoch and continued.

    An epoch is a function of the network, the state of Adam, the seed and the number of the epoch alone.

    Parameters
    ----------
    network : CutNetwork
    inputs : Inputs
    labels : Labels
    scales : tuple of ScoreScale
        Of the scores and of the features of the inputs.
    judge : callable
        The utility of the network for held-out users.
    schedule : Schedule
    """

    def __init__(
        self,
        network: CutNetwork,
        inputs: Inputs,
        labels: Labels,
        *,
        scales: Scales,
        judge: Callable[[], float],
        schedule: Schedule,
    ) -> None:
        self.network, self.inputs, self.labels, self.scales = network, inputs, labels, scales
        self.judge, self.schedule = judge, schedule
        self.optimiser = torch.optim.Adam(
            network.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True
        )
        self.history: list[dict[str, float]] = []
        self.best_epoch, self.best_utility, self.best_weights = 0, -math.inf, network.state_dict()

    def run(self, until: int | None = None, progress: Progress = silent) -> Self:
        """Train up to an epoch, the last one by default, or until `patience` epochs brought no improvement."""
        with using_threads(self.schedule.threads):
            for epoch in range(len(self.history) + 1, (until or self.schedule.epochs) + 1):
                if self.history and epoch - 1 - self.best_epoch >= self.schedule.patience:
                    break
                self._add_epoch(epoch, progress)
        return self

    def _add_epoch(self, epoch: int, progress: Progress) -> None:
        started = time.perf_counter()
        loss, utility = self._mean_loss(epoch), self.judge()
        if utility > self.best_utility:
            self.best_epoch, self.best_utility = epoch, utility
            self.best_weights = deepcopy(self.network.state_dict())
        seconds = time.perf_counter() - started
        self.history.append({"epoch": epoch, "loss": loss, "utility": utility, "seconds": seconds})
        text = f"epoch {epoch} loss {loss:.4f} utility {self.best_utility:.4f} at {self.best_epoch}"
        progress(text, epoch, self.schedule.epochs)

    def _mean_loss(self, epoch: int) -> float:
        """One pass over the lists in a new order."""
        seed, network = self.schedule.seed, self.network
        order = torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(len(self.inputs.lengths)))
        total = 0.0
        network.train()
        with seeded(seed, epoch):
            for rows in torch.split(order, self.schedule.batch_size):
                loss = network.loss(self.inputs.rows(rows), self.labels.rows(rows)).mean()
                self.optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimiser.step()
                total += float(loss.detach()) * len(rows)
        if not math.isfinite(total):
            raise DivergedError(
                f"training diverged: the loss of epoch {epoch} is {total}; lower the learning rate "
                f"({self.schedule.learning_rate})"
            )
        return total / len(order)

    def best(self) -> CutNetwork:
        """The network, left at its best epoch."""
        self.network.load_state_dict(self.best_weights)
        return self.network.eval()
