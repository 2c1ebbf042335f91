"""Any source seen through the ids of a log."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.distillation.foreign import ForeignSource
from sureness.errors import DataError
from sureness.evaluation import ranking
from sureness.evaluation.ranking import block_scores
from sureness.sources.base import FactorSource, MatrixSource, PartialSource
from sureness.sources.candidates import CandidateSource
from tests.distillation.worlds import fitted, log_of, parts

NOBODY = -np.inf


def log_with(users, items):
    """A log of these ids; who saw what does not matter here."""
    return Interactions.of([*users, *[users[0]] * len(items)], [items[0]] * len(users) + list(items))


def by_hand(source, users, items, log):
    """Score of each pair of the log's ids, -inf where the source lacks one of them."""
    whole = source.score_block(np.arange(source.n_users))
    rows, columns = ({name: place for place, name in enumerate(ids)} for ids in (users, items))
    scores = np.full(log.shape, NOBODY, dtype=np.float32)
    for place, user in enumerate(log.users.ids.to_list()):
        for column, item in enumerate(log.items.ids.to_list()):
            if user in rows and item in columns:
                scores[place, column] = whole[rows[user], columns[item]]
    return scores


IDS = st.sets(st.integers(0, 12), min_size=1, max_size=8).map(sorted)


@settings(max_examples=40)
@given(IDS, IDS, IDS, IDS, st.integers(0, 9))
def test_scores_are_found_by_id_and_what_is_unknown_is_left_out(users, items, known_users, known_items, seed):
    matrix = np.random.default_rng(seed).normal(size=(len(known_users), len(known_items))).astype(np.float32)
    source = MatrixSource(matrix, users=IdMap.of(known_users), items=IdMap.of(known_items))
    log = log_with(users, items)
    if not (set(users) & set(known_users) and set(items) & set(known_items)):
        with pytest.raises(DataError, match="the fixed model knows no user or no item of the training log"):
            ForeignSource.of(source, log)
        return
    seen_through = ForeignSource.of(source, log)
    expected = by_hand(source, known_users, known_items, log)
    assert (seen_through.n_users, seen_through.n_items) == log.shape
    assert_array_equal(seen_through.score_block(np.arange(log.n_users)), expected)
    order = np.random.default_rng(seed).integers(0, log.n_users, 5)
    assert_array_equal(seen_through.score_block(order), expected[order])
    pairs = np.random.default_rng(seed).integers(0, log.n_items, (5, 3))
    said = seen_through.opinions(order, pairs)
    assert said.dtype == np.float32
    assert_array_equal(said, np.where(np.isneginf(expected), 0, expected)[order[:, None], pairs])


def test_names_are_matched_too():
    source = MatrixSource(
        np.array([[1.0, 2.0], [3.0, 4.0]]), users=IdMap.of(["ann", "bob"]), items=IdMap.of(["x", "z"])
    )
    seen_through = ForeignSource.of(source, Interactions.of(["bob", "cid", "bob"], ["x", "y", "z"]))
    assert seen_through.score_block(np.array([0, 1])).tolist() == [[3.0, NOBODY, 4.0], [NOBODY] * 3]


def test_ids_of_another_kind_are_refused_with_a_sentence():
    source = MatrixSource(np.ones((2, 2)), users=IdMap.of(["0", "1"]))
    with pytest.raises(DataError, match="ids must be of the kind that is known, text such as '0'"):
        ForeignSource.of(source, log_with([0, 1], [0, 1]))


def test_it_is_read_in_blocks_as_a_source_that_knows_some_pairs(monkeypatch):
    monkeypatch.setattr(ranking, "BLOCK_SCORES", 90)
    log = log_of(20, 30)
    matrix = np.random.default_rng(0).normal(size=(15, 25)).astype(np.float32)
    seen_through = ForeignSource.of(MatrixSource(matrix), log)
    assert isinstance(seen_through, PartialSource)
    whole = np.concatenate([scores for _, scores in block_scores(seen_through, np.arange(20))])
    assert_array_equal(whole[:15, :25], matrix)
    assert np.isneginf(whole[15:]).all()
    assert np.isneginf(whole[:, 25:]).all()
    known = seen_through.known_block(np.array([14, 15]))
    assert np.diff(known.starts).tolist() == [25, 0]


def test_a_table_of_candidates_is_known_only_where_it_says_something():
    source = CandidateSource.of([0, 0, 1], [0, 2, 1], [2.0, 1.0, 5.0])
    scores = ForeignSource.of(source, log_with([0, 1, 2], [0, 1, 2])).score_block(np.arange(3))
    assert scores.tolist() == [[2.0, NOBODY, 1.0], [NOBODY, 5.0, NOBODY], [NOBODY] * 3]


def test_opinions_about_many_items_are_asked_for_in_blocks():
    """With so many items ten users are a block; users come repeated and in any order."""
    rng = np.random.default_rng(0)
    n_items = 400_000
    source = FactorSource(rng.normal(size=(25, 1)).astype(np.float32), rng.normal(size=(n_items, 1)).astype(np.float32))
    log = Interactions(IdMap.counting(25), IdMap.counting(n_items), np.array([0]), np.array([0]))
    users, items = rng.integers(0, 25, 60), rng.integers(0, n_items, (60, 2))
    expected = source.user_factors[users] * source.item_factors[items, 0]
    assert_array_equal(ForeignSource.of(source, log).opinions(users, items), expected)


def test_a_fitted_recommender_of_the_same_ids_says_what_it_says():
    train = parts()[0]
    recommender = fitted()
    rows = np.array([5, 3, 3])
    assert_array_equal(ForeignSource.of(recommender, train).score_block(rows), recommender.score_block(rows))


def test_items_that_are_not_there_get_a_number():
    said = ForeignSource.of(MatrixSource(np.ones((2, 2))), log_with([0, 1], [0, 1])).opinions(
        np.array([0]), np.array([[-1, 1]])
    )
    assert np.isfinite(said).all()
