"""What a page says in short: a few things with their numbers, each leading to its section."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was found, for people who have two minutes.

    Examples
    --------
    >>> finding = Finding("A percentage you can take at its word", "off by 41 → 1 points", "before and after", "Told.")
    >>> finding.value
    'off by 41 → 1 points'
    """

    title: str
    value: str  # what was measured, in a few characters
    short: str  # what the value says, in a dozen words
    text: str  # the same in one or two sentences
    section: str | None = None  # id of the section that shows more
    holds: bool = True  # False: it brought nothing clear here, and the text says so
