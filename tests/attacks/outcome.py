"""What an attack found: how often it was tried, and how often something went wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MOST_NOTES = 10


@dataclass(frozen=True)
class Outcome:
    """One row of the table in docs/maintainers/reliability.md."""

    what: str  # what was attacked, and how
    failure: str  # what counts as a failure
    tried: int
    failed: int
    notes: tuple[str, ...] = ()  # the first failures, for people

    @classmethod
    def of(cls, what: str, failure: str, tried: int, failures: Iterable[str]) -> Outcome:
        """Count failures that are described in one sentence each, and keep the first ones."""
        found = list(failures)
        return cls(what, failure, tried, len(found), tuple(found[:MOST_NOTES]))


def joined(what: str, parts: Iterable[Outcome]) -> Outcome:
    """Several outcomes of one kind as one."""
    every = list(parts)
    notes = tuple(note for part in every for note in part.notes)[:MOST_NOTES]
    tried, failed = sum(part.tried for part in every), sum(part.failed for part in every)
    return Outcome(what, every[0].failure, tried, failed, notes)
