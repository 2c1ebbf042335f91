"""Compile loops with numba: into its cache on disk where there is a place for one, else anew in every process.

numba looks for such a place in NUMBA_CACHE_DIR, beside the source file and in the home folder, and refuses to compile
where all of them are read-only, as in many containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit
from numba.core import event

NO_ARRAYS: dict[str, Any] = {"_nrt": False}
"""Options of kernels that make no arrays, views aside: references to arrays are not counted then, which takes as long
as the work itself where rows are short."""

_without_cache: list[str] = []
"""Names of the kernels that found no place for a cache."""


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is first called; `options` are those of `numba.njit`, or `NO_ARRAYS`."""

    def compiled(function: Callable[..., Any]) -> Any:
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


@contextmanager
def before_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` inside the block once, before anything is compiled; not if all that is needed is in the cache."""
    listener = _First(tell)
    event.register(_PASS, listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister(_PASS, listener)  # type: ignore[no-untyped-call]


_PASS = "numba:run_pass"  # a step of the compiler; what is loaded from the cache takes none


class _First(event.Listener):
    """Tells of the first event alone."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, event: Any) -> None:
        """Only beginnings are told."""
