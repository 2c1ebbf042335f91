"""Ranks of held-out pairs, against a loop over users."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sureness.data.interactions import Interactions
from sureness.metrics.rank_comparison import held_out_ranks
from sureness.metrics.ranking import evaluate_ranking
from sureness.sources.base import MatrixSource


def world(seed, n_users=12, n_items=30):
    """Scores of both signs, a log, and pairs that are not in it; some users have none."""
    rng = np.random.default_rng(seed)
    known = rng.random((n_users, n_items))
    scores = rng.normal(size=known.shape).astype(np.float32)
    train, test = Interactions.from_matrix(known < 0.2), Interactions.from_matrix(known > 0.93)
    return MatrixSource(scores), scores, train, test


@given(st.integers(0, 99), st.sampled_from([-np.inf, 0.0]))
def test_a_rank_is_one_more_than_the_number_of_higher_scores(seed, seen_score):
    source, scores, train, test = world(seed)
    shown = scores.copy()
    shown[train.user_rows, train.item_rows] = seen_score
    pairs = zip(test.user_rows, test.item_rows, strict=True)
    expected = [1 + int((shown[user] > shown[user, item]).sum()) for user, item in pairs]
    assert_array_equal(held_out_ranks(source, test, seen=train, seen_score=seen_score), expected)


def test_a_user_with_one_test_item_is_hit_if_its_rank_is_within_the_list():
    source, _, train, test = world(1)
    one = test.keep(np.r_[True, np.diff(test.user_rows) > 0])
    hits = held_out_ranks(source, one, seen=train) <= 5
    assert 0 < hits.mean() < 1
    assert hits.mean() == pytest.approx(evaluate_ranking(source, one, seen=train, metrics=["hit@5"])["hit@5"])


def test_the_given_scores_do_not_change():
    source, scores, train, test = world(2)
    before = scores.copy()
    held_out_ranks(source, test, seen=train, seen_score=0.0)
    assert_array_equal(source.score_block(np.arange(12)), before)
