"""Training in a process of its own, to be killed; imported by that process too, so it needs no pytest."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

from sureness.data.interactions import Interactions

# One server imports torch and the compiled code once, and every process to be killed is forked from it.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(
    [
        "sureness.models.catalogue",
        "sureness.models.networks._kernels",
        "sureness.numerics._kernels",
        "tests.models.worlds",
    ]
)


def train(name: str, settings: dict[str, Any], parts: tuple[Interactions, Interactions], checkpoint: Path) -> None:
    """Fit with a checkpoint after every epoch, and a moment's rest before it so that there is time for a kill."""
    from sureness.models.catalogue import make_recommender
    from sureness.models.networks import training

    epoch = training.Trainer.epoch

    def rested(trainer: training.Trainer, number: int, on_batch: Any = None) -> float:
        time.sleep(0.02)
        return epoch(trainer, number, on_batch)

    training.Trainer.epoch = rested  # type: ignore[method-assign]
    make_recommender(name, **settings).fit(*parts, checkpoint=checkpoint, checkpoint_seconds=0.0)


def start(name: str, settings: dict[str, Any], parts: tuple[Interactions, Interactions], checkpoint: Path):
    """The process that does it, running."""
    process = context.Process(target=train, args=(name, settings, parts, checkpoint), daemon=True)
    process.start()
    return process
