from __future__ import annotations

import datetime as dt
import gzip

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from sureness.data.ids import IdMap, id_series
from sureness.data.interactions import Interactions, union
from sureness.errors import ColumnError, DataError, EmptyError, FileError, IdError, SurenessWarning
from sureness.tables.columns import Columns

IDS = st.one_of(st.integers(-5, 12), st.none())
NAMES = st.one_of(st.sampled_from(["ann", "Ann", "zoë", "日本", "0", "00", "a b", "🙂", "e\u0301", "é"]), st.none())
TIMES = st.one_of(st.integers(-3, 3), st.none())
RATINGS = st.one_of(st.sampled_from([1.0, 2.5, 5.0, float("nan"), float("inf")]), st.none())


def rows(ids):
    return st.lists(st.tuples(ids, ids, RATINGS, TIMES), min_size=1, max_size=25)


def reference(log):
    """The latest rating and time of each pair, slowly."""
    kept = {}
    for user, item, rating, time in log:
        if user is None or item is None:
            continue
        pair, age = (user, item), -np.inf if time is None else time
        if pair not in kept or age >= kept[pair][0]:
            kept[pair] = (age, np.nan if rating is None or not np.isfinite(rating) else rating)
    return {pair: kept[pair] for pair in sorted(kept, key=lambda p: tuple(map(ordered, p)))}


def ordered(value):
    return value.encode() if isinstance(value, str) else value


def columns(log, kind):
    users, items, ratings, times = zip(*log, strict=True)
    return {
        "users": pl.Series(users, dtype=kind), "items": pl.Series(items, dtype=kind),
        "ratings": pl.Series(ratings, dtype=pl.Float64), "times": pl.Series(times, dtype=pl.Int64),
    }  # fmt: skip


def check(log, kind):
    expected = reference(log)
    if not expected:
        with pytest.raises(EmptyError, match="interaction"):
            Interactions.of(**columns(log, kind))
        return
    found = Interactions.of(**columns(log, kind))
    pairs = list(zip(found.users.at(found.user_rows), found.items.at(found.item_rows), strict=True))
    assert pairs == list(expected)
    ages, ratings = zip(*expected.values(), strict=True)
    assert_array_equal(found.ratings, ratings)
    assert_array_equal(np.nan_to_num(found.times.astype(float), nan=-np.inf), ages)
    assert found.n_users == len({user for user, _ in expected})
    assert found.matrix.toarray().sum() == len(expected) == len(found)
    assert_array_equal(found.matrix.toarray().sum(axis=0), found.item_degree)
    for user in range(found.n_users):
        assert found.items.at(found.items_of(user)).to_list() == [i for u, i in expected if u == found.users.ids[user]]


@given(rows(IDS))
def test_whole_numbers_agree_with_a_dictionary(log):
    check(log, pl.Int64)


@given(rows(NAMES))
def test_names_agree_with_a_dictionary(log):
    check(log, pl.String)


@given(rows(IDS))
def test_every_row_is_a_pair_or_in_a_note(log):
    kept = [row for row in log if row[0] is not None and row[1] is not None]
    if not kept:
        return
    found = Interactions.of(**columns(log, pl.Int64))
    notes = " | ".join(found.notes)
    assert ("had no user or no item" in notes) == (len(kept) < len(log))
    assert ("repeated a pair" in notes) == (len(found) < len(kept))
    assert ("had no time" in notes) == any(row[3] is None for row in kept)
    assert ("had no rating" in notes) == any(row[2] is None or not np.isfinite(row[2]) for row in kept)


@given(rows(IDS), rows(IDS))
def test_another_log_gets_the_rows_of_the_first(log, other):
    first, second = (reference(each) for each in (log, other))
    if not first or not second:
        return
    train, test = (Interactions.of(**columns(each, pl.Int64)) for each in (log, other))
    aligned = test.aligned(train.users, train.items)
    again = Interactions.from_table(test.table(), users=train.users, items=train.items)
    known = [(u, i) for u, i in second if u in set(train.users.ids) and i in set(train.items.ids)]
    for found in (aligned, again):
        assert found.shape == train.shape
        assert [tuple(row) for row in found.table()["user_id", "item_id"].rows()] == known
        assert ("unknown" in " ".join(found.notes)) == (len(known) < len(second))


@given(rows(IDS), st.randoms(use_true_random=False))
def test_keep_and_compact_keep_pairs_and_drop_the_rest(log, random):
    if not reference(log):
        return
    found = Interactions.of(**columns(log, pl.Int64))
    mask = np.array([random.random() < 0.5 for _ in range(len(found))], dtype=bool)
    few = found.keep(mask)
    assert few.shape == found.shape
    small = few.compact()
    assert small.table().equals(found.table().filter(pl.Series(mask)))
    assert set(small.users.ids) == set(few.table()["user_id"])
    assert small.compact() is small
    assert small.aligned(found.users, found.items).table().equals(few.table())


@given(rows(IDS))
def test_parts_unite_to_the_whole(log):
    if not reference(log):
        return
    found = Interactions.of(**columns(log, pl.Int64))
    odd = np.arange(len(found)) % 2 == 1
    whole = union([found.keep(odd), found.keep(~odd), found.keep(odd)])
    assert whole.table().equals(found.table(), null_equal=True)


def test_arrays_cannot_be_written_to():
    log = Interactions.of([1, 2], [1, 2], ratings=[1, 2], times=[1, 2])
    for column in (
        log.user_rows,
        log.item_rows,
        log.ratings,
        log.times,
        log.user_degree,
        log.item_degree,
        log.row_starts,
    ):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 7


def test_the_arrays_of_the_caller_stay_writable():
    rows = np.array([0, 1])
    Interactions(IdMap.counting(2), IdMap.counting(2), rows, rows)
    rows[0] = 1


@pytest.mark.parametrize(
    "times",
    [
        ["1970-01-02", "1970-01-01", "1970-01-03"],
        ["1970-01-01T10:00:00", "1970-01-01 09:00:00", "1970-01-02"],
        ["1970-01-01T12:00:00+00:00", "1970-01-01T12:00:00+02:00", "1970-01-01T13:00:00.5Z"],
        ["10", "9", "11"],
        [10.5, 9, 1e12],
        [dt.date(2020, 1, 2), dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
        [dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 1, 9), dt.datetime(2020, 1, 1, 11)],
        np.array(["2020-01-02", "2020-01-01", "2020-01-03"], dtype="datetime64[D]"),
        np.array(["2020-01-02", "2020-01-01", "2020-01-03"], dtype="datetime64[ns]"),
    ],
    ids=str,
)
def test_times_of_any_kind_order_the_pairs(times):
    log = Interactions.of(["a", "a", "a"], [1, 2, 3], times=times)
    assert np.argsort(log.times).tolist() == [1, 0, 2]
    repeated = Interactions.of(["a", "a", "a"], [1, 1, 1], ratings=[1, 2, 3], times=times)
    assert repeated.ratings.tolist() == [3]
    assert "the latest one was kept" in repeated.notes[0]


def test_zones_are_taken_into_account():
    times = pl.Series(["2020-01-01T00:30:00+01:00"]).str.to_datetime().dt.convert_time_zone("Asia/Tokyo")
    expected = int(dt.datetime(2019, 12, 31, 23, 30, tzinfo=dt.UTC).timestamp() * 1e6)
    assert Interactions.of([1], [1], times=times).times.tolist() == [expected]
    assert Interactions.of([1], [1], times=["2020-01-01T00:30:00+01:00"]).times.tolist() == [expected]


@pytest.mark.parametrize("times", [["yesterday", "2020-01-01"], ["2020-13-01", "12"], ["01/02/20", "31/12/20"]])
def test_times_that_cannot_be_read_are_refused_with_an_example(times):
    with pytest.raises(ColumnError, match="times"):
        Interactions.of([1, 2], [1, 2], times=times)


@pytest.mark.parametrize("values", [[dt.timedelta(1), dt.timedelta(2)], [[1], [2]]])
def test_other_kinds_are_no_times(values):
    with pytest.raises(ColumnError, match="times"):
        Interactions.of([1, 2], [1, 2], times=values)


def test_ratings_as_text_are_read_where_they_are_numbers():
    assert Interactions.of([1, 2], [1, 2], ratings=["4", "3.5"]).ratings.tolist() == [4.0, 3.5]
    with pytest.raises(ColumnError, match="ratings"):
        Interactions.of([1, 2], [1, 2], ratings=["4", "good"])


def test_missing_times_are_the_oldest_and_said():
    log = Interactions.of([1, 1], [1, 1], ratings=[1, 2], times=[5.0, np.nan])
    assert log.ratings.tolist() == [1]
    assert log.notes[0] == "1 of 2 rows had no time and are taken as the oldest"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([1, 2], dtype=np.uint8), "whole"), ([1.0, 2.0], "whole"), (np.array(["a", "b"]), "text"),
        (np.array(["a", "b"], dtype=object), "text"), (pl.Series(["a", "b"], dtype=pl.Categorical), "text"),
        ((3, 4), "whole"), (range(2), "whole"), (np.array([2**63, 2**64 - 1], dtype=np.uint64), "whole"),
    ],
    ids=str,
)  # fmt: skip
def test_ids_of_every_kind_are_understood(values, kind):
    log = Interactions.of(values, [1, 2])
    assert (log.users.ids.dtype == pl.String) == (kind == "text")
    assert len(log) == 2


@pytest.mark.parametrize("values", [[1.5, 2.0], [True, False], [[1], [2]], [float("inf"), 1.0]])
def test_other_ids_are_refused(values):
    with pytest.raises(IdError, match="ids"):
        Interactions.of(values, [1, 2])


def test_ids_look_alike_only_if_they_are_alike():
    log = Interactions.of(["e\u0301", "é", "É", " é"], [1, 1, 1, 1])
    assert log.n_users == 4


def test_columns_must_have_one_length():
    with pytest.raises(DataError, match="columns"):
        Interactions.of([1, 2], [1, 2], ratings=[1])


def test_a_log_needs_users_and_items():
    with pytest.raises(ColumnError, match="item_id"):
        Interactions.from_table(pl.DataFrame({"user_id": [1], "score": [1]}))


def test_items_of_two_shops_are_told_apart_and_come_back():
    table = pl.DataFrame({"user_id": [1, 1, 2, 2], "item_id": [7, 7, 7, 8], "domain": ["toys", "books", "toys", None]})
    log = Interactions.from_table(table)
    assert log.items.ids.to_list() == ["books/7", "toys/7"]
    assert log.item_domain.to_list() == ["books", "toys"]
    assert log.notes == ("1 of 4 rows had no domain and were dropped",)
    again = Interactions.from_table(log.table())
    assert again.table().equals(log.table())
    small = log.keep(log.user_rows == 1).compact()
    assert small.item_domain.to_list() == ["toys"]
    assert small.aligned(log.users, log.items).item_domain.to_list() == [None, "toys"]


def test_features_follow_their_users_and_items():
    log = Interactions.of(["b", "a", "c"], [1, 2, 1]).with_features(
        users=pl.DataFrame({"user_id": ["c", "a", "x"], "age": [30, 10, 99]}),
        items=pl.DataFrame({"item_id": [2, 1], "title": ["two", "one"]}),
    )
    assert log.user_features["age"].to_list() == [10, None, 30]
    assert log.item_features["title"].to_list() == ["one", "two"]
    small = log.keep(log.user_rows == 2).compact()
    assert small.user_features.rows() == [("c", 30)]
    assert small.item_features.rows() == [(1, "one")]
    assert small.aligned(log.users, log.items).user_features["age"].to_list() == [None, None, 30]
    with pytest.raises(ColumnError, match="user_id"):
        log.with_features(users=pl.DataFrame({"age": [1]}))


def test_a_matrix_becomes_a_log():
    matrix = csr_matrix(([1.0, 2.0, 0.0, 3.0, -3.0], ([1, 0, 0, 1, 1], [0, 1, 0, 2, 2])), shape=(3, 3))
    log = Interactions.from_matrix(matrix)
    assert log.matrix.toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert matrix.nnz == 4  # the caller's matrix is left alone
    named = Interactions.from_matrix(matrix, users=IdMap.of(["x", "y", "z"]))
    assert named.table()["user_id"].to_list() == ["x", "y"]
    with pytest.raises(IdError, match="row"):
        Interactions.from_matrix(matrix, users=IdMap.of(["x", "y"]))


def test_nothing_left_is_still_a_log():
    log = Interactions.of([1, 2], [1, 2], times=[1, 2])
    none = log.keep(np.zeros(2, dtype=bool))
    assert len(none) == 0
    assert none.matrix.nnz == 0
    assert none.statistics()["users"] == 0
    assert none.compact().shape == (0, 0)
    assert union([none.compact()]).shape == (0, 0)
    assert none.table().height == 0


def test_statistics_count_only_what_has_pairs():
    log = Interactions.of([1, 1, 2, 3], [1, 2, 1, 3])
    few = log.keep(log.user_rows < 2)
    assert few.statistics() == {
        "users": 2, "items": 2, "interactions": 3, "density": 0.75, "median_per_user": 1.5, "median_per_item": 1.5,
    }  # fmt: skip


# --- id maps -------------------------------------------------------------------------------------------------------


def test_ids_of_another_kind_are_refused_with_both():
    with pytest.raises(IdError, match="known"):
        IdMap.of([1, 2]).rows(["a"])
    with pytest.raises(IdError, match="items"):
        IdMap.of([1, 2]).known_rows([1, 3], "items")
    with pytest.raises(IdError, match="ids"):
        IdMap.of([1, None])


def test_ids_that_do_not_fit_are_unknown():
    ids = IdMap.of(np.array([1, 200], dtype=np.uint8))
    assert ids.rows([-1, 200, 300, 1]).tolist() == [-1, 1, -1, 0]
    assert id_series([]).dtype == pl.Int64


# --- files ---------------------------------------------------------------------------------------------------------


def test_a_file_is_read_with_its_own_column_names(tmp_path):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress("who,what,when\nzoë,007,2020-01-02\nzoë,7,2020-01-01T10:00:00\n,7,\n".encode()))
    log = Interactions.read(path, Columns(user_id="who", item_id="what", time="when"))
    assert log.items.ids.to_list() == ["007", "7"]
    assert log.times[0] > log.times[1]
    assert log.notes == ("1 of 3 rows had no user or no item and were dropped",)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_files_of_every_kind_give_the_same_log(tmp_path, ending):
    log = Interactions.of(["b", "a", "b"], [1, 2, 3], ratings=[1.0, 2.0, 3.0], times=[3, 1, 2])
    path = tmp_path / f"log{ending}"
    table = log.table()
    {".csv": table.write_csv, ".tsv": lambda p: table.write_csv(p, separator="\t"), ".parquet": table.write_parquet}[
        ending
    ](path)
    again = Interactions.read(path)
    assert again.table().with_columns(pl.col("time").cast(int)).equals(table)


@pytest.mark.parametrize(
    ("text", "error", "word"),
    [
        ("user_id,score\n1,2\n", DataError, "item_id"),
        ("user_id,item_id\n", DataError, "interaction"),
        ("user_id,item_id\n,1\n", DataError, "log"),
        ("user_id,item_id,time\n1,1,soon\n", DataError, "log"),
        ("user_id,item_id,rating\n1,1,good\n", FileError, "line 2"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, error, word):
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(error, match=word):
        Interactions.read(path)


def test_a_column_without_a_single_value_is_no_reason_to_fail(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user_id,item_id,time,rating\n1,1,,\n2,2,,\n")
    log = Interactions.read(path)
    assert np.isnan(log.times).all()
    assert np.isnan(log.ratings).all()
    assert len(log.notes) == 2


def test_dates_in_parquet_are_times(tmp_path):
    days = [dt.date(2020, 1, 2), dt.date(2020, 1, 1)]
    pl.DataFrame({"user_id": [1, 1], "item_id": [1, 2], "time": days}).write_parquet(tmp_path / "log.parquet")
    assert np.diff(Interactions.read(tmp_path / "log.parquet").times).tolist() == [-86_400_000_000]


def test_one_name_is_one_id():
    """polars takes a lone text for the name of an empty series."""
    assert IdMap.of(["ann", "bob"]).rows("bob").tolist() == [1]


def test_among_strange_times_the_strange_one_is_shown():
    with pytest.raises(ColumnError, match="others?"):
        Interactions.of([1, 2, 3], [1, 2, 3], times=["4", "5", "yesterday"])
    with pytest.raises(ColumnError, match="numbers"):
        Interactions.of([1, 2], [1, 2], times=["4", "2024-05-31"])


@pytest.mark.parametrize("convert", [lambda values: values, csr_matrix, lambda values: values.astype(np.float32)])
def test_a_missing_entry_of_a_matrix_is_not_a_pair(convert):
    log = Interactions.from_matrix(convert(np.array([[5.0, np.nan, 0.0], [np.nan, 0.0, 3.0], [np.nan, 1.0, 0.0]])))
    assert log.table().rows() == [(0, 0), (1, 2), (2, 1)]
    assert len(log.notes) == 1
    assert log.notes[0].startswith("3 of ")


def test_ids_of_rows_keep_the_order_in_which_they_are_given():
    log = Interactions.from_matrix([[1, 0], [0, 1]], users=["zoe", "ann"], items=[7, 3])
    assert log.table().rows() == [("zoe", 7), ("ann", 3)]


# --- names of columns that other libraries use ------------------------------------------------------------------------

OTHER_NAMES = {
    "LensKit, older": ["user", "item", "rating", "timestamp"],
    "RecTools": ["user_id", "item_id", "rating", "datetime"],
    "MovieLens": ["userId", "movieId", "rating", "timestamp"],
    "Surprise": ["userID", "itemID", "rating", "timestamp"],
    "a warehouse": ["USER_ID", "ITEM_ID", "RATING", "TIME"],
    "Surprise, predictions": ["uid", "iid", "r_ui", "timestamp"],
}


@pytest.mark.parametrize("names", OTHER_NAMES.values(), ids=OTHER_NAMES)
@pytest.mark.parametrize("in_file", [False, True])
def test_the_names_of_other_libraries_are_recognised_and_reported(names, in_file, tmp_path):
    given = pl.DataFrame([[7, 8], [1, 2], [4.5, 3.0], [10, 20]], schema=names)
    if in_file:
        given.write_csv(tmp_path / "log.csv")
    with pytest.warns(SurenessWarning, match=f"'{names[-1]}' as time"):
        log = Interactions.from_table(tmp_path / "log.csv" if in_file else given)
    assert log.table().rows() == [(7, 1, 4.5, 10), (8, 2, 3.0, 20)]


def test_an_agreed_name_comes_before_one_of_another_library():
    table = pl.DataFrame({"user_id": [1], "user": [2], "item_id": [3]})
    assert Interactions.from_table(table).table().rows() == [(1, 3)]
    with pytest.raises(ColumnError, match="user_id"):
        Interactions.from_table(pl.DataFrame({"user": [1], "uid": [2], "item_id": [3]}))


def test_columns_may_be_given_by_position():
    table = pl.DataFrame({"who": [1], "item_id": [3]})
    assert Interactions.from_table(table, Columns(user_id="who")).table().rows() == [(1, 3)]
