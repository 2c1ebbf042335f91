"""How long-running functions report how far they are: one callback, silent by default."""

from __future__ import annotations

import sys
import time
from typing import Protocol, TextIO


class Progress(Protocol):
    """Called again and again with the name of a step, how much of it is done, and how much there is."""

    def __call__(self, step: str, done: int, total: int, /) -> None: ...


def silent(step: str, done: int, total: int) -> None:
    """Ignore progress."""


def part_of(progress: Progress, number: int, count: int, name: str) -> Progress:
    """Progress of the part `number` (from 0) of `count` equal parts, shown as progress of the whole.

    Examples
    --------
    >>> seen = []
    >>> second = part_of(lambda *step: seen.append(step), 1, 4, "trial 2")
    >>> second("epochs", 5, 10)
    >>> seen
    [('trial 2: epochs', 15, 40)]
    """

    def report(step: str, done: int, total: int) -> None:
        progress(f"{name}: {step}", number * total + done, count * total)

    return report


EVERY = 0.2
"""Least number of seconds between two reports within a step, so that quick steps cost nothing."""


def seldom(progress: Progress) -> Progress:
    """The same progress, reported at most every `EVERY` seconds and at the end."""
    reported_at = -EVERY

    def report(step: str, done: int, total: int) -> None:
        nonlocal reported_at
        now = time.monotonic()
        if done >= total or now - reported_at >= EVERY:
            reported_at = now
            progress(step, done, total)

    return report


class PrintedProgress:
    r"""Progress as one line of text that is written over again, in a terminal or under the cell of a notebook.

    Parameters
    ----------
    stream : text file, optional
        Where to write; by default standard error.
    every : float
        Least number of seconds between two writes within a step.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> progress = PrintedProgress(stream, every=0.0)
    >>> progress("epochs", 1, 2); progress("epochs", 2, 2)
    >>> stream.getvalue()
    '\repochs: 50% (1 of 2)\repochs: 100% (2 of 2)\n'
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = EVERY) -> None:
        self.stream = stream
        self.every = every
        self._written_at = -every
        self._line = ""

    def __call__(self, step: str, done: int, total: int, /) -> None:
        finished, now = done >= total, time.monotonic()
        if finished or now - self._written_at >= self.every:
            self._written_at = now
            self._write(f"{step}: {done / max(total, 1):.0%} ({done:,} of {total:,})", finished)

    def _write(self, line: str, finished: bool) -> None:
        stream = sys.stderr if self.stream is None else self.stream
        stream.write(f"\r{line.ljust(len(self._line))}" + "\n" * finished)  # spaces cover a longer line before it
        stream.flush()
        self._line = "" if finished else line
