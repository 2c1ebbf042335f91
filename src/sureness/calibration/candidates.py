"""The candidates of each user as weighted points on a scale of the user's own, and the positives among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.calibration.usable import MaskedCandidates
from sureness.data.interactions import Interactions
from sureness.numerics.binning import bin_scores
from sureness.numerics.ranking import members, top_k
from sureness.sources.base import ScoreSource
from sureness.sources.blocks import block_scores

_BLOCK_POINTS = 1_000_000  # points of a block of users


@dataclass(frozen=True, eq=False)
class UserPoints:
    """Candidates of some users; scores are in standard deviations from the mean of the user's points."""

    users: IntArray  # (n,) rows
    location: FloatArray  # (n,) mean score of each user, 0 without a candidate
    scale: FloatArray  # (n,) standard deviation of each user's scores, 1 where all are the same
    scores: FloatArray  # (n, points) standardised
    weight: FloatArray  # (n, points) 0 where there is no candidate
    positive_rows: IntArray  # place in `users` of each positive, ascending
    positive_scores: FloatArray  # standardised

    @classmethod
    def of(
        cls, users: IntArray, scores: FloatArray, weight: FloatArray, rows: IntArray, positives: FloatArray
    ) -> UserPoints:
        """Standardise the scores of points, and those of the positives of these rows."""
        total = np.maximum(weight.sum(axis=1), 1e-300)
        location = (weight * scores).sum(axis=1) / total
        spread = np.sqrt((weight * (scores - location[:, None]) ** 2).sum(axis=1) / total)
        scale = np.where(spread > 1e-9 * np.abs(location), spread, 1.0)
        standardised = (scores - location[:, None]) / scale[:, None]
        return cls(users, location, scale, standardised, weight, rows, (positives - location[rows]) / scale[rows])


@dataclass(frozen=True, eq=False)
class LabelledCandidates:
    """What a source may show, labelled by what was held out."""

    source: ScoreSource
    held_out: Interactions
    seen: Interactions | None
    masked: MaskedCandidates  # counts masked scores, which are not candidates

    def best(self, top: int) -> Iterator[UserPoints]:
        """The best candidates of every user, one point each."""
        starts, excluded = self._excluded()
        for users, every in self._blocks(top):
            items, scores = top_k(every, top, rows=users, starts=starts, seen=excluded)
            if self.masked.hide(users, every, scores, self.seen):
                items, scores = top_k(every, top)
            there = items >= 0
            known = np.where(there, scores, 0.0).astype(np.float64)
            rows, places = np.nonzero(members(items, users, self.held_out.row_starts, self.held_out.item_rows) & there)
            yield UserPoints.of(users, known, there.astype(np.float64), rows, known[rows, places])

    def binned(self, n_bins: int) -> Iterator[UserPoints]:
        """All candidates of every user in bins of equal width; positives keep their own scores."""
        starts, excluded = self._excluded()
        for users, scores in self._blocks(n_bins):
            self.masked.hide(users, scores, np.array([scores.min(), scores.max()]), self.seen)
            means, counts = bin_scores(scores, n_bins, rows=users, starts=starts, seen=excluded)
            first, last = self.held_out.row_starts[[users[0], users[-1] + 1]]
            rows = np.repeat(np.arange(len(users)), self.held_out.user_degree[users])
            positives = scores[rows, self.held_out.item_rows[first:last]].astype(np.float64)
            there = np.isfinite(positives)  # masked and unknown ones are not
            yield UserPoints.of(users, means, counts, rows[there], positives[there])

    def _blocks(self, n_points: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """All users in order, with the scores of all items."""
        return block_scores(self.source, np.arange(self.source.n_users), most=max(1, _BLOCK_POINTS // n_points))

    def _excluded(self) -> tuple[IntArray, IntArray]:
        """Seen items as sparse rows: starts and items."""
        if self.seen is None:
            return np.zeros(self.source.n_users + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
        return self.seen.row_starts, self.seen.item_rows
