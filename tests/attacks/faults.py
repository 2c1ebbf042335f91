"""Watch every file operation of a process, and let it die, fail or be copied at any of them.

The functions of `os` and the files of `open` are wrapped, so nothing in the package knows of it. Polars writes tables
in compiled code, which no wrapper sees; `fork_server` interrupts that with a limit on the size of files.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KILLED = 77
"""Exit code of a process that died at an operation."""

SHORT = 700
"""Longer writes are halved, so that they can be interrupted in the middle."""

CHANGES = ("open", "write", "sendfile", "fsync", "truncate", "ftruncate", "link", "symlink", "rename", "replace",
           "unlink", "remove", "rmdir", "mkdir", "chmod", "utime")  # fmt: skip
"""Operations that change what is on the disk; `open` only where it may create or change a file."""

LOCKS = ("close", "fstat", "flock")
"""Further system calls of a save, which may fail too."""

AtOperation = Callable[[str], None]


def watch(
    before: AtOperation, after: AtOperation | None = None, names: Iterable[str] = CHANGES, *, reads: bool = False
) -> Callable[[], None]:
    """Call a function before (and another after) every file operation of this process, from now on.

    With `reads`, opening a file to read it counts too. Returns what ends the watch.
    """
    wanted = {(module, name) for module in (os, fcntl) for name in names if hasattr(module, name)}
    real = {(module, name): getattr(module, name) for module, name in wanted}
    real |= {(io, "open"): io.open, (builtins, "open"): builtins.open}
    for (module, name), function in real.items():
        if (module, name) in wanted:
            setattr(module, name, _watched(name, function, before, after, reads))
    io.open = builtins.open = _watched_open(before)  # type: ignore[assignment]

    def end() -> None:
        for (module, name), function in real.items():
            setattr(module, name, function)

    return end


@contextmanager
def watching(before: AtOperation, names: Iterable[str] = CHANGES, *, reads: bool = False) -> Iterator[None]:
    """`watch` for a while."""
    end = watch(before, None, names, reads=reads)
    try:
        yield
    finally:
        end()


def _watched(
    name: str, real: Callable[..., Any], before: AtOperation, after: AtOperation | None, reads: bool
) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        if not _counts(name, args, reads):
            return real(*args, **named)
        if name == "close":
            real(*args)  # a file whose close fails is closed all the same
        before(name)
        if name == "write":
            args = (args[0], _first_part(args[1]))  # the caller writes the rest, as after any short write
        result = None if name == "close" else real(*args, **named)
        if after is not None:
            after(name)
        return result

    return call


def _counts(name: str, args: tuple[Any, ...], reads: bool = False) -> bool:
    """Whether an operation is one of ours: it changes something, and not the cache of compiled code."""
    if name == "open" and not (reads or (len(args) > 1 and args[1] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))):
        return False
    if name == "write" and args[0] in (1, 2):  # the terminal
        return False
    return not any(part in str(args[0]) for part in ("__pycache__", "/dev/null", "/proc/"))


def _first_part(content: Any) -> memoryview:
    whole = memoryview(content).cast("B")
    return whole if len(whole) <= SHORT else whole[: len(whole) // 2]


def _watched_open(before: AtOperation) -> Callable[..., Any]:
    real = io.open

    class WatchedFile(io.FileIO):
        def write(self, content: Any) -> int:
            before("write")
            return super().write(_first_part(content)) or 0

    def watched_open(
        file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, *args: Any, **named: Any
    ) -> Any:
        changes = any(letter in mode for letter in "wax+")
        if not changes or isinstance(file, int) or named.get("opener") or not _counts("open", (file, os.O_RDWR)):
            return real(file, mode, buffering, encoding, *args, **named)
        before("open")
        raw = WatchedFile(file, mode.replace("b", "").replace("t", ""))
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding or "utf-8")

    return watched_open


def dying_at(number: int) -> AtOperation:
    """End the process at its n-th operation, without a word and without any cleaning up."""
    return at_number(number, lambda _: os._exit(KILLED))


def failing_at(number: int, code: int = errno.ENOSPC, *, from_then_on: bool = False) -> AtOperation:
    """Let the n-th operation (or all from there on, as on a full disk) fail."""

    def fail(_: str) -> None:
        raise OSError(code, os.strerror(code))

    return at_number(number, fail, from_then_on=from_then_on)


def at_number(number: int, act: AtOperation, *, from_then_on: bool = False) -> AtOperation:
    """Act at the n-th operation only, or also at all that follow."""
    count = 0

    def at_operation(name: str) -> None:
        nonlocal count
        count += 1
        if count == number or (from_then_on and count > number):
            act(name)

    return at_operation


def copying_to(folder: str) -> AtOperation:
    """Copy the current folder before every operation: what a kill at each of them would leave."""
    modules = {os: dict(vars(os)), io: dict(vars(io)), builtins: {"open": builtins.open}}
    count = 0

    def at_operation(_: str) -> None:
        nonlocal count
        count += 1
        now = {module: {name: vars(module)[name] for name in real} for module, real in modules.items()}
        for module, real in modules.items():
            vars(module).update(real)  # a copy is no operation of the command
        shutil.copytree(os.getcwd(), Path(folder) / f"{count:04}", symlinks=True)
        for module, watched in now.items():
            vars(module).update(watched)

    return at_operation
