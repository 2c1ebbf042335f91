"""Lists cut out of a table leave out what users have already."""

from __future__ import annotations

import polars as pl
import pytest

from sureness import jobs
from sureness.errors import ColumnError, SurenessWarning
from sureness.tables.columns import Columns

TABLE = pl.DataFrame({"user_id": [1, 1, 2, 3], "item_id": [7, 8, 7, 9], "probability": [0.6, 0.3, 0.5, 0.4]})
SEEN = pl.DataFrame({"user_id": [1, 3, 1], "item_id": [7, 9, 7]})
OPTIONS = jobs.ListOptions(threshold=0.1)


def shown(frame):
    return frame.select("user_id", "item_id").rows()


def test_rows_of_seen_pairs_are_left_out_and_counted():
    result = jobs.cut_table(TABLE, options=OPTIONS, seen=[SEEN])
    assert shown(result.frame) == [(1, 8), (2, 7)]
    assert (result.left_out, result.plain()["left_out"]) == (2, 2)
    assert jobs.cut_table(TABLE, options=OPTIONS).left_out is None


def test_several_logs_add_up_and_everything_may_be_seen():
    result = jobs.cut_table(TABLE, options=OPTIONS, seen=[SEEN, TABLE.select("user_id", "item_id")])
    assert (result.n_rows, result.n_users, result.left_out) == (0, 0, 4)


@pytest.mark.parametrize("kinds", [(pl.String, pl.Int64), (pl.Int64, pl.String), (pl.UInt8, pl.Int64)], ids=str)
def test_ids_of_another_kind_are_the_same_ids(kinds):
    of_table, of_log = kinds
    table = TABLE.with_columns(pl.col("user_id", "item_id").cast(of_table))
    result = jobs.cut_table(table, options=OPTIONS, seen=[SEEN.with_columns(pl.all().cast(of_log))])
    assert result.left_out == 2


def test_a_log_with_none_of_the_pairs_is_said():
    other = SEEN.with_columns(pl.format("u{}", "user_id").alias("user_id"))
    with pytest.warns(SurenessWarning, match="none of the seen pairs"):
        assert jobs.cut_table(TABLE, options=OPTIONS, seen=[other]).left_out == 0


def test_columns_are_those_of_the_table():
    names = {"user_id": "customer", "item_id": "article"}
    result = jobs.cut_table(TABLE.rename(names), options=OPTIONS, seen=[SEEN.rename(names)], columns=Columns(**names))
    assert result.left_out == 2
    with pytest.raises(ColumnError):
        jobs.cut_table(TABLE, options=OPTIONS, seen=[SEEN.drop("item_id")])
