"""Probabilities in Spark equal those on one machine."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.calibration.catalogue import make_calibrator
from sureness.errors import ColumnError, IdError, SurenessWarning
from sureness.spark import apply
from tests.spark.tables import frame_of, per_user_map, scored, table_of


def same(found: pl.DataFrame, expected: np.ndarray, key: str = "item_id") -> None:
    np.testing.assert_allclose(found.sort(key)["probability"], expected, rtol=0, atol=1e-12)


def plan_of(frame) -> str:
    """How Spark will compute it."""
    with redirect_stdout(StringIO()) as printed:
        frame.explain()
    return printed.getvalue()


def test_maps_for_all_pairs_are_columns_of_spark(spark):
    table = scored(500, seed=0)
    for method in ("platt", "isotonic", "shape"):
        local = make_calibrator(method).fit(table["score"], table["label"])
        found = apply(frame_of(spark, table), local)
        assert found.columns == [*table.columns, "probability"]
        assert "Python" not in plan_of(found)
        same(table_of(found), local.probability(table["score"]))


def test_maps_of_segments(spark):
    table = scored(1_200, seed=1).with_columns(pl.Series("market", ["de", "fr", "it"] * 400))
    local = sn.SegmentCalibrator(strength=10.0).fit(table["score"], table["label"], segments=table["market"])
    asked = table.with_columns(pl.Series("market", ["de", "fr", "es"] * 400))
    with pytest.warns(SurenessWarning, match="does not know"):
        expected = local.probability(asked["score"], segments=asked["market"])
    same(table_of(apply(frame_of(spark, asked), local, segment="market")), expected)


@pytest.mark.parametrize("text", [False, True])
def test_maps_of_users_are_joined(spark, text):
    local, table = per_user_map(text=text)
    stranger = pl.DataFrame({"user_id": ["nobody"] if text else [999], "item_id": [-1], "score": [0.3]})
    asked = pl.concat([table.select("user_id", "item_id", "score"), stranger]).with_row_index("row")
    found = apply(frame_of(spark, asked), local)
    assert found.columns == ["row", "user_id", "item_id", "score", "probability"]
    assert "Python" not in plan_of(found)
    same(table_of(found), local.probability(asked["score"], users=asked["user_id"]), "row")


def test_a_chain_of_maps(spark):
    own, table = per_user_map()
    asked = table.with_row_index("row")
    chain = sn.MapChain.of(own, own.global_)
    found = table_of(apply(frame_of(spark, asked), chain))
    same(found, chain.probability(asked["score"], users=asked["user_id"]), "row")


def test_a_map_without_a_formula_is_asked_in_python(spark):
    table = scored(2_000, seed=3).with_columns(
        pl.Series("market", ["de", "fr"] * 1_000), pl.Series("device", ["app", "web", "tv", "web"] * 500)
    )
    fields = table.select("market", "device")
    local = sn.MultiSegmentCalibrator().fit(table["score"], table["label"], segments=fields)
    found = apply(frame_of(spark, table), local, probability="chance")
    same(table_of(found).rename({"chance": "probability"}), local.probability(table["score"], segments=fields))


def test_what_is_missing_has_no_probability(spark):
    local, _ = per_user_map()
    asked = pl.DataFrame({
        "user_id": [0, None, 0, 0], "score": [1.0, 1.0, None, float("nan")], "row": [0, 1, 2, 3],
    })  # fmt: skip
    found = table_of(apply(frame_of(spark, asked), local)).sort("row")
    assert found["probability"].is_null().to_list() == [False, True, True, True]


def test_a_saved_map_is_opened_and_one_from_spark_opens_locally(spark, tmp_path):
    local, table = per_user_map()
    local.save(tmp_path / "maps.sureness")
    found = table_of(apply(frame_of(spark, table), tmp_path / "maps.sureness"))
    assert found["probability"].null_count() == 0
    fitted = sn.spark.fit(frame_of(spark, scored(300, seed=4)))
    fitted.save(tmp_path / "platt.json")
    assert sn.load(tmp_path / "platt.json").probability([0.5]) == fitted.probability([0.5])


def test_refusals(spark):
    local, table = per_user_map()
    frame = frame_of(spark, table)
    for change, error in (
        ({"score": "skore"}, ColumnError),
        ({"user": "visitor"}, ColumnError),
        ({"probability": "item_id"}, ColumnError),
    ):
        with pytest.raises(error):
            apply(frame, local, **change)
    with pytest.raises(IdError):
        apply(frame.withColumn("user_id", frame["user_id"].cast("string")), local)
    with pytest.raises(sn.errors.NotFittedError):
        apply(frame, make_calibrator("platt"))
