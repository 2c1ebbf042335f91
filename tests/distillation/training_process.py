"""Distillation in a process of its own, to be killed; imported by that process too, so it needs no pytest."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

from sureness.data.interactions import Interactions

# One server imports torch and the compiled code once, and every process to be killed is forked from it.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(
    ["sureness.distillation.bidirectional", "sureness.models.catalogue", "sureness.models.networks._kernels",
     "sureness.numerics._kernels", "sureness.numerics._rank_kernels"]
)  # fmt: skip


def train(pair: tuple[Any, Any], settings: Any, parts: tuple[Interactions, Interactions], checkpoint: Path) -> None:
    """Fit with a checkpoint after every epoch, and a moment's rest in it so that there is time for a kill."""
    from sureness.distillation.bidirectional import BidirectionalDistillation
    from sureness.distillation.joint import JointTraining

    steps, refresh = JointTraining._steps, JointTraining._refresh

    def rested(plain: Any) -> Any:
        def made(*given: Any) -> Any:
            time.sleep(0.01)
            result = plain(*given)
            time.sleep(0.01)
            return result

        return made

    JointTraining._steps, JointTraining._refresh = rested(steps), rested(refresh)  # type: ignore[method-assign]
    BidirectionalDistillation(*pair, settings).fit(*parts, checkpoint=checkpoint, checkpoint_seconds=0.0)


def start(*given: Any):
    """The process that does it, running."""
    process = context.Process(target=train, args=given, daemon=True)
    process.start()
    return process
