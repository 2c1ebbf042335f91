"""Interrupted joint training resumes: what a checkpoint holds, and how training goes on from it.

Checkpoints store no drawn items. They store the weights at the last refresh, from which the same items are drawn again.
"""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from typing import TYPE_CHECKING, Any

from sureness.distillation.participants import LearningParticipant, Tensors
from sureness.models.checkpoints import CheckpointFile, TrainingState, fingerprint
from sureness.saving.packed import JSON

if TYPE_CHECKING:
    from sureness.distillation.joint import JointTraining

_MAY_DIFFER = ("epochs",)
_PARTS = ("network", "best", "optimiser", "snapshot", "guide")


def checkpoint_file(training: JointTraining, path: str | PathLike[str], every_seconds: float) -> CheckpointFile:
    """The checkpoint of a training; one of other data, other settings or other starting weights is refused."""
    settings = {name: value for name, value in training.settings.plain().items() if name not in _MAY_DIFFER}
    identity: dict[str, JSON] = {"model": "distillation", "settings": settings, "train": fingerprint(training.train)}
    identity["validation"] = None if training.validation is None else fingerprint(training.validation)
    for each in training.participants:
        identity |= each.identity()
    return CheckpointFile(path, identity, every_seconds)


def save(training: JointTraining, checkpoint: CheckpointFile) -> None:
    """Write the state of the training; the old checkpoint stays until the new one is whole."""
    tensors, counters = dict(training.snapshot), {}
    for each in training.learning:
        optimiser = each.learner.optimiser
        parts = {"network": each.network.state_dict(), "best": each.best, "optimiser": optimiser.state()}
        tensors |= {f"{each.role}_{part}": named for part, named in parts.items()}
        counters[each.role] = {"state": asdict(each.state), "stopped": each.stopped, "steps": optimiser.steps}
    body = {
        "number": training.number,
        "refreshed": training.refreshed,
        "history": training.history,
        "participants": counters,
    }
    checkpoint.write(tensors, body)


def resume(training: JointTraining, checkpoint: CheckpointFile) -> bool:
    """Restore the state of the training; False if there is no checkpoint yet."""
    found = checkpoint.read([f"{each.role}_{part}" for each in training.participants for part in _PARTS])
    if found is None:
        return False
    tensors, body = found
    checkpoint.refuse_longer(body["number"], training.warm_up + training.settings.epochs)
    training.number, training.history = body["number"], body["history"]
    if body["refreshed"]:
        for each in training.learning:
            each.network.load_state_dict(tensors[f"{each.role}_snapshot"])
            if training.settings.guides == "best":
                each.best = tensors[f"{each.role}_guide"]
        training.refresh(body["refreshed"])
    for each in training.learning:
        _restore(each, tensors, body["participants"][each.role])
    return True


def _restore(each: LearningParticipant, tensors: dict[str, Tensors], saved: dict[str, Any]) -> None:
    network = each.network
    network.load_state_dict(tensors[f"{each.role}_network"])
    network.eval()
    each.learner.optimiser.restore(tensors[f"{each.role}_optimiser"], saved["steps"])
    each.best = {name: tensor.to(network.device) for name, tensor in tensors[f"{each.role}_best"].items()}
    each.state, each.stopped = TrainingState(**saved["state"]), saved["stopped"]
