"""Live scores in rows as the decisions of a recommender."""

from __future__ import annotations

import numpy as np
import polars as pl

from sureness.lists.ragged import row_starts, similar_lengths
from sureness.recommender.confident import ConfidentRecommender

_CELLS = 1_000_000  # scores in the matrix of some users


def live_lists(recommender: ConfidentRecommender, rows: pl.DataFrame) -> pl.DataFrame:
    """The lists of whole users, known or not, from rows of user_id, item_id and score; columns as of `recommend`."""
    ordered = rows.drop_nulls().sort("user_id", "score", "item_id", descending=[False, True, False])
    counts = ordered.group_by("user_id", maintain_order=True).len()
    lengths = counts["len"].to_numpy().astype(np.int64)
    starts = row_starts(lengths)[:-1]
    parts = [
        _decided(recommender, ordered, counts["user_id"].gather(some), starts[some], lengths[some])
        for some in similar_lengths(lengths, _CELLS)
    ]
    return pl.concat(parts) if parts else pl.DataFrame()


def _decided(
    recommender: ConfidentRecommender, rows: pl.DataFrame, users: pl.Series, starts: np.ndarray, lengths: np.ndarray
) -> pl.DataFrame:
    ranks = np.arange(lengths.max())
    there = ranks < lengths[:, None]
    places = np.where(there, starts[:, None] + ranks, 0)
    items = rows["item_id"].to_numpy()
    scores = np.where(there, rows["score"].to_numpy()[places], -np.inf)
    found = recommender.decide(users, items[places], scores)
    user, _ = np.nonzero(found.shown)
    return found.table(users, pl.Series(items[places[user, found.needed("places", recommender)[found.shown]]]))
