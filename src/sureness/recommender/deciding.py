"""Decisions as arrays: the best candidates of each user, how likely they are, and how many are worth showing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self, cast

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError, IdError
from sureness.numerics.checks import as_array
from sureness.numerics.ranking import members, top_k
from sureness.recommender.candidates import Candidates, best_of, scores_of_taken


@dataclass(frozen=True, eq=False)
class Decisions:
    """What is shown to each user, and what was expected of it; one row per user.

    A row is as wide as the longest list that may be shown, and sorted by score. Entries without a candidate have the
    place -1 and the probability 0.
    """

    users: IntArray  # (n,) rows of the users in the recommender, -1: unknown
    places: IntArray  # (n, width) where each candidate stands in the scores that were decided on, best first
    scores: FloatArray  # (n, width) falling
    probabilities: FloatArray  # (n, width) falling
    sizes: IntArray  # (n,) how many of them are shown
    expected: FloatArray  # (n,) expected utility of that list; NaN if the policy does not compute it
    unsure: BoolArray  # (n,) whether no list is worth showing

    __repr__ = fields_repr

    @property
    def shown(self) -> BoolArray:
        """Which candidates are shown; shape (n, width)."""
        return np.arange(self.places.shape[1]) < self.sizes[:, None]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Concatenate blocks of users."""
        if len(parts) == 1:
            return parts[0]
        return cls(**{each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)})


@dataclass(frozen=True, eq=False)
class LiveScores:
    """Scores of another system for some users: of all known items, or of the candidates that `item_ids` names."""

    scores: FloatArray  # (n, n_candidates)
    item_ids: AnyArray | None = None  # (n, n_candidates) or (n_candidates,)

    @classmethod
    def of(cls, scores: ArrayLike, item_ids: ArrayLike | None, *, n_users: int, n_items: int) -> Self:
        """Check what came; one user may be asked for without a dimension for users."""
        block = _score_rows(scores, n_users)
        names = None if item_ids is None else as_array(item_ids, "item_ids")
        if names is None and block.shape[1] not in (0, n_items):
            raise DataError(
                f"scores must be those of all {counted(n_items, 'item')} in the order of the source, got "
                f"{block.shape[1]:,} per user; give item_ids, which say whose scores they are"
            )
        if names is not None and names.shape not in (block.shape, block.shape[1:]):
            raise DataError(f"item_ids must have the shape of the scores, {block.shape}, got {names.shape}")
        return cls(block, names)

    def best(
        self, width: int, n_best: int, users: IntArray, items: IdMap, seen: Interactions, later: Interactions
    ) -> Candidates:
        """The best `width` candidates that a user has not seen yet, or as many as there are.

        Parameters
        ----------
        width : int
        n_best : int
            How many scores decide mean and spread.
        users : array of shape (n,)
            Rows in the recommender, -1: unknown.
        items : IdMap
        seen, later : Interactions
            What is not shown again, and the part of it that came after the training.
        """
        n_candidates = self.scores.shape[1]
        if not n_candidates:
            nothing, none = np.full((len(users), 1), -1), np.full((len(users), 1), -np.inf)
            return Candidates(users, nothing, none, none, nothing)
        wide = min(max(width, n_best), n_candidates)
        rows, starts, values = _seen_by(users, seen)
        if self.item_ids is None:
            known = users >= 0
            taken = np.full((len(users), 1), -np.inf)
            if known.any() and (found := scores_of_taken(self.scores[known], users[known], later)) is not None:
                taken = np.full((len(users), found.shape[1]), -np.inf)
                taken[known] = found
            places, scores = top_k(self.scores.copy(), wide, rows=rows, starts=starts, seen=values)
            return Candidates(users, places, scores, best_of(scores, taken, n_best), places)
        # Seen candidates are found by id, and looking up ids takes longer than finding the best: look up only those
        # that can be among the best when all seen ones have gone.
        most_seen = int((starts[rows + 1] - starts[rows]).max(initial=0))
        places, scores = top_k(self.scores, min(n_candidates, wide + most_seen))
        found_items = self._rows_of(places, items)
        _refuse_twice(found_items)
        hidden = members(found_items, rows, starts, values)
        since = members(found_items, *_seen_by(users, later))
        best = best_of(np.where(hidden & ~since, -np.inf, scores), np.empty((len(users), 0)), n_best)
        return _without(Candidates(users, found_items, scores, best, places), hidden, wide)

    def _rows_of(self, places: IntArray, items: IdMap) -> IntArray:
        """The items at some places of the scores, as rows of the recommender; -1: unknown there."""
        assert self.item_ids is not None
        there = places >= 0
        asked = self.item_ids[places] if self.item_ids.ndim == 1 else np.take_along_axis(self.item_ids, places, axis=1)
        rows = np.full(places.shape, -1, dtype=np.int64)
        rows[there] = items.rows(asked[there])
        _refuse_unknown_twice(asked, there & (rows < 0))
        return rows


def _score_rows(scores: ArrayLike, n_users: int) -> FloatArray:
    """Numbers with one row per user; -inf marks what is no candidate."""
    block = as_array(scores, "scores")
    block = block[None] if block.ndim == 1 and n_users == 1 else block
    if block.ndim != 2 or len(block) != n_users:
        raise DataError(
            f"scores must have one row for each of {counted(n_users, 'user')}, got shape {np.shape(scores)}"
        )
    if block.dtype.kind not in "iuf":
        raise DataError(f"scores must be numbers, got values of type {block.dtype}; convert them first")
    kind = np.float32 if block.dtype == np.float32 else np.float64
    block = np.require(block, kind, ["C", "W"])  # the kernels take no read-only arrays, such as those of polars
    highest = block.max(initial=-np.inf)
    if not highest < np.inf:  # NaN too
        raise DataError(f"scores must be finite, or -inf where there is no candidate, got {highest}; drop those")
    return block


def _seen_by(users: IntArray, seen: Interactions) -> tuple[IntArray, IntArray, IntArray]:
    """What users have seen as sparse rows: the row of each user, starts and items; unknown users have seen nothing."""
    if len(users) and users.min() < 0:
        empty = len(seen.row_starts) - 1  # one row more
        return np.where(users < 0, empty, users), np.append(seen.row_starts, seen.row_starts[-1]), seen.item_rows
    return users, seen.row_starts, seen.item_rows


def _refuse_twice(items: IntArray) -> None:
    """An item that is a candidate twice would be shown twice."""
    ordered = np.sort(items, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        raise _not_distinct(int(np.count_nonzero(twice.any(axis=1))))


def _refuse_unknown_twice(ids: AnyArray, unknown: BoolArray) -> None:
    """The same for items that the recommender does not know, by their ids; a missing id names no item."""
    known: set[tuple[int, object]] = set()
    twice = set()
    for user, item in zip(np.nonzero(unknown)[0].tolist(), ids[unknown].tolist(), strict=True):
        if item is not None and (user, item) in known:
            twice.add(user)
        known.add((user, item))
    if twice:
        raise _not_distinct(len(twice))


def _not_distinct(n_users: int) -> IdError:
    return IdError(
        f"item_ids must be distinct for each user, but {counted(n_users, 'user has', 'users have')} one among their "
        "best candidates twice; keep one score for each item"
    )


def _without(found: Candidates, hidden: BoolArray, width: int) -> Candidates:
    """The first `width` candidates that are not hidden, in the same order."""
    order = np.argsort(hidden, axis=1, kind="stable")[:, :width]
    gone = np.take_along_axis(hidden, order, axis=1)
    return found._replace(
        items=np.where(gone, -1, np.take_along_axis(found.items, order, axis=1)),
        scores=np.where(gone, -np.inf, np.take_along_axis(found.scores, order, axis=1)),
        places=np.where(gone, -1, np.take_along_axis(cast(IntArray, found.places), order, axis=1)),
    )
