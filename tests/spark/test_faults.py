"""Tasks that fail once, or run twice, change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import sureness as sn
from sureness.spark import fit, fit_per_user, lists
from tests.spark.tables import candidates, frame_of, same_tables, scored, table_of


@dataclass(frozen=True)
class FailsOnce:
    """Rows as they are; the first attempt of every partition fails when half of them have gone through."""

    folder: str

    def __call__(self, batches: Iterator) -> Iterator:
        from pyspark import TaskContext

        context = TaskContext.get()
        first = context is not None and context.attemptNumber() == 0
        for number, batch in enumerate(batches):
            if first and number == 1:
                (Path(self.folder) / str(context.taskAttemptId())).touch()
                raise RuntimeError("the first attempt fails")
            yield batch


def failing(frame, folder: Path):
    return frame.mapInArrow(FailsOnce(str(folder)), frame.schema)


def test_a_fit_whose_tasks_fail_in_the_middle_counts_every_pair_once(spark, tmp_path):
    table = scored(30_000, seed=0)
    frame = frame_of(spark, table, partitions=2)
    found = fit(failing(frame, tmp_path))
    assert list(tmp_path.iterdir()), "no task has failed"
    expected = sn.PlattCalibrator().fit(table["score"], table["label"])
    assert found.n_pairs_ == 30_000
    assert abs(found.probability([0.5]) - expected.probability([0.5])) < 1e-9


def test_lists_whose_tasks_fail_hold_nothing_twice(spark, tmp_path):
    table, held_out = candidates(seed=1, n_users=120)
    frame = frame_of(spark, table)
    maps = fit_per_user(failing(frame, tmp_path), sn.PerUserPlatt(top=30), held_out=frame_of(spark, held_out))
    whole = fit_per_user(frame, sn.PerUserPlatt(top=30), held_out=frame_of(spark, held_out))
    assert list(tmp_path.iterdir()), "no task has failed"
    same_tables(table_of(maps.table), table_of(whole.table), ["user_id"])
    made = lists(failing(frame, tmp_path), maps)
    path = str(tmp_path / "lists")
    made.write.parquet(path)
    same_tables(pl.read_parquet(f"{path}/*.parquet"), table_of(lists(frame, whole)), ["user_id", "rank"])
