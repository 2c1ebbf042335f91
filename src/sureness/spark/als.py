"""Factors of Spark's own ALS as a source of scores, with the ids that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sureness.data.ids import IdMap
from sureness.errors import SettingError
from sureness.sources.adapters import source_of as source_of
from sureness.sources.base import FactorSource
from sureness.spark.frames import check_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.ml.recommendation import ALSModel


def als_source(
    model: ALSModel, *, users: Sequence[str] | None = None, items: Sequence[str] | None = None
) -> FactorSource:
    """The factors of a fitted ALS model, on the driver: a source for maps, recommenders and lists on any machine.

    `sureness.source_of` calls it for models of pyspark.

    Parameters
    ----------
    model : pyspark.ml.recommendation.ALSModel
        Classic, or through Spark Connect.
    users, items : sequence of str, optional
        What the numbers of users and items stand for, such as ``StringIndexerModel.labels``; by default the numbers
        themselves are the ids.
    """
    if not all(hasattr(model, name) for name in ("userFactors", "itemFactors", "rank")):
        raise SettingError(f"als_source takes a fitted model of pyspark.ml's ALS, got {type(model).__name__}")
    user_ids, user_factors = _factors(model.userFactors, users, "users")
    item_ids, item_factors = _factors(model.itemFactors, items, "items")
    return FactorSource(user_factors, item_factors, users=user_ids, items=item_ids)


def _factors(frame: Any, labels: Sequence[str] | None, side: str) -> tuple[IdMap, np.ndarray]:
    """Ids and rows of factors, in the order of the ids."""
    found: pa.Table = check_frame(frame, side).select("id", "features").toArrow().combine_chunks()
    numbers = found["id"].to_numpy()
    features = found["features"].combine_chunks()
    matrix = features.values.to_numpy(zero_copy_only=False).reshape(len(numbers), -1)
    if labels is not None and len(numbers) and numbers.max() >= len(labels):
        raise SettingError(
            f"{side} must name every number up to {numbers.max():,}, got {len(labels):,} names; give the labels of the "
            "StringIndexerModel that made the numbers"
        )
    ids = numbers.astype(np.int64) if labels is None else np.asarray(labels, dtype=str)[numbers]
    known = IdMap.of(ids)
    rows = np.empty(len(numbers), dtype=np.int64)
    rows[known.rows(ids)] = np.arange(len(numbers))
    return known, np.ascontiguousarray(matrix[rows], dtype=np.float32)
