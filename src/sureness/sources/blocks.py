"""Read a source in blocks of users: scores, best unseen items, scores of given pairs, and tables of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
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


def top_blocks(
    source: ScoreSource, users: IntArray, length: int, seen: Interactions | None, *, most: int | None = None
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Blocks of users, with the top unseen items of each user and their scores; shape (n, length), -1 if too few."""
    for block, scores in block_scores(source, users, most=most):
        left_out = {} if seen is None else {"rows": block, "starts": seen.row_starts, "seen": seen.item_rows}
        yield block, *top_k(scores, length, **left_out)


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
    for block, tops, scores in top_blocks(source, users, min(n, source.n_items), seen):
        there = tops >= 0
        place, rank = np.nonzero(there)
        columns = {"user_id": user_ids.at(block[place]), "rank": rank + 1, "item_id": item_ids.at(tops[there])}
        yield pl.DataFrame(columns | {"score": scores[there]}), len(block)


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
