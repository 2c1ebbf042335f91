"""Standard output, and a sentence where it cannot be written; imports nothing heavy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sureness.errors import OutputError


def write_out(text: str) -> None:
    """Print a text that is the result itself: nothing wrapped, nothing coloured; refused if nobody can get it."""
    if sys.stdout is None:
        raise OutputError("cannot print the result: standard output is closed")
    with printing():
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()  # now, while a failure can still be told


@contextmanager
def printing() -> Iterator[None]:
    """Tell in a sentence why the result cannot be printed; a reader who has enough, as in `| head`, is no failure."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot print the result on standard output: {error.strerror or error}") from error
