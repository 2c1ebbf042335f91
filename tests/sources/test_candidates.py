"""A table of the best items says what it knows, and no more."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import sureness as sn
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import EmptyError
from sureness.sources import PartialFunctionSource
from sureness.sources.base import KnownScores, PartialSource
from sureness.sources.blocks import score_pairs, user_blocks
from sureness.tables.columns import Columns

TABLE = pl.DataFrame(
    {
        "user_id": ["zoë", "ann", "ann", "zoë", "ann"],
        "item_id": [40, 7, 3, 3, 9],
        "score": [2.5, -1.0, 4.0, 1.0, 0.5],
    }
)


@pytest.fixture
def source():
    return sn.CandidateSource.from_table(TABLE)


triples = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 9), st.floats(-1e6, 1e6, width=32)), min_size=1, max_size=40
)


@given(triples)
def test_known_scores_are_those_of_the_table_and_all_others_rank_behind(rows):
    table = {(user, item): score for user, item, score in rows}  # the last one of a pair
    source = sn.CandidateSource.of(*zip(*rows, strict=True))
    assert isinstance(source, PartialSource)
    everyone = np.arange(source.n_users)
    block, known = source.score_block(everyone), source.known_block(everyone)
    assert block.dtype == np.float32
    assert np.isfinite(block).all()
    pairs = zip(source.users.at(known.rows), source.items.at(known.items), strict=True)
    assert dict(zip(pairs, known.scores.tolist(), strict=True)) == table
    mask = np.zeros(block.shape, dtype=bool)
    mask[known.rows, known.items] = True
    assert_array_equal(block[mask], known.scores)
    for row in everyone:
        assert (block[row][~mask[row]] < block[row][mask[row]].min()).all()
    assert_array_equal(source.score_block(everyone[::-1]), block[::-1])


def test_the_table_comes_out_again_the_best_first(source):
    assert source.table().to_dict(as_series=False) == {
        "user_id": ["ann", "ann", "ann", "zoë", "zoë"],
        "item_id": [3, 9, 7, 40, 3],
        "score": [4.0, 0.5, -1.0, 2.5, 1.0],
    }


def test_users_without_candidates_score_zero_throughout():
    source = sn.CandidateSource.from_table(TABLE, users=IdMap.of(["ann", "bob", "zoë"]))
    assert (source.score_block(np.array([1])) == 0).all()
    assert len(source.known_block(np.array([1, 1])).scores) == 0
    assert source.known_block(np.array([2, 1, 0])).rows.tolist() == [0, 0, 2, 2, 2]
    assert source.score_block(np.empty(0, dtype=int)).shape == (0, 4)


def test_the_place_behind_the_last_is_a_number_of_ordinary_size():
    floor = KnownScores(np.array([0, 1]), np.array([0]), np.zeros(1, dtype=np.float32)).dense(2)[0, 1]
    assert floor < 0
    assert abs(floor) >= np.finfo(np.float32).tiny


def test_rows_that_cannot_be_used_are_dropped_and_told():
    lowest = float(np.finfo(np.float32).min)
    table = pl.DataFrame(
        {
            "user_id": ["a", "a", "a", "a", None, "b", "b"],
            "item_id": [1, 2, 3, 4, 1, 1, 1],
            "score": [1.0, float("nan"), lowest, float("inf"), 1.0, 2.0, 3.0],
        }
    )
    source = sn.CandidateSource.from_table(table)
    assert source.table()["score"].to_list() == [1.0, 3.0]
    assert source.notes == (
        "1 of 7 rows had no user or item and were dropped",
        "3 of 6 rows had no finite score and were dropped",
        "1 of 3 rows repeated a pair; the last one was kept",
    )
    with pytest.raises(EmptyError, match="candidate"):
        sn.CandidateSource.of(["a"], [1], [float("nan")])


def test_ids_that_are_not_asked_for_are_dropped_and_told():
    source = sn.CandidateSource.from_table(TABLE, items=IdMap.of([3, 5, 7, 9]))
    assert source.n_items == 4
    assert source.notes == ("1 of 5 rows had an unknown user or item and were dropped",)


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (TABLE.drop("score"), "user_id"),
        (TABLE.with_columns(score=pl.lit("high")), "column"),
        (TABLE.head(0), "candidate"),
    ],
)
def test_tables_that_are_no_candidates_are_refused(table, word):
    with pytest.raises(sn.errors.DataError, match=word):
        sn.CandidateSource.from_table(table)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(sn.errors.DataError, match="score"):
        sn.CandidateSource.of([1, 2], [1, 2], [0.5])


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv"])
def test_files_are_read_with_other_column_names(tmp_path, source, ending):
    path = tmp_path / f"best.{ending}"
    table = TABLE.rename({"user_id": "customer"})
    if ending == "parquet":
        table.write_parquet(path)
    else:
        table.write_csv(path, separator="\t" if ending == "tsv" else ",")
    found = sn.CandidateSource.read(path, Columns(user_id="customer"))
    assert found.table().equals(source.table())
    with pytest.raises(sn.errors.DataError, match="user_id"):
        sn.CandidateSource.read(path)


def test_only_known_pairs_are_calibrated_on(source):
    held_out, train = Interactions.of(["zoë", "ann", "ann"], [40, 7, 40]), Interactions.of(["ann"], [3])
    pairs = sn.CalibrationSet.from_source(source, held_out, seen=train).gather()
    found = {
        (user, item): (score, label)
        for user, item, score, label in zip(pairs.users, pairs.items, pairs.scores.tolist(), pairs.labels, strict=True)
    }
    assert found == {
        ("ann", 7): (-1.0, True),
        ("ann", 9): (0.5, False),
        ("zoë", 3): (1.0, False),
        ("zoë", 40): (2.5, True),
    }


def test_the_rate_of_sampled_negatives_counts_known_pairs_only(source):
    data = sn.CalibrationSet.from_sampled_negatives(
        source, Interactions.of(["zoë"], [40]), seen=Interactions.of(["ann"], [3]), negatives_per_positive=1
    )
    assert data.sampling_rate == pytest.approx(1 / 3)  # ann's 7 and 9 and zoë's 3


def test_a_calibrator_learns_the_same_from_the_table_as_from_the_pairs():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 50)).astype(np.float32)
    labels = rng.random(scores.shape) < 1 / (1 + np.exp(2 - scores))
    best = np.argsort(-scores, axis=1)[:, :10]
    users = np.repeat(np.arange(200), 10)
    source = sn.CandidateSource.of(users, best.ravel(), scores[users, best.ravel()])
    rows, columns = np.nonzero(labels)
    everything = Interactions.of(rows, columns).aligned(source.users, source.items)
    fitted = sn.PlattCalibrator().fit(sn.CalibrationSet.from_source(source, everything))
    plain = sn.PlattCalibrator().fit(scores[users, best.ravel()], labels[users, best.ravel()])
    assert_allclose(fitted.probability([0.0, 1.0, 2.0]), plain.probability([0.0, 1.0, 2.0]), rtol=1e-6)


def test_blocks_hold_as_many_users_as_their_known_scores_allow():
    source = sn.CandidateSource.of(np.arange(1_000), np.arange(1_000), np.zeros(1_000))
    assert len(list(user_blocks(source, n_scores=500))) == 2
    assert len(list(user_blocks(sn.MatrixSource(np.zeros((1_000, 1_000))), n_scores=5_000))) == 200


def test_pairs_outside_the_table_have_no_score(source):
    table = pl.DataFrame({"user_id": ["ann", "ann", "zoë"], "item_id": [40, 3, 3]})
    assert score_pairs(source, table)["score"].to_list() == [None, 4.0, 1.0]


def test_functions_may_leave_gaps():
    def function(users):
        return np.array([[1.0, np.nan, 3.0], [np.nan, -np.inf, np.nan]])[users]

    source = PartialFunctionSource(function, n_users=2, n_items=3)
    assert isinstance(source, PartialSource)
    assert source.known_block(np.array([0, 1])).starts.tolist() == [0, 2, 2]
    assert source.score_block(np.array([0]))[0, 1] == np.float32(0.99999994)
    assert not isinstance(sn.sources.FunctionSource(function, n_users=2, n_items=3), PartialSource)


def test_a_function_of_the_wrong_width_is_named():
    source = sn.sources.FunctionSource(lambda users: np.zeros((len(users), 3)), n_users=2, n_items=4)
    with pytest.raises(sn.errors.DataError, match="row"):
        source.score_block(np.array([0, 1]))
