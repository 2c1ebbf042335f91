"""What runs on executors, without Spark: however rows come, and however often, the answer is the same."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest

from sureness.lists.policies import ExpectedUtility
from sureness.spark.listing import cut
from sureness.spark.tasks import tables, user_tables

pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")


def batches(table: pl.DataFrame, size: int) -> list:
    return [batch for part in table.iter_slices(size) for batch in part.to_arrow().to_batches()]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    users = np.sort(rng.integers(0, 30, 900))
    return pl.DataFrame({"user_id": users, "item_id": np.arange(900), "probability": rng.beta(1, 4, 900).round(1)})


def test_blocks_hold_every_row_once(table):
    empty = table.head(0).to_arrow().to_batches() or [pa.RecordBatch.from_pylist([], schema=table.to_arrow().schema)]
    found = list(tables(iter([*empty, *batches(table, 70), *empty]), rows=100))
    assert all(block.height >= 100 for block in found[:-1])
    assert pl.concat(found).equals(table)


def test_blocks_of_users_split_no_user(table):
    found = list(user_tables(iter(batches(table, 7)), "user_id", rows=50))
    assert len(found) > 3
    assert pl.concat(found).equals(table)
    users = [set(block["user_id"]) for block in found]
    assert sum(map(len, users)) == len(set.union(*users))


def test_a_copy_of_a_task_gives_the_same_lists_in_the_same_order(table):
    columns = {
        "rank": pa.int64(),
        "list_size": pa.int64(),
        "expected_utility": pa.float64(),
        "expected_hits": pa.float64(),
    }
    schema = table.to_arrow().schema
    for name, kind in columns.items():
        schema = schema.append(pa.field(name, kind))
    names = {name: name for name in table.columns}
    task = partial(cut, policy=ExpectedUtility(), top=20, expected_relevant=None, names=names, schema=schema)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1).sort("user_id")
    first, copy = (
        pa.Table.from_batches(task(iter(batches(rows, size)))) for rows, size in ((table, 900), (shuffled, 11))
    )
    assert first.num_rows > 30
    assert first.equals(copy)
