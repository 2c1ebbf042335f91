"""Random tables with the variety of real ones, and the same in Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

import sureness as sn
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


def labelled_lists(
    *, seed: int = 5, n_groups: int = 300, n_items: int = 30, text: bool = False, odd: bool = False
) -> pl.DataFrame:
    """Candidates of users with labels, history and traits; `odd`: some of these are missing."""
    rng = np.random.default_rng(seed)
    users, n = np.repeat(np.arange(n_groups), n_items), n_groups * n_items
    past, scores = (users * 37) % 101, rng.normal(size=n) * (0.5 + users % 3)
    country = np.array(["de", "it's", "back\\slash"])[rng.integers(0, 3, n)]
    chance = 1 / (1 + np.exp(2 - 1.5 * scores / (0.5 + users % 3) - 0.01 * past - (country == "de")))
    table = pl.DataFrame({
        "user_id": [f"ü{number:04}" for number in users] if text else users, "item_id": np.arange(n), "score": scores,
        "label": rng.random(n) < chance, "history": past, "age": rng.normal(40, 10, n), "country": country,
    })  # fmt: skip
    if not odd:
        return table
    there = {name: pl.Series(rng.random(n) < 0.9) for name in ("score", "age", "country")}
    missing = [pl.when(known).then(name).alias(name) for name, known in there.items()]
    return table.with_columns(*missing, pl.when(pl.col("history") % 7 > 0).then("history").alias("history"))


def list_map(table: pl.DataFrame, *, history: bool = True, traits: bool = True) -> sn.ListCalibrator:
    """The map for lists of such a table."""
    return sn.ListCalibrator(best=20).fit(
        table["score"], table["label"], groups=table["user_id"], history=table["history"] if history else None,
        traits=table.select("age", "country") if traits else None,
    )  # fmt: skip


def of_map(fitted: sn.ListCalibrator, table: pl.DataFrame) -> np.ndarray:
    """Probabilities on one machine; NaN where there is no score."""
    there = table["score"].is_not_null()
    some, found = table.filter(there), np.full(table.height, np.nan)
    found[there.to_numpy()] = fitted.probability(
        some["score"], groups=some["user_id"], history=some["history"] if "history" in fitted.reads() else None,
        traits=some.select("age", "country") if "age" in fitted.reads() else None,
    )  # fmt: skip
    return found


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
