"""Fits in Spark equal those on one machine."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sureness._settings import clone
from sureness.calibration.base import all_calibrators, make_calibrator
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.parametric import BetaCalibrator, ParametricCalibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import ColumnError, DataError, EmptyError, SettingError, SurenessWarning
from sureness.numerics.histogram import ScoreHistogram
from sureness.spark import fit, histogram
from tests.spark.tables import frame_of, labelled_lists, list_map, of_map, scored


def assert_same_map(found, expected, scores, within=1e-9):
    np.testing.assert_allclose(found.probability(scores), expected.probability(scores), rtol=0, atol=within)
    assert (found.n_pairs_, found.score_range_) == (expected.n_pairs_, expected.score_range_)
    assert (found.estimand_, found.horizon_) == (expected.estimand_, expected.horizon_)


@pytest.mark.parametrize("method", ["isotonic", "bbq", "beta", "shape"])
def test_a_fit_of_few_pairs_equals_the_local_one(spark, method):
    table = scored(2_000, seed=1)
    calibrator = make_calibrator(method)
    local = make_calibrator(method).fit(table["score"], table["label"])
    assert_same_map(fit(frame_of(spark, table, partitions=2), calibrator), local, table["score"])
    assert not hasattr(calibrator, "estimand_")


def test_fits_of_many_pairs_equal_the_local_ones(spark):
    table = scored(60_000, seed=2)
    summed = histogram(frame_of(spark, table, partitions=5))
    for calibrator in all_calibrators():
        if isinstance(calibrator, ParametricCalibrator):
            local = clone(calibrator).fit(table["score"], table["label"])
            found = clone(calibrator).fit(summed).probability(table["score"])
            np.testing.assert_allclose(found, local.probability(table["score"]), rtol=0, atol=1e-9)
    local = make_calibrator("platt").fit(table["score"], table["label"])
    assert_same_map(fit(frame_of(spark, table, partitions=5), "platt"), local, table["score"])


def test_probabilities_as_scores_become_log_odds_in_the_tasks(spark):
    table = scored(30_000, seed=11).with_columns(score=1 / (1 + (-pl.col("score")).exp()))
    local = BetaCalibrator(scores_are="probabilities").fit(table["score"], table["label"])
    found = fit(frame_of(spark, table), BetaCalibrator(scores_are="probabilities"))
    assert_same_map(found, local, table["score"])


def test_weights_and_propensities_are_taken_where_they_are_there(spark):
    table = scored(30_000, seed=3).with_columns(
        pl.Series("weight", np.random.default_rng(0).choice([0.0, 0.5, 2.0], 30_000)),
        pl.Series("propensity", np.random.default_rng(1).uniform(0.2, 1.0, 30_000)),
    )
    local = make_calibrator("platt").fit(CalibrationSet.from_table(table))
    assert_same_map(fit(frame_of(spark, table)), local, table["score"])
    renamed = table.rename({"weight": "w", "propensity": "seen", "score": "a.b", "label": "y"})
    found = fit(frame_of(spark, renamed), score="a.b", label="y", weight="w", propensity="seen")
    assert_same_map(found, local, table["score"])


@pytest.mark.parametrize(
    ("n_pairs", "settings"),
    [
        (3_000, {"sampling_rate": None, "base_rate": 0.05}),
        (30_000, {"sampling_rate": None, "base_rate": 0.05}),
        (30_000, {"sampling_rate": 0.1, "base_rate": 0.05}),
        (30_000, {"held_out_share": 0.9, "estimand": "preference", "training_pairs": "left_out"}),
    ],
    ids=str,
)
def test_what_is_known_about_the_pairs_counts(spark, settings, n_pairs):
    table = scored(n_pairs, seed=4)
    local = make_calibrator("platt").fit(CalibrationSet.from_table(table, **settings))
    assert_same_map(fit(frame_of(spark, table), **settings), local, table["score"])


def test_an_anchor_and_relative_propensities_reach_the_fit(spark):
    table = scored(30_000, seed=5).with_columns(pl.Series("propensity", np.linspace(0.7, 1.0, 30_000)))
    few = scored(500, seed=6)
    anchor = ScoredPairs.of(few["score"], few["label"])
    local = make_calibrator("gaussian").fit(CalibrationSet.from_table(table, anchor=anchor, relative_propensity=True))
    found = fit(frame_of(spark, table), "gaussian", anchor=anchor, relative_propensity=True)
    assert_same_map(found, local, table["score"])
    with pytest.warns(SurenessWarning, match="relative"):
        fit(frame_of(spark, table), relative_propensity=True)


def test_masked_scores_are_left_out_as_they_are_locally(spark):
    table = scored(30_000, seed=7)
    masked = pl.concat([table, pl.DataFrame({"score": [-1e9] * 500, "label": [False] * 500})[:, table.columns[-2:]]],
                       how="diagonal")  # fmt: skip
    with pytest.warns(SurenessWarning, match="masks"):
        local = make_calibrator("platt").fit(masked["score"], masked["label"])
    with pytest.warns(SurenessWarning, match="masks"):
        found = fit(frame_of(spark, masked.drop("user_id", "item_id")), "platt")
    assert_same_map(found, local, table["score"])
    settings = {"sampling_rate": None, "base_rate": 0.05}
    with pytest.warns(SurenessWarning, match="masks"):
        local = make_calibrator("platt").fit(CalibrationSet.from_pairs(masked["score"], masked["label"], **settings))
    with pytest.warns(SurenessWarning, match="masks"):
        found = fit(frame_of(spark, masked.drop("user_id", "item_id")), "platt", **settings)
    assert_same_map(found, local, table["score"])


@pytest.mark.parametrize("kind", ["smallint", "float", "decimal(4,1)", "string"])
def test_columns_of_any_type_are_read(spark, kind):
    table = scored(600, seed=8).with_columns(pl.col("score").round().cast(pl.Int8))
    local = make_calibrator("platt").fit(table["score"], table["label"])
    frame = frame_of(spark, table)
    typed = frame.withColumn("label", frame["label"].cast("string" if kind == "string" else "int"))
    if kind != "string":
        typed = typed.withColumn("score", typed["score"].cast(kind))
    assert_same_map(fit(typed), local, table["score"])


def test_a_histogram_holds_all_pairs_whatever_the_partitions(spark):
    table = scored(30_000, seed=9)
    local = ScoreHistogram.of(table["score"], table["label"])
    for partitions in (1, 12):
        found = histogram(frame_of(spark, table, partitions=partitions))
        assert (found.n_pairs, found.minimum, found.maximum, found.n_positive) == (
            local.n_pairs, local.minimum, local.maximum, local.n_positive,
        )  # fmt: skip
        np.testing.assert_allclose(found.points().weight.sum(), local.points().weight.sum())


def test_histograms_by_segment(spark):
    table = scored(5_000, seed=10).with_columns(pl.Series("market", ["de", "fr", "it", "fr", "fr"] * 1_000))
    found = histogram(frame_of(spark, table), segment="market")
    assert {name: each.n_pairs for name, each in found.items()} == {"de": 1_000, "fr": 3_000, "it": 1_000}
    own = table.filter(market="fr")
    local = ScoreHistogram.of(own["score"], own["label"])
    assert found["fr"].mean_target == pytest.approx(local.mean_target, rel=1e-12)


def test_no_pairs_are_refused_with_the_local_class(spark):
    table = scored(10, seed=0)
    with pytest.raises(EmptyError):
        fit(frame_of(spark, table).filter("score > 1e9"))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"label": pl.Series([2] * 100)}, DataError),
        ({"label": pl.Series([None] * 100, dtype=pl.Boolean)}, ColumnError),
        ({"score": pl.Series([float("nan")] * 100)}, DataError),
        ({"propensity": pl.Series([0.0] * 100)}, DataError),
        ({"label": pl.Series([True] * 100)}, DataError),
    ],
    ids=["label", "no label", "score", "propensity", "one class"],
)
def test_values_that_are_refused_locally_are_refused_by_the_same_class(spark, change, error):
    table = scored(100, seed=0).with_columns(**change)
    with pytest.raises(error) as local:
        make_calibrator("platt").fit(CalibrationSet.from_table(table))
    with pytest.raises(error) as found:
        fit(frame_of(spark, table))
    assert type(found.value) is type(local.value)


# --- the map for lists -----------------------------------------------------------------------------------------------

TRAITS = ["age", "country"]


def same_lists(found, expected, table, within=1e-9):
    np.testing.assert_allclose(of_map(found, table), of_map(expected, table), rtol=0, atol=within)
    assert (found.n_groups_, found.n_pairs_, found.n_positive_) == (
        expected.n_groups_, expected.n_pairs_, expected.n_positive_,
    )  # fmt: skip
    assert (found.estimand_, found.horizon_) == (expected.estimand_, expected.horizon_)


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_a_map_for_lists_equals_the_local_one(spark, text):
    table = labelled_lists(text=text, odd=True).filter(pl.col("score").is_not_null())
    frame = frame_of(spark, table, partitions=5)
    unfitted = ListCalibrator(best=20)
    same_lists(fit(frame, unfitted, traits=TRAITS), list_map(table), table)
    assert not hasattr(unfitted, "estimand_")
    same_lists(fit(frame.drop("history"), unfitted), list_map(table, history=False, traits=False), table)
    names = {"user_id": "query", "history": "n", "label": "score", "score": "label"}
    renamed = frame.toDF(*(names.get(name, name) for name in frame.columns))
    found = fit(renamed, unfitted, user="query", history="n", label="score", score="label", traits=TRAITS)
    same_lists(found, list_map(table), table)


def test_weights_and_a_base_rate_reach_a_map_for_lists(spark):
    rng = np.random.default_rng(0)
    table = labelled_lists().with_columns(weight=rng.choice([0.5, 2.0], 9_000), propensity=rng.uniform(0.3, 1.0, 9_000))
    data = CalibrationSet.from_table(table, held_out_share=0.5)
    expected = ListCalibrator().fit(data, history=table["history"])
    same_lists(fit(frame_of(spark, table), ListCalibrator(), held_out_share=0.5), expected, table)
    plain, settings = table.drop("weight", "propensity"), {"sampling_rate": None, "base_rate": 0.01}
    expected = ListCalibrator().fit(CalibrationSet.from_table(plain, **settings), history=table["history"])
    same_lists(fit(frame_of(spark, plain), ListCalibrator(), **settings), expected, table)


def test_of_many_groups_a_sample_is_taken_that_does_not_depend_on_partitions(spark, monkeypatch):
    monkeypatch.setattr("sureness.spark.fitting.ENOUGH", 30)  # positives
    table = labelled_lists(n_groups=1_000, n_items=12)
    first, again = (fit(frame_of(spark, table, partitions=n), ListCalibrator(n_groups=200)) for n in (2, 5))
    assert first.n_groups_ == 200
    np.testing.assert_allclose(of_map(first, table), of_map(again, table), rtol=0, atol=1e-9)
    other = fit(frame_of(spark, table), ListCalibrator(n_groups=200, seed=1))
    assert other.n_groups_ == 200
    assert np.abs(of_map(other, table) - of_map(first, table)).max() > 1e-6
    rare = table.with_columns(label=pl.col("label") & (pl.col("user_id") % 4 == 0) & (pl.col("item_id") % 5 == 0))
    found = fit(frame_of(spark, rare), ListCalibrator(n_groups=50))
    assert found.n_groups_ > 50
    assert found.n_positive_ >= 30


def test_the_best_candidates_are_enough_where_the_driver_would_take_too_many(spark, monkeypatch):
    table = labelled_lists()
    expected = fit(frame_of(spark, table), ListCalibrator(best=10))
    monkeypatch.setattr("sureness.spark.fitting.MOST_COLLECTED", 8_000)
    same_lists(fit(frame_of(spark, table), ListCalibrator(best=10)), expected, table)


@pytest.mark.parametrize(
    ("change", "options", "error"),
    [
        ({"user_id": pl.lit(None, dtype=pl.Int64)}, {}, ColumnError),
        ({"label": pl.lit(2)}, {}, DataError),
        ({"label": pl.lit(False)}, {}, EmptyError),
        ({"history": pl.lit(-1)}, {}, DataError),
        ({"score": pl.lit("high")}, {}, ColumnError),
        ({}, {"traits": ["colour"]}, ColumnError),
        ({}, {"user": "query"}, ColumnError),
        ({}, {"history": "past"}, ColumnError),
    ],
    ids=["no group", "label", "one class", "history", "score", "trait", "user", "no history"],
)
def test_what_a_map_for_lists_refuses(spark, change, options, error):
    frame = frame_of(spark, labelled_lists(n_groups=20).with_columns(**change))
    with pytest.raises(error):
        fit(frame, ListCalibrator(n_groups=10), **options)


def test_only_a_map_for_lists_has_traits(spark):
    with pytest.raises(SettingError):
        fit(frame_of(spark, labelled_lists(n_groups=20)), "platt", traits=TRAITS)
    with pytest.raises(ColumnError, match="group"):
        fit(frame_of(spark, labelled_lists(n_groups=20)).drop("user_id"), ListCalibrator())
