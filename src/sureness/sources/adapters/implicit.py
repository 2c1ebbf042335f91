"""Fitted models of implicit (https://github.com/benfred/implicit)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.errors import DataError, IdError, SettingError
from sureness.sources.adapters.rows import Ids, Rows, fitted, rows_of
from sureness.sources.base import FactorSource, ScoreSource
from sureness.sources.function import FunctionSource

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def from_implicit(
    model: Any,
    interactions: Interactions | csr_matrix | None = None,
    *,
    users: Ids = None,
    items: Ids = None,
) -> ScoreSource:
    """Scores of an implicit model: what its ``recommend`` returns, for every item.

    ALS, BPR and logistic factorisation, on CPU or GPU, become a `FactorSource` (their biases are columns of the
    factors). Item-item models multiply each user's row of `interactions` with the similarities; items that are
    similar to none of the user's items score 0, where implicit itself returns the smallest float.

    Parameters
    ----------
    model : fitted model
    interactions : Interactions or sparse matrix, optional
        What the model was fitted on. The source takes its ids from Interactions and remembers how many pairs there
        are, so that a missing `seen` is noticed; item-item models need one of the two.
    users, items : ids, optional
        The id of each row and column that the model was fitted on, in that order (implicit stores none), as a list, an
        IdMap, or a mapping of ids to rows. By default those of `interactions`, or row numbers.

    Examples
    --------
    >>> from implicit.bpr import BayesianPersonalizedRanking
    >>> log = Interactions.of(["ann", "ann", "bob", "bob"], ["film", "song", "song", "book"])
    >>> model = BayesianPersonalizedRanking(factors=2, random_state=0, num_threads=1)
    >>> model.fit(log.matrix, show_progress=False)
    >>> source = from_implicit(model, log)
    >>> source.n_users, source.items.ids.to_list()
    (2, ['book', 'film', 'song'])
    """
    if isinstance(interactions, Interactions):
        users = interactions.users if users is None else users
        items = interactions.items if items is None else items
        interactions = interactions.matrix
    if hasattr(model, "similarity"):
        return _item_item(fitted(model, "similarity"), interactions, users, items)
    if not hasattr(model, "user_factors") and hasattr(model, "model"):  # approximate search around a factor model
        model = model.model
    if type(model).__module__.startswith("implicit.gpu"):
        model = model.to_cpu()
    if not hasattr(model, "user_factors"):
        raise DataError(f"expected a factor model or an item-item model of implicit, got {type(model).__name__}")
    fitted(model, "user_factors", "item_factors")
    rows = rows_of(users, len(model.user_factors), "users")
    columns = rows_of(items, len(model.item_factors), "items")
    return FactorSource(
        rows.of(model.user_factors),
        columns.of(model.item_factors),
        users=rows.ids,
        items=columns.ids,
        trained_pairs=None if interactions is None else interactions.nnz,
    )


def _item_item(model: Any, interactions: csr_matrix | None, users: Ids, items: Ids) -> ScoreSource:
    if interactions is None:
        raise SettingError(
            f"{type(model).__name__} scores items by a user's history, so it needs the interactions it was fitted "
            "on; give interactions="
        )
    n_items = model.similarity.shape[1]
    if interactions.shape[1] != n_items:
        raise IdError(
            f"interactions must have the {counted(n_items, 'item')} of the model, got {interactions.shape[1]:,}"
        )
    rows: Rows = rows_of(users, interactions.shape[0], "users")
    columns: Rows = rows_of(items, n_items, "items")
    matrix, similarity = interactions.tocsr()[rows.places], model.similarity[:, columns.places]
    return FunctionSource(
        lambda some: (matrix[some] @ similarity).toarray(),
        n_users=matrix.shape[0],
        n_items=similarity.shape[1],
        users=rows.ids,
        items=columns.ids,
        trained_pairs=interactions.nnz,
    )
