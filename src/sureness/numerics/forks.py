"""Know whether this process is a child that was forked from one in which the threads of polars were running.

Threads do not survive a fork, and polars waits for its own for ever. Such a child gets one sentence instead.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sureness.errors import ForkError

_TASKS = Path("/proc/self/task")  # the threads of this process, on Linux
_left_behind = False  # at the last fork: whether this process had threads of polars, or had lost them itself
_lost = False


def check_not_forked() -> None:
    """Refuse work with tables and ids in a child that cannot do it."""
    if _lost:
        raise ForkError(
            "this process was forked from one that had used polars, whose threads do not survive a fork; start it with "
            "multiprocessing's 'spawn' or 'forkserver', or fork before tables are read and lists are made"
        )


def _look() -> None:
    global _left_behind
    tasks = _TASKS.iterdir() if _TASKS.is_dir() else ()
    _left_behind = _lost or any(_is_of_polars(task) for task in tasks)


def _remember() -> None:
    global _lost
    _lost = _left_behind


def _is_of_polars(task: Path) -> bool:
    with suppress(OSError):  # a thread may end meanwhile
        return (task / "comm").read_text().strip().removeprefix("polars-").isdecimal()
    return False


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_look, after_in_child=_remember)
