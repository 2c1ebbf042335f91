"""A source whose scores become probabilities: source, map and segments, asked by rows of users and items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.calibration.maps import ProbabilityMap, Segments, Who
from sureness.calibration.pair_fields import Fields, PairNumbers
from sureness.sources.base import ScoreSource


@dataclass(frozen=True, eq=False)
class MappedSource:
    """Scores of a source, turned into log-odds by a fitted map. Build it with `of`."""

    source: ScoreSource
    map: ProbabilityMap
    segments: Segments | Fields | None = None
    numbers: PairNumbers | None = None  # of the segments of users and items in the map

    __repr__ = fields_repr

    @classmethod
    def of(cls, source: ScoreSource, fitted: ProbabilityMap, segments: Segments | Fields | None) -> MappedSource:
        """Look up the segments once, for all users or items."""
        if segments is None:
            return cls(source, fitted)
        segments.check(source)
        return cls(source, fitted, segments, fitted.pair_numbers(segments))

    def who(self, users: IntArray, items: IntArray | None = None) -> Who:
        """For rows of users (-1: unknown) and the items of each, (n, n_candidates); None: all items in order."""
        if self.numbers is None:
            return Who(len(users), users)
        return Who(len(users), users, self.numbers.of_rows(users, items))

    def log_odds(self, scores: FloatArray, users: IntArray, items: IntArray | None = None) -> FloatArray:
        """Log-odds of scores, (n, n_candidates); -inf where there is no candidate."""
        return self.map.log_odds_of(scores.astype(np.float64, copy=False), self.who(users, items))

    def answered_by(self, users: IntArray, items: IntArray) -> IntArray:
        """Who answered for each user's items, as positions in `ANSWERS`; shape (n, n_candidates)."""
        found = self.map.answered_by(self.who(users, items))
        return np.broadcast_to(found[:, None] if found.ndim == 1 else found, items.shape)
