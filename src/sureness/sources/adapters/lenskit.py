"""Trained pipelines and scorers of LensKit (https://lkpy.lenskit.org)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.data.ids import IdMap
from sureness.errors import DataError, SettingError
from sureness.sources.adapters.rows import fitted, rows_of, where_defined
from sureness.sources.base import FactorSource, ScoreSource
from sureness.sources.function import PartialFunctionSource


def from_lenskit(model: Any, *, component: str = "scorer") -> ScoreSource:
    """Scores of a LensKit pipeline, or of a trained scorer by itself.

    A pipeline is called once per user, as ``lenskit.score(pipeline, user, items)`` does, history lookup included:
    LensKit solves for the user's factors again from the history, so they differ a little from the trained ones. A
    scorer by itself uses the trained factors, and ALS then becomes a `FactorSource`. Where a scorer has no score (NaN,
    for example without neighbours), the pair is unknown; see `PartialSource`.

    Parameters
    ----------
    model : trained Pipeline or scorer component
    component : str
        The part of the pipeline that scores; "rating-predictor" includes its fallbacks.

    Examples
    --------
    >>> import lenskit.data, pandas as pd
    >>> from lenskit.als import ImplicitMFScorer
    >>> log = pd.DataFrame({"user_id": ["zoë", "ann", "ann"], "item_id": [7, 7, 3]})
    >>> scorer = ImplicitMFScorer(features=2, epochs=2)
    >>> scorer.train(lenskit.data.from_interactions_df(log))
    >>> source = from_lenskit(scorer)
    >>> source.users.ids.to_list(), source.score_block(np.array([0, 1])).shape
    (['ann', 'zoë'], (2, 2))
    """
    if hasattr(model, "component_names"):
        _check_component(model, component)
        known = _trained_on([model.component(name) for name in model.component_names()])
        return _asked(lambda user, listed: model.run(component, query=user, items=listed), *known)
    known = _trained_on([model])
    if where_defined(model, "__call__") == "lenskit.ALSBase" and model.user_embeddings is not None:
        return _factors(model, *known)
    return _asked(lambda user, listed: model(query=user, items=listed), *known)


def _trained_on(parts: list[Any]) -> tuple[Any, Any, int | None]:
    """Ids in the order of LensKit's rows, and the number of training pairs; the history knows all, if there is one."""
    histories = [part.interactions for part in parts if hasattr(getattr(part, "interactions", None), "row_vocabulary")]
    for history in histories:
        return history.row_vocabulary.ids(), history.col_vocabulary.ids(), history.count()
    for part in parts:
        if all(getattr(part, side, None) is not None for side in ("users", "items")):
            return part.users.ids(), part.items.ids(), None
    names = ", ".join(type(part).__name__ for part in parts if part is not None)
    raise DataError(
        f"LensKit's {names} does not list its users, or is not trained; give the trained pipeline that it is part "
        "of, which has their histories"
    )


def _check_component(pipeline: Any, name: str) -> None:
    if pipeline.node(name, missing="none") is None:
        raise SettingError(
            f"component must be a part of the pipeline, one of {', '.join(pipeline.component_names())}, got {name!r}"
        )


def _factors(model: Any, users: Any, items: Any, n_pairs: int | None) -> FactorSource:
    fitted(model, "item_embeddings")
    rows, columns = rows_of(users, len(users), "users"), rows_of(items, len(items), "items")
    user_bias = item_bias = None
    if bias := getattr(model, "bias", None):
        user_bias = rows.of(bias.user_biases)
        item_bias = columns.of(bias.item_biases) + np.float32(bias.global_bias)
    return FactorSource(
        rows.of(model.user_embeddings),
        columns.of(model.item_embeddings),
        user_bias,
        item_bias,
        rows.ids,
        columns.ids,
        n_pairs,
    )


def _asked(ask: Any, users: Any, items: Any, n_pairs: int | None) -> PartialFunctionSource:
    from lenskit.data import ItemList

    user_ids, item_ids = IdMap.of(users), IdMap.of(items)
    listed, names = ItemList(item_ids=item_ids.ids.to_numpy()), user_ids.ids.to_list()

    def scores(rows: IntArray) -> FloatArray:
        return np.stack([ask(names[row], listed).scores() for row in rows])

    return PartialFunctionSource(scores, len(user_ids), len(item_ids), user_ids, item_ids, n_pairs)
