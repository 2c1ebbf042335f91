"""Any source, aligned with the users and items of a log by id."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError, IdError
from sureness.sources.base import FactorSource, MatrixSource, PartialSource
from sureness.sources.blocks import block_scores
from sureness.sources.candidates import CandidateSource
from sureness.sources.function import AlignedSource
from tests.distillation.worlds import fitted, log_of, parts

UNKNOWN = -np.inf


def log_with(users, items):
    """A log of these ids; the pairs do not matter here."""
    return Interactions.of([*users, *[users[0]] * len(items)], [items[0]] * len(users) + list(items))


def by_hand(source, users, items, log):
    """Score of each pair of the log's ids, -inf where the source lacks one of them."""
    whole = source.score_block(np.arange(source.n_users))
    rows, columns = ({name: place for place, name in enumerate(ids)} for ids in (users, items))
    scores = np.full(log.shape, UNKNOWN, dtype=np.float32)
    for place, user in enumerate(log.users.ids.to_list()):
        for column, item in enumerate(log.items.ids.to_list()):
            if user in rows and item in columns:
                scores[place, column] = whole[rows[user], columns[item]]
    return scores


IDS = st.sets(st.integers(0, 12), min_size=1, max_size=8).map(sorted)


@settings(max_examples=40)
@given(IDS, IDS, IDS, IDS, st.integers(0, 9))
def test_scores_are_matched_by_id_and_unknown_pairs_have_none(users, items, known_users, known_items, seed):
    matrix = np.random.default_rng(seed).normal(size=(len(known_users), len(known_items))).astype(np.float32)
    source = MatrixSource(matrix, users=IdMap.of(known_users), items=IdMap.of(known_items))
    log = log_with(users, items)
    if not (set(users) & set(known_users) and set(items) & set(known_items)):
        with pytest.raises(IdError, match="training log"):
            AlignedSource.of(source, log)
        return
    aligned = AlignedSource.of(source, log)
    expected = by_hand(source, known_users, known_items, log)
    assert (aligned.n_users, aligned.n_items) == log.shape
    assert_array_equal(aligned.score_block(np.arange(log.n_users)), expected)
    order = np.random.default_rng(seed).integers(0, log.n_users, 5)
    assert_array_equal(aligned.score_block(order), expected[order])
    pairs = np.random.default_rng(seed).integers(0, log.n_items, (5, 3))
    found = aligned.pair_scores(order, pairs)
    assert found.dtype == np.float32
    assert_array_equal(found, np.where(np.isneginf(expected), 0, expected)[order[:, None], pairs])


def test_text_ids_are_matched():
    source = MatrixSource(
        np.array([[1.0, 2.0], [3.0, 4.0]]), users=IdMap.of(["ann", "bob"]), items=IdMap.of(["x", "z"])
    )
    aligned = AlignedSource.of(source, Interactions.of(["bob", "cid", "bob"], ["x", "y", "z"]))
    assert aligned.score_block(np.array([0, 1])).tolist() == [[3.0, UNKNOWN, 4.0], [UNKNOWN] * 3]


def test_ids_of_another_kind_are_refused():
    source = MatrixSource(np.ones((2, 2)), users=IdMap.of(["0", "1"]))
    with pytest.raises(DataError, match="ids"):
        AlignedSource.of(source, log_with([0, 1], [0, 1]))


def test_it_is_a_partial_source_that_is_read_in_blocks(monkeypatch):
    monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 90)
    log = log_of(20, 30)
    matrix = np.random.default_rng(0).normal(size=(15, 25)).astype(np.float32)
    aligned = AlignedSource.of(MatrixSource(matrix), log)
    assert isinstance(aligned, PartialSource)
    whole = np.concatenate([scores for _, scores in block_scores(aligned, np.arange(20))])
    assert_array_equal(whole[:15, :25], matrix)
    assert np.isneginf(whole[15:]).all()
    assert np.isneginf(whole[:, 25:]).all()
    known = aligned.known_block(np.array([14, 15]))
    assert np.diff(known.starts).tolist() == [25, 0]


def test_a_candidate_table_has_scores_for_its_candidates_only():
    source = CandidateSource.of([0, 0, 1], [0, 2, 1], [2.0, 1.0, 5.0])
    scores = AlignedSource.of(source, log_with([0, 1, 2], [0, 1, 2])).score_block(np.arange(3))
    assert scores.tolist() == [[2.0, UNKNOWN, 1.0], [UNKNOWN, 5.0, UNKNOWN], [UNKNOWN] * 3]


def test_scores_of_pairs_are_looked_up_in_blocks():
    """400,000 items make blocks of ten users; users are repeated and in any order."""
    rng = np.random.default_rng(0)
    n_items = 400_000
    source = FactorSource(rng.normal(size=(25, 1)).astype(np.float32), rng.normal(size=(n_items, 1)).astype(np.float32))
    log = Interactions(IdMap.counting(25), IdMap.counting(n_items), np.array([0]), np.array([0]))
    users, items = rng.integers(0, 25, 60), rng.integers(0, n_items, (60, 2))
    expected = source.user_factors[users] * source.item_factors[items, 0]
    assert_array_equal(AlignedSource.of(source, log).pair_scores(users, items), expected)


def test_a_recommender_with_the_ids_of_the_log_keeps_its_scores():
    train = parts()[0]
    recommender = fitted()
    rows = np.array([5, 3, 3])
    assert_array_equal(AlignedSource.of(recommender, train).score_block(rows), recommender.score_block(rows))


def test_missing_items_get_a_finite_score():
    found = AlignedSource.of(MatrixSource(np.ones((2, 2))), log_with([0, 1], [0, 1])).pair_scores(
        np.array([0]), np.array([[-1, 1]])
    )
    assert np.isfinite(found).all()
