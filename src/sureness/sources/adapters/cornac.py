"""Fitted models of Cornac (https://cornac.preferred.ai)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.sources.adapters.rows import Rows, fitted, rows_of, where_defined
from sureness.sources.base import FactorSource, ScoreSource
from sureness.sources.function import FunctionSource

_FACTORS = {
    "cornac.BPR": ("u_factors", "i_factors"),
    "cornac.MF": ("u_factors", "i_factors"),
    "cornac.IBPR": ("U", "V"),
    "cornac.LightGCN": ("U", "V"),
    "cornac.PMF": ("U", "V"),
    "cornac.WMF": ("U", "V"),
}
"""Names of the factors of models whose scores are products, by the class that defines their `score`."""


def from_cornac(model: Any, *, id_type: type | None = None) -> ScoreSource:
    """Scores of a Cornac model: what ``model.score(user)`` returns for all items.

    Factor models become a `FactorSource`; every other model that implements `score` is called once per user. Users
    and items that were not in the training data are left out, because Cornac has only placeholder scores for them.

    Parameters
    ----------
    model : fitted Cornac recommender
    id_type : {str, int}, optional
        Convert Cornac's ids, if your tables have ids of the other type.

    Examples
    --------
    >>> import cornac
    >>> data = cornac.data.Dataset.from_uir([("zoë", 7, 5.0), ("ann", 7, 1.0), ("ann", 3, 4.0)])
    >>> source = from_cornac(cornac.models.MF(k=2, seed=0).fit(data))
    >>> source.users.ids.to_list(), source.items.ids.to_list()
    (['ann', 'zoë'], [3, 7])
    """
    fitted(model, "uid_map", "iid_map", "num_users", "num_items")
    rows = rows_of(model.uid_map, model.num_users, "users", id_type)
    columns = rows_of(model.iid_map, model.num_items, "items", id_type)
    kind = where_defined(model, "score")
    if kind in _FACTORS and all(getattr(model, name, None) is not None for name in _FACTORS[kind]):
        return _factors(model, kind, rows, columns)

    def scores(users: IntArray) -> FloatArray:
        places = rows.of(np.arange(model.num_users))[users]
        return np.stack([columns.of(np.asarray(model.score(int(user))).ravel()) for user in places])

    n_users, n_items = (0 if side.ids is None else len(side.ids) for side in (rows, columns))
    return FunctionSource(scores, n_users, n_items, rows.ids, columns.ids, _trained_pairs(model))


def _factors(model: Any, kind: str, rows: Rows, columns: Rows) -> FactorSource:
    user_factors, item_factors = (np.asarray(getattr(model, name)) for name in _FACTORS[kind])
    user_bias = item_bias = None
    if kind in ("cornac.BPR", "cornac.MF"):
        item_bias = columns.of(model.i_biases)
    if kind == "cornac.MF":
        user_bias = rows.of(model.u_biases) + np.float32(model.global_mean)
    return FactorSource(
        rows.of(user_factors),
        columns.of(item_factors),
        user_bias,
        item_bias,
        rows.ids,
        columns.ids,
        _trained_pairs(model),
    )


def _trained_pairs(model: Any) -> int | None:
    """None for a model that was loaded, which has no training set."""
    known: int | None = getattr(getattr(model, "train_set", None), "num_ratings", None)
    return known
