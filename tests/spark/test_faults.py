"""Tasks that fail or are killed in the middle, or run twice, change nothing."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

import sureness as sn
from sureness.spark import allocate, apply, fit, fit_segments, lists
from tests.spark.faults import faulty
from tests.spark.tables import frame_of, labelled_lists, of_map, same_tables, scored, table_of


@pytest.mark.parametrize("fault", ["raise", "kill"])
def test_a_fit_whose_tasks_fail_in_the_middle_counts_every_pair_once(spark, tmp_path, fault):
    table = scored(30_000, seed=0).with_columns(segment=pl.col("item_id") % 2)
    frame = faulty(frame_of(spark, table), tmp_path, fault)
    found = fit(frame)
    assert {path.name for path in tmp_path.iterdir()} >= {"0-0", "1-0", "whole-0-1", "whole-1-1"}, "no task has failed"
    expected = sn.PlattCalibrator().fit(table["score"], table["label"])
    assert found.n_pairs_ == 30_000
    assert abs(found.probability([0.5]) - expected.probability([0.5])) < 1e-9
    assert fit_segments(frame, sn.SegmentCalibrator()).n_pairs_ == 30_000


@pytest.mark.parametrize("fault", ["raise", "kill"])
def test_what_is_made_by_tasks_that_fail_holds_nothing_twice(spark, tmp_path, fault):
    table = labelled_lists(n_groups=120)
    whole, calibrator = frame_of(spark, table), sn.ListCalibrator(n_groups=60)
    bad = faulty(whole, tmp_path, fault)
    expected, found = (fit(each, calibrator) for each in (whole, bad))
    assert {path.name for path in tmp_path.iterdir()} >= {"0-0", "whole-0-1"}, "no task has failed"
    assert (found.n_pairs_, found.n_positive_) == (expected.n_pairs_, expected.n_positive_)
    assert abs(of_map(found, table) - of_map(expected, table)).max() < 1e-9
    path = str(tmp_path / "lists")
    lists(bad, expected).write.parquet(path)
    same = table_of(lists(whole, expected))
    same_tables(pl.read_parquet(f"{path}/*.parquet"), same, ["user_id", "rank"], within=1e-9)
    shared = (table_of(allocate(apply(each, expected), budget=200).table) for each in (bad, whole))
    same_tables(*shared, ["user_id"], within=1e-9)


def test_a_speculative_copy_changes_nothing(spark, tmp_path):
    """On a cluster of two workers, because Spark starts no copy on the host where a task runs already."""
    if "connect" in type(spark).__module__:
        pytest.skip("the cluster has its own session, once is enough")
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.speculation", str(tmp_path)],
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
