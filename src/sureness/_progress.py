"""How long-running functions report how far they are: one callback, silent by default."""

from __future__ import annotations

from typing import Protocol


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
    >>> second = part_of(lambda *told: seen.append(told), 1, 4, "trial 2")
    >>> second("epochs", 5, 10)
    >>> seen
    [('trial 2: epochs', 15, 40)]
    """

    def report(step: str, done: int, total: int) -> None:
        progress(f"{name}: {step}", number * total + done, count * total)

    return report
