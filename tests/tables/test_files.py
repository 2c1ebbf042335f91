"""A table may be one file, a pattern of files, or a folder of them."""

from __future__ import annotations

import datetime as dt
import os

import polars as pl
import pytest

from sureness.errors import FileError
from sureness.tables.files import is_text, table_files
from sureness.tables.reading import readable, scan_table
from sureness.tables.writing import write_table


@pytest.fixture
def parts(tmp_path):
    """The same four rows in two Parquet files and in two CSV files."""
    table = pl.DataFrame({"user_id": [1, 2, 3, 4], "score": [0.1, 0.2, 0.3, 0.4]})
    for kind in ("parquet", "csv"):
        (tmp_path / kind).mkdir()
        write_table(table[2:], tmp_path / kind / f"b.{kind}")
        write_table(table[:2], tmp_path / kind / f"a.{kind}")
    return tmp_path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["{}", "{}/*.{}", "{}/?.{}", "*/*.{}", "**/*.{}"])
def test_folders_and_patterns_are_read_in_the_order_of_names(parts, kind, name):
    frame = scan_table(parts / name.format(*[kind] * name.count("{}")) if "/" in name else parts / kind)
    assert frame.collect()["user_id"].to_list() == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_folders_name_columns(tmp_path, kind):
    for day in ("2024-05-30", "2024-05-31"):
        place = tmp_path / "above=1" / "table" / f"day={day}" / "shop=a%20b"
        place.mkdir(parents=True)
        write_table(pl.DataFrame({"score": [0.5]}), place / f"part-0.{kind}")
        (place / "_SUCCESS").touch()
        (place / ".part-0.crc").touch()
    found = scan_table(tmp_path / "above=1" / "table").collect()
    assert found.columns == ["score", "day", "shop"]
    assert found["shop"].to_list() == ["a b"] * 2
    expected = [dt.date(2024, 5, 30), dt.date(2024, 5, 31)]
    assert found["day"].cast(pl.String).to_list() == [str(day) for day in expected]


def test_text_files_may_have_their_columns_in_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("user_id,score\n1,0.5\n")
    (tmp_path / "b.csv").write_text("score,user_id\n0.25,ann\n")
    assert scan_table(tmp_path).collect().rows() == [("1", 0.5), ("ann", 0.25)]


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({}, "no tables"),
        ({"_SUCCESS": ""}, "no tables"),
        ({"a.csv": "score\n1\n", "b.parquet": "x"}, "kind"),
        ({"a.csv": "score\n1\n", "b.csv": "points\n1\n"}, "points"),
        ({"a.csv": "score\n1\n", "b.md": "text"}, "name must end"),
        ({"a.csv": "score\n1\n", "b.csv": "score\nhigh\n"}, "b.csv, line 2"),
        ({"d=1/a.csv": "score\n1\n", "b.csv": "score\n1\n"}, "different columns"),
    ],
)
def test_folders_that_are_no_table_are_refused(tmp_path, files, word):
    for name, text in files.items():
        (tmp_path / "table" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "table" / name).write_text(text)
    (tmp_path / "table").mkdir(exist_ok=True)
    with pytest.raises(FileError, match=word), readable(tmp_path / "table"):
        scan_table(tmp_path / "table").collect()


@pytest.mark.parametrize("name", ["none*.csv", "none?.parquet", "none[1].csv", "none.csv"])
def test_a_name_that_stands_for_nothing_is_refused(parts, name):
    with pytest.raises(FileError, match="no such file"):
        table_files(parts / name)


@pytest.mark.parametrize("name", ["pipe.csv", "pipe.csv.gz", "pipe.parquet"])
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(FileError, match="pipe"):
        scan_table(tmp_path / name)


def test_text_is_told_from_parquet(parts):
    assert is_text(parts / "csv")
    assert not is_text(parts / "parquet" / "*")
    assert is_text("not there.csv")
    assert not is_text("not there.parquet")
