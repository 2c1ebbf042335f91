"""Ranks of the same items by two models: exact, with shared ranks for ties, in blocks, matched by id."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare, rankdata

import sureness as sn
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions
from sureness.errors import DataError, EmptyError, IdError, SettingError
from sureness.metrics import rank_comparison
from sureness.metrics.inference import inference_table, n_parameters
from sureness.metrics.rank_comparison import RankComparison, RankScatter, compare_ranks, rank_scatter
from sureness.sources.base import FactorSource, MatrixSource

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
        unseen = np.setdiff1d(np.arange(scores.shape[1]), [] if seen is None else seen.items_of(user))
        by_item = dict(zip(unseen, rankdata(-scores[user, unseen]), strict=True))
        found += [by_item[item] for item in test.items_of(user)]
    return np.array(found)


# --- test interactions ---------------------------------------------------------------------------------------------


@given(SEEDS, st.booleans(), st.integers(1, 60))
def test_ranks_equal_those_of_a_sort_with_mean_ranks_for_ties(seed, hide, block):
    teacher, student, seen, test = case(seed)
    seen = seen if hide else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sureness.sources.blocks.BLOCK_SCORES", block)
        patch.setattr(rank_comparison, "_BLOCK_PAIRS", block)
        found = compare_ranks(MatrixSource(teacher), MatrixSource(student), test, seen=seen)
    assert_array_equal(found.teacher, ranks_by_hand(teacher, seen, test))
    assert_array_equal(found.student, ranks_by_hand(student, seen, test))
    assert_array_equal(found.ranks["user_id"], test.user_rows)
    assert_array_equal(found.ranks["item_id"], test.item_rows)
    assert (found.n_items, found.n_left_out) == (9, 0)


@given(SEEDS)
@settings(max_examples=20)
def test_shares_add_up_and_swap_when_the_models_are_swapped(seed):
    teacher, student, seen, test = case(seed)
    one = compare_ranks(MatrixSource(teacher), MatrixSource(student), test, seen=seen)
    other = compare_ranks(MatrixSource(student), MatrixSource(teacher), test, seen=seen)
    assert_array_equal(one.difference, -other.difference)
    assert one.average_difference == other.average_difference
    assert_allclose(one.student_better + one.equal + other.student_better, 1.0)


def test_the_average_difference_is_that_of_the_dissertation():
    rng = np.random.default_rng(0)
    n, m = 50, 40
    teacher, student = rng.normal(size=(2, n, m))
    items = rng.integers(0, m, n)
    test = Interactions.of(np.arange(n), items).aligned(IdMap.counting(n), IdMap.counting(m))
    found = compare_ranks(MatrixSource(teacher), MatrixSource(student), test)
    by_hand = [1 + np.sum(s[np.arange(n)] > s[np.arange(n), items][:, None], axis=1) for s in (teacher, student)]
    assert_allclose(found.average_difference, np.abs(by_hand[0] - by_hand[1]).sum() / (n * m))
    assert_allclose(found.student_better, np.mean(by_hand[1] < by_hand[0]))


def test_independent_rankings_are_a_third_apart():
    rng = np.random.default_rng(1)
    teacher, student = rng.normal(size=(2, 400, 300))
    test = Interactions.from_matrix(rng.random((400, 300)) < 0.05)
    found = compare_ranks(MatrixSource(teacher), MatrixSource(student), test)
    assert abs(found.average_difference - 1 / 3) < 0.01
    assert abs(found.student_better - 0.5) < 0.03


def test_a_model_compared_with_itself_is_equal_everywhere():
    teacher, _, seen, test = case(3)
    found = compare_ranks(MatrixSource(teacher), MatrixSource(teacher), test, seen=seen)
    assert (found.student_better, found.equal, found.average_difference) == (0.0, 1.0, 0.0)


def test_a_model_with_equal_scores_gives_the_middle_rank():
    test = Interactions.from_matrix(np.eye(5, 9))
    rising = MatrixSource(np.tile(np.arange(9.0), (5, 1)))
    found = compare_ranks(rising, MatrixSource(np.zeros((5, 9))), test)
    assert_array_equal(found.student, np.full(5, 5.0))
    assert_array_equal(found.teacher, 9.0 - np.arange(5))


def test_seen_interactions_are_left_out_and_counted():
    teacher, student, _, test = case(4)
    seen = test.keep(np.arange(len(test)) < 2)
    found = compare_ranks(MatrixSource(teacher), MatrixSource(student), test, seen=seen)
    assert found.n_left_out == 2
    rest = test.keep(np.arange(len(test)) >= 2)
    assert_array_equal(found.teacher, ranks_by_hand(teacher, seen, rest))
    with pytest.raises(EmptyError, match="test"):
        compare_ranks(MatrixSource(teacher), MatrixSource(student), test, seen=test)


@given(SEEDS)
@settings(max_examples=20)
def test_items_unknown_to_a_model_share_its_last_ranks(seed):
    teacher, student, seen, test = case(seed)
    known = np.random.default_rng(seed).random(teacher.shape) < 0.5
    known[0, 0] = True
    users, items = np.nonzero(known)
    table = pl.DataFrame({"user_id": users, "item_id": items, "score": teacher[known]})
    partial = sn.CandidateSource.from_table(table, users=IdMap.counting(6), items=IdMap.counting(9))
    found = compare_ranks(partial, MatrixSource(student), test, seen=seen)
    assert_array_equal(found.teacher, ranks_by_hand(np.where(known, teacher, -np.inf), seen, test))
    assert_array_equal(found.student, ranks_by_hand(student, seen, test))


@given(SEEDS)
@settings(max_examples=20)
def test_models_of_different_users_and_items_are_compared_on_the_common_ones(seed):
    teacher, student, seen, test = case(seed)
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.permutation(6)[:5]) for _ in range(2)]
    columns = [np.sort(rng.permutation(9)[:7]) for _ in range(2)]
    large, small = (
        MatrixSource(scores[np.ix_(r, c)], users=IdMap(pl.Series(r)), items=IdMap(pl.Series(c)))
        for scores, r, c in zip((teacher, student), rows, columns, strict=True)
    )
    users, items = np.intersect1d(*rows), np.intersect1d(*columns)
    common = IdMap(pl.Series(users)), IdMap(pl.Series(items))
    left, hidden = test.aligned(*common), seen.aligned(*common)
    if not len(left):
        with pytest.raises(EmptyError, match="test"):
            compare_ranks(large, small, test, seen=seen)
        return
    found = compare_ranks(large, small, test, seen=seen)
    assert_array_equal(found.teacher, ranks_by_hand(teacher[np.ix_(users, items)], hidden, left))
    assert_array_equal(found.student, ranks_by_hand(student[np.ix_(users, items)], hidden, left))
    assert (found.n_items, found.n_left_out) == (len(items), len(test) - len(left))
    assert found.ranks["item_id"].to_list() == left.table()["item_id"].to_list()


def test_a_model_without_ids_has_row_numbers_and_not_the_ids_of_the_other():
    teacher, student, _, _ = case(5)
    users, items = IdMap.of([f"u{n}" for n in range(6)]), IdMap.of([f"i{n}" for n in range(9)])
    named, test = MatrixSource(teacher, users=users, items=items), Interactions.of(["u1", "u5"], ["i3", "i8"])
    for models in ((named, MatrixSource(student)), (MatrixSource(student), named)):
        with pytest.raises(IdError):
            compare_ranks(*models, test)
    numbered = MatrixSource(teacher, users=IdMap.of(np.arange(6)), items=IdMap.of(np.arange(9)))
    test = Interactions.of([1, 5], [3, 8])
    expected = ranks_by_hand(student, None, test.aligned(numbered.users, numbered.items))
    assert_array_equal(compare_ranks(numbered, MatrixSource(student), test).student, expected)


def test_blocks_bound_the_memory():
    n_users, n_items = 20_000, 20_000
    rng = np.random.default_rng(0)
    source = FactorSource(
        rng.normal(size=(n_users, 2)).astype(np.float32), rng.normal(size=(n_items, 2)).astype(np.float32)
    )
    users = np.repeat(np.arange(0, n_users, 40), 30)  # more test items per user than fit in a block
    items = np.concatenate([rng.permutation(n_items)[:30] for _ in range(len(users) // 30)])
    test = Interactions.of(users, items).aligned(IdMap.counting(n_users), IdMap.counting(n_items))
    tracemalloc.start()
    found = compare_ranks(source, source, test)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.equal == 1.0
    assert peak < 6 * 4 * rank_comparison._BLOCK_PAIRS


def test_the_curve_rises_and_ends_where_the_differences_end():
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 1_000, (2, 5_000)).astype(float)
    table = pl.DataFrame(
        {"user_id": np.arange(5_000), "item_id": 1, "teacher_rank": ranks[0], "student_rank": ranks[1]}
    )
    found = RankComparison(table, n_items=1_000)
    curve = found.curve(200)
    assert len(curve) == 200
    assert np.all(np.diff(curve) >= 0)
    assert_allclose([curve[0], curve[-1]], [found.difference.min() / 1_000, found.difference.max() / 1_000])
    assert abs(np.mean(np.abs(curve)) - found.average_difference) < 0.005
    assert_array_equal(found.curve(5_000), np.sort(found.difference) / 1_000)


def test_progress_counts_users(monkeypatch):
    teacher, student, seen, test = case(5)
    monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 18)
    reported = []
    compare_ranks(
        MatrixSource(teacher), MatrixSource(student), test, seen=seen, progress=lambda *step: reported.append(step)
    )
    n_users = np.count_nonzero(test.user_degree)
    assert [done for _, done, _ in reported] == [*range(2, n_users, 2), n_users]
    assert {(text, total) for text, _, total in reported} == {("comparing ranks", n_users)}


def without_common_users():
    return (MatrixSource(np.zeros((1, 1)), users=IdMap.of([user]), items=IdMap.of([1])) for user in (1, 2))


@pytest.mark.parametrize(
    ("wrong", "kind", "word"),
    [
        (lambda t, s, log: compare_ranks(t, MatrixSource(np.zeros((6, 8))), log), DataError, "items"),
        (lambda t, s, log: compare_ranks(t, s, log.matrix), DataError, "csr_matrix"),
        (lambda t, s, log: compare_ranks(t, s, Interactions.from_matrix(np.eye(7, 9))), IdError, "users"),
        (lambda t, s, log: compare_ranks(*without_common_users(), log), DataError, "users"),
        (lambda t, s, log: rank_scatter(t, s, n_points=0), SettingError, "n_points"),
        (lambda t, s, log: rank_scatter(t, s, scale=0.0), SettingError, "scale"),
        (lambda t, s, log: rank_scatter(t, s).known_to_other("nobody"), SettingError, "drawn_by"),
        (lambda t, s, log: inference_table({}), DataError, "model"),
        (lambda t, s, log: inference_table({"a": t}, repeats=0), DataError, "repeats"),
    ],
)
def test_what_cannot_be_compared_is_refused(wrong, kind, word):
    teacher, student, _, test = case(5)
    with pytest.raises(kind, match=word):
        wrong(MatrixSource(teacher), MatrixSource(student), test)


def test_models_with_ids_refuse_a_matrix_as_seen():
    named = MatrixSource(np.zeros((2, 2)), users=IdMap.of(["a", "b"]), items=IdMap.of([1, 2]))
    with pytest.raises(DataError, match="seen"):
        compare_ranks(named, named, Interactions.of(["a"], [1]), seen=np.eye(2))


# --- items that would be shown -------------------------------------------------------------------------------------


def test_points_are_unseen_items_with_their_exact_ranks():
    rng = np.random.default_rng(0)
    teacher, student = rng.normal(size=(2, 1, 60))
    seen = Interactions.from_matrix((np.arange(60) < 10)[None])
    found = rank_scatter(MatrixSource(teacher), MatrixSource(student), seen=seen, n_points=500)
    both = {
        (int(a), int(b))
        for a, b in zip(rankdata(-teacher[0, 10:]), rankdata(-student[0, 10:]), strict=True)
    }  # fmt: skip
    assert set(found.points.select("teacher_rank", "student_rank").rows()) <= both
    assert found.points["drawn_by"].to_list() == ["teacher"] * 500 + ["student"] * 500
    assert found.n_items == 60


@pytest.mark.parametrize("drawn_by", ["teacher", "student"])
def test_items_are_drawn_less_often_the_lower_their_rank(drawn_by):
    rng = np.random.default_rng(0)
    teacher, student = rng.normal(size=(2, 30, 40))
    found = rank_scatter(MatrixSource(teacher), MatrixSource(student), n_points=20_000, scale=0.1, seed=1)
    ranks = found.points.filter(drawn_by=drawn_by)[f"{drawn_by}_rank"].to_numpy()
    chance = np.exp(-0.1 * np.arange(1, 41))
    assert chisquare(np.bincount(ranks, minlength=41)[1:], 20_000 * chance / chance.sum()).pvalue > 0.001


def test_the_same_seed_draws_the_same_points():
    rng = np.random.default_rng(0)
    models = [MatrixSource(scores) for scores in rng.normal(size=(2, 50, 40))]
    first, again, other = (rank_scatter(*models, n_points=100, seed=seed).points for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_users_who_have_seen_every_item_have_no_points():
    models = [MatrixSource(scores) for scores in np.random.default_rng(0).normal(size=(2, 2, 5))]
    seen = Interactions.from_matrix(np.array([[1, 1, 1, 1, 1], [0, 1, 1, 1, 1]]))
    found = rank_scatter(*models, seen=seen, n_points=200)
    assert found.points.select("teacher_rank", "student_rank").unique().rows() == [(1, 1)]
    nothing = rank_scatter(*models, seen=Interactions.from_matrix(np.ones((2, 5))), n_points=20)
    assert nothing.points.height == 0
    assert np.isnan(nothing.known_to_other("teacher"))


def test_known_to_other_counts_ranks_of_the_other_model():
    points = pl.DataFrame(
        {
            "drawn_by": ["teacher"] * 4 + ["student"],
            "teacher_rank": [1, 1, 1, 1, 90],
            "student_rank": [5, 10, 11, 99, 1],
        }
    )
    found = RankScatter(points, n_items=100)
    assert (found.known_to_other("teacher"), found.known_to_other("teacher", 0.05)) == (0.5, 0.25)
    assert found.known_to_other("student") == 0.0


# --- costs ---------------------------------------------------------------------------------------------------------


class Counted:
    """A source that counts the users it has scored."""

    n_users, n_items = 7, 5

    def __init__(self):
        self.asked = 0

    def score_block(self, users):
        self.asked += len(users)
        return np.zeros((len(users), 5), dtype=np.float32)


def test_costs_are_measured_on_all_users():
    model = Counted()
    seen = Interactions.from_matrix(np.eye(7, 5))
    table = inference_table({"counted": model}, length=50, seen=seen, repeats=2)
    assert model.asked == 1 + 2 * 7
    assert table.columns == ["model", "parameters", "seconds"]
    assert table["parameters"].to_list() == [None]
    assert table["seconds"][0] > 0


def test_parameters_count_learned_numbers():
    ones = np.ones((4, 3))
    assert n_parameters(FactorSource(ones, ones[:2])) == 18
    assert n_parameters(FactorSource(ones, ones[:2], np.ones(4), np.ones(2))) == 24
    log = Interactions.from_matrix(np.eye(6, 4))
    assert n_parameters(sn.BPR(n_factors=2, epochs=1).fit(log)) == 20
