"""Where the command starts: an interrupt is understood before anything that takes time is imported."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; an interrupt while it is still being imported ends it without a traceback."""
    try:
        from sureness.cli._app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing was begun\n")
        sys.stderr.flush()
        os._exit(130)  # a module that is half imported may not end in an orderly way
    run()
