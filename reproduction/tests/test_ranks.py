"""Ranks of the same items by two models: exact, with shared ranks for ties, in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare, rankdata

from sureness.data import Interactions
from sureness.metrics import evaluate_ranking
from sureness.sources import MatrixSource
from sureness_reproduction.distillation import ranks
from sureness_reproduction.distillation.ranks import compare_ranks, drawn_items, held_out_ranks, known_to_other

SEEDS = st.integers(0, 10_000)


def case(seed, n_users=6, n_items=9):
    """Two score tables with many ties, a seen log and a disjoint, non-empty test."""
    rng = np.random.default_rng(seed)
    teacher, student = rng.integers(-2, 3, (2, n_users, n_items)).astype(float)
    kind = rng.random((n_users, n_items))
    kind[rng.integers(n_users), rng.integers(n_items)] = 0.9
    return teacher, student, Interactions.from_matrix(kind < 0.3), Interactions.from_matrix(kind > 0.7)


def ranks_by_hand(scores, seen, test):
    """User by user: rank the unseen items alone; equal scores share the mean of their ranks."""
    found = []
    for user in range(len(scores)):
        unseen = np.setdiff1d(np.arange(scores.shape[1]), seen.items_of(user))
        by_item = dict(zip(unseen, rankdata(-scores[user, unseen]), strict=True))
        found += [by_item[item] for item in test.items_of(user)]
    return np.array(found)


@given(SEEDS, st.integers(1, 60))
def test_ranks_equal_those_of_a_sort_with_mean_ranks_for_ties(seed, block):
    teacher, student, seen, test = case(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sureness.sources.blocks.BLOCK_SCORES", block)
        patch.setattr(ranks, "_BLOCK_PAIRS", block)
        found = compare_ranks(MatrixSource(teacher), MatrixSource(student), test, seen)
    assert_array_equal(found.table["teacher_rank"], ranks_by_hand(teacher, seen, test))
    assert_array_equal(found.table["student_rank"], ranks_by_hand(student, seen, test))
    assert_array_equal(found.table["user_id"], test.user_rows)
    assert_array_equal(found.table["item_id"], test.item_rows)


def test_independent_rankings_are_a_third_apart():
    rng = np.random.default_rng(0)
    kind = rng.random((300, 200))
    seen, test = Interactions.from_matrix(kind < 0.001), Interactions.from_matrix(kind > 0.9)
    one, other = (MatrixSource(rng.random((300, 200))) for _ in range(2))
    difference = compare_ranks(one, other, test, seen).difference
    assert np.abs(difference).mean() == pytest.approx(1 / 3, abs=0.01)
    assert not compare_ranks(one, one, test, seen).difference.any()


@given(SEEDS, st.sampled_from([-np.inf, 0.0]))
def test_a_rank_is_one_more_than_the_number_of_higher_scores(seed, seen_score):
    scores, _, seen, test = case(seed, n_users=12, n_items=30)
    shown = scores.copy()
    shown[seen.user_rows, seen.item_rows] = seen_score
    pairs = zip(test.user_rows, test.item_rows, strict=True)
    expected = [1 + int((shown[user] > shown[user, item]).sum()) for user, item in pairs]
    before = scores.copy()
    assert_array_equal(held_out_ranks(MatrixSource(scores), test, seen, seen_score), expected)
    assert_array_equal(scores, before)


def test_a_user_with_one_test_item_is_hit_if_its_rank_is_within_the_list():
    rng = np.random.default_rng(1)
    kind = rng.random((12, 30))
    source, seen, test = (
        MatrixSource(rng.normal(size=kind.shape)), Interactions.from_matrix(kind < 0.2),
        Interactions.from_matrix(kind > 0.8),
    )  # fmt: skip
    one = test.keep(np.r_[True, np.diff(test.user_rows) > 0])
    hits = held_out_ranks(source, one, seen) <= 5
    assert 0 < hits.mean() < 1
    assert hits.mean() == pytest.approx(evaluate_ranking(source, one, seen=seen, metrics=["hit@5"])["hit@5"])


def test_points_are_unseen_items_drawn_less_often_the_lower_their_rank():
    rng = np.random.default_rng(0)
    one, other = (MatrixSource(rng.normal(size=(50, 20))) for _ in range(2))
    seen = Interactions.from_matrix(np.arange(20) < 5 * np.ones((50, 1)))
    points = drawn_items(one, other, seen, 4_000, 0, scale=0.3)
    assert points.equals(drawn_items(one, other, seen, 4_000, 0, scale=0.3))
    for role in ranks.ROLES:
        own = points.filter(drawn_by=role)[f"{role}_rank"].to_numpy()
        expected = np.exp(-0.3 * np.arange(1, 16))
        assert chisquare(np.bincount(own, minlength=16)[1:], len(own) * expected / expected.sum()).pvalue > 1e-3
    high = points.filter(drawn_by="teacher")["student_rank"].to_numpy() <= 2
    assert_allclose(known_to_other(points, "teacher", 20), high.mean())
    assert np.isnan(known_to_other(points.clear(), "teacher", 20))
