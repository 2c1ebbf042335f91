"""A source whose scores become probabilities: source, map and segments, asked by rows of users and items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.calibration.maps import ProbabilityMap, Segments, Who
from sureness.sources.base import ScoreSource


@dataclass(frozen=True, eq=False)
class MappedSource:
    """Scores of a source, turned into log-odds by a fitted map. Build it with `of`."""

    source: ScoreSource
    map: ProbabilityMap
    segments: Segments | None = None
    numbers: IntArray | None = None  # the number of each user's or item's segment in the map

    __repr__ = fields_repr

    @classmethod
    def of(cls, source: ScoreSource, fitted: ProbabilityMap, segments: Segments | None) -> MappedSource:
        """Look up the segments once, for all users or items."""
        if segments is None:
            return cls(source, fitted)
        segments.check(source)
        return cls(source, fitted, segments, fitted.segment_numbers(segments.names))

    def who(self, users: IntArray, items: IntArray | None = None) -> Who:
        """For rows of users (-1: unknown) and the items of each, (n, n_candidates); None: all items in order."""
        if self.numbers is None or self.segments is None:
            return Who(len(users), users)
        if self.segments.of == "users":
            return Who(len(users), users, np.where(users >= 0, self.numbers[users], -1))
        if items is None:
            return Who(len(users), users, np.broadcast_to(self.numbers, (len(users), len(self.numbers))))
        return Who(len(users), users, np.where(items >= 0, self.numbers[items], -1))

    def log_odds(self, scores: FloatArray, users: IntArray, items: IntArray | None = None) -> FloatArray:
        """Log-odds of scores, (n, n_candidates); -inf where there is no candidate."""
        return self.map.log_odds_of(scores.astype(np.float64, copy=False), self.who(users, items))

    def answered_by(self, users: IntArray, items: IntArray) -> IntArray:
        """Who answered for each user's items, as positions in `ANSWERS`; shape (n, n_candidates)."""
        found = self.map.answered_by(self.who(users, items))
        return np.broadcast_to(found[:, None] if found.ndim == 1 else found, items.shape)
