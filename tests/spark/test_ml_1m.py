"""On MovieLens 1M: maps, probabilities and lists of Spark equal those of one machine."""

from __future__ import annotations

import numpy as np
import polars as pl

import sureness as sn
from sureness.evaluation.ranking import list_blocks
from sureness.list_size.policies import ExpectedUtility
from sureness.sources.candidates import CandidateSource
from sureness.spark import fit, fit_per_user, lists
from sureness.workflows import ListOptions, cut_table
from tests.spark.tables import frame_of, same_tables, table_of

N_USERS, TOP = 1_000, 100


def test_lists_of_movielens(spark, data_folder):
    split = sn.by_ratio(sn.load_dataset("ml-1m", data_folder / "ml-1m").interactions, seed=0)
    source = sn.svd_source(split.train, n_factors=16)
    best = [table for table, _ in list_blocks(source, np.arange(N_USERS), TOP, split.train)]
    table = pl.concat(best).drop("rank")
    held_out = split.validation.table().select("user_id", "item_id").join(table, on="user_id", how="semi")
    held_out = held_out.join(table, on="item_id", how="semi")
    log = sn.Interactions.of(held_out["user_id"], held_out["item_id"])
    settings = {"top": 50, "prior_users": 300}
    local = sn.PerUserCalibrator(**settings).fit(CandidateSource.from_table(table), log, seen="nothing")
    frame, later = frame_of(spark, table).cache(), frame_of(spark, held_out)
    maps = fit_per_user(frame, sn.PerUserCalibrator(**settings), held_out=later)
    same_tables(table_of(maps.table), local.table(), ["user_id"], within=1e-9)

    promised = table.with_columns(probability=local.probability(table["score"], users=table["user_id"]))
    ordered = promised.sort("user_id", "probability", "item_id", descending=[False, True, False])
    expected = cut_table(ordered, options=ListOptions(max_size=30, expected_relevant=1_000.0)).frame
    found = table_of(lists(frame, maps, policy=ExpectedUtility(max_size=30), expected_relevant=1_000.0))
    same_tables(found, expected, ["user_id", "rank"], within=1e-9)

    hits = table.join(held_out.with_columns(label=True), on=["user_id", "item_id"], how="left")
    labelled = hits.with_columns(pl.col("label").fill_null(False))
    one = sn.GaussianCalibrator().fit(labelled["score"], labelled["label"])
    found = fit(frame_of(spark, labelled), "gaussian").probability(table["score"])
    np.testing.assert_allclose(found, one.probability(table["score"]), rtol=0, atol=1e-9)
