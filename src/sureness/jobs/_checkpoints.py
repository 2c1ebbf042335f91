"""Where training writes until its one file is there: a folder of checkpoints beside it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sureness.errors import CheckpointError
from sureness.jobs.outputs import CHECKPOINTS
from sureness.saving.files import beside, sweep
from sureness.saving.records import read_record, write_record

_KIND = "start-of-training"
_START = "start.json"


@dataclass(frozen=True)
class Checkpoints:
    """The folder ``run.sureness.checkpoints`` beside an output; it goes away once the output is there."""

    output: Path
    names: tuple[str, ...]  # of the files that may be in it

    @property
    def folder(self) -> Path:
        """Where they are."""
        return beside(self.output.with_suffix(""), CHECKPOINTS)

    def path(self, name: str) -> Path:
        """The file of a checkpoint; its folder is made when it is first written."""
        assert name in self.names, name
        return self.folder / name

    def begin(self, start: Mapping[str, Any]) -> bool:
        """Note what this training starts from; returns whether it resumes one that was interrupted.

        Checkpoints of another start are refused.
        """
        place = self.folder / _START
        if not place.exists():
            write_record(place, _KIND, {"start": dict(start)})
            return False
        if read_record(place, _KIND)["start"] != start:
            raise CheckpointError(
                f"{self.folder} belongs to a command with another teacher, student or start; remove it to start over, "
                "or give another output"
            )
        return True

    def clear(self) -> None:
        """Remove the checkpoints, what killed writers left of them, and the folder if nothing else is in it."""
        for name in (*self.names, _START):
            sweep(self.folder / name)
            (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()
