"""Tables come back as they went, and broken ones are refused in one sentence."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal

from sureness.data import scored_pairs
from sureness.data.scored_pairs import pairs_of_table, stream_pairs
from sureness.errors import ColumnError, DataError, EmptyError, FileError, OutputError
from sureness.tables.columns import Columns
from sureness.tables.reading import add_column, count_rows, require_columns, scan_table
from sureness.tables.writing import write_table

ENDINGS = [".parquet", ".csv", ".tsv"]
every_ending = pytest.mark.parametrize("ending", ENDINGS)


@pytest.fixture
def table():
    return pl.DataFrame(
        {
            "user_id": ["ann", "ünal", "雪", 'a,b\t"c"', "🙂"],
            "item_id": [1, 2, 3, 2**53, -5],
            "score": [0.1, -1e99, 5e-324, 1 / 3, 12345.678],
            "label": [0, 1, 1, 0, 0],
            "weight": [1.0, 2.0, 0.5, 0.0, 1.0],
            "propensity": [1.0, 0.1, 0.5, 1.0, 1.0],
        }
    )


def text_file(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def all_pairs(path, columns=None):
    return list(stream_pairs(scan_table(path, columns), path))


def left_in(folder):
    return sorted(os.listdir(folder))


# --- there and back ------------------------------------------------------------------------------------------------


@every_ending
def test_a_table_comes_back_as_it_was_written(table, tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write_table(table, path)
    assert_frame_equal(scan_table(path).collect(), table, check_dtypes=False, check_exact=True)
    assert left_in(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_compressed_table_is_read_like_the_plain_one(table, tmp_path, ending):
    write_table(table, tmp_path / f"table{ending}")
    packed = tmp_path / f"table{ending}.gz"
    packed.write_bytes(gzip.compress((tmp_path / f"table{ending}").read_bytes()))
    assert_frame_equal(scan_table(packed).collect(), table, check_dtypes=False, check_exact=True)
    assert sum(map(len, all_pairs(packed))) == 5


@every_ending
def test_pairs_come_back_as_they_were_written(table, tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write_table(table.lazy(), path)
    (pairs,) = all_pairs(path)
    assert_array_equal(pairs.scores, table["score"])
    assert_array_equal(pairs.labels, table["label"].to_numpy() == 1)
    assert_array_equal(pairs.users, table["user_id"])
    assert_array_equal(pairs.weight, table["weight"])
    assert_array_equal(pairs.propensity, table["propensity"])


@pytest.mark.parametrize("name", ["table[1].csv", "table[1].parquet", "what?.csv", "all*.csv", "sp ace.csv", "ü.tsv"])
def test_a_file_is_found_by_its_name_and_not_by_a_pattern(table, tmp_path, name):
    write_table(table, tmp_path / "another.csv")
    write_table(table, tmp_path / "all.csv")
    write_table(table[:2], tmp_path / name)
    assert count_rows(scan_table(tmp_path / name), name) == 2


def test_ids_that_look_like_numbers_are_kept_as_they_come(tmp_path):
    path = text_file(tmp_path, "user_id,score,label\n007,1,1\n7,2,0\n")
    (pairs,) = all_pairs(path)
    assert len(set(pairs.users.tolist())) == 2


def test_ids_may_turn_into_text_far_down_the_file(tmp_path):
    rows = "".join(f"{user},1,1\n" for user in range(10_050))
    path = text_file(tmp_path, f"user_id,score,label\n{rows}ann,1,0\n")
    assert sum(map(len, all_pairs(path))) == 10_051


def test_a_byte_order_mark_is_not_part_of_a_name(tmp_path):
    path = text_file(tmp_path, b"\xef\xbb\xbfscore,label\n1,1\n")
    assert len(all_pairs(path)) == 1


# --- columns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("prediction,clicked", {"score": "prediction", "label": "clicked"}),
        ("score,clicked", {"score": "score", "label": "clicked"}),
        ("logit,score", {"score": "logit", "label": "score"}),
        ("label,score", {"score": "label", "label": "score"}),
    ],
    ids=["other names", "one other name", "a name handed on", "names swapped"],
)
@every_ending
def test_columns_are_found_under_the_names_they_have(tmp_path, header, columns, ending):
    first, second = header.split(",")
    path = tmp_path / f"table{ending}"
    write_table(pl.DataFrame({first: [2.5, -1.0], second: [1, 0]}), path)
    (pairs,) = all_pairs(path, Columns(**columns))
    assert_array_equal(pairs.scores, [2.5, -1.0])
    assert_array_equal(pairs.labels, [True, False])


def test_a_chosen_column_takes_the_place_of_one_with_the_agreed_name(tmp_path):
    path = text_file(tmp_path, "score,better,label\n1,9,1\n")
    (pairs,) = all_pairs(path, Columns(score="better"))
    assert_array_equal(pairs.scores, [9.0])


def test_one_column_may_serve_two_purposes(tmp_path):
    path = text_file(tmp_path, "id,score,label\n4,1,1\n")
    frame = scan_table(path, Columns(user_id="id", item_id="id")).collect()
    assert frame["user_id"].to_list() == frame["item_id"].to_list() == [4]


def test_a_chosen_column_that_is_not_there_is_named_with_those_that_are(tmp_path):
    path = text_file(tmp_path, "score,label\n1,1\n")
    with pytest.raises(ColumnError, match="column"):
        scan_table(path, Columns(score="logit"))


def test_missing_columns_are_named_with_the_option_that_helps(tmp_path):
    path = text_file(tmp_path, "score,label\n1,1\n")
    with pytest.raises(ColumnError, match="user_id"):
        require_columns(scan_table(path), ["score", "user_id", "weight"], path)
    require_columns(scan_table(path), ["score", "label"], path)


@pytest.mark.parametrize("columns", [{"score": [1.0]}, {"label": [1]}, {"other": [1.0]}])
def test_pairs_without_score_or_label_are_refused(columns):
    frame = pl.LazyFrame(columns)
    with pytest.raises(ColumnError, match="columns"):
        list(stream_pairs(frame, "table.csv"))
    with pytest.raises(ColumnError, match="columns"):
        pairs_of_table(frame.collect())


# --- broken files --------------------------------------------------------------------------------------------------


@every_ending
def test_a_file_that_is_not_there_is_named(tmp_path, ending):
    with pytest.raises(FileError, match="read"):
        scan_table(tmp_path / f"nowhere{ending}")


@every_ending
def test_an_empty_file_is_refused(tmp_path, ending):
    with pytest.raises(FileError, match="read"):
        scan_table(text_file(tmp_path, "", f"empty{ending}"))


@every_ending
def test_a_table_without_rows_is_refused(table, tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write_table(table[:0], path)
    with pytest.raises(EmptyError, match="table"):
        count_rows(scan_table(path), path)
    assert all_pairs(path) == []


@every_ending
def test_a_folder_without_files_is_not_a_table(tmp_path, ending):
    folder = tmp_path / f"folder{ending}"
    folder.mkdir()
    with pytest.raises(FileError, match="folder") as raised:
        scan_table(folder)
    assert "PlRefPath" not in str(raised.value)


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.csv.zip"])
def test_other_endings_are_refused_when_reading(tmp_path, name):
    with pytest.raises(FileError, match="name"):
        scan_table(text_file(tmp_path, "score,label\n1,1\n", name))


def test_text_named_parquet_is_refused(tmp_path):
    with pytest.raises(FileError, match="read"):
        all_pairs(text_file(tmp_path, "score,label\n1,1\n" * 100, "text.parquet"))


def test_a_damaged_parquet_file_never_escapes_as_anything_but_our_errors(tmp_path):
    rng = np.random.default_rng(0)
    write_table(pl.DataFrame({"score": rng.normal(size=2_000), "label": np.arange(2_000) % 2}), tmp_path / "w.parquet")
    whole = (tmp_path / "w.parquet").read_bytes()
    for _ in range(60):
        shorter = whole[: rng.integers(len(whole))]
        with pytest.raises(FileError, match="read"):
            all_pairs(text_file(tmp_path, shorter, "shorter.parquet"))
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), 8):
            damaged[place] = rng.integers(256)
        with contextlib.suppress(FileError, DataError):  # some damage cannot be seen: Parquet has no checksums here
            all_pairs(text_file(tmp_path, bytes(damaged), "damaged.parquet"))


def test_a_truncated_archive_is_refused(tmp_path):
    packed = gzip.compress(b"score,label\n" + b"0.5,1\n" * 5_000)
    with pytest.raises(FileError, match="read"):
        all_pairs(text_file(tmp_path, packed[:-20], "table.csv.gz"))


@pytest.mark.parametrize(
    ("rows", "error", "word"),
    [
        ("1,1\nhigh,0\n", FileError, "line 3"),
        ("1,yes\n2,maybe\n", FileError, "line 2"),
        ("1,1\n2,0,7\n", FileError, "line 3"),
        ("1,1\n,0\n", DataError, "line 3"),
        ("1,1\n2,\n", DataError, "line 3"),
        ("1,1\nNaN,0\n", DataError, "line 3"),
        ("1,1\ninf,0\n", DataError, "line 3"),
        ("1,1\n2,3\n", DataError, "line 3"),
    ],
)
def test_values_that_are_no_pairs_are_refused_with_their_place(tmp_path, rows, error, word):
    with pytest.raises(error, match=word) as raised:
        all_pairs(text_file(tmp_path, f"score,label\n{rows}"))
    assert "table.csv" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["user_id", "weight", "propensity"])
def test_empty_values_of_other_columns_are_refused_too(tmp_path, name):
    path = text_file(tmp_path, f"score,label,{name}\n1,1,1\n1,0,\n")
    with pytest.raises(ColumnError, match=f"column {name} has 1 empty value"):
        all_pairs(path)


def test_text_that_is_not_unicode_is_refused(tmp_path):
    path = text_file(tmp_path, "user_id,score,label\né,1,1\n".encode("latin-1"))
    with pytest.raises(FileError, match="read"):
        all_pairs(path)


# --- streaming -----------------------------------------------------------------------------------------------------


@every_ending
def test_batches_keep_the_order_of_the_file(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(scored_pairs, "BATCH_ROWS", 700)
    scores = np.random.default_rng(0).normal(size=10_000)
    path = tmp_path / f"table{ending}"
    write_table(pl.DataFrame({"score": scores, "label": np.zeros(10_000, dtype=int)}), path)
    told = []
    batches = list(stream_pairs(scan_table(path), path, told.append))
    assert len(batches) > 1
    assert_array_equal(np.concatenate([batch.scores for batch in batches]), scores)
    assert told == [len(batch) for batch in batches]


def test_the_rows_of_a_bad_value_are_named(monkeypatch):
    monkeypatch.setattr(scored_pairs, "BATCH_ROWS", 10)
    scores = np.zeros(35)
    scores[27] = np.nan
    frame = pl.LazyFrame({"score": scores, "label": np.zeros(35, dtype=int)})
    with pytest.raises(DataError, match="table"):
        list(stream_pairs(frame, "table.csv"))


def test_a_batch_may_weigh_nothing_when_others_do(monkeypatch):
    monkeypatch.setattr(scored_pairs, "BATCH_ROWS", 2)
    frame = pl.LazyFrame({"score": [1.0, 2.0, 3.0, 4.0], "label": [0, 1, 0, 1], "weight": [0.0, 0.0, 1.0, 1.0]})
    assert sum(map(len, stream_pairs(frame, "table.csv"))) == 4


# --- writing -------------------------------------------------------------------------------------------------------


@pytest.fixture
def broken(table):
    """A lazy table that fails once it is under way."""
    rows = pl.concat([table] * 2_000)
    return add_column(rows.lazy(), "probability", ["score"], fail_with(ArithmeticError("the map is broken")))


def fail_with(problem):
    def fail(*_):
        raise problem

    return fail


@every_ending
def test_a_table_that_fails_midway_leaves_the_old_one_and_the_original_problem(table, broken, tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write_table(table, path)
    old = path.read_bytes()
    frame, problems = broken
    with pytest.raises((ArithmeticError, FileError), match="the map is broken"):
        write_table(frame, path)
    assert path.read_bytes() == old
    assert left_in(tmp_path) == [path.name]
    assert isinstance(problems[0], ArithmeticError)


def test_an_interrupt_midway_leaves_no_trace(table, tmp_path):
    frame, _ = add_column(table.lazy(), "probability", ["score"], fail_with(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        write_table(frame, tmp_path / "table.parquet")
    assert left_in(tmp_path) == []


def test_a_table_cannot_take_the_place_of_a_folder(table, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="folder"):
        write_table(table, tmp_path / "folder.csv")


def test_a_table_cannot_be_put_inside_a_file(table, tmp_path):
    path = text_file(tmp_path, "score\n")
    with pytest.raises(OutputError, match="test_a_table_cannot_be_put_ins0"):
        write_table(table, path / "table.csv")


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.csv.gz"])
def test_other_endings_are_refused_when_writing_and_leave_nothing(table, tmp_path, name):
    with pytest.raises(OutputError, match="name"):
        write_table(table, tmp_path / "new folder" / name)
    assert left_in(tmp_path) == []


def test_lists_do_not_fit_into_csv(tmp_path):
    with pytest.raises(FileError, match="write"):
        write_table(pl.DataFrame({"items": [[1, 2]]}), tmp_path / "table.csv")
    assert left_in(tmp_path) == []


# --- a new column --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_column_is_computed_batch_by_batch_in_order(tmp_path, dtype):
    scores = np.random.default_rng(0).normal(size=30_000)
    table = pl.DataFrame({"score": scores, "weight": scores**2})
    told = []
    frame, problems = add_column(
        table.lazy(), "probability", ["weight", "score"], lambda w, s: np.sign(w * s).astype(dtype), told.append
    )
    write_table(frame, tmp_path / "table.parquet")
    found = scan_table(tmp_path / "table.parquet").collect()
    assert found.columns == ["score", "weight", "probability"]
    assert found.schema["probability"] == pl.Float64
    assert_array_equal(found["probability"], np.sign(scores))
    assert problems == []
    assert sum(told) == 30_000


def test_empty_values_of_the_inputs_are_reported_as_what_they_are():
    frame, problems = add_column(pl.LazyFrame({"score": [1.0, None]}), "probability", ["score"], lambda s: s)
    with pytest.raises((pl.exceptions.PolarsError, DataError)):
        frame.collect()
    assert str(problems[0]) == "column score has 1 empty value; fill or drop those rows"


@given(st.sampled_from([ValueError("no"), DataError("scores must be finite"), KeyError("x"), ZeroDivisionError("0")]))
def test_the_original_exception_is_kept(problem):
    frame, problems = add_column(pl.LazyFrame({"score": [1.0]}), "probability", ["score"], fail_with(problem))
    with contextlib.suppress(Exception):  # whatever polars makes of it
        frame.collect()
    assert problems[0] is problem


# --- pairs of a table ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt32, pl.Float32, pl.Boolean])
def test_labels_of_any_numeric_kind_are_understood(kind):
    table = pl.DataFrame({"score": [1.0, 2.0], "label": [0, 1]}).with_columns(pl.col("label").cast(kind))
    assert_array_equal(pairs_of_table(table).labels, [False, True])


def test_categories_are_ids_like_any_other(table):
    pairs = pairs_of_table(table.with_columns(pl.col("user_id").cast(pl.Categorical)))
    assert_array_equal(pairs.users, table["user_id"])
    assert_array_equal(pairs.items, table["item_id"])


def test_text_is_no_score():
    with pytest.raises(DataError, match="scores"):
        pairs_of_table(pl.DataFrame({"score": ["1", "2"], "label": [0, 1]}))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_table_that_fails_midway_leaves_nothing_even_later(tmp_path, ending, problem):
    """Threads of polars outlive the error; they must not make the temporary file again after it was removed."""
    part = pl.DataFrame({"score": np.linspace(0, 1, 1_000)})

    def rows(*_):
        yield from [part] * 3
        raise problem

    for number in range(20):
        with pytest.raises(problem):
            write_table(register_io_source(rows, schema=part.schema), tmp_path / f"{number}.{ending}")
    time.sleep(0.05)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_spreadsheet_runs_no_id_as_a_formula(tmp_path, ending):
    ids = ["=1+1", "+a", "-b", "@c", "a=b", "", None, "'x"]
    table, path = pl.DataFrame({"user_id": ids, "score": [-1.0] * 8}), tmp_path / f"lists{ending}"
    write_table(table, path, escape_formulas=True)
    with path.open(newline="") as opened:
        rows = list(csv.reader(opened, delimiter={".csv": ",", ".tsv": "\t"}[ending]))[1:]
    assert [row[0] for row in rows] == ["'=1+1", "'+a", "'-b", "'@c", "a=b", "", "", "'x"]
    assert {row[1] for row in rows} == {"-1.0"}
    write_table(table, path)
    assert scan_table(path).collect()["user_id"].to_list()[:4] == ids[:4]
