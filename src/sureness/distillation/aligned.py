"""A fixed model from elsewhere, re-indexed to the ids of the training log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import IdError
from sureness.sources.base import KnownScores, ScoreSource, id_maps
from sureness.sources.blocks import block_scores

_BLOCK_SCORES = 4_000_000  # scores held at a time while pairs are looked up


@dataclass(frozen=True, eq=False)
class AlignedSource:
    """Any source with the rows and columns of a log; users and items that it does not know have no scores.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> source = MatrixSource(np.array([[1.0, 2.0]]), users=IdMap.of(["ann"]), items=IdMap.of(["x", "z"]))
    >>> log = Interactions.of(["ann", "bob"], ["x", "y"])
    >>> AlignedSource.of(source, log).score_block(np.array([0, 1])).tolist()
    [[1.0, -inf], [-inf, -inf]]
    """

    source: ScoreSource
    users: IdMap  # of the log
    items: IdMap  # of the log
    user_rows: IntArray  # where the source has each user, -1: unknown
    item_rows: IntArray  # where the source has each item, -1: unknown

    __repr__ = fields_repr

    @classmethod
    def of(cls, source: ScoreSource, log: Interactions) -> AlignedSource:
        """Match a source with a log by id; refused if they have no user or no item in common."""
        users, items = id_maps(source)
        user_rows, item_rows = users.rows(log.users.ids), items.rows(log.items.ids)
        if not (np.any(user_rows >= 0) and np.any(item_rows >= 0)):
            raise IdError(
                "the fixed model knows no user or no item of the training log; check that its ids are of the same kind"
            )
        return cls(source, log.users, log.items, user_rows, item_rows)

    @property
    def n_users(self) -> int:
        return len(self.users)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def scores_per_user(self) -> int:
        return self.n_items

    def score_block(self, users: IntArray) -> FloatArray:
        """Scores of all items, -inf for unknown users and items; shape (len(users), n_items)."""
        scores = np.full((len(users), self.n_items), -np.inf, dtype=np.float32)
        known, columns = np.flatnonzero(self.user_rows[users] >= 0), np.flatnonzero(self.item_rows >= 0)
        rows = self.user_rows[users][known]
        done = 0
        for block, part in block_scores(self.source, rows):
            place = known[done : done + len(block)]
            scores[np.ix_(place, columns)] = part[:, self.item_rows[columns]]
            done += len(block)
        return scores

    def known_block(self, users: IntArray) -> KnownScores:
        """The scores of known items only."""
        return KnownScores.of_dense(self.score_block(users))

    def pair_scores(self, users: IntArray, items: IntArray) -> FloatArray:
        """Scores of pairs, 0 where the source has none: users (B,), items (B, n), result (B, n)."""
        some, place = np.unique(users, return_inverse=True)
        scores = np.empty(items.shape, dtype=np.float32)
        step = max(1, _BLOCK_SCORES // self.n_items)
        for start in range(0, len(some), step):
            inside = np.flatnonzero((place >= start) & (place < start + step))
            block = self.score_block(some[start : start + step])
            scores[inside] = block[place[inside][:, None] - start, np.maximum(items[inside], 0)]
        return np.where(np.isneginf(scores), np.float32(0.0), scores)
