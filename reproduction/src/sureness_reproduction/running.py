"""Run cells in order or in parallel; what is finished stays finished whatever happens."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from sureness import Progress, silent
from sureness.errors import FileError, SurenessError
from sureness_reproduction.cells import Cell, CellStore, in_order, work_of
from sureness_reproduction.workbench import DataShelf

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class CellError(SurenessError):
    """A cell could not be computed; the others are kept."""


class UnkeptError(CellError):
    """What a cell found could not be written, so that of the next could not either."""


def run_cells(
    cells: Iterable[Cell], store: CellStore, *, jobs: int = 1, progress: Progress = silent
) -> tuple[int, int]:
    """Compute what is missing, with all it needs, and return how many were computed and how many were there.

    What only finished cells need is not asked for. Where a cell fails, those that do not need it are computed all the
    same, and the first error is raised at the end.

    Parameters
    ----------
    cells : iterable of Cell
    store : CellStore
    jobs : int
        How many processes compute at a time, one thread each; 1 computes in this process.
    progress : callable, optional
        Called with the cell, the seconds of work done, and those in all, both as expected.
    """
    store.sweep()
    here = cache(store.has)
    every = in_order(cells, here)
    missing = [cell for cell in every if not here(cell)]
    run = _Run(missing, progress)
    if jobs == 1:
        _run_in_order(run, store)
    elif missing:
        _run_parallel(run, store, jobs)
    run.tell_failures()
    return len(missing), len(every) - len(missing)


class _Run:
    """Progress in expected seconds, and which cells failed or need one that did."""

    def __init__(self, missing: list[Cell], progress: Progress) -> None:
        self.missing, self._progress = missing, progress
        self._costs = {cell: work_of(cell).cost for cell in missing}
        self._done = 0.0
        self._failed: set[Cell] = set()
        self._errors: list[CellError] = []

    def tell(self, cell: Cell, done: bool = False) -> None:
        self._done += self._costs[cell] if done else 0.0
        self._progress(cell.label, round(self._done), max(round(sum(self._costs.values())), 1))

    def fail(self, cell: Cell, error: CellError) -> None:
        if isinstance(error, UnkeptError):
            raise error
        self._failed.add(cell)
        self._errors.append(error)

    def is_held_up(self, cell: Cell) -> bool:
        """Whether a cell needs what failed; then it counts as failed too."""
        needs_it = not self._failed.isdisjoint(work_of(cell).needed_by(cell))
        if needs_it:
            self._failed.add(cell)
        return needs_it

    def tell_failures(self) -> None:
        if len(self._errors) > 1:
            raise CellError(f"{self._errors[0]} (and {len(self._errors) - 1} more failed)") from self._errors[0]
        if self._errors:
            raise self._errors[0]


def _computed(store: CellStore, cell: Cell) -> None:
    try:
        store.compute(cell)
    except FileError as error:
        raise UnkeptError(f"{cell.label}: {error}") from error
    except SurenessError as error:
        raise CellError(f"{cell.label}: {error}") from error
    except Exception as error:  # a slip of ours or of a library: say where
        raise CellError(f"{cell.label} failed: {type(error).__name__}: {error}") from error


def _run_in_order(run: _Run, store: CellStore) -> None:
    for cell in run.missing:
        if run.is_held_up(cell):
            continue
        run.tell(cell)
        try:
            _computed(store, cell)
        except CellError as error:
            run.fail(cell, error)
        run.tell(cell, done=True)


def _run_parallel(run: _Run, store: CellStore, jobs: int) -> None:
    """Hand out every cell as soon as what it needs is there."""
    waiting = {cell: set(work_of(cell).needed_by(cell)) & set(run.missing) for cell in run.missing}
    running: dict[Future[None], Cell] = {}
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with, initargs=(os.getpid(),))
    with _one_thread_each(), pool:
        try:
            while waiting or running:
                for cell in [cell for cell, needs in waiting.items() if not needs]:
                    del waiting[cell]
                    running[pool.submit(_compute, store.folder, store.shelf.folder, cell)] = cell
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    cell = running.pop(future)
                    try:
                        future.result()
                    except CellError as error:
                        run.fail(cell, error)
                        waiting = {each: needs for each, needs in waiting.items() if not run.is_held_up(each)}
                    run.tell(cell, done=True)
                    for needs in waiting.values():
                        needs.discard(cell)
        except BrokenProcessPool as error:
            raise CellError("a process of the run died, perhaps for want of memory; finished cells are kept: run "
                            "again, with fewer --jobs") from error  # fmt: skip
        finally:
            pool.shutdown(wait=True, cancel_futures=True)  # cells that are under way are finished and kept


def _compute(folder: Path, data: Path | None, cell: Cell) -> None:
    _computed(CellStore(folder, DataShelf(data)), cell)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started meanwhile compute with one thread: two of them with two threads each are slower than one."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, which a killed parent cannot tell."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
