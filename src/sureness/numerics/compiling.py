"""Compile loops with numba: into its cache on disk where there is a place for one, else anew in every process.

numba looks for such a place in NUMBA_CACHE_DIR, next to the source file and in the home folder, and refuses to compile
where all of them are read-only, as in many containers.

The first compilation of a process is announced in one line on standard error, if that is a terminal or belongs to a
notebook. Nothing else in the library prints by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from numba import njit
from numba.core import event

NO_ARRAYS: dict[str, Any] = {"_nrt": False}
"""Options of kernels that make no arrays, views aside: references to arrays are not counted then, which takes as long
as the work itself where rows are short."""

_without_cache: list[str] = []
"""Names of the kernels that found no place for a cache."""

_ours: set[Callable[..., Any]] = set()
"""The functions of all kernels; other code may use numba in the same process."""


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is first called; `options` are those of `numba.njit`, or `NO_ARRAYS`."""

    def compiled(function: Callable[..., Any]) -> Any:
        _ours.add(function)
        found = njit(**options)(function)
        try:
            found.enable_caching()
        except RuntimeError:  # no place to write to; at this point nothing is compiled yet
            _without_cache.append(function.__name__)
        return found

    return compiled


def is_cached() -> bool:
    """Whether later processes find what this one compiles."""
    return not _without_cache


def notice() -> str:
    """Why a call takes long."""
    kept = "once, about 10 s" if is_cached() else "about 10 s each time: set NUMBA_CACHE_DIR to a writable folder"
    return f"compiling numerical kernels ({kept})"


def announce() -> None:
    """Write the notice where it is read: on a terminal, or under the cell of a notebook."""
    stream = sys.stderr
    with suppress(OSError, ValueError):  # closed
        if stream is not None and (stream.isatty() or type(stream).__module__.startswith("ipykernel")):
            stream.write(f"sureness: {notice()}\n")
            stream.flush()


_announcers: list[Callable[[], None]] = [cache(announce)]  # which calls it once
"""The last one announces."""


@contextmanager
def before_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Inside the block, call `tell` once before a kernel is compiled, in place of the line on standard error.

    It is not called if all that is needed is in the cache.
    """
    announcer = cache(tell)
    _announcers.append(announcer)
    try:
        yield
    finally:
        _announcers.remove(announcer)


class _Compilations(event.Listener):
    """Announces that a kernel is compiled; what is loaded from the cache is not."""

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func in _ours:
            _announcers[-1]()

    def on_end(self, event: Any) -> None:
        """Only beginnings are announced."""


event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]
