"""Where the command starts: an interrupt is understood before anything that takes time is imported."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; an interrupt while it is still being imported ends it without a traceback."""
    _open_streams()
    try:
        from sureness.cli._app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing was begun\n")
        sys.stderr.flush()
        os._exit(130)  # a module that is half imported may not end in an orderly way
    run()


def _open_streams() -> None:
    """Put /dev/null in the place of closed streams, so that no file of a job becomes standard output or error."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as long as the process lives
