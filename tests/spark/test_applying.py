"""Probabilities in Spark equal those on one machine."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.calibration.base import make_calibrator
from sureness.errors import ColumnError, IdError, SettingError, SurenessWarning
from sureness.spark import apply
from tests.spark.tables import frame_of, labelled_lists, list_map, of_map, scored, table_of


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
    local = sn.SegmentCalibrator().fit(table["score"], table["label"], segments=table["market"])
    asked = table.with_columns(pl.Series("market", ["de", "fr", "es"] * 400))
    with pytest.warns(SurenessWarning, match="does not know"):
        expected = local.probability(asked["score"], segments=asked["market"])
    same(table_of(apply(frame_of(spark, asked), local, segment="market")), expected)


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
@pytest.mark.parametrize("known", [{}, {"history": False, "traits": False}], ids=["with traits", "scores only"])
def test_a_map_for_lists_is_a_query_of_spark(spark, known, text):
    local = list_map(labelled_lists(seed=1), **known)
    parts = [labelled_lists(text=text, odd=True), labelled_lists(seed=2, n_groups=9, n_items=4, text=text)]
    asked = pl.concat([parts[0].filter(pl.col("item_id") > 270), parts[1]]).drop("label").with_row_index("row")
    found = apply(frame_of(spark, asked), local)
    assert found.columns == [*asked.columns, "probability"]
    assert "Python" not in plan_of(found)
    np.testing.assert_allclose(
        table_of(found).sort("row")["probability"].fill_null(np.nan), of_map(local, asked), rtol=0, atol=1e-9
    )


def test_a_group_of_a_million_candidates(spark):
    from pyspark.sql import functions as sf

    local = list_map(labelled_lists(), history=False, traits=False)
    many = spark.range(1_000_000).select(
        sf.lit("q").alias("query.id"), "id", ((sf.col("id") * 7_919 % 1_000_003) / 100_000.0).alias("my score")
    )
    found = table_of(apply(many, local, score="my score", user="query.id").filter("id % 1000 = 999")).sort("id")
    scores = np.arange(1_000_000) * 7_919 % 1_000_003 / 100_000
    expected = local.probability(scores, groups=np.zeros(1_000_000, dtype=int))[999::1_000]
    np.testing.assert_allclose(found["probability"], expected, rtol=0, atol=1e-9)


def test_a_map_without_a_formula_is_asked_in_python(spark):
    table = scored(2_000, seed=3).with_columns(
        pl.Series("market", ["de", "fr"] * 1_000), pl.Series("device", ["app", "web", "tv", "web"] * 500)
    )
    fields = table.select("market", "device")
    local = sn.SegmentCalibrator().fit(table["score"], table["label"], segments=fields)
    found = apply(frame_of(spark, table), local, probability="chance")
    same(table_of(found).rename({"chance": "probability"}), local.probability(table["score"], segments=fields))


def test_what_is_missing_has_no_probability(spark):
    local = list_map(labelled_lists(), traits=False)
    asked = pl.DataFrame({
        "user_id": [0, None, 0, 0], "score": [1.0, 1.0, None, float("nan")], "history": [None, 3, 3, 3],
        "row": [0, 1, 2, 3],
    })  # fmt: skip
    found = table_of(apply(frame_of(spark, asked), local)).sort("row")
    assert found["probability"].is_null().to_list() == [False, True, True, True]


def test_a_saved_map_is_opened_and_one_from_spark_opens_locally(spark, tmp_path):
    table = labelled_lists()
    list_map(table).save(tmp_path / "lists.json")
    found = table_of(apply(frame_of(spark, table), tmp_path / "lists.json"))
    assert found["probability"].null_count() == 0
    fitted = sn.spark.fit(frame_of(spark, scored(300, seed=4)))
    fitted.save(tmp_path / "platt.json")
    assert sn.load(tmp_path / "platt.json").probability([0.5]) == fitted.probability([0.5])


def test_refusals(spark):
    table = labelled_lists()
    local, frame = list_map(table), frame_of(spark, table)
    for change, error in (
        ({"score": "skore"}, ColumnError),
        ({"user": "visitor"}, ColumnError),
        ({"history": "country"}, ColumnError),
        ({"probability": "item_id"}, ColumnError),
    ):
        with pytest.raises(error):
            apply(frame, local, **change)
    with pytest.raises(ColumnError, match="age"):
        apply(frame.drop("age"), local)
    with pytest.raises(sn.errors.NotFittedError):
        apply(frame, make_calibrator("platt"))
    segments = sn.SegmentCalibrator().fit(table["score"], table["label"], segments=table["country"])
    with pytest.raises(IdError):
        apply(frame, segments, segment="item_id")


def test_maps_per_user_stay_in_python(spark):
    table = labelled_lists()
    source, hits = (table[name].to_numpy().reshape(300, 30) for name in ("score", "label"))
    held_out = sn.Interactions.of(*np.nonzero(hits))
    fitted = sn.calibration.PerUserPlatt().fit(sn.MatrixSource(source), held_out, seen="nothing")
    with pytest.raises(SettingError, match="ListCalibrator"):
        apply(frame_of(spark, table), fitted)
