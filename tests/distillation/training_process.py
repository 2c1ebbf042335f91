"""A distillation in its own process, to be killed by tests; that process imports this file, so no pytest here."""

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
     "sureness.numerics._kernels"]
)  # fmt: skip


def train(pair: tuple[Any, Any], settings: Any, parts: tuple[Interactions, Interactions], checkpoint: Path) -> None:
    """Fit with a checkpoint after every epoch, slowed down so that there is time for a kill."""
    from sureness.distillation import joint
    from sureness.distillation.bidirectional import BidirectionalDistillation

    def slow(plain: Any) -> Any:
        def slowed(*given: Any, **named: Any) -> Any:
            time.sleep(0.01)
            result = plain(*given, **named)
            time.sleep(0.01)
            return result

        return slowed

    joint.joint_epoch, joint.refresh = slow(joint.joint_epoch), slow(joint.refresh)
    BidirectionalDistillation.from_settings(*pair, settings).fit(*parts, checkpoint=checkpoint, checkpoint_seconds=0.0)


def start(*given: Any):
    """Start such a process."""
    process = context.Process(target=train, args=given, daemon=True)
    process.start()
    return process
