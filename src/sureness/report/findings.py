"""A page in short: a few results with their numbers, each linked to its section."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One result, for readers who have two minutes.

    Examples
    --------
    >>> finding = Finding("Percentages that can be trusted", "off by 41 → 1 points", "before and after", "In detail.")
    >>> finding.value
    'off by 41 → 1 points'
    """

    title: str
    value: str  # the measured numbers, in a few characters
    short: str  # what the numbers are, in a dozen words
    text: str  # the same in one or two sentences
    section: str | None = None  # id of the section that shows more
    holds: bool = True  # False: no clear gain here, and the sentence says so
