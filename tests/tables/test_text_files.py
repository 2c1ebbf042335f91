"""Text tables are read as they are written; what could be read in two ways is refused with the option."""

from __future__ import annotations

import gzip
import os

import numpy as np
import polars as pl
import pytest

from sureness.data.interactions import Interactions
from sureness.data.scored_pairs import stream_pairs
from sureness.errors import ColumnError, FileError, SettingError, SurenessWarning
from sureness.tables.columns import Columns, TextFormat
from sureness.tables.reading import count_rows, require_columns, scan_table
from sureness.tables.text import files as text_files
from sureness.tables.text.dialect import HEAD_BYTES, first_lines, line_chunks
from sureness.tables.writing import write_table


def text_file(folder, text, name="table.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def scores_of(path, **said):
    return scan_table(path, Columns(**said)).collect()["score"].to_list()


# --- what leaves no choice is read, and said -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("user_id;score;label\n1;0.5;1\n2;0.25;0\n", "semicolon"),
        ("user_id|score|label\n1|0.5|1\n2|0.25|0\n", "pipe"),
        ("user_id;score;label\n1;0,5;1\n2;0,25;0\n", "decimal commas"),
        ("user_id;score;label\n1; 0.5 ;1\n2;0.25;0\n", "spaces"),
    ],
)
def test_what_is_inferred_is_said(tmp_path, text, word):
    with pytest.warns(SurenessWarning) as said:
        assert scores_of(text_file(tmp_path, text)) == [0.5, 0.25]
    assert any(word in str(each.message) for each in said)


def test_what_was_said_is_not_said_again(tmp_path):
    path = text_file(tmp_path, "score;label\n0,5;1\n")
    assert scores_of(path, separator="semicolon", decimal="comma") == [0.5]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_says_the_encoding(tmp_path, encoding):
    path = text_file(tmp_path, "user_id,score\nZoë,1\n", encoding=encoding)
    assert scan_table(path).collect()["user_id"].to_list() == ["Zoë"]


def test_zstd_and_text_endings(tmp_path):
    pl.DataFrame({"score": [0.5, 1.5]}).write_csv(tmp_path / "t.txt.zst", compression="zstd")
    text_file(tmp_path, "score\n0.5\n1.5\n", "t.txt")
    assert scores_of(tmp_path / "t.txt.zst") == scores_of(tmp_path / "t.txt") == [0.5, 1.5]


# --- what could be read in two ways is refused with the option -------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "option", "said", "score"),
    [
        ("score;label\n1,234;1\n", r"Columns\(decimal=", {"decimal": "comma"}, 1.234),
        ("score;label\n1,234;1\n", r"Columns\(decimal=", {"decimal": "point"}, 1234.0),
        ("score;label\n1.234;1\n", r"Columns\(decimal=", {"decimal": "comma"}, 1234.0),
        ('score,label\n"1,234",1\n', r"Columns\(decimal=", {"decimal": "comma"}, 1.234),
        ("0.5,1\n0.25,0\n", r"Columns\(header=", {"header": "score,label"}, 0.5),
        ("# by hand\nscore,label\n0.5,1\n", r"Columns\(comment=", {"comment": "#"}, 0.5),
        ("score,label\n# 0.7,1\n0.5,1\n", r"Columns\(comment=", {"comment": "#"}, 0.5),
        ('score,label,size\n0.5,1,5"\n', r"Columns\(quote=", {"quote": "none"}, 0.5),
        (
            "a;b,score;label,c\n1;2,0.5;1,3\n",
            r"Columns\(separator=",
            {"separator": "comma", "score": "score;label"},
            None,
        ),
        (b"score,name\n0.5,Zo\xeb\n", r"Columns\(encoding=", {"encoding": "cp1252"}, 0.5),
    ],
)
def test_the_option_that_settles_it_is_named_and_settles_it(tmp_path, text, option, said, score):
    path = text_file(tmp_path, text)
    with pytest.raises(FileError, match=option) as refused:
        scores_of(path)
    assert "\n" not in str(refused.value)
    if score is not None:
        assert scores_of(path, **({"separator": "semicolon"} if b";" in path.read_bytes() else {}), **said)[0] == score


@pytest.mark.parametrize("first", ["12", "1"])
def test_days_and_months_are_not_guessed(tmp_path, first):
    path = text_file(tmp_path, f"user_id,item_id,time\n1,1,{first}/02/2024\n1,2,03/02/2024\n")
    with pytest.raises(ColumnError, match=r"Columns\(dates="):
        Interactions.read(path)
    by_day, by_month = (Interactions.read(path, Columns(dates=dates)).times for dates in ("day-first", "month-first"))
    days = 86_400 * 1_000_000
    assert abs(by_day[1] - by_day[0]) == abs(int(first) - 3) * days
    assert abs(by_month[1] - by_month[0]) > 25 * days


def test_days_above_twelve_leave_no_choice():
    log = Interactions.of([1, 2], [1, 2], times=["31.05.2024 18:00", "01.06.2024 18:00"])
    assert np.diff(log.times).tolist() == [86_400 * 1_000_000]
    assert any("day first" in note for note in log.notes)
    with pytest.raises(ColumnError, match="month"):
        Interactions.of([1, 2], [1, 2], times=["31/05/2024", "05/31/2024"])


def test_a_row_in_place_of_a_header_is_recognised_where_columns_are_missing(tmp_path):
    path = text_file(tmp_path, "ann,1,0.5\nbob,2,0.25\n")
    with pytest.raises(ColumnError, match=r"Columns\(header="):
        require_columns(scan_table(path), ["score"], path)


# --- lines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("score,label\n1,1\n\n\n1,1,1\n", 5),
        ("score,label\n1,1\n1\n", 3),
        ('score,label,note\n1,1,"two\nlines"\n1,high,x\n', 4),
        ('score,label,note\n1,1,"open\n1,1,x\n1,1,y\n', 2),
        ('score,label,note\n1,1,"open\n1,1,x\n1,1,"y"\n', 2),
        ("score,label\r\n1,1\r\nhigh,1\r\n", 3),
        ("score,label\r1,1\rhigh,1\r", 3),
        ("score,label\n1,1\n2\0,1\n", 3),
        ("score,score\n1,1\n", 1),
    ],
)
def test_a_bad_line_is_named_by_its_number(tmp_path, text, line):
    path = text_file(tmp_path, text)
    with pytest.raises(FileError, match=rf"line {line}\b"):
        list(stream_pairs(scan_table(path), path))


def test_a_bad_line_behind_the_first_look_is_named(tmp_path):
    rows = "0.5,1\n" * 60_000
    path = text_file(tmp_path, f"score,label\n{rows}high,1\n{rows}")
    with pytest.raises(FileError, match="line 60,002"):
        list(stream_pairs(scan_table(path), path))


@pytest.mark.parametrize("size", range(1, 60))
def test_chunks_may_end_anywhere(tmp_path, size):
    text = 'a,b\n1,"x\ny"\n\n2,"he said ""hi"""\r\n3,ü\n'
    path = text_file(tmp_path, text)
    assert b"".join(line_chunks(path, size=size)) == text.encode()


# --- reading in parts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8"])
def test_files_that_polars_cannot_read_itself_are_read_part_by_part(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr(text_files, "_PART", 4_096)
    table = pl.DataFrame({"user_id": [f"Zoë {n}" for n in range(3_000)], "score": np.arange(3_000) / 7})
    text = table.write_csv().replace("\n", "\n\n") if encoding == "utf-8" else table.write_csv()
    path = text_file(tmp_path, text, encoding=encoding)
    columns = Columns(encoding=encoding)
    frame = scan_table(path, columns)
    assert frame.collect().equals(table)
    assert frame.select("score").head(10).collect().height == 10
    assert frame.filter(pl.col("score") > 100).collect().equals(table.filter(pl.col("score") > 100))
    assert count_rows(frame, path) == 3_000
    write_table(frame, tmp_path / "again.parquet")
    assert scan_table(tmp_path / "again.parquet").collect().equals(table)


def test_a_file_that_changes_is_looked_at_again(tmp_path):
    path = text_file(tmp_path, "score\n0.5\n")
    assert scores_of(path) == [0.5]
    text_file(tmp_path, "score\n0.25\n0.75\n")
    assert scores_of(path) == [0.25, 0.75]
    os.utime(path, ns=(0, 0))
    assert count_rows(scan_table(path), path) == 2


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {"separator": "::"}, {"separator": ""}, {"decimal": ","}, {"encoding": "utf-99"}, {"dates": "year-first"},
        {"quote": "'"}, {"skip_lines": -1}, {"comment": ""}, {"separator": "§"}, {"formulas": "run"},
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(said):
    with pytest.raises(SettingError, match=next(iter(said))):
        TextFormat(**said)
    with pytest.raises(SettingError):
        Columns(**said)


def test_columns_keep_how_text_is_written():
    columns = Columns(score="points", decimal="comma", skip_lines=2)
    assert columns.only("label") == Columns(decimal="comma", skip_lines=2)
    assert columns.text == TextFormat(decimal="comma", skip_lines=2)
    assert columns.renamed() == {"score": "points"}


class TestGzip:
    """Read by Python's own library, as far as is needed: a few lines to see how a file is written, then all once."""

    def packed(self, tmp_path, *parts):
        place = tmp_path / "log.csv.gz"
        place.write_bytes(b"".join(gzip.compress(part) for part in parts))
        return place

    @pytest.mark.parametrize(
        "parts",
        [
            [b"user_id,score\n1,0.5\n2,0.25\n"],
            [b"user_id,score\r\n1,0.5\r\n2,0.25"],
            [b"\xef\xbb\xbfuser_id,score\n1,0.5\n2,0.25\n"],
            [b"user_id,score\n1,0.5\n", b"2,0.25\n"],
        ],
        ids=["plain", "carriage returns", "a mark at the start", "two files joined"],
    )
    def test_rows_are_those_of_the_file_within(self, tmp_path, parts):
        place = self.packed(tmp_path, *parts)
        table = scan_table(place, Columns(), numbers=["score"]).collect()
        assert table["user_id"].to_list() == [1, 2]
        assert table["score"].to_list() == [0.5, 0.25]

    def test_the_file_within_may_be_in_another_encoding(self, tmp_path):
        lines = "kunde;punkte\r\nZoë;0,5\r\nJosé;1,25\r\n"
        expected = [("Zoë", 0.5), ("José", 1.25)]
        for said, encoding in ({"encoding": "cp1252"}, "cp1252"), ({}, "utf-16"):
            place = self.packed(tmp_path, lines.encode(encoding))
            columns = Columns(user_id="kunde", score="punkte", separator="semicolon", decimal="comma", **said)
            table = scan_table(place, columns, numbers=["score"]).collect()
            assert list(zip(table["user_id"], table["score"], strict=True)) == expected

    def test_zstd_in_another_encoding_is_refused(self, tmp_path):
        place = tmp_path / "log.csv.zst"
        pl.DataFrame({"score": [0.5]}).write_csv(place, compression="zstd")
        with pytest.raises(FileError, match="zstd"):
            scan_table(place, Columns(encoding="cp1252"), numbers=["score"])

    def test_a_line_that_is_no_text_is_named(self, tmp_path):
        place = self.packed(tmp_path, b"user_id,score\n1,0.5\n\xe9,0.25\n")
        with pytest.raises(FileError, match="line 3"):
            scan_table(place, Columns(), numbers=["score"])

    @pytest.mark.parametrize("cut", [5, 30, 5_000])
    def test_a_file_that_ends_too_early_is_refused(self, tmp_path, cut):
        rng = np.random.default_rng(0)
        place = self.packed(tmp_path, b"user_id,score\n" + b"".join(b"1,%f\n" % score for score in rng.random(5_000)))
        place.write_bytes(place.read_bytes()[:-cut])
        for encoding in (None, "cp1252"):
            with pytest.raises(FileError, match="gzip"):
                scan_table(place, Columns(encoding=encoding), numbers=["score"])

    def test_only_the_start_is_looked_at_to_see_how_it_is_written(self, tmp_path):
        place = self.packed(tmp_path, b"user_id,score\n" + b"1,0.5\n" * 100_000)
        start, _ = first_lines(place)
        assert HEAD_BYTES // 2 < len(start) <= HEAD_BYTES
