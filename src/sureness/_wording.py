"""Numbers with the noun that they count."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural unless there is exactly one.

    Examples
    --------
    >>> counted(1, "experiment"), counted(1_200, "user"), counted(0, "pair")
    ('1 experiment', '1,200 users', '0 pairs')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
