"""Fitted models of LightFM, or of its maintained forks lightfm-next and rectools-lightfm, which keep its name."""

from __future__ import annotations

from typing import Any

from sureness.sources.adapters.rows import Ids, fitted, rows_of
from sureness.sources.base import FactorSource


def from_lightfm(
    model: Any, *, users: Ids = None, items: Ids = None, user_features: Any = None, item_features: Any = None
) -> FactorSource:
    """Scores of a LightFM model: what its ``predict`` returns.

    Parameters
    ----------
    model : fitted LightFM
    users, items : ids, optional
        The id of each row that the model was fitted on, in that order, or the mapping of ids to rows that
        ``lightfm.data.Dataset.mapping()`` returns first and third. By default ids are row numbers.
    user_features, item_features : sparse matrix, optional
        The features that the model was fitted with.

    Examples
    --------
    ::

        dataset = lightfm.data.Dataset()
        ...
        users, _, items, _ = dataset.mapping()
        source = from_lightfm(model, users=users, items=items)
    """
    fitted(model, "user_embeddings", "item_embeddings")
    user_bias, user_factors = model.get_user_representations(user_features)
    item_bias, item_factors = model.get_item_representations(item_features)
    rows, columns = rows_of(users, len(user_factors), "users"), rows_of(items, len(item_factors), "items")
    return FactorSource(
        rows.of(user_factors),
        columns.of(item_factors),
        rows.of(user_bias),
        columns.of(item_bias),
        rows.ids,
        columns.ids,
    )
