"""Fitted models of RecTools (https://rectools.readthedocs.io)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.errors import DataError, NotFittedError
from sureness.sources.adapters.rows import rows_of, where_defined
from sureness.sources.base import FactorSource, ScoreSource
from sureness.sources.function import PartialFunctionSource


def from_rectools(model: Any, dataset: Any) -> ScoreSource:
    """Scores of a RecTools model: what ``recommend`` returns for every item, seen ones included.

    ALS, BPR, PureSVD and LightFM become a `FactorSource`. Other models are asked block by block; pairs that
    ``recommend`` leaves out are unknown; see `PartialSource`. Users are those with interactions in the dataset.

    Parameters
    ----------
    model : fitted model
    dataset : rectools.dataset.Dataset
        What the model was fitted on; the ids are its external ids.

    Examples
    --------
    ::

        dataset = rectools.dataset.Dataset.construct(interactions)
        model = rectools.models.PureSVDModel(factors=8).fit(dataset)
        source = from_rectools(model, dataset)
    """
    if not model.is_fitted:
        raise NotFittedError(f"{type(model).__name__} is not fitted yet; fit it before you take its scores")
    if getattr(model, "require_recommend_context", False):
        raise DataError(
            f"{type(model).__name__} scores the context of a request, not the items of a user; write its best items "
            "for each user to a table and use CandidateSource"
        )
    if _is_product(model):
        return _factors(model, dataset)
    return _asked(model, dataset)


def _is_product(model: Any) -> bool:
    """Whether scores are products of the vectors that the model gives; a subclass may score in its own way."""
    is_vectors = where_defined(model, "_recommend_u2i") == "rectools.VectorModel" and hasattr(model, "get_vectors")
    return is_vectors and model.u2i_dist.name == "DOT"


def _factors(model: Any, dataset: Any) -> FactorSource:
    takes_dataset = "dataset" in inspect.signature(model.get_vectors).parameters
    users, items = model.get_vectors(dataset) if takes_dataset else model.get_vectors()
    rows = rows_of(_hot(dataset, "user"), len(users), "users")
    columns = rows_of(_hot(dataset, "item"), len(items), "items")
    return FactorSource(
        rows.of(users), columns.of(items), users=rows.ids, items=columns.ids, trained_pairs=_n_pairs(dataset)
    )


def _hot(dataset: Any, side: str) -> dict[Any, int]:
    """Ids with interactions, and the row of each; RecTools puts those that only have features after them."""
    names, n_hot = getattr(dataset, f"{side}_id_map").external_ids, getattr(dataset, f"n_hot_{side}s")
    return {name: row for row, name in enumerate(names[:n_hot].tolist())}


def _n_pairs(dataset: Any) -> int:
    return int(dataset.get_user_item_matrix(include_weights=False).nnz)


def _asked(model: Any, dataset: Any) -> PartialFunctionSource:
    users, items = (IdMap.of(list(_hot(dataset, side))) for side in ("user", "item"))
    listed = items.ids.to_numpy()

    def scores(rows: IntArray) -> FloatArray:
        asked, places = np.unique(rows, return_inverse=True)
        found = model.recommend(
            users.at(asked).to_numpy(),
            dataset,
            k=len(items),
            filter_viewed=False,
            items_to_recommend=listed,
            add_rank_col=False,
            on_unsupported_targets="ignore",
        )
        block = np.full((len(asked), len(items)), np.nan)
        of_asked = np.searchsorted(asked, users.rows(found["user_id"].to_numpy()))
        block[of_asked, items.rows(found["item_id"].to_numpy())] = found["score"].to_numpy()
        return np.asarray(block[places])

    return PartialFunctionSource(scores, len(users), len(items), users, items, _n_pairs(dataset))
