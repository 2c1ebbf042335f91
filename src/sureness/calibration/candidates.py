"""The candidates of users as weighted points with labels: what maps of users are fitted on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.usable import MaskedCandidates
from sureness.data.interactions import Interactions
from sureness.evaluation.ranking import block_scores
from sureness.numerics.ranking import members, top_k
from sureness.numerics.row_logistic import bin_scores
from sureness.sources.base import ScoreSource, is_partial

_BLOCK_POINTS = 1_000_000  # points of a block of users, each with its features
_POINTS_PER_BIN = 8  # fewer on average, and bins would save nothing
_UNGROUPED = 128  # up to this many candidates of a user are points of their own
_BINS_BEHIND = 64  # of what lies behind a user's best candidates
_SINGLE, _GROWTH = 32, 1.1  # of more: ranks that are, and how much wider each group of later ranks is


@dataclass(frozen=True, eq=False)
class CandidateBlock:
    """Candidates of some users as weighted points, and the scores of the positives among them."""

    users: IntArray  # (n,) rows
    scores: FloatArray  # (n, points)
    weight: FloatArray  # (n, points) 0 where there is no candidate
    positive_rows: IntArray  # place in `users` of each positive, ascending
    positive_scores: FloatArray
    best: CandidateBlock | RankedBlock | None = None  # the users' best candidates, by which all are measured

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        return _moments(self.scores, self.weight)

    @property
    def location(self) -> FloatArray:
        """The mean score of each user; shape (n,)."""
        return self._moments[0] if self.best is None else self.best.location

    @property
    def scale(self) -> FloatArray:
        """The standard deviation of each user's scores, 1 where all are the same; shape (n,)."""
        return self._moments[1] if self.best is None else self.best.scale

    @cached_property
    def standardised(self) -> FloatArray:
        """Scores in standard deviations from the user's mean; shape (n, points)."""
        return (self.scores - self.location[:, None]) / self.scale[:, None]

    @cached_property
    def standardised_positives(self) -> FloatArray:
        """The same of the positives."""
        return (self.positive_scores - self.location[self.positive_rows]) / self.scale[self.positive_rows]

    @property
    def last(self) -> FloatArray:
        """The lowest standardised score of each user, 0 without a candidate; shape (n,)."""
        return _lowest(self.standardised, self.weight > 0)

    @property
    def positive_starts(self) -> IntArray:
        """Where the positives of each user start; shape (n + 1,)."""
        return np.searchsorted(self.positive_rows, np.arange(len(self.users) + 1))

    def take(self, places: IntArray) -> CandidateBlock:
        """Some of the users, ascending."""
        rows = np.searchsorted(places, self.positive_rows)
        some = places[np.minimum(rows, len(places) - 1)] == self.positive_rows
        return CandidateBlock(
            self.users[places], self.scores[places], self.weight[places], rows[some], self.positive_scores[some]
        )


@dataclass(frozen=True, eq=False)
class RankedBlock:
    """The best candidates of some users, one by one."""

    users: IntArray  # (n,) rows
    items: IntArray  # (n, top) best first, -1: there is none
    scores: FloatArray  # (n, top) 0 where there is none
    hits: BoolArray  # (n, top) whether it was held out

    @property
    def there(self) -> BoolArray:
        """Where there is a candidate; shape (n, top)."""
        return self.items >= 0

    @property
    def candidates(self) -> CandidateBlock:
        """The same as weighted points, the later ones in groups."""
        rows, places = np.nonzero(self.hits)
        points = _grouped(self.scores, self.there.astype(np.float64))
        return CandidateBlock(self.users, *points, rows, self.scores[rows, places])

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        return _moments(self.scores, self.there.astype(np.float64))

    @property
    def location(self) -> FloatArray:
        """The mean score of each user; shape (n,)."""
        return self._moments[0]

    @property
    def scale(self) -> FloatArray:
        """The standard deviation of each user's scores, 1 where all are the same; shape (n,)."""
        return self._moments[1]

    @cached_property
    def standardised(self) -> FloatArray:
        """Scores in standard deviations from the user's mean; shape (n, top)."""
        return (self.scores - self.location[:, None]) / self.scale[:, None]

    @property
    def last(self) -> FloatArray:
        """The lowest standardised score of each user, 0 without a candidate; shape (n,)."""
        return _lowest(self.standardised, self.there)

    def take(self, places: IntArray) -> RankedBlock:
        """Some of the users."""
        return RankedBlock(*(getattr(self, field.name)[places] for field in fields(self)))

    @classmethod
    def joined(cls, blocks: list[RankedBlock]) -> RankedBlock:
        """Several blocks as one."""
        return cls(*(np.concatenate([getattr(block, field.name) for block in blocks]) for field in fields(cls)))


def _lowest(standardised: FloatArray, there: BoolArray) -> FloatArray:
    lowest = np.where(there, standardised, np.inf).min(axis=1)
    return np.where(np.isfinite(lowest), lowest, 0.0)


def _moments(scores: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each row, the latter 1 where all scores are the same."""
    total = np.maximum(weight.sum(axis=1), 1e-300)
    location = np.asarray((weight * scores).sum(axis=1) / total)
    spread = np.sqrt((weight * (scores - location[:, None]) ** 2).sum(axis=1) / total)
    return location, np.where(spread > 1e-9 * np.abs(location), spread, 1.0)


def joined(blocks: list[CandidateBlock]) -> CandidateBlock:
    starts = np.cumsum([0, *(len(block.users) for block in blocks)])
    return CandidateBlock(
        np.concatenate([block.users for block in blocks]),
        np.concatenate([block.scores for block in blocks]),
        np.concatenate([block.weight for block in blocks]),
        np.concatenate([block.positive_rows + start for block, start in zip(blocks, starts, strict=False)]),
        np.concatenate([block.positive_scores for block in blocks]),
    )


def _grouped(scores: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Falling scores with the later ones in groups: neighbours hardly differ there, and a quarter of the points do."""
    if scores.shape[1] <= _UNGROUPED:
        return scores, weight
    starts = [*range(_SINGLE)]
    while (following := max(starts[-1] + 1, int(starts[-1] * _GROWTH))) < scores.shape[1]:
        starts.append(following)
    together = np.add.reduceat(weight, starts, axis=1)
    return np.add.reduceat(weight * scores, starts, axis=1) / np.maximum(together, 1.0), together


@dataclass(frozen=True, eq=False)
class Candidates:
    """What a source may show, with labels."""

    source: ScoreSource
    held_out: Interactions
    seen: Interactions | None
    top: int | None
    n_bins: int

    @cached_property
    def masked(self) -> MaskedCandidates:
        """Masked scores, which are no candidates."""
        return MaskedCandidates.of(self.source.n_users)

    def reach_beyond(self) -> BoolArray:
        """Which users have candidates behind the fitted ones; shape (n_users,)."""
        source = self.source
        if is_partial(source):  # what is not in the table is unknown
            return np.ones(source.n_users, dtype=bool)
        n_seen = 0 if self.seen is None else self.seen.user_degree
        return np.asarray(source.n_items - n_seen - self.masked.per_user > (np.inf if self.top is None else self.top))

    @property
    def has_more(self) -> bool:
        """Whether there are candidates behind the best ones."""
        return self.top is not None and self.top < self.source.n_items

    def blocks(self, users: IntArray) -> Iterator[CandidateBlock]:
        """The best candidates of users, or all of them in bins."""
        n_items = self.source.n_items
        if self.top is None and n_items > _POINTS_PER_BIN * self.n_bins:
            return self._binned(users)
        top = n_items if self.top is None else min(self.top, n_items)
        return (block.candidates for block in self.ranked(users, top))

    def every_block(self, known: CandidateBlock) -> Iterator[CandidateBlock]:
        """The candidates of all users: first those of the known ones, which are not scored again."""
        size = max(1, _BLOCK_POINTS // known.scores.shape[1])
        for start in range(0, len(known.users), size):
            yield known.take(np.arange(start, min(start + size, len(known.users))))
        yield from self.blocks(self._others(known.users))

    def every_ranked(self, known: RankedBlock) -> Iterator[RankedBlock]:
        """The same one by one, as many of each user as of the known ones."""
        top = known.items.shape[1]
        size = max(1, _BLOCK_POINTS // top)
        for start in range(0, len(known.users), size):
            yield known.take(np.arange(start, min(start + size, len(known.users))))
        yield from self.ranked(self._others(known.users), top)

    def _others(self, users: IntArray) -> IntArray:
        """All users but these."""
        others = np.ones(self.source.n_users, dtype=bool)
        others[users] = False
        return np.flatnonzero(others)

    def behind(self, users: IntArray) -> CandidateBlock:
        """What lies behind the best candidates of users, in bins."""
        if self.top is None:
            raise ValueError("all candidates are fitted, so that none lie behind them")
        blocks = []
        for block, every, items, _ in self._tops(users, self.top):
            rows, places = np.nonzero(items >= 0)
            every[rows, items[rows, places]] = -np.inf
            blocks.append(self._in_bins(block, every, _BINS_BEHIND))
        return joined(blocks)

    def ranked(self, users: IntArray, top: int) -> Iterator[RankedBlock]:
        """The best candidates of users, one by one."""
        for block, _, items, scores in self._tops(users, top):
            there = items >= 0
            hits = members(items, block, self.held_out.row_starts, self.held_out.item_rows) & there
            yield RankedBlock(block, items, np.where(there, scores, 0.0).astype(np.float64), hits)

    def _tops(self, users: IntArray, top: int) -> Iterator[tuple[IntArray, FloatArray, IntArray, FloatArray]]:
        """Blocks of users with all scores, -inf for what is no candidate, and the best candidates with theirs."""
        starts, excluded = self._excluded()
        for block, every in block_scores(self.source, users, most=_BLOCK_POINTS // top):
            items, scores = top_k(every, top, rows=block, starts=starts, seen=excluded)
            if self.masked.hide(block, every, scores, self.seen):
                items, scores = top_k(every, top)
            yield block, every, items, scores

    def _binned(self, users: IntArray) -> Iterator[CandidateBlock]:
        for block, scores in block_scores(self.source, users, most=_BLOCK_POINTS // self.n_bins):
            self.masked.hide(block, scores, np.array([scores.min(), scores.max()]), self.seen)
            yield self._in_bins(block, scores, self.n_bins)

    def _in_bins(self, block: IntArray, scores: FloatArray, n_bins: int) -> CandidateBlock:
        starts, excluded = self._excluded()
        means, counts = bin_scores(scores, n_bins, rows=block, starts=starts, seen=excluded)
        place = np.repeat(np.arange(len(block)), self.held_out.user_degree[block])
        items = np.concatenate([self.held_out.items_of(user) for user in block] or [excluded])
        positives = scores[place, items].astype(np.float64)
        there = np.isfinite(positives)  # seen ones are not
        return CandidateBlock(block, means, counts, place[there], positives[there])

    def _excluded(self) -> tuple[IntArray, IntArray]:
        """What is no candidate because it was seen, as sparse rows: starts and items."""
        if self.seen is None:
            return np.zeros(self.source.n_users + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
        return self.seen.row_starts, self.seen.item_rows
