"""Tables of other libraries come in whole, and go out as they came."""

from __future__ import annotations

import datetime
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sureness as sn
from sureness.errors import DataError, IdError
from sureness.tables.frames import as_frame, in_kind_of, place_of
from tests.kinds_of_tables import KINDS, comes_back, rows_of

TABLE = pl.DataFrame({"user_id": ["b", "a", "c", "a"], "item_id": [4, 1, 2, 9], "score": [0.5, -1.0, 2.25, 3.0]})
IN_MEMORY = [name for name in KINDS if name not in ("parquet", "csv, by its name")]


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_rows_are_read_in_their_order(kind, tmp_path):
    assert rows_of(KINDS[kind](TABLE, tmp_path)) == TABLE.rows()


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_a_result_comes_back_in_the_kind_that_went_in(kind, tmp_path):
    result = in_kind_of(KINDS[kind](TABLE, tmp_path), TABLE.head(2))
    assert isinstance(result, comes_back(kind))
    assert rows_of(result) == TABLE.head(2).rows()


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_a_column_is_added_in_the_kind_that_went_in(kind, tmp_path):
    held = place_of(KINDS[kind](TABLE, tmp_path)).collected()
    result = held.with_column(pl.Series("p", [0.1, 0.2, 0.3, 0.4]))
    assert isinstance(result, comes_back(kind))
    assert [row[:-1] for row in rows_of(result)] == TABLE.rows()
    assert [row[-1] for row in rows_of(result)] == [0.1, 0.2, 0.3, 0.4]


def test_what_pandas_has_beside_the_column_stays():
    given = pd.DataFrame({"score": [1.0, 2.0], "when": pd.period_range("2024-01", periods=2, freq="M")}, index=[9, 3])
    found = place_of(given).with_column(pl.Series("p", [0.1, 0.2]))
    assert found.index.tolist() == [9, 3]
    assert found["p"].tolist() == [0.1, 0.2]
    assert (found["when"] == given["when"]).all()
    assert "p" not in given


def test_columns_of_several_kinds_do_no_harm_unless_they_are_needed():
    given = pd.DataFrame({"user_id": ["a", "b"], "item_id": [1, 2], "anything": [1, "1"]})
    assert len(sn.Interactions.from_table(given)) == 2
    assert as_frame(given)["anything"].to_list() == [1, "1"]
    with pytest.raises(IdError, match="one kind"):
        sn.Interactions.from_table(given.assign(user_id=given["anything"]))


TIMES = {
    "pandas": pd.Series(pd.to_datetime(["2024-05-01", "2024-05-02"])),
    "pandas with a zone": pd.Series(pd.to_datetime(["2024-05-01", "2024-05-02"])).dt.tz_localize("Asia/Seoul"),
    "pandas seconds": pd.Series(pd.to_datetime(["2024-05-01", "2024-05-02"]).as_unit("s")),
    "pandas days": pd.Series([datetime.date(2024, 5, 1), datetime.date(2024, 5, 2)]),
    "pandas of arrow": pd.Series(pd.to_datetime(["2024-05-01", "2024-05-02"])).astype("timestamp[ms][pyarrow]"),
    "pandas strings": pd.Series(["2024-05-01", "2024-05-02"], dtype="string"),
    "pandas categories": pd.Series(["2024-05-01", "2024-05-02"], dtype="category"),
    "pandas objects": pd.Series([datetime.datetime(2024, 5, 1), datetime.datetime(2024, 5, 2)], dtype=object),
    "polars days": pl.Series([datetime.date(2024, 5, 1), datetime.date(2024, 5, 2)]),
    "arrow": pa.chunked_array([[datetime.datetime(2024, 5, 1)], [datetime.datetime(2024, 5, 2)]]),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_times_of_all_kinds_are_microseconds(times):
    log = sn.Interactions.of(["a", "a"], [1, 2], times=times)
    assert np.diff(log.times).tolist() == [86_400_000_000]
    if isinstance(times, pd.Series):
        table = pd.DataFrame({"user_id": ["a", "a"], "item_id": [1, 2], "time": times})
        assert sn.Interactions.from_table(table).times.tolist() == log.times.tolist()


def test_missing_values_of_pandas_are_missing():
    given = pd.DataFrame({
        "user_id": pd.Series([1, pd.NA, 3], dtype="Int64"), "item_id": ["x", "y", None],
        "rating": pd.Series([5, 4, 3], dtype="category"),
    })  # fmt: skip
    log = sn.Interactions.from_table(given)
    assert log.users.ids.to_list() == [1]
    assert log.ratings.tolist() == [5]
    assert log.notes == ("2 of 3 rows had no user or no item and were dropped",)


NO_TABLES = {
    "dictionary": lambda: {"user_id": [1]},
    "list": lambda: [(1, 2)],
    "nothing": lambda: None,
    "array": lambda: np.ones((2, 2)),
    "two columns of a name": lambda: pd.DataFrame([[1, 2]], columns=["user_id", "user_id"]),
    "two Arrow columns of a name": lambda: pa.table([[1], [2]], names=["user_id", "user_id"]),
    "a query that fails": lambda: duckdb.from_arrow(pa.table({"a": ["x"]})).project("a::int as user_id"),
    "a lazy query that fails": lambda: pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64)),
}


@pytest.mark.parametrize("make", NO_TABLES.values(), ids=NO_TABLES)
def test_what_is_no_table_is_refused_in_one_sentence(make):
    with pytest.raises(DataError) as caught:
        as_frame(make())
    assert "\n" not in str(caught.value)


def test_pandas_is_read_without_pyarrow():
    program = """
import sys
import importlib.util
from importlib.machinery import PathFinder

class WithoutArrow(PathFinder):
    @classmethod
    def find_spec(cls, name, *args):
        return None if name.split(".")[0] == "pyarrow" else super().find_spec(name, *args)

sys.meta_path = [WithoutArrow if each is PathFinder else each for each in sys.meta_path]
import pandas as pd
import sureness as sn
from sureness.tables.frames import in_kind_of
table = pd.DataFrame({
    "user_id": pd.Series(["a", "b", None], dtype="string"), "item_id": pd.Series([1, 2, pd.NA], dtype="Int64"),
    "time": pd.to_datetime(["2024-05-01", "2024-05-02", "2024-05-03"]).tz_localize("UTC"),
    "rating": pd.Series([5, 4, 3], dtype="category"),
})
assert importlib.util.find_spec("pyarrow") is None
log = sn.Interactions.from_table(table)
assert (log.users.ids.to_list(), log.items.ids.to_list(), log.ratings.tolist()) == (["a", "b"], [1, 2], [5, 4]), log
assert list(in_kind_of(table, log.table())["user_id"]) == ["a", "b"]
for text in (pd.Series(["zoe", "ann"]), pd.Series(["zoe", "ann"], dtype="string"), pd.Index(["zoe", "ann"]),
             pd.Series(["zoe", "ann"], dtype="category")):
    assert sn.IdMap(text).ids.to_list() == ["zoe", "ann"], text
    assert len(sn.Interactions.of(text, [1, 2], times=["2024-05-01", "2024-05-02"])) == 2
scores, labels, groups = [3.0, 1.0, 2.0, 0.5], [1, 0, 1, 0], pd.Series(["q1", "q1", "q2", "q2"])
lists = sn.ListCalibrator().fit(scores, labels, groups=groups)
assert len(lists.probability(scores, groups=groups)) == 4
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_importing_the_package_and_reading_polars_loads_no_other_library():
    program = """
import sys, polars as pl, sureness as sn
sn.Interactions.from_table(pl.DataFrame({"user_id": [1], "item_id": [2]}))
assert not {"pandas", "pyarrow", "duckdb", "narwhals"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
