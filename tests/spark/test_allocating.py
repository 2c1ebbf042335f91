"""Pages and budgets shared in Spark equal those of one machine."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sureness import jobs
from sureness.errors import ColumnError, DataError, SettingError
from sureness.spark import allocate, allocating
from sureness.spark.frames import created
from tests.spark.tables import frame_of, same_tables, table_of


@pytest.fixture(scope="module")
def table():
    rng, n_users = np.random.default_rng(3), 150
    return pl.DataFrame({
        "user_id": np.repeat(np.arange(n_users), 30), "item_id": np.tile(np.arange(30), n_users),
        "domain": np.tile(["books", "films", "games"], 10 * n_users), "probability": rng.beta(1, 4, n_users * 30),
        "cost": rng.integers(1, 5, n_users * 30),
    }).filter(pl.Series(rng.random(n_users * 30) < 0.9))  # fmt: skip


def local(table: pl.DataFrame, **options):
    return jobs.allocate(table, None, jobs.AllocateOptions(**options))


@pytest.mark.parametrize("items", [False, True])
def test_pages(spark, table, items):
    rows = table.drop("cost")
    found = table_of(allocate(frame_of(spark, rows), slots=6, items=items).table)
    same_tables(found, local(rows, slots=6, items=items).frame, ["user_id", "domain", *(["rank"] if items else [])])


@pytest.mark.parametrize("few", [allocating.FEW_CELLS, 0], ids=["on the driver", "in passes"])
@pytest.mark.parametrize(
    ("options", "priced"),
    [({"budget": 500, "utility": "f1"}, False), ({"budget": 900.0, "utility": "ndcg", "min_size": 1}, True)],
    ids=["items", "costs"],
)
def test_a_budget(spark, table, monkeypatch, options, priced, few):
    monkeypatch.setattr(allocating, "FEW_CELLS", few)
    rows = table.drop("domain", *([] if priced else ["cost"]))
    expected, found = local(rows, **options), allocate(frame_of(spark, rows), **options)
    same_tables(table_of(found.table), expected.frame, ["user_id"])
    assert (found.shared["spent"], found.shared["price"]) == (expected.shared["spent"], expected.shared["price"])


def test_a_budget_for_everything_and_the_items_that_are_shown(spark, table, monkeypatch):
    monkeypatch.setattr(allocating, "FEW_CELLS", 0)
    rows = table.drop("domain", "cost")
    found = allocate(frame_of(spark, rows), budget=1e9, items=True)
    same_tables(table_of(found.table), local(rows, budget=1e9, items=True).frame, ["user_id", "rank"])
    assert found.shared["price"] == 0


def test_refusals(spark, table):
    frame = frame_of(spark, table)
    for options, error in (
        ({}, SettingError), ({"slots": 3, "budget": 3}, SettingError), ({"slots": 3, "domain": "shop"}, ColumnError),
        ({"slots": 3, "utility": "luck"}, SettingError), ({"budget": 3, "probability": "domain"}, ColumnError),
        ({"budget": 3, "min_size": 2}, DataError),
    ):  # fmt: skip
        with pytest.raises(error):
            allocate(frame, **options)


def test_a_table_without_rows_keeps_its_columns(spark):
    """On Connect, Spark takes no empty table without a schema."""
    frame = created(spark, pl.DataFrame(schema={"user_id": pl.String, "list_size": pl.Int64, "rate": pl.Float64}))
    assert frame.dtypes == [("user_id", "string"), ("list_size", "bigint"), ("rate", "double")]
    assert frame.count() == 0
