"""Where finished cells are kept: a folder each, whole or not there, named by content."""

from __future__ import annotations

import os
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

from sureness.errors import ArtefactError, DataError, FileError, SurenessWarning
from sureness_reproduction.cells import Cell, key_of, work_of
from sureness_reproduction.folders import read_folder, write_folder
from sureness_reproduction.sealing import sealing_tests
from sureness_reproduction.workbench import DataShelf, Finished, Workbench

_A_DAY = 86_400.0  # seconds


class CellStore:
    """Finished cells in a folder.

    Parameters
    ----------
    folder : path
    shelf : DataShelf
        Where the data are; a cell of other data is another cell.
    """

    def __init__(self, folder: str | os.PathLike[str], shelf: DataShelf) -> None:
        self.folder = Path(folder)
        self.shelf = shelf
        self._keys: dict[Cell, str] = {}

    def key(self, cell: Cell) -> str:
        """The name of a cell's folder."""
        if cell not in self._keys:
            self._keys[cell] = key_of(cell, self.shelf.fingerprint)
        return self._keys[cell]

    def has(self, cell: Cell) -> bool:
        """Whether a cell is finished; one that was damaged since is taken away, to be computed again."""
        try:
            read_folder(self.folder / self.key(cell))
        except ArtefactError as error:
            warnings.warn(f"{cell.label} is computed again: {error}", SurenessWarning, stacklevel=2)
            shutil.rmtree(self.folder / self.key(cell), ignore_errors=True)
            return False
        except FileError:
            return False
        return True

    def sweep(self) -> None:
        """Take away what processes that were killed left half-written, a day ago or longer."""
        for place in self.folder.glob(".*.partial"):
            if time.time() - place.stat().st_mtime > _A_DAY:
                shutil.rmtree(place, ignore_errors=True)

    def find(self, cell: Cell) -> Finished:
        """What a finished cell found."""
        folder = self.folder / self.key(cell)
        return Finished(folder, read_folder(folder))

    def compute(self, cell: Cell) -> Finished:
        """Compute a cell whose needs are finished, and keep what it found."""
        work, started = work_of(cell), time.perf_counter()
        needs = work.needed_by(cell)
        if not work.judges and (judging := [each for each in needs if work_of(each).judges]):
            raise DataError(
                f"{cell.label} chooses, and needs {judging[0].label}, which looks at test labels; take another need"
            )
        about: dict[str, Any] = {"work": cell.work, "parameters": cell.parameters}
        if isinstance(data := cell.parameters.get("data"), str):
            about["data_fingerprint"] = self.shelf.fingerprint(data)

        def write(place: Path) -> None:
            bench = Workbench(work, self.shelf, {each: self.find(each) for each in needs}, place)
            with sealing_tests(not work.judges):
                tables = work.run(bench, cell)
            for name, table in tables.items():
                table.write_parquet(place / f"{name}.parquet")
            about["seconds"] = round(time.perf_counter() - started, 3)

        write_folder(self.folder / self.key(cell), about, write)
        return self.find(cell)
