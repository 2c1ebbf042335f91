"""On MovieLens 1M: maps, probabilities and lists of Spark equal those of one machine."""

from __future__ import annotations

import numpy as np
import polars as pl

import sureness as sn
from sureness.jobs import ListOptions, cut_table
from sureness.lists.policies import ExpectedUtility
from sureness.sources.blocks import list_blocks
from sureness.spark import fit, lists
from tests.spark.tables import frame_of, same_tables, table_of

N_USERS, TOP = 1_000, 100


def test_lists_of_movielens(spark, data_folder):
    split = sn.by_ratio(sn.data.load_dataset("ml-1m", data_folder / "ml-1m").interactions, seed=0)
    source = sn.svd_source(split.train, n_factors=16)
    best = [table for table, _ in list_blocks(source, np.arange(N_USERS), TOP, split.train)]
    table = pl.concat(best).drop("rank")
    held_out = split.validation.table().select("user_id", "item_id")
    hits = table.join(held_out.with_columns(label=True), on=["user_id", "item_id"], how="left")
    labelled = hits.with_columns(pl.col("label").fill_null(False))
    frame = frame_of(spark, labelled).cache()
    local = sn.ListCalibrator().fit(labelled["score"], labelled["label"], groups=labelled["user_id"])
    found = fit(frame, sn.ListCalibrator())
    assert found.n_groups_ == N_USERS
    probabilities = local.probability(table["score"], groups=table["user_id"])
    np.testing.assert_allclose(
        found.probability(table["score"], groups=table["user_id"]), probabilities, rtol=0, atol=1e-7
    )

    ordered = labelled.with_columns(probability=probabilities).sort(
        "user_id", "probability", "item_id", descending=[False, True, False]
    )
    expected = cut_table(ordered, options=ListOptions(max_size=30, expected_relevant=1_000.0)).frame
    shown = table_of(lists(frame, local, policy=ExpectedUtility(max_size=30), expected_relevant=1_000.0))
    same_tables(shown, expected, ["user_id", "rank"], within=1e-9)

    one = sn.GaussianCalibrator().fit(labelled["score"], labelled["label"])
    probable = fit(frame, "gaussian").probability(table["score"])
    np.testing.assert_allclose(probable, one.probability(table["score"]), rtol=0, atol=1e-9)
