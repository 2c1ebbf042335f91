"""Tables from a source: scores of given pairs, and of all candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.numerics.checks import check_rows, same_length
from sureness.propensity import PropensityModel
from sureness.sources.base import BLOCK_SCORES, PartialSource, ScoreSource, id_maps, is_partial, named
from sureness.tables.frames import Frame, as_frame, in_kind_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # takes long to load


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
