"""What goes wrong with tasks, on purpose; each says in a folder that it has happened."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Fault = Literal["raise", "kill", "sleep"]


@dataclass(frozen=True)
class Faulty:
    """Rows as they are, but the first attempt of a task goes wrong when some of them have gone through."""

    folder: str
    fault: Fault
    only: int | None = None  # partition; None: all

    def __call__(self, batches: Iterator) -> Iterator:
        from pyspark import TaskContext

        context = TaskContext.get()
        number, attempt = context.partitionId(), context.attemptNumber()
        for count, batch in enumerate(batches):
            if count == 1 and attempt == 0 and self.only in (None, number):
                self._happen(f"{number}-{attempt}")
            yield batch
        (Path(self.folder) / f"whole-{number}-{attempt}").touch()

    def _happen(self, name: str) -> None:
        (Path(self.folder) / name).touch()
        if self.fault == "raise":
            raise RuntimeError("the first attempt fails")
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)  # a copy is started meanwhile


def faulty(frame: Any, folder: Path, fault: Fault, only: int | None = None) -> Any:
    """A DataFrame whose tasks go wrong."""
    return frame.mapInArrow(Faulty(str(folder), fault, only), frame.schema)
