"""What must hold for every way to decide how many items a user sees, and what each of them is for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sklearn.base
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sureness._registry import find, name_of, names
from sureness._settings import clone
from sureness.errors import DataError, EmptyError, NotFittedError, SettingError
from sureness.lists.expectation import expected_utility
from sureness.lists.lists import Lists
from sureness.lists.policies import (
    BestFixedSize,
    ExpectedUtility,
    FixedSize,
    Oracle,
    RandomSize,
    Threshold,
    ValidationBest,
    best_sizes,
)
from sureness.metrics.utility import Utility, utility_at_every_size
from sureness.numerics.poisson_binomial import power_sums

WIDTH = 12
LEARNING = {"best-fixed", "validation-best"}


def every_policy(**bounds):
    """All policies, with the bounds where they have any."""
    return [
        FixedSize(4), BestFixedSize(**bounds), RandomSize(**bounds), ValidationBest(**bounds),
        Threshold(0.4, **bounds), Oracle(**bounds), ExpectedUtility(**bounds), ExpectedUtility("pdcg", **bounds),
    ]  # fmt: skip


def kind(policy):
    return name_of("policy", type(policy))


EVERY = pytest.mark.parametrize("policy", every_policy(max_size=8), ids=kind)
BOUNDED = [policy for policy in every_policy(max_size=8) if not isinstance(policy, FixedSize)]


@pytest.fixture(scope="module")
def lists():
    """Users in any order, with 0 to 12 candidates, labels that follow their probabilities."""
    rng = np.random.default_rng(0)
    lengths = np.r_[0, WIDTH, rng.integers(0, WIDTH + 1, 48)]
    known = np.arange(WIDTH) < lengths[:, None]
    probabilities = np.where(known, -np.sort(-rng.beta(1, 2, (50, WIDTH))), 0.0)
    hits = rng.random((50, WIDTH)) < probabilities
    with np.errstate(divide="ignore"):
        scores = np.log(probabilities) - np.log1p(-probabilities)
    return Lists.of(
        users=rng.permutation(200)[:50], lengths=lengths, probabilities=probabilities, scores=scores, hits=hits,
        n_relevant=hits.sum(axis=1) + rng.integers(0, 3, 50),
    )  # fmt: skip


def without(lists, name):
    """The same lists, one column unknown."""
    columns = {key: value for key, value in vars(lists).items() if value is not None and key != name}
    return Lists(**columns)


class TestEveryPolicy:
    def test_all_that_can_be_saved_are_here(self):
        ours = {name for name in names("policy") if find("policy", name).__module__.startswith("sureness.")}
        assert ours <= {kind(policy) for policy in every_policy()}

    @EVERY
    def test_fitting_returns_the_policy(self, policy, lists):
        policy = clone(policy)
        assert policy.fit(lists) is policy

    @EVERY
    def test_sizes_lie_within_the_bounds_and_the_candidates(self, policy, lists):
        sizes = clone(policy).fit(lists).sizes(lists)
        assert sizes.shape == (50,)
        assert sizes.dtype == np.int64
        assert np.all(sizes <= np.minimum(policy.max_size, lists.lengths))
        assert np.all(sizes >= np.minimum(policy.min_size, lists.lengths))

    @EVERY
    def test_a_user_without_candidates_sees_nothing(self, policy, lists):
        assert clone(policy).fit(lists).sizes(lists)[0] == 0
        assert lists.lengths[0] == 0

    @pytest.mark.parametrize("policy", every_policy(min_size=3, max_size=5), ids=kind)
    def test_a_least_number_of_items_is_kept(self, policy, lists):
        sizes = clone(policy).fit(lists).sizes(lists)
        assert np.all(sizes >= np.minimum(3, lists.lengths))
        assert np.all(sizes <= 5)

    @EVERY
    def test_a_longest_list_beyond_the_candidates_changes_nothing_but_the_bound(self, policy, lists):
        longer = clone(policy)
        if not isinstance(policy, FixedSize):
            longer.set_params(max_size=40)
        sizes = longer.fit(lists).sizes(lists)
        assert np.all(sizes <= lists.lengths)
        assert sizes[1] >= 1

    @EVERY
    def test_the_block_in_which_a_user_comes_does_not_matter(self, policy, lists):
        policy = clone(policy).fit(lists)
        whole = policy.sizes(lists)
        order = np.random.default_rng(1).permutation(50)
        for part in np.array_split(order, [1, 4, 30]):
            assert_array_equal(policy.sizes(lists.take(part)), whole[part])

    @EVERY
    def test_fitting_and_deciding_again_gives_the_same(self, policy, lists):
        policy = clone(policy).fit(lists)
        first = policy.sizes(lists)
        assert_array_equal(policy.sizes(lists), first)
        assert_array_equal(policy.fit(lists).sizes(lists), first)

    @EVERY
    def test_settings_can_be_read_cloned_and_printed(self, policy, lists):
        for copied in (clone(policy.fit(lists)), sklearn.base.clone(policy)):
            assert type(copied) is type(policy)
            assert copied.get_params() == policy.get_params()
            assert repr(copied) == repr(policy)
            assert not [name for name in vars(copied) if name.endswith("_")], "a clone has learned nothing"
        assert type(policy).__name__ in repr(policy)

    @EVERY
    def test_what_was_learned_can_be_carried_to_another_object(self, policy, lists):
        policy = clone(policy).fit(lists)
        other = clone(policy)
        other.restore(policy.state())
        assert_array_equal(other.sizes(lists), policy.sizes(lists))

    @pytest.mark.parametrize("policy", [p for p in BOUNDED if kind(p) in LEARNING], ids=kind)
    def test_a_policy_that_learns_must_be_fitted_first(self, policy, lists):
        with pytest.raises(NotFittedError, match="fitted"):
            clone(policy).sizes(lists)

    @pytest.mark.parametrize("policy", [p for p in BOUNDED if kind(p) in LEARNING], ids=kind)
    @pytest.mark.parametrize("name", ["hits", "n_relevant"])
    def test_labels_that_are_missing_when_fitting_are_named(self, policy, name, lists):
        with pytest.raises(DataError, match=name):
            clone(policy).fit(without(lists, name))

    @pytest.mark.parametrize(
        ("policy", "name"),
        [
            (ExpectedUtility(), "probabilities"), (Threshold(), "probabilities"), (Oracle(), "hits"),
            (Oracle(), "n_relevant"),
        ],
        ids=repr,
    )  # fmt: skip
    def test_columns_that_are_missing_when_deciding_are_named(self, policy, name, lists):
        with pytest.raises(DataError, match=f"{type(policy).__name__}.* {name}"):
            policy.sizes(without(lists, name))

    @pytest.mark.parametrize("policy", BOUNDED, ids=kind)
    @pytest.mark.parametrize(
        ("bounds", "word"),
        [
            ({"min_size": 5, "max_size": 3}, "min_size"),
            ({"min_size": 0, "max_size": 0}, "max_size"),
            ({"min_size": -1}, "min_size"),
            ({"max_size": 2.5}, "max_size"),
            ({"max_size": True}, "max_size"),
        ],
    )
    def test_bounds_that_cannot_be_are_refused(self, policy, bounds, word, lists):
        with pytest.raises(SettingError, match=word):
            clone(policy).set_params(**bounds).fit(lists).sizes(lists)


class TestBestSizes:
    @settings(max_examples=60)
    @given(values=st.lists(st.integers(-3, 3).map(lambda v: v / 4), min_size=1, max_size=6), min_size=st.integers(0, 6))
    def test_the_smallest_of_the_best_sizes_that_are_allowed(self, values, min_size):
        worth = {0: 0.0} | {size: values[size - 1] for size in range(1, len(values) + 1)}
        allowed = {size: value for size, value in worth.items() if size >= min_size}
        found = best_sizes(np.array([values]), min_size)[0]
        if not allowed:  # longer than the list: the bound stays, and the candidates cut it
            assert found == min_size
        else:
            best = max(allowed.values())
            assert found == min(size for size, value in allowed.items() if value == best)

    def test_values_that_differ_by_rounding_are_the_same(self):
        assert best_sizes(np.array([[0.5, 0.5 + 1e-15, 0.4]]), 1).tolist() == [1]
        assert best_sizes(np.array([[0.5, 0.5 + 1e-9, 0.4]]), 1).tolist() == [2]
        assert best_sizes(np.array([[1e-15, -0.5]]), 0).tolist() == [0]


class TestExpectedUtility:
    @pytest.mark.parametrize(
        "utility", [*names("utility"), Utility("own", discount=lambda rank: 1 / rank, loss=0.4)], ids=str
    )
    @pytest.mark.parametrize("min_size", [0, 1, 3])
    def test_no_other_size_is_expected_to_be_worth_more(self, utility, min_size, lists):
        policy = ExpectedUtility(utility, min_size=min_size, max_size=8)
        decided = policy.decide(lists)
        sizes, worth = decided.sizes, decided.expected
        assert_array_equal(sizes, policy.sizes(lists))
        for row, length in enumerate(lists.lengths):
            p = lists.probabilities[row, :length]
            expected = np.r_[0.0, expected_utility(p[None], utility, max_size=8)[0, : min(length, 8)]]
            allowed = expected[min(min_size, length) :]
            assert worth[row] == pytest.approx(expected[sizes[row]], abs=1e-12)
            assert worth[row] >= allowed.max() - 1e-11
            smaller = expected[min(min_size, length) : sizes[row]]
            assert np.all(smaller < worth[row]), "ties go to the smaller list"

    @settings(max_examples=20)
    @given(st.lists(st.one_of(st.floats(0, 1), st.just(0.5)), min_size=1, max_size=20))
    @example([0.5, 0.5])
    @example([0.500001, 0.5])
    @example([0.2])
    def test_penalised_dcg_shows_what_is_likelier_than_not(self, probabilities):
        p = -np.sort(-np.round(probabilities, 6))
        sizes = ExpectedUtility("pdcg", max_size=20).sizes(Lists.of(probabilities=p[None]))
        assert sizes[0] == max(1, np.sum(p > 0.5))
        or_nothing = ExpectedUtility("pdcg", min_size=0, max_size=20).sizes(Lists.of(probabilities=p[None]))
        assert or_nothing[0] == np.sum(p > 0.5)

    def test_what_lies_behind_the_list_makes_it_longer(self):
        p = np.r_[np.linspace(0.6, 0.1, 10), np.full(40, 0.1)][None]
        policy = ExpectedUtility("f1", max_size=10)
        whole = policy.sizes(Lists.of(probabilities=p))
        short = Lists.of(probabilities=p[:, :10])
        with_tail = Lists.of(probabilities=p[:, :10], tail=power_sums(p, 12, skip=10))
        assert policy.sizes(short) < policy.sizes(with_tail)
        assert_array_equal(policy.sizes(with_tail), whole)

    def test_a_user_whose_best_list_is_not_worth_showing_is_unsure(self):
        lists = Lists.of(probabilities=[[0.6, 0.1], [0.4, 0.3], [0.5, 0.2], [0.9, 0.8]], lengths=[2, 2, 2, 0])
        decided = ExpectedUtility("pdcg", max_size=2).decide(lists)
        sizes, worth, unsure = decided.sizes, decided.expected, decided.unsure
        assert sizes.tolist() == [1, 1, 1, 0]
        assert worth.tolist() == pytest.approx([0.2, -0.2, 0.0, 0.0])
        assert unsure.tolist() == [False, True, True, True], "nor is one without candidates sure"
        stricter = ExpectedUtility("f1", max_size=2, unsure_below=0.5).decide(lists).unsure
        values = expected_utility([[0.6, 0.1], [0.4, 0.3], [0.5, 0.2]], "f1", max_size=2).max(axis=1)
        assert stricter.tolist() == [*(values <= 0.5), True]
        assert 0 < sum(stricter) < 4

    def test_with_a_least_size_of_zero_nothing_may_be_shown(self):
        lists = Lists.of(probabilities=[[0.4, 0.3], [0.9, 0.3]])
        decided = ExpectedUtility("pdcg", min_size=0, max_size=2).decide(lists)
        sizes, worth, unsure = decided.sizes, decided.expected, decided.unsure
        assert sizes.tolist() == [0, 1]
        assert worth.tolist() == pytest.approx([0.0, 0.8])
        assert unsure.tolist() == [True, False]

    def test_an_unknown_utility_is_named_with_those_that_exist(self, lists):
        with pytest.raises(SettingError, match="utility"):
            ExpectedUtility("map").sizes(lists)


class TestFixedSize:
    @pytest.mark.parametrize("size", [0, 1, 5, 100])
    def test_everyone_sees_as_many_as_there_are(self, size, lists):
        assert_array_equal(FixedSize(size).sizes(lists), np.minimum(size, lists.lengths))

    @pytest.mark.parametrize("size", [-1, 2.5, "ten", True, None])
    def test_a_size_must_be_a_whole_number(self, size, lists):
        with pytest.raises(SettingError, match="whole"):
            FixedSize(size).sizes(lists)


class TestBestFixedSize:
    @pytest.mark.parametrize("utility", names("utility"))
    def test_no_other_fixed_size_was_better_on_average(self, utility, lists):
        size = BestFixedSize(utility, max_size=8).fit(lists).size_
        judged = lists.take(lists.n_relevant > 0)
        values = utility_at_every_size(judged.hits, judged.n_relevant, utility)
        reached = np.minimum(np.arange(1, 9), np.maximum(judged.lengths, 1)[:, None]) - 1
        means = np.take_along_axis(values, reached, axis=1).mean(axis=0)
        assert means[size - 1] == means.max()
        assert np.all(means[: size - 1] < means[size - 1])

    def test_users_without_a_relevant_item_have_no_say(self):
        hits = [[False, True], [False, False], [False, False], [False, False]]
        lists = Lists.of(hits=hits)
        assert BestFixedSize("pdcg", max_size=2).fit(lists).size_ == 2
        with pytest.raises(EmptyError, match="user"):
            BestFixedSize(max_size=2).fit(lists.take(np.array([1, 2])))

    def test_of_two_sizes_that_are_as_good_the_smaller_wins(self):
        assert BestFixedSize("f1", max_size=2).fit(Lists.of(hits=[[True, True], [True, False]])).size_ == 1

    def test_a_list_that_ends_is_not_worth_less_for_a_longer_size(self):
        lists = Lists.of(hits=[[True, True, True], [True, False, False]], n_relevant=[3, 1], lengths=[3, 1])
        assert BestFixedSize("f1", max_size=3).fit(lists).size_ == 3


class TestRandomSize:
    def test_every_allowed_size_is_as_likely(self):
        lists = Lists.of(probabilities=np.zeros((12_000, 9)))
        counts = np.bincount(RandomSize(min_size=2, max_size=7).sizes(lists), minlength=10)
        assert counts[:2].sum() + counts[8:].sum() == 0
        assert np.all(np.abs(counts[2:8] - 2_000) < 200)

    def test_another_seed_draws_others(self, lists):
        first, second = (RandomSize(max_size=8, seed=seed).sizes(lists) for seed in (0, 1))
        assert np.any(first != second)


class TestValidationBest:
    @pytest.mark.parametrize("utility", ["ndcg", "pdcg", "f1"])
    def test_each_user_gets_the_size_that_was_best(self, utility, lists):
        policy = ValidationBest(utility, max_size=8).fit(lists)
        sizes, best = policy.sizes(lists), Oracle(utility, max_size=8).sizes(lists)
        judged = lists.n_relevant > 0
        assert_array_equal(sizes[judged], best[judged])
        fixed = BestFixedSize(utility, max_size=8).fit(lists).size_
        assert_array_equal(sizes[~judged], np.minimum(fixed, lists.lengths[~judged]))
        assert policy.size_ == fixed

    def test_users_never_seen_get_the_size_that_was_best_on_average(self, lists):
        policy = ValidationBest(max_size=8).fit(lists)
        others = np.setdiff1d(np.arange(400), lists.users)[::40]
        new = Lists.of(users=others, scores=np.zeros((len(others), WIDTH)))
        assert others.max() > lists.users.max()
        assert policy.sizes(new).tolist() == [policy.size_] * len(others)


class TestThreshold:
    @pytest.mark.parametrize("probability", [0.0, 0.25, 0.5, 1.0])
    def test_all_that_are_likely_enough_and_at_least_one(self, probability, lists):
        known = np.arange(WIDTH) < lists.lengths[:, None]
        likely = np.sum((lists.probabilities >= probability) & known, axis=1)
        sizes = Threshold(probability, max_size=8).sizes(lists)
        assert_array_equal(sizes, np.minimum(np.clip(likely, 1, 8), lists.lengths))
        may_be_empty = Threshold(probability, min_size=0, max_size=8).sizes(lists)
        assert_array_equal(may_be_empty, np.minimum(likely, 8))

    def test_an_item_that_is_exactly_as_likely_is_shown(self):
        assert Threshold(0.5).sizes(Lists.of(probabilities=[[0.9, 0.5, 0.4]])).tolist() == [2]

    @pytest.mark.parametrize("probability", [-0.1, 1.5, np.nan])
    def test_a_threshold_must_be_a_probability(self, probability, lists):
        with pytest.raises(SettingError, match="threshold"):
            Threshold(probability).sizes(lists)


class TestOracle:
    @pytest.mark.parametrize("utility", names("utility"))
    @pytest.mark.parametrize("min_size", [0, 1, 2])
    def test_no_size_was_better_for_any_user(self, utility, min_size):
        hits = np.array(list(itertools.product([False, True], repeat=5)))
        sizes = Oracle(utility, min_size=min_size, max_size=5).sizes(Lists.of(hits=hits, n_relevant=hits.sum(1) + 1))
        values = utility_at_every_size(hits, hits.sum(axis=1) + 1, utility)
        worth = np.concatenate([np.zeros((32, 1)), values], axis=1)
        best = worth[:, min_size:].max(axis=1, keepdims=True)
        expected = np.argmax(worth[:, min_size:] >= best - 1e-12, axis=1) + min_size
        assert_array_equal(sizes, expected)

    def test_of_lists_that_are_as_good_the_shortest_is_best(self):
        assert Oracle("dcg", max_size=4).sizes(Lists.of(hits=[[True, False, False, False]])).tolist() == [1]
        assert Oracle("ndcg", max_size=3).sizes(Lists.of(hits=[[False, False, False]])).tolist() == [1]
        assert Oracle("ndcg", min_size=0, max_size=3).sizes(Lists.of(hits=[[False, False, False]])).tolist() == [0]


def test_sizes_beyond_the_longest_list_cost_nothing():
    lists = Lists.of(probabilities=np.linspace(0.9, 0.1, 5)[None])
    wide = ExpectedUtility("f1", max_size=1_000_000)
    assert wide.expected(lists).shape == (1, 5)
    assert wide.sizes(lists) == ExpectedUtility("f1", max_size=5).sizes(lists)
