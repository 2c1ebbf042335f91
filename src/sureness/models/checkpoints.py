"""How far training is, and the file from which an interrupted run resumes and ends the same."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.errors import ArtefactError, CheckpointError, FileError, KindError, OutputError, VersionError
from sureness.models.settings import Settings
from sureness.saving.objects import read_packed, write_packed
from sureness.saving.packed import JSON, Packed

if TYPE_CHECKING:
    from torch import Tensor


HISTORY = {"epoch": pl.Int64, "loss": pl.Float64, "metric": pl.Float64, "seconds": pl.Float64}
"""The columns of a training history; one row per epoch, `metric` only where the epoch was validated."""

KIND = "checkpoint"
MAY_DIFFER = ("epochs", "end_rate", "patience", "device", "threads")
"""Settings that may change when training resumes: they do not change what an epoch computes, if rates are constant."""


@dataclass
class TrainingState:
    """How far training is: everything but the tensors."""

    epoch: int = 0  # finished epochs
    best: float = -1.0  # the best validation metric; -1 before the first validation
    best_epoch: int = 0
    failures: int = 0  # validations since the best one
    seconds: float = 0.0  # over all processes that trained
    history: list[dict[str, float | None]] = field(default_factory=list)  # rows with the columns of HISTORY

    __repr__ = fields_repr

    @property
    def table(self) -> pl.DataFrame:
        """The history as a table."""
        return pl.DataFrame(self.history, schema=HISTORY)

    @property
    def best_metric(self) -> float | None:
        """The best validation metric, None without any validation."""
        return self.best if self.best >= 0 else None


class CheckpointFile:
    """One file with tensors and plain values, complete at any moment; the file of another run is refused.

    Parameters
    ----------
    path : path
    identity : dict
        What must not differ between the run that wrote the file and the one that resumes from it.
    every_seconds : float
        The least time between two writes.
    """

    def __init__(self, path: str | PathLike[str], identity: dict[str, JSON], every_seconds: float = 10.0) -> None:
        self.path, self.identity, self.every_seconds = Path(path), identity, every_seconds
        self._last = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._last >= self.every_seconds

    def write(self, parts: Mapping[str, Mapping[str, Tensor]], body: Mapping[str, object]) -> None:
        """Write; the old file stays until the new one is complete."""
        packed = {
            part: Packed(kind=KIND, arrays={name: tensor.detach().cpu().numpy() for name, tensor in named.items()})
            for part, named in parts.items()
        }
        state = cast(dict[str, JSON], {"identity": self.identity, **body})
        try:
            write_packed(Packed(kind=KIND, state=state, parts=packed), self.path, "file")
        except FileError as error:
            kept = "; the last checkpoint is complete, and the same call resumes from it" if self.path.exists() else ""
            raise OutputError(f"{error}{kept}") from error
        self._last = time.monotonic()

    def read(self, parts: Sequence[str]) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]] | None:
        """The tensors of each part by name, and the plain values; None if there is no file yet."""
        if not self.path.exists():
            return None
        import torch

        packed = read_checkpoint(self.path)
        body: dict[str, Any] = dict(packed.state)
        self._refuse_others(body["identity"])
        found: dict[str, dict[str, Tensor]] = {part: {} for part in parts}
        for part, held in packed.parts.items():
            found[part] = {name: torch.tensor(array) for name, array in held.arrays.items()}
        return found, body

    def refuse_longer(self, done: int, asked: int) -> None:
        """Refuse to go on from more epochs than the whole training is to have."""
        if done > asked:
            raise CheckpointError(
                f"the checkpoint {self.path} has {counted(done, 'epoch')} already, more than the {asked:,} asked for; "
                "remove it to start anew, or ask for more epochs"
            )

    def _refuse_others(self, found: dict[str, Any]) -> None:
        for what in {**self.identity, **found}:
            mine: Any = self.identity.get(what)
            if found.get(what) == mine:
                continue
            which = what
            if isinstance(mine, dict):
                differing = [key for key in mine if mine[key] != (found.get(what) or {}).get(key)]
                which = f"{what} ({', '.join(differing) or 'others'})"
            raise CheckpointError(
                f"the checkpoint {self.path} belongs to another run: its {which} differ; "
                "remove it to start anew, or give another path"
            )


def run_identity(
    name: str,
    settings: Settings,
    train: Interactions,
    validation: Interactions | None,
    given: Mapping[str, ArrayLike] | None = None,
) -> dict[str, JSON]:
    """What must not differ between a run and the one that resumes from its checkpoint.

    Parameters
    ----------
    name : str
        Of the model.
    settings : Settings
    train, validation : Interactions
    given : mapping from name to array, optional
        What the model was given besides, such as propensities.
    """
    may_differ = set(MAY_DIFFER) - ({"epochs", "end_rate"} if settings.end_rate < 1 else set())
    identity: dict[str, JSON] = {
        "model": name,
        "settings": {key: value for key, value in settings.plain().items() if key not in may_differ},
        "train": fingerprint(train),
        "validation": None if validation is None else fingerprint(validation),
    }
    for key, values in (given or {}).items():
        identity[key] = hashlib.sha256(np.asarray(values, dtype=np.float64).tobytes()).hexdigest()[:16]
    return identity


def fingerprint(log: Interactions) -> str:
    """A short text that changes when any pair changes."""
    digest = hashlib.sha256(json.dumps(log.shape).encode())
    for rows in (log.user_rows, log.item_rows):
        digest.update(np.ascontiguousarray(rows, dtype=np.int64).tobytes())
    return digest.hexdigest()[:16]


def read_checkpoint(path: Path) -> Packed:
    """What a checkpoint holds, if it is complete and of this version."""
    if path.is_dir():
        raise FileError(f"cannot read {path}: it is a folder; give the name of a file")
    try:
        packed = read_packed(path)
    except VersionError as error:
        raise VersionError(f"{path} is a checkpoint of another version; remove it to start anew") from error
    except ArtefactError as error:
        raise type(error)(f"{path} is damaged or not a checkpoint; remove it to start anew") from error
    if packed.kind != KIND:
        raise KindError(f"{path} holds a {packed.kind}, not a checkpoint; give another path")
    return packed
