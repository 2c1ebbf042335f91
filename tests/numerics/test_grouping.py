"""Groups of pairs against dictionaries and sorted lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sureness.errors import SettingError
from sureness.numerics.grouping import fold_of_groups, group_codes, ranks_within, top_n

printable = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4)
few_ids = st.one_of(
    st.lists(st.integers(-3, 3), min_size=1, max_size=40),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20),
    st.lists(
        st.sampled_from(["ann", "Ann", "bob", "ünal", "雪", "🙂", "e\u0301", "\u00e9", ""]), min_size=1, max_size=40
    ),
    st.lists(printable, min_size=1, max_size=20),
)
tied_scores = st.one_of(st.floats(-1e300, 1e300), st.sampled_from([0.0, -0.0, 1.0]))


def slow_codes(ids):
    seen = {}
    return [seen.setdefault(value, len(seen)) for value in ids], len(seen)


def slow_ranks(users, scores):
    ranks = [0] * len(users)
    for user in set(users):
        mine = [place for place, other in enumerate(users) if other == user]
        for rank, place in enumerate(sorted(mine, key=lambda place: -scores[place]), start=1):
            ranks[place] = rank
    return ranks


@st.composite
def users_and_scores(draw):
    users = draw(few_ids)
    return users, draw(st.lists(tied_scores, min_size=len(users), max_size=len(users)))


@given(few_ids)
def test_codes_number_the_ids_in_order_of_first_appearance(ids):
    codes, n_groups = group_codes(np.array(ids))
    expected, n_expected = slow_codes(ids)
    assert_array_equal(codes, expected)
    assert n_groups == n_expected


@given(few_ids)
def test_codes_do_not_depend_on_how_ids_are_stored(ids):
    assert_array_equal(group_codes(np.array(ids, dtype=object))[0], group_codes(np.array(ids))[0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, bool, "datetime64[D]", "S1"])
def test_ids_of_any_type_are_numbered(dtype):
    ids = np.array([1, 0, 1, 1, 0]).astype(dtype)
    codes, n_groups = group_codes(ids)
    assert_array_equal(codes, [0, 1, 0, 0, 1])
    assert n_groups == 2


def test_no_ids_are_no_groups():
    codes, n_groups = group_codes(np.empty(0, dtype=np.int64))
    assert (len(codes), n_groups) == (0, 0)


def test_a_number_and_its_text_are_different_ids():
    codes, n_groups = group_codes(np.array([1, "1", 1], dtype=object))
    assert_array_equal(codes, [0, 1, 0])
    assert n_groups == 2


@given(users_and_scores())
def test_ranks_agree_with_sorting_each_user(drawn):
    users, scores = drawn
    assert_array_equal(ranks_within(np.array(users), np.array(scores)), slow_ranks(users, scores))


@given(users_and_scores(), st.integers(1, 5))
def test_the_top_n_are_the_first_n_of_each_user(drawn, n):
    users, scores = drawn
    assert_array_equal(top_n(np.array(users), np.array(scores), n), np.array(slow_ranks(users, scores)) <= n)


def test_float32_scores_rank_like_the_same_numbers_in_float64():
    scores = np.random.default_rng(0).normal(size=500).astype(np.float32)
    users = np.random.default_rng(1).integers(0, 9, 500)
    assert_array_equal(ranks_within(users, scores), ranks_within(users, scores.astype(np.float64)))


@given(few_ids, st.integers(2, 5), st.integers(0, 99))
def test_all_pairs_of_a_user_fall_into_one_fold_and_folds_are_equally_full(ids, n_folds, seed):
    if len(set(ids)) < n_folds:
        with pytest.raises(SettingError, match="folds"):
            fold_of_groups(ids, len(ids), n_folds, np.random.default_rng(seed))
        return
    folds = fold_of_groups(ids, len(ids), n_folds, np.random.default_rng(seed))
    fold_of = dict(zip(ids, folds.tolist(), strict=True))
    assert [fold_of[value] for value in ids] == folds.tolist()
    sizes = np.bincount(list(fold_of.values()), minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1


@given(st.integers(5, 60), st.integers(2, 5), st.integers(0, 99))
def test_pairs_without_users_are_spread_evenly(n_pairs, n_folds, seed):
    folds = fold_of_groups(None, n_pairs, n_folds, np.random.default_rng(seed))
    sizes = np.bincount(folds, minlength=n_folds)
    assert len(folds) == n_pairs
    assert sizes.max() - sizes.min() <= 1


def test_folds_follow_the_generator():
    first, again, other = (fold_of_groups(None, 50, 5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert (first != other).any()


def test_fewer_pairs_than_folds_are_refused():
    with pytest.raises(SettingError, match="folds"):
        fold_of_groups(None, 3, 5, np.random.default_rng(0))


@pytest.mark.parametrize("n", [0, -1])
def test_an_empty_top_is_refused(n):
    with pytest.raises(SettingError, match="n must"):
        top_n(np.array([1]), np.array([1.0]), n)
