"""Run a command as `sureness` does, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from typing import Any, NamedTuple
from unittest import mock

from sureness import errors
from sureness.cli import _app, _console, main
from sureness.errors import SurenessError

COMMAND = [sys.executable, "-c", "from sureness.cli import main; main()"]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str
    error: str | None = None  # code of the error that ended it


def run(*words, cwd) -> Done:
    """In this process, since starting Python takes longer than most commands."""
    before, arguments, fail = os.getcwd(), sys.argv, _app.fail
    out, err = io.StringIO(), io.StringIO()
    codes: list[str] = []

    def noted(error: Exception) -> None:
        codes.append(getattr(error, "code", type(error).__name__))
        fail(error)

    try:
        os.chdir(cwd)
        sys.argv = ["sureness", *(str(word) for word in words)]
        streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        with streams[0], streams[1], consoles(out, err), mock.patch.object(_app, "fail", noted):
            main()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
    finally:
        os.chdir(before)
        sys.argv = arguments
    return Done(code, out.getvalue(), err.getvalue(), codes[0] if codes else None)


@contextlib.contextmanager
def consoles(out, err):
    """Let rich write to the captured streams too."""
    _console.out.file, _console.err.file = out, err
    try:
        yield
    finally:
        _console.out.file = _console.err.file = None  # wherever sys.stdout and sys.stderr lead then


def succeed(*words, cwd) -> str:
    done = run(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(*words, cwd) -> dict[str, Any]:
    """What --json says."""
    return json.loads(succeed(*words, "--json", cwd=cwd))


def refused(done: Done, error: type[SurenessError], word: str = "") -> None:
    """One sentence, of an error of this class, that names what it is about; no traceback.

    A setting such as max_size may be named as it is typed, --max-size.
    """
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    raised = next((kind for kind in vars(errors).values() if getattr(kind, "code", None) == done.error), None)
    assert raised is not None, done.error
    assert issubclass(raised, error), (raised, done.stderr)
    said = " ".join(done.stderr.split())
    assert word in said or word.replace("_", "-") in said
