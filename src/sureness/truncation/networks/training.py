"""Train a network on lists until its utility for held-out users stops rising."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import polars as pl
import torch

from sureness._progress import Progress, silent
from sureness.errors import DivergedError
from sureness.models.networks.training import seeded, using_threads
from sureness.truncation.base import HISTORY
from sureness.truncation.networks.inputs import Inputs, Labels
from sureness.truncation.networks.network import CutNetwork
from sureness.truncation.scaling import ScoreScale


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How a network is trained."""

    learning_rate: float  # of Adam
    weight_decay: float  # added to the gradient
    batch_size: int  # lists per step
    epochs: int  # at most
    patience: int  # epochs without a better utility before training stops
    seed: int  # of dropout and of the order of the lists
    threads: int  # of torch


class Trained(NamedTuple):
    """The course of training; the network itself is left at its best epoch."""

    history: pl.DataFrame  # one row per epoch, columns as in HISTORY
    best_epoch: int
    best_utility: float


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
        self, network: CutNetwork, inputs: Inputs, labels: Labels, *, scales: tuple[ScoreScale, ScoreScale | None],
        judge: Callable[[], float], schedule: Schedule,
    ) -> None:  # fmt: skip
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
        loss = _epoch(self.network, self.inputs, self.labels, self.optimiser, self.schedule, epoch)
        utility = self.judge()
        if utility > self.best_utility:
            self.best_epoch, self.best_utility = epoch, utility
            self.best_weights = deepcopy(self.network.state_dict())
        seconds = time.perf_counter() - started
        self.history.append({"epoch": epoch, "loss": loss, "utility": utility, "seconds": seconds})
        text = f"epoch {epoch} loss {loss:.4f} utility {self.best_utility:.4f} at {self.best_epoch}"
        progress(text, epoch, self.schedule.epochs)

    def best(self) -> Trained:
        """Leave the network at its best epoch."""
        self.network.load_state_dict(self.best_weights)
        self.network.eval()
        return Trained(pl.DataFrame(self.history, schema=HISTORY), self.best_epoch, self.best_utility)


def _epoch(
    network: CutNetwork, inputs: Inputs, labels: Labels, optimiser: torch.optim.Optimizer, schedule: Schedule,
    number: int,
) -> float:  # fmt: skip
    """One pass over the lists in a new order; returns the mean loss."""
    order = torch.from_numpy(np.random.default_rng([schedule.seed, number]).permutation(len(inputs.lengths)))
    total = 0.0
    network.train()
    with seeded(schedule.seed, number):
        for rows in torch.split(order, schedule.batch_size):
            loss = network.loss(inputs.rows(rows), labels.rows(rows)).mean()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += float(loss.detach()) * len(rows)
    if not math.isfinite(total):
        raise DivergedError(
            f"training diverged: the loss of epoch {number} is {total}; lower the learning rate "
            f"({schedule.learning_rate})"
        )
    return total / len(order)
