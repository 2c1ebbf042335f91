"""Share the rows of an array among threads that run one compiled loop.

The threads are Python's own and the loops release its lock, so callers may come from any number of threads and from
children of a fork. Threads that numba starts itself allow neither: one of its layers ends the process when two threads
call at once, another when a child of a fork does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any

import numba
import numpy as np

from sureness.numerics.compiling import kernel

_FEW = 1 << 10  # entries that one thread has done before another wakes up
_BLOCKS_PER_THREAD = 4  # some rows take longer than others
_most: ContextVar[int | None] = ContextVar("most_threads", default=None)


def n_threads() -> int:
    """How many threads a loop may use: NUMBA_NUM_THREADS, by default all cores, or fewer inside `at_most_threads`."""
    allowed, most = int(numba.config.NUMBA_NUM_THREADS), _most.get()  # type: ignore[attr-defined]
    return allowed if most is None else min(allowed, most)


@contextmanager
def at_most_threads(number: int) -> Iterator[None]:
    """Use no more than this many threads inside the block.

    Examples
    --------
    >>> with at_most_threads(1):
    ...     n_threads()
    1
    """
    token = _most.set(number)
    try:
        yield
    finally:
        _most.reset(token)


class RowLoop:
    """A compiled loop over the rows from `start` to `stop`, called without these two: threads share all rows.

    Rows are those of the first argument. No row may look at what another one writes.
    """

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled
        self.py_func, self.stats = compiled.py_func, compiled.stats  # as numba's own functions have them
        self.__doc__ = compiled.py_func.__doc__

    def __call__(self, rows: Any, *others: Any) -> None:
        each_stretch(lambda start, stop: self.compiled(start, stop, rows, *others), len(rows), rows.size)


def row_loop(**options: Any) -> Callable[[Callable[..., None]], RowLoop]:
    """Compile ``function(start, stop, rows, ...)``; `options` are those of `numba.njit`."""
    return lambda function: RowLoop(kernel(nogil=True, **options)(function))


def each_stretch(work: Callable[[int, int], object], n_rows: int, n_entries: int) -> None:
    """Call ``work(start, stop)`` for stretches of rows that threads share; for all rows at once if entries are few."""
    threads = 1 if n_entries < _FEW else n_threads()
    n_blocks = min(n_rows, threads * _BLOCKS_PER_THREAD)
    if threads == 1 or n_blocks == 1:
        work(0, n_rows)
        return
    bounds = block_bounds(n_rows, n_blocks)
    each_block(lambda block: work(bounds[block], bounds[block + 1]), n_blocks)


def block_bounds(n_rows: int, n_blocks: int) -> list[int]:
    """Where blocks of about the same number of rows start, and the end of the last one.

    Examples
    --------
    >>> block_bounds(10, 3)
    [0, 3, 6, 10]
    """
    bounds: list[int] = np.linspace(0, n_rows, n_blocks + 1).astype(np.int64).tolist()
    return bounds


def each_block(work: Callable[[int], object], n_blocks: int) -> None:
    """Call ``work(block)`` for every block, on several threads if there are several blocks.

    The caller takes blocks like every other thread, so it never waits for one that has not begun.
    """
    left = iter(range(n_blocks))  # each next() is one step under Python's lock: no block is taken twice

    def take_blocks() -> None:
        for block in left:
            work(block)

    helpers = []
    with suppress(RuntimeError):  # a process that is ending starts no threads; the caller takes all blocks
        helpers = [_pool(n_threads()).submit(take_blocks) for _ in range(min(n_threads(), n_blocks) - 1)]
    try:
        take_blocks()
    finally:
        for _ in left:  # after an interrupt nobody begins another block
            pass
        for helper in helpers:
            if not helper.cancel():
                helper.result()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="sureness")


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork; the child starts its own
