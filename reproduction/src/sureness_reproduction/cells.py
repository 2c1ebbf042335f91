"""Cells: pieces of work known by what goes into them, computed once, and kept whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from sureness.artefacts import read_record, write_record
from sureness.errors import ArtefactError, DamagedError, DataError, FileError, OutputError, SurenessWarning
from sureness_reproduction.own import digest_of_own, own_names
from sureness_reproduction.workbench import DataShelf, Finished, Workbench, sealing_tests

Tables = Mapping[str, pl.DataFrame]
"""What a cell finds: tidy tables by name."""

_RECORD, _KIND = "cell.json", "reproduction/cell"
_A_DAY = 86_400.0  # seconds


@dataclass(frozen=True)
class Cell:
    """One piece of work: which, and with what parameters; equal cells are the same cell."""

    work: str  # module:function
    text: str  # the parameters as canonical JSON, so that a cell can be a key

    @property
    def parameters(self) -> dict[str, Any]:
        """What the work is called with; tuples come as lists."""
        return dict(json.loads(self.text))

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]

    @property
    def label(self) -> str:
        """The cell as people read it, such as "trained coat bpr"."""
        values = (value for value in self.parameters.values() if isinstance(value, str | int | float) and value != "")
        named = (str(value) for value in values if not isinstance(value, bool))
        return " ".join([self.work.split(":")[1], *named])


@dataclass(frozen=True)
class Work:
    """A function whose results are kept: it gets a `Workbench` and the parameters of a cell, and returns tables."""

    function: Callable[..., Tables]
    needs: Callable[..., Iterable[Cell]] | None = None  # from the parameters to what has to be found before
    version: int = 1  # raised when the function finds something else from the same parameters
    judges: bool = False  # whether it may look at test labels; what does not judge cannot need what does
    cost: float = 1.0  # about how many seconds it takes, for the time left

    @property
    def name(self) -> str:
        """Where the function is found again, also by another process."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    def cell(self, **parameters: Any) -> Cell:
        """The cell of these parameters; nothing is computed."""
        return Cell(self.name, json.dumps(parameters, sort_keys=True, allow_nan=False))

    def needed_by(self, cell: Cell) -> tuple[Cell, ...]:
        """What has to be found before a cell."""
        return () if self.needs is None else tuple(self.needs(**cell.parameters))


def work(**about: Any) -> Callable[[Callable[..., Tables]], Work]:
    """Declare a function as work; `about` are the fields of `Work`.

    Examples
    --------
    >>> @work()
    ... def doubled(bench, *, number: int):
    ...     return {"found": pl.DataFrame({"value": [2 * number]})}
    >>> doubled.cell(number=3).parameters
    {'number': 3}
    """
    return lambda function: Work(function, **about)


def work_of(cell: Cell) -> Work:
    """The declared function behind a cell."""
    module, name = cell.work.split(":")
    found = getattr(import_module(module), name)
    assert isinstance(found, Work)
    return found


def in_order(cells: Iterable[Cell], finished: Callable[[Cell], bool] = lambda cell: False) -> list[Cell]:
    """The cells and all they need, each once, what is needed first; what only a finished cell needs is left out."""
    ordered: dict[Cell, None] = {}

    def add(cell: Cell) -> None:
        if cell not in ordered:
            for needed in () if finished(cell) else work_of(cell).needed_by(cell):
                add(needed)
            ordered[cell] = None

    for cell in cells:
        add(cell)
    return list(ordered)


def key_of(cell: Cell, fingerprint: Callable[[str], str]) -> str:
    """The name of a cell by its content: work and version, parameters, the data they name, and the keys of its needs.

    `fingerprint` goes from the name of a data set to what is in it.
    """
    work, data = work_of(cell), cell.parameters.get("data")
    parts = [
        cell.work, work.version, cell.text, fingerprint(data) if isinstance(data, str) else "",
        [key_of(needed, fingerprint) for needed in work.needed_by(cell)],
        *(digest_of_own(name) for name in own_names(cell.parameters)),
    ]  # fmt: skip
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    return f"{cell.work.split(':')[1]}-{digest}"


class CellStore:
    """Finished cells in a folder: a folder each, named by content.

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

    def find(self, cell: Cell) -> Finished:
        """What a finished cell found; every file is compared with its checksum."""
        folder = self.folder / self.key(cell)
        about = read_record(folder / _RECORD, _KIND)
        for name, digest in about["files"].items():
            if not (folder / name).exists() or _digest(folder / name) != digest:
                raise DamagedError(f"{folder / name} is damaged: its checksum does not match; compute the cell again")
        return Finished(folder, about)

    def has(self, cell: Cell) -> bool:
        """Whether a cell is finished; one that was damaged since is taken away, to be computed again."""
        try:
            self.find(cell)
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

    def compute(self, cell: Cell) -> Finished:
        """Compute a cell whose needs are finished, and keep what it found.

        Files are written under a temporary name, which is then changed: a kill at any moment leaves no half cell.
        """
        folder = self.folder / self.key(cell)
        temporary = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.partial"
        try:
            temporary.mkdir(parents=True)
            self._write(cell, temporary)
            try:
                temporary.rename(folder)
            except OSError:
                if not (folder / _RECORD).exists():  # else another process was faster, and its files stay
                    raise
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return self.find(cell)

    def _write(self, cell: Cell, place: Path) -> None:
        work, started = work_of(cell), time.perf_counter()
        needs = work.needed_by(cell)
        if not work.judges and (judging := [each for each in needs if work_of(each).judges]):
            raise DataError(
                f"{cell.label} chooses, and needs {judging[0].label}, which looks at test labels; take another need"
            )
        about: dict[str, Any] = {"work": cell.work, "parameters": cell.parameters}
        if isinstance(data := cell.parameters.get("data"), str):
            about["data_fingerprint"] = self.shelf.fingerprint(data)
        bench = Workbench(work.judges, self.shelf, {each: self.find(each) for each in needs}, place)
        with sealing_tests(not work.judges):
            tables = work.function(bench, **cell.parameters)
        for name, table in tables.items():
            table.write_parquet(place / f"{name}.parquet")
        about["seconds"] = round(time.perf_counter() - started, 3)
        files = sorted(file for file in place.rglob("*") if file.is_file())
        about["files"] = {file.relative_to(place).as_posix(): _digest(file) for file in files}
        write_record(place / _RECORD, _KIND, about)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
