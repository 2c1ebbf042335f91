"""Cells: pieces of work known by what goes into them, computed once, in parallel, and kept whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import polars as pl

from sureness import Progress, silent
from sureness.errors import ArtefactError, DamagedError, DataError, FileError, SurenessError, SurenessWarning
from sureness.saving import read_record, write_record
from sureness_reproduction.own import digest_of_own, own_names
from sureness_reproduction.workbench import DataShelf, Finished, Workbench, sealing_tests

Tables = Mapping[str, pl.DataFrame]
"""What a cell finds: tidy tables by name."""

_RECORD, _KIND = "cell.json", "reproduction/cell"
_A_DAY = 86_400.0  # seconds
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class CellError(SurenessError):
    """A cell could not be computed; the others are kept."""


class UnkeptError(CellError):
    """What a cell found could not be written, so that of the next could not either."""


@dataclass(frozen=True)
class Cell:
    """One piece of work: which, and with what parameters; equal cells are the same cell."""

    work: str  # module:function
    text: str  # the parameters as canonical JSON, so that a cell can be a key

    @property
    def parameters(self) -> dict[str, Any]:
        """What the work is called with; tuples come as lists."""
        return dict(json.loads(self.text))

    @property
    def label(self) -> str:
        """The cell as people read it, such as "trained coat bpr"."""
        plain = [str(each) for each in self.parameters.values() if type(each) in (str, int, float) and each != ""]
        return " ".join([self.work.split(":")[1], *plain])

    @property
    def declared(self) -> Work:
        """The declared function behind the cell."""
        module, name = self.work.split(":")
        found: Work = getattr(import_module(module), name)
        return found

    @property
    def needs(self) -> tuple[Cell, ...]:
        """What has to be found before."""
        return tuple(self.declared.needs(**self.parameters))


@dataclass(frozen=True)
class Work:
    """A function whose results are kept: it gets a `Workbench` and the parameters of a cell, and returns tables."""

    function: Callable[..., Tables]
    needs: Callable[..., Iterable[Cell]] = lambda **parameters: ()  # what has to be found before
    version: int = 1  # raised when the function finds something else from the same parameters
    judges: bool = False  # whether it may look at test labels; what does not judge cannot need what does
    cost: float = 1.0  # about how many seconds it takes, for the time left

    def cell(self, **parameters: Any) -> Cell:
        """The cell of these parameters; nothing is computed."""
        place = f"{self.function.__module__}:{self.function.__qualname__}"
        return Cell(place, json.dumps(parameters, sort_keys=True, allow_nan=False))


def work(**about: Any) -> Callable[[Callable[..., Tables]], Work]:
    """Declare a function as work; `about` are the fields of `Work`."""
    return lambda function: Work(function, **about)


def in_order(cells: Iterable[Cell], finished: Callable[[Cell], bool] = lambda cell: False) -> list[Cell]:
    """The cells and all they need, each once, what is needed first; what only a finished cell needs is left out."""
    ordered: dict[Cell, None] = {}
    for cell in cells:
        if cell not in ordered:
            ordered |= dict.fromkeys([*in_order(() if finished(cell) else cell.needs, finished), cell])
    return list(ordered)


@dataclass
class CellStore:
    """Finished cells in a folder: a folder each, named by content."""

    folder: Path
    shelf: DataShelf  # where the data are; a cell of other data is another cell
    _keys: dict[Cell, str] = field(default_factory=dict)

    def key(self, cell: Cell) -> str:
        """The name of a cell's folder: work, version, parameters, the data and the user's files in them, and needs."""
        if cell not in self._keys:
            parts = [
                cell.work, cell.declared.version, cell.text, self.shelf.fingerprint(cell.parameters.get("data")),
                [self.key(needed) for needed in cell.needs], *map(digest_of_own, own_names(cell.parameters)),
            ]  # fmt: skip
            digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
            self._keys[cell] = f"{cell.work.split(':')[1]}-{digest}"
        return self._keys[cell]

    def find(self, cell: Cell) -> Finished:
        """What a finished cell found; every file is compared with its checksum."""
        folder = self.folder / self.key(cell)
        about = read_record(folder / _RECORD, _KIND)
        if not about["files"].items() <= _checksums(folder).items():
            raise DamagedError(f"{folder} is damaged: the checksum of a file does not match; compute the cell again")
        return Finished(folder, about)

    def has(self, cell: Cell) -> bool:
        """Whether a cell is finished; one that was damaged since is taken away, to be computed again."""
        try:
            self.find(cell)
        except FileError as error:
            if isinstance(error, ArtefactError):
                warnings.warn(f"{cell.label} is computed again: {error}", SurenessWarning, stacklevel=2)
                shutil.rmtree(self.folder / self.key(cell), ignore_errors=True)
            return False
        return True

    def compute(self, cell: Cell) -> Finished:
        """Compute a cell whose needs are finished; its folder is renamed when it is whole, so a kill leaves no half."""
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = self.folder / self.key(cell)
        with TemporaryDirectory(".partial", ".", self.folder, ignore_cleanup_errors=True) as temporary:
            place = Path(temporary) / "cell"
            place.mkdir()
            self._write(cell, place)
            try:
                place.rename(folder)
            except OSError:
                if not (folder / _RECORD).exists():  # else another process was faster, and its files stay
                    raise
        return self.find(cell)

    def _write(self, cell: Cell, place: Path) -> None:
        work, needs, started = cell.declared, cell.needs, time.perf_counter()
        for each in needs:
            if each.declared.judges and not work.judges:
                raise DataError(f"{cell.label} chooses, and needs {each.label}, which looks at test labels; "
                                "take another need")  # fmt: skip
        with sealing_tests(not work.judges):
            bench = Workbench(self.shelf, {each: self.find(each) for each in needs}, place)
            tables = work.function(bench, **cell.parameters)
        for name, table in tables.items():
            table.write_parquet(place / f"{name}.parquet")
        write_record(place / _RECORD, _KIND, {
            "work": cell.work, "parameters": cell.parameters, "seconds": round(time.perf_counter() - started, 3),
            "data_fingerprint": self.shelf.fingerprint(cell.parameters.get("data")), "files": _checksums(place),
        })  # fmt: skip


def _checksums(folder: Path) -> dict[str, str]:
    """The checksum of every file but the record, by its path in the folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != _RECORD)
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def run_cells(cells: Iterable[Cell], store: CellStore, jobs: int = 1, progress: Progress = silent) -> tuple[int, int]:
    """Compute what is missing, with all it needs, and return how many were computed and how many were there.

    What only finished cells need is not asked for. Where a cell fails, those that do not need it are computed all the
    same, and the first error is raised at the end. `jobs` processes compute at a time, one thread each; 1 computes in
    this process. `progress` gets a cell, the seconds of work done, and those in all, both as expected.
    """
    for place in store.folder.glob(".*.partial"):  # what killed processes left half-written
        with suppress(FileNotFoundError):  # another process has finished it
            if time.time() - place.stat().st_mtime > _A_DAY:
                shutil.rmtree(place, ignore_errors=True)
    here = cache(store.has)
    every = in_order(cells, here)
    missing = [cell for cell in every if not here(cell)]
    if missing:
        with _workers(jobs) as pool:
            _compute_all(missing, store, pool, jobs, progress)
    return len(missing), len(every) - len(missing)


def _compute_all(missing: list[Cell], store: CellStore, pool: Executor, jobs: int, progress: Progress) -> None:
    """Hand out every cell as soon as what it needs is there, which it never is for those that need what failed."""
    needs = {cell: set(cell.needs) for cell in missing}
    waiting, running, errors = list(missing), dict[Future[None], Cell](), list[CellError]()
    unfinished, done, total = set(missing), 0.0, max(round(sum(cell.declared.cost for cell in missing)), 1)
    while True:
        ready = [cell for cell in waiting if needs[cell].isdisjoint(unfinished)]
        for cell in ready[: jobs - len(running)]:
            waiting.remove(cell)
            progress(cell.label, round(done), total)
            running[pool.submit(_compute, store, cell)] = cell
        if not running:
            break
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            cell = running.pop(future)
            try:
                future.result()
                unfinished.remove(cell)
            except UnkeptError:
                raise
            except CellError as error:
                errors.append(error)
            except BrokenProcessPool as error:
                raise CellError("a process of the run died, perhaps for want of memory; finished cells are kept: run "
                                "again, with fewer --jobs") from error  # fmt: skip
            done += cell.declared.cost
            progress(cell.label, round(done), total)
    if errors:
        raise errors[0] if len(errors) == 1 else CellError(f"{errors[0]} (and {len(errors) - 1} more failed)")


def _compute(store: CellStore, cell: Cell) -> None:
    try:
        store.compute(cell)
    except OSError as error:  # a full disk is full for the next cell too
        raise UnkeptError(f"{cell.label}: {error}") from error
    except SurenessError as error:
        raise CellError(f"{cell.label}: {error}") from error
    except Exception as error:  # a slip of ours or of a library: say where
        raise CellError(f"{cell.label} failed: {type(error).__name__}: {error}") from error


class _Here(Executor):
    """Computes in this process, at once."""

    def submit(self, work: Any, /, *given: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*given, **options))
        except CellError as error:
            future.set_exception(error)
        return future


@contextmanager
def _workers(jobs: int) -> Iterator[Executor]:
    """Processes with one thread each (two of them with two threads each are slower than one), or this process."""
    before = {name: os.environ[name] for name in _ONE_THREAD if name in os.environ}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    spawn = get_context("spawn")
    try:
        with _Here() if jobs == 1 else ProcessPoolExecutor(jobs, spawn, initializer=_end_with_parent) as pool:
            yield pool  # at its end, cells that are under way are finished and kept
    finally:
        for name in _ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)


def _end_with_parent() -> None:
    """End this process when its parent is gone, which a killed parent cannot tell."""

    def watch() -> None:
        parent_process().join()  # type: ignore[union-attr]
        os._exit(1)

    Thread(target=watch, daemon=True).start()
