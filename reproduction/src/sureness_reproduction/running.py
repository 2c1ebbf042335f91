"""Run cells in order or in parallel; what is finished stays finished whatever happens."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from typing import Any

from sureness import Progress, silent
from sureness.errors import FileError, SurenessError
from sureness_reproduction.cells import Cell, CellStore, in_order, work_of

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
    if missing:
        with _one_thread_each(), _workers(jobs) as pool:
            _compute_all(missing, store, pool, jobs, progress)
    return len(missing), len(every) - len(missing)


def _compute_all(missing: list[Cell], store: CellStore, pool: Executor, jobs: int, progress: Progress) -> None:
    """Hand out every cell as soon as what it needs is there; those that need what failed fail with it."""
    needs = {cell: set(work_of(cell).needed_by(cell)) for cell in missing}
    waiting, running, errors = dict.fromkeys(missing), dict[Future[None], Cell](), list[CellError]()
    unfinished, failed, done = set(missing), set[Cell](), 0.0
    total = max(round(sum(work_of(cell).cost for cell in missing)), 1)
    while waiting or running:
        for cell in [cell for cell in waiting if needs[cell].isdisjoint(unfinished)]:
            if len(running) < jobs:
                del waiting[cell]
                progress(cell.label, round(done), total)
                running[pool.submit(_compute, store, cell)] = cell
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            cell = running.pop(future)
            unfinished.discard(cell)
            try:
                future.result()
            except UnkeptError:
                raise
            except CellError as error:
                errors.append(error)
                failed.add(cell)
                for each in missing:  # what is needed comes first
                    if not needs[each].isdisjoint(failed):
                        failed.add(each)
                        waiting.pop(each, None)
            except BrokenProcessPool as error:
                raise CellError("a process of the run died, perhaps for want of memory; finished cells are kept: run "
                                "again, with fewer --jobs") from error  # fmt: skip
            done += work_of(cell).cost
            progress(cell.label, round(done), total)
    if errors:
        raise errors[0] if len(errors) == 1 else CellError(f"{errors[0]} (and {len(errors) - 1} more failed)")


def _compute(store: CellStore, cell: Cell) -> None:
    try:
        store.compute(cell)
    except FileError as error:
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
    if jobs == 1:
        yield _Here()
        return
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with, initargs=(os.getpid(),))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # cells that are under way are finished and kept


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
