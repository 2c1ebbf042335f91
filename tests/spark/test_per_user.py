"""Maps of users from Spark equal those of one machine."""

from __future__ import annotations

import polars as pl
import pytest

import sureness as sn
from sureness._settings import clone
from sureness.data.interactions import Interactions
from sureness.errors import ColumnError, EmptyError, SettingError
from sureness.sources.candidates import CandidateSource
from sureness.spark import apply, fit_per_user
from tests.spark.tables import candidates, frame_of, same_tables, table_of


@pytest.mark.parametrize(
    ("text", "calibrator"),
    [(True, sn.PerUserCalibrator(top=30, prior_users=100)), (False, sn.PerUserPlatt(top=100))],
    ids=["learned shape", "line"],
)
def test_maps_equal_those_of_one_machine(spark, tmp_path, text, calibrator):
    table, held_out = candidates(seed=0, text=text)
    source = CandidateSource.from_table(table)
    local = clone(calibrator).fit(source, Interactions.of(held_out["user_id"], held_out["item_id"]), seen="nothing")
    repeated = pl.concat(
        [table, table.head(50).with_columns(pl.col("score") - 1), table.head(3).with_columns(score=None)]
    )
    maps = fit_per_user(frame_of(spark, repeated), calibrator, held_out=frame_of(spark, held_out))
    same_tables(table_of(maps.table), local.table(), ["user_id"], within=1e-9)
    stranger = pl.DataFrame({"user_id": ["nobody"] if text else [-5], "item_id": [0], "score": [0.3]})
    asked = pl.concat([table, stranger], how="vertical_relaxed")
    found = table_of(apply(frame_of(spark, asked), maps))
    expected = found.with_columns(probability=local.probability(found["score"], users=found["user_id"]))
    same_tables(found, expected, ["user_id", "item_id"], within=1e-9)
    maps.save(tmp_path / "maps.sureness")
    opened = sn.load(tmp_path / "maps.sureness", sn.PerUserCalibrator)
    assert opened.horizon_ == local.horizon_
    same_tables(opened.table(), local.table(), ["user_id"], within=1e-9)


def test_labels_say_what_was_held_out_and_what_was_seen_is_no_candidate(spark):
    table, held_out = candidates(seed=1)
    hit = held_out.with_columns(label=pl.lit(1))
    labelled = table.join(hit, on=["user_id", "item_id"], how="left").with_columns(pl.col("label").fill_null(0))
    seen = table.filter(pl.col("item_id") == pl.col("user_id") % 60).select("user_id", "item_id")
    shown = labelled.join(seen, on=["user_id", "item_id"], how="anti")
    found = fit_per_user(frame_of(spark, labelled), sn.PerUserPlatt(top=20), seen=frame_of(spark, seen))
    positives = shown.filter(label=1)
    local = sn.PerUserPlatt(top=20).fit(
        CandidateSource.from_table(table), Interactions.of(positives["user_id"], positives["item_id"]),
        seen=Interactions.of(seen["user_id"], seen["item_id"]),
    )  # fmt: skip
    same_tables(table_of(found.table), local.table(), ["user_id"], within=1e-9)
    assert found.horizon == local.horizon_


def test_refusals(spark):
    table, held_out = candidates(seed=2, n_users=12)
    frame, log = frame_of(spark, table), frame_of(spark, held_out)
    for call, error in (
        (lambda: fit_per_user(frame), ColumnError),
        (lambda: fit_per_user(frame, held_out=log.drop("item_id")), ColumnError),
        (lambda: fit_per_user(frame, sn.PlattCalibrator(), held_out=log), SettingError),
        (lambda: fit_per_user(frame, sn.PerUserCalibrator(top=None), held_out=log), SettingError),
        (lambda: fit_per_user(frame, sn.PerUserCalibrator(top=1), held_out=log), SettingError),
        (lambda: fit_per_user(frame, held_out=log.filter("user_id < 0")), EmptyError),
    ):
        with pytest.raises(error):
            call()
