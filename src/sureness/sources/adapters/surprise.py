"""Fitted algorithms of Surprise (https://surpriselib.com)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.sources.adapters.rows import Rows, fitted, rows_of, where_defined
from sureness.sources.base import FactorSource, ScoreSource
from sureness.sources.function import FunctionSource

_FACTORS = ("surprise.SVD", "surprise.SVDpp", "surprise.NMF", "surprise.BaselineOnly")


def from_surprise(algo: Any, *, id_type: type | None = None) -> ScoreSource:
    """Scores of a Surprise algorithm: what ``algo.predict(user, item, clip=False)`` returns.

    Ratings are not clipped to their scale, because that would tie the best items. SVD, SVD++, NMF and the baselines
    become a `FactorSource`; the others are called once per pair, which is slow. Ids are Surprise's raw ids.

    Parameters
    ----------
    algo : fitted algorithm
    id_type : {str, int}, optional
        Convert the ids; Surprise reads all ids of a file as text.

    Examples
    --------
    ::

        algo = surprise.SVD().fit(surprise.Dataset.load_builtin("ml-100k").build_full_trainset())
        source = from_surprise(algo, id_type=int)
    """
    trainset = fitted(algo, "trainset").trainset
    raw_users = [trainset.to_raw_uid(row) for row in range(trainset.n_users)]
    raw_items = [trainset.to_raw_iid(row) for row in range(trainset.n_items)]
    rows = rows_of(raw_users, trainset.n_users, "users", id_type)
    columns = rows_of(raw_items, trainset.n_items, "items", id_type)
    kind = where_defined(algo, "estimate")
    if kind in _FACTORS:
        return _factors(algo, kind, rows, columns)
    asked_users, asked_items = (
        [raw[place] for place in side.of(np.arange(len(raw)))]
        for raw, side in ((raw_users, rows), (raw_items, columns))
    )

    def scores(users: IntArray) -> FloatArray:
        return np.array(
            [[algo.predict(asked_users[user], item, clip=False).est for item in asked_items] for user in users]
        )

    return FunctionSource(scores, trainset.n_users, trainset.n_items, rows.ids, columns.ids, trainset.n_ratings)


def _factors(algo: Any, kind: str, rows: Rows, columns: Rows) -> FactorSource:
    trainset = algo.trainset
    user_factors, item_factors = np.zeros((trainset.n_users, 0)), np.zeros((trainset.n_items, 0))
    if kind != "surprise.BaselineOnly":
        user_factors, item_factors = np.asarray(algo.pu), np.asarray(algo.qi)
    if kind == "surprise.SVDpp":
        user_factors = user_factors + _implicit_feedback(algo)
    user_bias = item_bias = None
    if getattr(algo, "biased", True):
        user_bias, item_bias = rows.of(algo.bu), columns.of(algo.bi) + trainset.global_mean
    return FactorSource(
        rows.of(user_factors), columns.of(item_factors), user_bias, item_bias, rows.ids, columns.ids, trainset.n_ratings
    )


def _implicit_feedback(algo: Any) -> FloatArray:
    """What SVD++ adds to each user's factors for the items that the user has rated."""
    rated = [[item for item, _ in algo.trainset.ur[user]] for user in range(algo.trainset.n_users)]
    return np.stack([np.asarray(algo.yj)[items].sum(axis=0) / np.sqrt(len(items)) for items in rated])
