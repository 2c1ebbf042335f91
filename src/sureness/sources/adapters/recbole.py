"""Trained models of RecBole (https://recbole.io)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.errors import DataError
from sureness.sources.adapters.rows import Rows, rows_of
from sureness.sources.function import FunctionSource


def from_recbole(model: Any, dataset: Any, *, id_type: type | None = None) -> FunctionSource:
    """Scores of a RecBole model: what ``full_sort_predict`` returns, without the padding row and column.

    Models that only score pairs are called with all pairs. Sequential models are refused, because their scores belong
    to a sequence, not to a user.

    Parameters
    ----------
    model : trained RecBole model
    dataset : RecBole dataset that it was trained on
    id_type : {str, int}, optional
        Convert the ids; RecBole stores all ids as text.

    Examples
    --------
    ::

        config, model, dataset, train, valid, test = recbole.quick_start.load_data_and_model("saved/BPR.pth")
        source = from_recbole(model, dataset, id_type=int)
    """
    if getattr(getattr(model, "type", None), "name", "") == "SEQUENTIAL":
        raise DataError(
            f"{type(model).__name__} scores the continuation of a sequence, not the items of a user; write its best "
            "items for each user to a table and use CandidateSource"
        )
    rows = _rows(dataset, dataset.uid_field, "users", id_type)
    columns = _rows(dataset, dataset.iid_field, "items", id_type)
    places, kept = rows.of(np.arange(dataset.user_num)), columns.of(np.arange(dataset.item_num))
    return FunctionSource(
        lambda users: _predicted(model, dataset, places[users])[:, kept],
        n_users=len(places),
        n_items=len(kept),
        users=rows.ids,
        items=columns.ids,
    )


def _rows(dataset: Any, field: str, side: str, id_type: type | None) -> Rows:
    """Ids of a field; the first row of RecBole is padding."""
    tokens = dataset.field2id_token[field]
    return rows_of({str(token): row for row, token in enumerate(tokens) if row}, len(tokens), side, id_type)


def _predicted(model: Any, dataset: Any, users: IntArray) -> FloatArray:
    import torch

    interaction = import_module("recbole.data.interaction").Interaction
    training, device = model.training, next(model.parameters()).device
    model.eval()
    try:
        with torch.no_grad():
            asked = dataset.join(interaction({dataset.uid_field: torch.as_tensor(users)})).to(device)
            try:
                scores = model.full_sort_predict(asked)
            except NotImplementedError:
                pairs = asked.repeat_interleave(dataset.item_num)
                pairs.update(dataset.get_item_feature().to(device).repeat(len(users)))
                scores = model.predict(pairs)
    finally:
        model.train(training)
    return np.asarray(scores.reshape(len(users), -1).cpu().numpy())
