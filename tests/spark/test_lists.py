"""Lists from Spark equal those of one machine."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import ColumnError, IdError, SettingError
from sureness.jobs import ListOptions, cut_table
from sureness.lists.policies import ExpectedUtility
from sureness.spark import lists
from tests.spark.tables import frame_of, labelled_lists, list_map, of_map, same_tables, table_of


def cut(table: pl.DataFrame, **options) -> pl.DataFrame:
    ordered = table.sort("user_id", "probability", "item_id", descending=[False, True, False])
    return cut_table(ordered, options=ListOptions(**options)).frame


@pytest.fixture(scope="module")
def promised():
    """Candidates with probabilities: a user with very many, one with one; ties and duplicates of other users."""
    rng = np.random.default_rng(0)
    users = np.concatenate([np.repeat(np.arange(40), 25), np.full(3_000, 40), [41]])
    chances = rng.beta(1, 5, len(users)).round(2)
    return pl.DataFrame({"user_id": users, "item_id": rng.permutation(len(users)), "probability": chances}).sort(
        "user_id", "item_id"
    )


def test_lists_of_probabilities_equal_those_of_a_table(spark, promised):
    found = table_of(lists(frame_of(spark, promised, partitions=5)))
    same_tables(found, cut(promised), ["user_id", "rank"])
    other = lists(frame_of(spark, promised), policy=ExpectedUtility("ndcg", max_size=7), expected_relevant=2_000.0)
    same_tables(
        table_of(other), cut(promised, utility="ndcg", max_size=7, expected_relevant=2_000.0), ["user_id", "rank"]
    )


def test_maps_and_the_best_candidates(spark):
    table = labelled_lists(text=True, n_groups=80)
    own = list_map(table)
    promised = table.with_columns(probability=of_map(own, table))
    best = promised.sort("user_id", "probability", descending=[False, True]).group_by("user_id").head(10)
    expected = cut(best.select(*table.columns, "probability"), expected_relevant=30.0)
    found = table_of(lists(frame_of(spark, table), own, top=10, expected_relevant=30.0))
    same_tables(found, expected, ["user_id", "rank"], within=1e-9)


def test_no_candidates_make_no_lists(spark, promised):
    found = lists(frame_of(spark, promised).filter("user_id < 0"))
    assert found.columns[-4:] == ["rank", "list_size", "expected_utility", "expected_hits"]
    assert found.count() == 0


@pytest.fixture(scope="module")
def recommender():
    split = sn.by_ratio(sn.Interactions.from_matrix(sn.simulate(sn.SimulatorSettings(n_users=90, n_items=60)).train))
    return sn.ConfidentRecommender(sn.svd_source(split.train, n_factors=4)).fit(split.train, split.validation)


def test_a_recommender_makes_its_own_lists(spark, recommender):
    users = pl.DataFrame({"user_id": np.arange(90)})
    same_tables(table_of(lists(frame_of(spark, users), recommender)), recommender.recommend(), ["user_id", "rank"])


def test_live_scores_are_decided_by_a_saved_recommender(spark, recommender, tmp_path):
    recommender.save(tmp_path / "recommender.sureness")
    scores = recommender.source.score_block(np.arange(90))
    table = {"user_id": np.repeat(np.arange(90), 60), "item_id": np.tile(np.arange(60), 90), "score": scores.ravel()}
    stranger = {"user_id": np.full(60, 7_777), "item_id": np.arange(60), "score": scores[0]}
    found = table_of(lists(frame_of(spark, pl.concat([pl.DataFrame(table), pl.DataFrame(stranger)])),
                           tmp_path / "recommender.sureness"))  # fmt: skip
    same_tables(found.filter(pl.col("user_id") < 90), recommender.recommend(), ["user_id", "rank"])
    expected = recommender.decide([7_777], np.arange(60), scores[:1])
    own = found.filter(user_id=7_777).sort("rank")
    assert own["item_id"].to_list() == expected.places[expected.shown].tolist()
    np.testing.assert_allclose(own["probability"], expected.probabilities[expected.shown], rtol=0, atol=1e-12)


def test_refusals(spark, promised, recommender):
    frame = frame_of(spark, promised)
    for call, error in (
        (lambda: lists(frame, probability="chance"), ColumnError),
        (lambda: lists(frame, recommender, top=5), SettingError),
        (lambda: lists(frame, policy="f1"), SettingError),
        (lambda: lists(frame, 7), SettingError),
        (lambda: lists(frame.withColumnRenamed("probability", "rank"), probability="rank"), ColumnError),
        (lambda: lists(frame.withColumn("item_id", frame["item_id"].cast("string")).withColumnRenamed(
            "probability", "score"), recommender), IdError),
    ):  # fmt: skip
        with pytest.raises(error):
            call()


def test_one_user_with_a_million_candidates(spark, promised):
    from pyspark.sql import functions as sf

    many = spark.range(1_000_000).select(
        sf.lit(-1).cast("bigint").alias("user_id"), sf.col("id").alias("item_id"),
        ((sf.col("id") * 7_919 % 1_000_003) / 1_000_003.0).alias("probability"),
    )  # fmt: skip
    others = frame_of(spark, promised)
    found = table_of(lists(others.unionByName(many.select(*promised.columns)), top=500, expected_relevant=2_000.0))
    best = pl.DataFrame({"item_id": np.arange(1_000_000)}).with_columns(
        user_id=pl.lit(-1, dtype=pl.Int64), probability=(pl.col("item_id") * 7_919 % 1_000_003) / 1_000_003.0
    )
    both = pl.concat([promised, best.top_k(500, by="probability").select(promised.columns)])
    ordered = both.sort("user_id", "probability", "item_id", descending=[False, True, False])
    expected = cut(ordered.group_by("user_id", maintain_order=True).head(500), expected_relevant=2_000.0)
    same_tables(found, expected, ["user_id", "rank"])
