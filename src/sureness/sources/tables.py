"""Tables out of a source: scores of given pairs, and all candidates."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix

from sureness._types import FloatArray, IntArray
from sureness.numerics.checks import check_rows, same_length
from sureness.propensity.base import PropensityModel
from sureness.sources.base import ScoreSource


def score_pairs(source: ScoreSource, table: pl.DataFrame) -> pl.DataFrame:
    """The table with the score of each pair; user_id and item_id are rows and columns of the source."""
    users, items = table["user_id"].to_numpy(), table["item_id"].to_numpy()
    return table.with_columns(score=pl.Series(scores_of(source, users, items)))


def scores_of(source: ScoreSource, users: IntArray, items: IntArray, block: int = 1_000) -> FloatArray:
    """Scores of single pairs, computed in blocks of users."""
    items = check_rows(items, source.n_items, "items", "must be columns {} of the source")
    same_length(np.asarray(users), len(items), "users")
    some, place = np.unique(users, return_inverse=True)
    scores = np.empty(len(users), dtype=np.float32)
    order = np.argsort(place, kind="stable")
    for start in range(0, len(some), block):
        inside = order[np.searchsorted(place[order], start) : np.searchsorted(place[order], start + block)]
        scores[inside] = source.score_block(some[start : start + block])[place[inside] - start, items[inside]]
    return scores


def candidate_table(
    source: ScoreSource, held_out: csr_matrix, train: csr_matrix, propensity: PropensityModel
) -> pl.DataFrame:
    """Every pair that is not in the training log: user_id, item_id, score, label, propensity (1 where unobserved)."""
    scores = source.score_block(np.arange(source.n_users))
    users, items = np.nonzero(np.asarray(train.toarray() == 0))
    labels = np.asarray(held_out[users, items]).ravel() > 0
    omega = np.ones(len(users))
    omega[labels] = propensity.propensity(users[labels], items[labels])
    columns = {"user_id": users, "item_id": items, "score": scores[users, items], "label": labels.astype(np.int8)}
    return pl.DataFrame(columns | {"propensity": omega})
