"""Train a network on lists until its utility for held-out users stops rising."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
import torch

from sureness._progress import Progress, silent
from sureness.errors import DivergedError
from sureness.models.networks.training import seeded, using_threads
from sureness.truncation.base import HISTORY
from sureness.truncation.networks.inputs import Inputs, Labels
from sureness.truncation.networks.network import CutNetwork


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


def train_cut(
    network: CutNetwork,
    inputs: Inputs,
    labels: Labels,
    *,
    judge: Callable[[], float],
    schedule: Schedule,
    progress: Progress = silent,
) -> Trained:
    """Train until `judge` has found no improvement for `patience` epochs, and leave the network at its best.

    An epoch is a function of the network, the seed and the number of the epoch alone.
    """
    optimiser = torch.optim.Adam(
        network.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True
    )
    history: list[dict[str, float]] = []
    best_epoch, best_utility, best_weights = 0, -math.inf, network.state_dict()
    with using_threads(schedule.threads):
        for epoch in range(1, schedule.epochs + 1):
            started = time.perf_counter()
            loss = _epoch(network, inputs, labels, optimiser, schedule, epoch)
            utility = judge()
            if utility > best_utility:
                best_epoch, best_utility, best_weights = epoch, utility, deepcopy(network.state_dict())
            seconds = time.perf_counter() - started
            history.append({"epoch": epoch, "loss": loss, "utility": utility, "seconds": seconds})
            text = f"epoch {epoch} loss {loss:.4f} utility {best_utility:.4f} at {best_epoch}"
            progress(text, epoch, schedule.epochs)
            if epoch - best_epoch >= schedule.patience:
                break
    network.load_state_dict(best_weights)
    network.eval()
    return Trained(pl.DataFrame(history, schema=HISTORY), best_epoch, best_utility)


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
