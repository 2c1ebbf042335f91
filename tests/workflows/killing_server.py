"""Run commands in forked processes that die at a chosen file operation; one request per line on standard input.

A request is ``{"words": [...], "cwd": folder, "kill_at": n, "snapshots": folder}``; the answer is the exit code. A
process with `kill_at` dies at its n-th file operation. One with `snapshots` runs to its end and copies its folder
before every operation: that is what a kill at each of them would leave. Libraries are imported once, and nothing runs
before the fork, so children are fast and inherit no work.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

KILLED = 77
_SHORT = 700  # bytes of a write, so that it can be interrupted in the middle
OPERATIONS = ("open", "write", "fsync", "replace", "unlink", "rmdir", "mkdir")


def watch(at_operation) -> None:
    """Call a function before every file operation of this process, and in the middle of every write."""

    def watched(name: str):
        real = getattr(os, name)

        def call(*args, **named):
            creates = name != "open" or (len(args) > 1 and args[1] & os.O_CREAT)
            if creates and "__pycache__" not in str(args[0]):  # compiled code is not ours
                at_operation()
            if name == "write" and len(args[1]) > _SHORT:
                return real(args[0], args[1][:_SHORT])  # the caller writes the rest, as after any short write
            return real(*args, **named)

        return call

    changed = {name: watched(name) for name in OPERATIONS}
    for name, function in changed.items():
        setattr(os, name, function)


def dying_at(number: int):
    count = 0

    def at_operation() -> None:
        nonlocal count
        count += 1
        if count == number:
            os._exit(KILLED)

    return at_operation


def copying_to(folder: str):
    real = {name: getattr(os, name) for name in OPERATIONS}
    count = 0

    def at_operation() -> None:
        nonlocal count
        count += 1
        now = {name: getattr(os, name) for name in OPERATIONS}
        vars(os).update(real)  # a copy is no operation of the command
        shutil.copytree(os.getcwd(), Path(folder) / f"{count:04}")
        vars(os).update(now)

    return at_operation


def run(words: list[str], cwd: str, kill_at: int | None = None, snapshots: str | None = None) -> None:
    from sureness.cli import main

    os.chdir(cwd)
    sys.argv = ["sureness", *words]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if kill_at is not None:
        watch(dying_at(kill_at))
    if snapshots is not None:
        watch(copying_to(snapshots))
    code = 1
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    import sureness.workflows.distilling
    import sureness.workflows.training  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            run(**request)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


if __name__ == "__main__":
    serve()
