"""Run a command as `sureness` does, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import NamedTuple

from sureness.cli import _console, main

COMMAND = [sys.executable, "-c", "from sureness.cli import main; main()"]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*words, cwd) -> Done:
    """In this process, since starting Python takes longer than most commands."""
    before, arguments = os.getcwd(), sys.argv
    out, err = io.StringIO(), io.StringIO()
    try:
        os.chdir(cwd)
        sys.argv = ["sureness", *(str(word) for word in words)]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), consoles(out, err):
            main()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
    finally:
        os.chdir(before)
        sys.argv = arguments
    return Done(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def consoles(out, err):
    """Let rich write to the captured streams too."""
    kept = _console.out.file, _console.err.file
    _console.out.file, _console.err.file = out, err
    try:
        yield
    finally:
        _console.out.file, _console.err.file = kept


def succeed(*words, cwd) -> str:
    done = run(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout
