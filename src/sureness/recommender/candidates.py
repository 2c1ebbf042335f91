"""The candidates that lists are made of: the best unseen items by the scores of a source, or of another system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError, IdError
from sureness.numerics.checks import as_array
from sureness.numerics.ranking import members, top_k
from sureness.recommender.repeats import MOST_OWN, Taken, with_own
from sureness.sources.base import ScoreSource
from sureness.sources.blocks import Candidates, best_unseen, block_scores

_ENTRIES = 1 << 16  # of lists that are gathered before anything is computed from them


def candidate_blocks(
    source: ScoreSource,
    users: IntArray,
    width: int,
    *,
    seen: Interactions | None,
    later: Interactions | None,
    best: int,
    taken: Taken | None = None,
) -> Iterator[Candidates]:
    """Blocks of users with their candidates.

    Parameters
    ----------
    source : ScoreSource
    users : array of rows
    width : int
        Candidates of each user, at least `best`.
    seen : Interactions, optional
        What is not a candidate any more.
    later : Interactions, optional
        The part of it that the source was not trained on. When the map was fitted these were candidates, and among the
        best ones more often than others; the mean and spread of a user's scores would move if they went.
    best : int
        How many scores decide mean and spread.
    taken : Taken, optional
        What users took before and may take again: their own items are candidates as well.
    """
    return _gathered(_blocks(source, users, width, seen, later, best, taken))


def _blocks(
    source: ScoreSource, users: IntArray, width: int, seen: Interactions | None, later: Interactions | None, best: int,
    again: Taken | None,
) -> Iterator[Candidates]:  # fmt: skip
    for block, scores in block_scores(source, users):
        if again is not None:
            every = scores.copy()
            items, found = with_own(
                *best_unseen(scores, min(max(width - MOST_OWN, 1), source.n_items), block, seen),
                every,
                again.own_of(block),
            )
            yield Candidates(block, items, found, found[:, :best])
            continue
        taken = None if later is None else _scores_of_taken(scores, block, later)
        items, found = best_unseen(scores, width, block, seen)
        yield Candidates(block, items, found, _best_of(found, taken, best))


def _gathered(blocks: Iterable[Candidates]) -> Iterator[Candidates]:
    """Fewer and larger blocks: of a large catalogue, one block of scores holds few users."""
    waiting: list[Candidates] = []
    for block in blocks:
        waiting.append(block)
        if sum(each.items.size for each in waiting) >= _ENTRIES:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(blocks: list[Candidates]) -> Candidates:
    if len(blocks) == 1:
        return blocks[0]
    return Candidates(*(np.concatenate(columns) for columns in zip(*(block[:4] for block in blocks), strict=True)))


def _scores_of_taken(scores: FloatArray, users: IntArray, later: Interactions) -> FloatArray | None:
    """The scores of items that users have taken since the training; -inf fills the rows. None: there are none."""
    counts = later.user_degree[users]
    longest = int(counts.max(initial=0))
    if not longest:
        return None
    there = np.arange(longest) < counts[:, None]
    places = np.where(there, later.row_starts[users][:, None] + np.arange(longest), 0)
    return np.where(there, scores[np.arange(len(users))[:, None], later.item_rows[places]], -np.inf)


def _best_of(listed: FloatArray, taken: FloatArray | None, best: int) -> FloatArray:
    """The best scores of listed and taken candidates together, highest first."""
    width = min(best, listed.shape[1])  # the same for every block, so that sums do not depend on the other users in it
    if taken is None:
        return listed[:, :width]
    together = np.concatenate([listed, taken.astype(listed.dtype)], axis=1)
    return -np.sort(-together, axis=1)[:, :width]


# --- scores of another system ---------------------------------------------------------------------------------------


def live_candidates(
    scores: ArrayLike,
    item_ids: ArrayLike | None,
    users: IntArray,
    items: IdMap,
    width: int,
    *,
    seen: Interactions,
    later: Interactions,
    best: int,
) -> Candidates:
    """The best `width` candidates that users have not seen yet, or as many as there are.

    Parameters
    ----------
    scores : array of shape (n, n_candidates), or (n_candidates,) for one user
        Of another system, -inf where there is no candidate.
    item_ids : array of shape (n, n_candidates) or (n_candidates,), optional
        Whose scores they are; None: those of all items, in the order of `items`.
    users : array of shape (n,)
        Rows in the recommender, -1: unknown.
    items : IdMap
    width : int
    seen, later : Interactions
        What is not shown again, and the part of it that came after the training.
    best : int
        How many scores decide mean and spread.
    """
    block = _score_rows(scores, len(users))
    names = None if item_ids is None else as_array(item_ids, "item_ids")
    n_candidates = block.shape[1]
    if names is None and n_candidates not in (0, len(items)):
        raise DataError(
            f"scores must be those of all {counted(len(items), 'item')} in the order of the source, got "
            f"{n_candidates:,} per user; give item_ids, which name the items they belong to"
        )
    if names is not None and names.shape not in (block.shape, block.shape[1:]):
        raise DataError(f"item_ids must have the shape of the scores, {block.shape}, got {names.shape}")
    if not n_candidates:
        nothing, none = np.full((len(users), 1), -1), np.full((len(users), 1), -np.inf)
        return Candidates(users, nothing, none, none, nothing)
    wide = min(max(width, best), n_candidates)
    rows, starts, values = _seen_by(users, seen)
    if names is None:
        known = users >= 0
        taken = np.full((len(users), 1), -np.inf)
        if known.any() and (found := _scores_of_taken(block[known], users[known], later)) is not None:
            taken = np.full((len(users), found.shape[1]), -np.inf)
            taken[known] = found
        places, listed = top_k(block.copy(), wide, rows=rows, starts=starts, seen=values)
        return Candidates(users, places, listed, _best_of(listed, taken, best), places)
    # Seen candidates are found by id, and looking up ids takes longer than finding the best: look up only those
    # that can be among the best when all seen ones have gone.
    most_seen = int((starts[rows + 1] - starts[rows]).max(initial=0))
    places, listed = top_k(block, min(n_candidates, wide + most_seen))
    found_items = _rows_of(names, places, items)
    _refuse_twice(found_items)
    hidden = members(found_items, rows, starts, values)
    since = members(found_items, *_seen_by(users, later))
    highest = _best_of(np.where(hidden & ~since, -np.inf, listed), np.empty((len(users), 0)), best)
    return _without(Candidates(users, found_items, listed, highest, places), hidden, wide)


def _rows_of(item_ids: AnyArray, places: IntArray, items: IdMap) -> IntArray:
    """The items at some places of the scores, as rows of the recommender; -1: unknown there."""
    there = places >= 0
    ids = item_ids[places] if item_ids.ndim == 1 else np.take_along_axis(item_ids, places, axis=1)
    rows = np.full(places.shape, -1, dtype=np.int64)
    rows[there] = items.rows(ids[there])
    _refuse_unknown_twice(ids, there & (rows < 0))
    return rows


def _score_rows(scores: ArrayLike, n_users: int) -> FloatArray:
    """Numbers with one row per user; -inf where there is no candidate."""
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
