"""Spark's own ALS as a source, and the example from the outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import DataError, SettingError
from sureness.spark import als_source, source_of
from tests.spark.sessions import ROOT
from tests.spark.tables import frame_of


@pytest.fixture(scope="module")
def model(spark):
    from pyspark.ml.recommendation import ALS

    rng = np.random.default_rng(0)
    taken = np.argwhere(rng.random((30, 20)) < 0.3)
    ratings = pl.DataFrame({"user": taken[:, 0] * 7, "item": taken[:, 1], "rating": np.ones(len(taken))})
    ratings = ratings.cast({"user": pl.Int32, "item": pl.Int32})
    als = ALS(userCol="user", itemCol="item", ratingCol="rating", rank=3, implicitPrefs=True, maxIter=2, seed=0)
    return als.fit(frame_of(spark, ratings))


def test_factors_have_the_ids_of_users_and_items(model):
    source = als_source(model)
    assert isinstance(source, sn.FactorSource)
    best = model.recommendForAllUsers(4).collect()
    for row in best[:5]:
        scores = source.score_block(source.users.rows([row["user"]]))[0]
        known = dict(zip(source.items.ids.to_list(), scores.tolist(), strict=True))
        for item, score in row["recommendations"]:
            assert known[item] == pytest.approx(score, rel=1e-5)


def test_names_stand_for_numbers(model):
    named = als_source(model, users=[f"u{n:04}" for n in range(300)], items=[f"i{n}" for n in range(20)])
    plain = sn.source_of(model)
    rows = named.users.rows([f"u{n:04}" for n in plain.users.ids.to_list()])
    columns = named.items.rows([f"i{n}" for n in plain.items.ids.to_list()])
    found, expected = named.score_block(rows)[:, columns], plain.score_block(np.arange(plain.n_users))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(SettingError):
        als_source(model, users=["only one"])
    with pytest.raises(SettingError):
        als_source(sn.PlattCalibrator())
    with pytest.raises(DataError):
        source_of("a model")


def test_the_example_writes_lists(spark, tmp_path):
    if "connect" in type(spark).__module__:
        pytest.skip("the example starts its own session, once is enough")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "spark_als.py"), str(tmp_path / "lists.parquet")],
        capture_output=True, text=True, timeout=240, check=False, cwd=tmp_path, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    items, users = map(int, re.search(r"(\d+) items for (\d+) users", done.stdout.replace(",", "")).groups())
    written = pl.read_parquet(tmp_path / "lists.parquet" / "*.parquet")
    assert (written.height, written["user_id"].n_unique()) == (items, users)
    assert sn.load(tmp_path / "lists.parquet.json").n_groups_ > 300
