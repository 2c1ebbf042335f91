"""Read a source in blocks of users: scores, best unseen items, scores of given pairs, and tables of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError
from sureness.numerics.checks import check_rows, same_length
from sureness.numerics.ranking import top_k
from sureness.propensity import PropensityModel
from sureness.sources.base import (
    PartialSource,
    ScoreSource,
    as_float32,
    checked_block,
    id_maps,
    is_partial,
    named,
)
from sureness.tables.frames import Frame, as_frame, in_kind_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # takes long to load


BLOCK_SCORES = 4_000_000
"""How many scores are held in memory at a time."""


class Candidates(NamedTuple):
    """The best candidates of some users, best first."""

    users: IntArray  # (n,) rows, -1: unknown
    items: IntArray  # (n, width) rows, -1: there is none, or unknown
    scores: FloatArray  # (n, width) -inf: there is none
    best: FloatArray  # (n, n_best) the highest scores, those of items taken since the training included
    places: IntArray | None = None  # (n, width) where each stands in scores of another system; None: places are items

    def __repr__(self) -> str:
        return fields_repr(self)


def top_blocks(
    source: ScoreSource, users: IntArray, length: int, seen: Interactions | None, *, most: int | None = None
) -> Iterator[Candidates]:
    """Blocks of users with their best unseen items."""
    for block, scores in block_scores(source, users, most=most):
        items, best = best_unseen(scores, length, block, seen)
        yield Candidates(block, items, best, best)


def best_unseen(
    scores: FloatArray, length: int, users: IntArray, seen: Interactions | None
) -> tuple[IntArray, FloatArray]:
    """The best items of a block of users that were not seen, and their scores."""
    left_out = {} if seen is None else {"rows": users, "starts": seen.row_starts, "seen": seen.item_rows}
    return top_k(scores, length, **left_out)


def block_scores(
    source: ScoreSource, users: IntArray, *, most: int | None = None
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Blocks of users with their scores, which may be overwritten; -inf for unknown scores."""
    for block in blocks_of(users, source.n_items, most=most):
        yield block, _known_scores(source, block) if is_partial(source) else _writeable(source, block)


def blocks_of(users: IntArray, width: int, *, most: int | None = None) -> Iterator[IntArray]:
    """Split users into blocks whose rows of `width` scores fit in memory, with at most `most` users each."""
    size = max(1, min(BLOCK_SCORES // max(width, 1), len(users) if most is None else most))
    for start in range(0, len(users), size):
        yield users[start : start + size]


def user_blocks(source: ScoreSource, n_scores: int | None = None) -> Iterator[IntArray]:
    """All rows of a source in order, in blocks with at most that many known scores."""
    width = max(source.scores_per_user if is_partial(source) else source.n_items, 1)
    return blocks_of(np.arange(source.n_users), width, most=max(1, (n_scores or BLOCK_SCORES) // width))


def _writeable(source: ScoreSource, users: IntArray) -> FloatArray:
    scores = np.ascontiguousarray(as_float32(checked_block(source, users)))
    highest = scores.max() if scores.size else 0.0  # NaN if any score is
    if np.isnan(highest) or highest == np.inf:
        raise DataError(
            f"scores of the source must be finite numbers, got {'NaN' if np.isnan(highest) else 'infinity'}; where it "
            "has no score, use a CandidateSource or a PartialFunctionSource"
        )
    return scores if scores.flags.writeable and scores.base is None else scores.copy()


def _known_scores(source: PartialSource, users: IntArray) -> FloatArray:
    """Scores of a partial source; unknown ones are -inf, so that those items are not shown."""
    known = source.known_block(users)
    scores = np.full((len(users), source.n_items), -np.inf, dtype=np.float32)
    scores[np.repeat(np.arange(len(users)), np.diff(known.starts)), known.items] = known.scores
    return scores


def list_blocks(
    source: ScoreSource, users: IntArray, n: int, seen: Interactions | None
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Tables of the n best unseen items (user_id, rank, item_id, score), each with its number of users."""
    user_ids, item_ids = id_maps(source)
    for found in top_blocks(source, users, min(n, source.n_items), seen):
        there = found.items >= 0
        named_items = item_ids.at(found.items[there])
        yield list_table(there, user_ids.at(found.users), named_items, score=found.scores), len(found.users)


def list_table(shown: BoolArray, users: pl.Series, items: pl.Series, **columns: AnyArray) -> pl.DataFrame:
    """The table of lists: user_id, rank, item_id and further columns, one row for each shown item.

    Parameters
    ----------
    shown : boolean array of shape (n_users, width)
    users : ids of shape (n_users,)
    items : ids of the shown items, list after list
    columns : arrays of shape (n_users, width) or (n_users,)

    Examples
    --------
    >>> shown = np.array([[True, True], [True, False]])
    >>> list_table(shown, pl.Series(["ann", "bob"]), pl.Series([7, 5, 7]), list_size=shown.sum(axis=1)).rows()
    [('ann', 1, 7, 2), ('ann', 2, 5, 2), ('bob', 1, 7, 1)]
    """
    place, rank = np.nonzero(shown)
    further = {name: values[place] if values.ndim == 1 else values[shown] for name, values in columns.items()}
    return pl.DataFrame({"user_id": users.gather(place), "rank": rank + 1, "item_id": items, **further})


def score_pairs(source: ScoreSource, table: Frame) -> Any:
    """Add the score of each pair to a table; null where a partial source does not know it.

    user_id and item_id are ids of the source, or its row and column numbers if it has none. The table may be of any
    kind, and comes back in the same.
    """
    given = as_frame(table)
    users, items = (_rows(source, given[f"{side}_id"], f"{side}s") for side in ("user", "item"))
    scores = pl.Series(scores_of(source, users, items))
    if is_partial(source):
        known = pl.Series(known_pairs(source, users, items))
        scores = pl.select(pl.when(known).then(scores)).to_series()
    return in_kind_of(table, given.with_columns(score=scores))


def scores_of(source: ScoreSource, users: IntArray, items: IntArray, block: int | None = None) -> FloatArray:
    """Scores of pairs given by row and column of the source, computed in blocks of users."""
    items = check_rows(items, source.n_items, "items", "must be columns {} of the source")
    same_length(np.asarray(users), len(items), "users")
    block = block or max(1, BLOCK_SCORES // max(source.n_items, 1))
    some, place = np.unique(users, return_inverse=True)
    scores = np.empty(len(users), dtype=np.float32)
    order = np.argsort(place, kind="stable")
    for start in range(0, len(some), block):
        inside = order[np.searchsorted(place[order], start) : np.searchsorted(place[order], start + block)]
        scores[inside] = source.score_block(some[start : start + block])[place[inside] - start, items[inside]]
    return scores


def known_pairs(source: PartialSource, users: IntArray, items: IntArray) -> BoolArray:
    """Which pairs have a known score."""
    some, place = np.unique(users, return_inverse=True)
    known = source.known_block(some)
    return np.asarray(np.isin(place * source.n_items + items, known.rows * source.n_items + known.items))


def candidate_table(
    source: ScoreSource, held_out: csr_matrix, seen: csr_matrix, propensity: PropensityModel
) -> pl.DataFrame:
    """Every unseen pair: user_id, item_id, score, label, propensity (1 for pairs labelled 0)."""
    scores = source.score_block(np.arange(source.n_users))
    users, items = np.nonzero(np.asarray(seen.toarray() == 0))
    labels = np.asarray(held_out[users, items]).ravel() > 0
    omega = np.ones(len(users))
    omega[labels] = propensity.propensity(users[labels], items[labels])
    ids = (ids.at(rows) for ids, rows in zip(id_maps(source), (users, items), strict=True))
    columns = dict(zip(("user_id", "item_id"), ids, strict=True))
    return pl.DataFrame(columns | {"score": scores[users, items], "label": labels.astype(np.int8), "propensity": omega})


def _rows(source: ScoreSource, ids: pl.Series, side: str) -> IntArray:
    known: IdMap | None = named(source, side)
    return ids.to_numpy() if known is None else known.known_rows(ids, side)
