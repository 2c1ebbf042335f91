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
from sureness.spark.frames import created


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
    return created(spark, signed).repartition(partitions)


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


def same_tables(found: pl.DataFrame, expected: pl.DataFrame, keys: list[str], within: float = 1e-12) -> None:
    """Whether two tables have the same rows, whatever their order."""
    found, expected = found.sort(keys), expected.sort(keys)
    assert found.columns == expected.columns
    assert found.height == expected.height
    for name in expected.columns:
        if expected[name].dtype.is_float():
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=within, err_msg=name)
        else:
            assert found[name].to_list() == expected[name].to_list(), name


def candidates(
    *, seed: int, n_users: int = 300, n_items: int = 60, text: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Candidates of users in single precision, and held-out pairs; some users have none, one has few candidates."""
    rng = np.random.default_rng(seed)
    scores = (rng.normal(size=(n_users, n_items)) * rng.uniform(0.5, 2.0, (n_users, 1))).astype(np.float32)
    relevant = rng.random(scores.shape) < 1 / (1 + np.exp(2 - scores))
    relevant[: n_users // 10] = False
    names = np.array([f"ü{n:03}" for n in range(n_users)]) if text else np.arange(n_users)
    users, items = np.repeat(names, n_items), np.tile(np.arange(n_items), n_users)
    rows, columns = np.nonzero(relevant)
    table = pl.DataFrame({"user_id": users, "item_id": items, "score": scores.ravel()})
    return table.head(-n_items + 3), pl.DataFrame({"user_id": names[rows], "item_id": columns})
