"""Training that survives: one file that is always whole, from which a run goes on to the same end."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from sureness.artefacts.files import replacing
from sureness.data.interactions import Interactions
from sureness.errors import ArtefactError, DataError, FileError
from sureness.models.network import Network
from sureness.models.optimiser import RowAdam
from sureness.models.settings import Settings

FORMAT, SCHEMA = "sureness-checkpoint", 1
MAY_DIFFER = ("epochs", "patience", "device", "threads")


@dataclass
class Progress:
    """How far training is; everything but the tensors."""

    epoch: int = 0  # finished ones
    best: float = -1.0  # the best validation metric
    best_epoch: int = 0
    failures: int = 0  # validations since then
    seconds: float = 0.0  # spent in all runs together
    history: list[dict[str, float | None]] = field(default_factory=list)  # epoch, loss, metric, seconds


class CheckpointFile:
    """One file with tensors and what belongs to them, whole at any moment; that of another run is refused."""

    def __init__(self, path: str | PathLike[str], identity: dict[str, Any], every_seconds: float = 10.0) -> None:
        self.path, self.identity, self.every_seconds = Path(path), identity, every_seconds
        self._last = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._last >= self.every_seconds

    def write(self, parts: Mapping[str, Mapping[str, Tensor]], body: Mapping[str, Any]) -> None:
        """Write; the old file stays until the new one is whole."""
        from safetensors.torch import save

        tensors = {f"{part}.{name}": tensor for part, named in parts.items() for name, tensor in named.items()}
        whole_body = json.dumps({"identity": self.identity, **body})
        described = {"format": FORMAT, "schema": str(SCHEMA), "body": whole_body}
        whole = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, described)
        try:
            with replacing(self.path) as temporary:
                temporary.write_bytes(hashlib.sha256(whole).digest() + whole)
        except FileError as error:
            kept = (
                "; the checkpoint written before is whole, and the same call goes on from it"
                if self.path.exists()
                else ""
            )
            raise FileError(f"{error}{kept}") from error
        self._last = time.monotonic()

    def read(self, parts: Sequence[str]) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]] | None:
        """The tensors of each part by name, and what belongs to them; None if there is no file yet."""
        if not self.path.exists():
            return None
        tensors, body = _read(self.path)
        self._refuse_others(body["identity"])
        found: dict[str, dict[str, Tensor]] = {part: {} for part in parts}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            found[part][rest] = tensor
        return found, body

    def _refuse_others(self, found: dict[str, Any]) -> None:
        for what in {**self.identity, **found}:
            mine: Any = self.identity.get(what)
            if found.get(what) == mine:
                continue
            which = what
            if isinstance(mine, dict):
                differing = [key for key in mine if mine[key] != (found.get(what) or {}).get(key)]
                which = f"{what} ({', '.join(differing) or 'others'})"
            raise DataError(
                f"the checkpoint {self.path} belongs to another run: its {which} differ; "
                "remove it to start anew, or give another path"
            )


class Checkpoint:
    """The file of one run. Nothing is drawn that does not follow from seed and epoch, so no random state is kept.

    Parameters
    ----------
    path : path
    settings : Settings
    train, validation : Interactions
        A checkpoint of other settings or other data is refused.
    every_seconds : float
        The least time between two writes.
    knowledge : mapping, optional
        What the recommender was told besides, such as propensities; it must be the same too.
    """

    def __init__(
        self, path: str | PathLike[str], name: str, settings: Settings, train: Interactions,
        validation: Interactions | None, every_seconds: float = 10.0, knowledge: Mapping[str, ArrayLike] | None = None,
    ) -> None:  # fmt: skip
        identity = run_identity(name, settings, train, validation)
        for key, values in (knowledge or {}).items():
            identity[key] = hashlib.sha256(np.asarray(values, dtype=np.float64).tobytes()).hexdigest()[:16]
        self.file = CheckpointFile(path, identity, every_seconds)

    def save(
        self, network: Network, optimiser: RowAdam, best: dict[str, Tensor], progress: Progress, *, now: bool = False
    ) -> None:
        """Write, if it is time; the old file stays until the new one is whole."""
        if now or self.file.due:
            parts = {"network": network.state_dict(), "best": best, "optimiser": optimiser.state()}
            self.file.write(parts, {"progress": asdict(progress), "steps": optimiser.steps})

    def load(self, network: Network, optimiser: RowAdam) -> tuple[dict[str, Tensor], Progress] | None:
        """Put network and optimiser where they were; None if there is no file yet."""
        found = self.file.read(("network", "best", "optimiser"))
        if found is None:
            return None
        parts, body = found
        network.load_state_dict(parts["network"])
        optimiser.restore(parts["optimiser"], body["steps"])
        best = {name: tensor.to(network.device) for name, tensor in parts["best"].items()}
        return best, Progress(**body["progress"])


def run_identity(name: str, settings: Settings, train: Interactions, validation: Interactions | None) -> dict[str, Any]:
    """What must not differ between a run and the one that goes on from its checkpoint."""
    return {
        "model": name,
        "settings": {key: value for key, value in settings.plain().items() if key not in MAY_DIFFER},
        "train": fingerprint(train),
        "validation": None if validation is None else fingerprint(validation),
    }


def fingerprint(log: Interactions) -> str:
    """A short word that changes when any pair changes."""
    digest = hashlib.sha256(json.dumps(log.shape).encode())
    for rows in (log.user_rows, log.item_rows):
        digest.update(np.ascontiguousarray(rows, dtype=np.int64).tobytes())
    return digest.hexdigest()[:16]


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    checksum, whole = content[:32], content[32:]
    if hashlib.sha256(whole).digest() != checksum:
        raise ArtefactError(f"{path} is damaged or not a checkpoint; remove it to start anew")
    try:
        length = int.from_bytes(whole[:8], "little")
        described = json.loads(whole[8 : 8 + length])["__metadata__"]
        if described["format"] != FORMAT or described["schema"] != str(SCHEMA):
            raise ArtefactError(f"{path} is a checkpoint of another version; remove it to start anew")
        return load(whole), json.loads(described["body"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise ArtefactError(f"{path} cannot be understood ({error!r}); remove it to start anew") from error
