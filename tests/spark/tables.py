"""Random tables with the variety of real ones, and the same in Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from sureness.calibration.per_user import PerUserCalibrator
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.sources.base import MatrixSource


def scored(n_pairs: int, *, seed: int, n_users: int = 50, text: bool = False) -> pl.DataFrame:
    """Pairs whose labels follow their scores; user_id, item_id, score, label."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n_pairs)
    users = rng.integers(0, n_users, n_pairs)
    labels = rng.random(n_pairs) < 1 / (1 + np.exp(2 - 1.5 * scores))
    ids = {"user_id": users, "item_id": np.arange(n_pairs)}
    table = pl.DataFrame(ids | {"score": scores, "label": labels})
    return table.with_columns(pl.format("{} é", "user_id").alias("user_id")) if text else table


def frame_of(spark: Any, table: pl.DataFrame, partitions: int = 2) -> Any:
    """The table in Spark, its rows spread over partitions."""
    signed = table.with_columns(cs.unsigned_integer().cast(pl.Int64))  # Spark has no others
    return spark.createDataFrame(signed.to_arrow()).repartition(partitions)


def table_of(frame: Any) -> pl.DataFrame:
    """What Spark computed, in memory."""
    return pl.from_arrow(frame.toArrow())


def per_user_map(*, text: bool = False, n_users: int = 80) -> tuple[PerUserCalibrator, pl.DataFrame]:
    """Maps of users, and the candidates that they were fitted on."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(n_users, 30)) * rng.uniform(0.5, 2.0, (n_users, 1))
    relevant = rng.random(scores.shape) < 1 / (1 + np.exp(2 - scores))
    names = np.array([f"u{n:03}" for n in range(n_users)]) if text else np.arange(n_users)
    source = MatrixSource(scores, users=IdMap.of(names))
    rows, items = np.nonzero(relevant)
    log = Interactions.of(names[rows], items)
    users = np.repeat(names, 30)
    table = pl.DataFrame({"user_id": users, "item_id": np.tile(np.arange(30), n_users), "score": scores.ravel()})
    return PerUserCalibrator(top=20).fit(source, log, seen="nothing"), table
