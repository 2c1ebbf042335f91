"""RecBole's models on our split, trained in an environment of its own (`make .venv-recbole/.installed`)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines.fitted import Fitted
from sureness.data import Split
from sureness.sources import FactorSource

PYTHON = Path(__file__).parents[2] / ".venv-recbole" / "bin" / "python"
ABSENT = "RecBole is not installed; `make recbole` does"
_FOLDER = Path(__file__).parent
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def is_installed() -> bool:
    return PYTHON.exists()


def write_atomic_files(split: Split, folder: Path) -> Path:
    """The split as RecBole reads it, our row numbers as ids; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in zip(("train", "valid", "test"), split.parts.values(), strict=True):
        rows = np.stack([part.user_rows, part.item_rows], axis=1)
        file = folder / f"{folder.name}.{name}.inter"
        np.savetxt(file, rows, fmt="%d", delimiter="\t", header="user_id:token\titem_id:token", comments="")
    return folder


def fit_lightgcn(split: Split, settings: dict[str, Any], seed: int, folder: Path) -> Fitted:
    """Train by RecBole's trainer in its environment; what it wrote is kept in `folder` and not made again."""
    output = folder / "embeddings.npz"
    if not output.with_suffix(".json").exists():
        write_atomic_files(split, folder / "data")
        (folder / "settings.json").write_text(json.dumps(settings | {"seed": seed}))
        with (folder / "log.txt").open("w") as log:
            subprocess.run(
                [PYTHON, _FOLDER / "recbole_lightgcn.py", folder / "data", folder / "settings.json", output],
                stdout=log, stderr=subprocess.STDOUT, check=True, env=os.environ | _ONE_THREAD,
            )  # fmt: skip
    told = json.loads(output.with_suffix(".json").read_text())
    with np.load(output) as found:
        source = FactorSource(found["users"], found["items"], users=split.train.users, items=split.train.items)
    epochs = told["epochs"]
    return Fitted(
        source,
        validation=told["valid"]["ndcg@50"],
        epoch=told["best_epoch"],
        epochs_run=len(epochs),
        seconds=sum(epoch["train_seconds"] + epoch["valid_seconds"] for epoch in epochs),
        history=epochs,
    )


class EpochWorker:
    """A process that has one model ready and trains it for as many epochs as it is asked, in one thread."""

    def __init__(self, *command: str | Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | _ONE_THREAD | environment,
        )  # fmt: skip
        self._answer()

    def epochs(self, n_epochs: int) -> float:
        """Seconds of processor time that so many epochs took, without validation."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{n_epochs}\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> float:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("seconds "):
                return float(line.split()[1])
        raise RuntimeError(f"{self.process.args} ended with code {self.process.wait()}")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@contextmanager
def epoch_worker(model: str, folder: Path, **settings: Any) -> Iterator[EpochWorker]:
    """RecBole's model in RecBole's environment."""
    with working(EpochWorker(PYTHON, _FOLDER / "recbole_epochs.py", model, folder, json.dumps(settings))) as worker:
        yield worker


@contextmanager
def working(worker: EpochWorker) -> Iterator[EpochWorker]:
    """End the process at the end of the block."""
    try:
        yield worker
    finally:
        worker.close()
