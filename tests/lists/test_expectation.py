"""Expected utilities against the mean over all label vectors, and every odd input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sureness.errors import DataError, SettingError
from sureness.lists.expectation import (
    expected_utilities,
    expected_utility,
    scale_odds,
    shift_log_odds,
)
from sureness.metrics.utility import DCG, F1, NDCG, PDCG, TP, Utility, utility_at_every_size
from sureness.numerics.poisson_binomial import power_sums

EVERY = [
    NDCG,
    PDCG,
    F1,
    TP,
    DCG,
    Utility("own", discount=lambda rank: 0.8**rank, gain=2.0, loss=0.3),
    Utility("own normalised", discount=lambda rank: 1.0 / rank, gain=3.0, normaliser="ideal"),
]
PROBABILITY = st.one_of(st.sampled_from([0.0, 1.0, 1e-12, 0.5, 1 - 1e-12]), st.floats(0, 1))
LISTS = st.lists(PROBABILITY, min_size=1, max_size=10).map(lambda p: sorted(p, reverse=True))


def by_enumeration(probabilities: list[float], utility: Utility, max_size: int) -> np.ndarray:
    """The mean utility over all label vectors, each with its probability."""
    p = np.array(probabilities)
    labels = np.array(list(itertools.product([False, True], repeat=len(p))))
    chance = np.where(labels, p, 1 - p).prod(axis=1)
    values = utility_at_every_size(labels, labels.sum(axis=1), utility)
    mean = chance @ values
    width = min(max_size, len(p))
    return np.concatenate([mean[:width], np.full(max_size - width, mean[width - 1])])


@pytest.mark.parametrize("utility", EVERY, ids=lambda u: u.name)
@settings(max_examples=25, deadline=None)
@given(probabilities=LISTS, max_size=st.integers(1, 12))
@example(probabilities=[0.3] * 12, max_size=12)
@example(probabilities=[0.5] * 12, max_size=5)
@example(probabilities=[1.0] * 6 + [1e-12] * 3 + [0.0] * 3, max_size=4)
@example(probabilities=[0.0] * 4, max_size=4)
@example(probabilities=[1 - 1e-12, 0.5 + 1e-12, 0.5 - 1e-12, 1e-300], max_size=4)
def test_it_is_the_mean_over_all_label_vectors(utility, probabilities, max_size):
    found = expected_utility([probabilities], utility, max_size=max_size)
    assert_allclose(found[0], by_enumeration(probabilities, utility, max_size), atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(probabilities=st.lists(PROBABILITY, min_size=2, max_size=9))
def test_the_order_of_a_list_may_be_any(probabilities):
    for utility in EVERY:
        found = expected_utility([probabilities], utility, max_size=9)
        assert_allclose(found[0], by_enumeration(probabilities, utility, 9), atol=1e-12)


def test_users_of_different_lengths_are_as_if_alone():
    rows = np.array([[0.9, 0.4, 0.2, 0.1], [0.7, 0.3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    together = expected_utilities(rows, EVERY, max_size=6, lengths=[4, 2, 0])
    for number, length in enumerate([4, 2]):
        alone = expected_utilities(rows[number : number + 1, :length], EVERY, max_size=6)
        assert_allclose(together[:, number], alone[:, 0], atol=1e-15)
    assert np.all(together[:, 2] == 0), "a user without candidates has nothing to gain"


@pytest.mark.parametrize("utility", EVERY, ids=lambda u: u.name)
def test_probabilities_of_a_mapped_file_may_be_read_only(utility):
    rows = np.array([[0.9, 0.4, 0.2, 0.1]])
    found = expected_utility(rows, utility, max_size=4)
    rows.setflags(write=False)
    assert_allclose(expected_utility(rows, utility, max_size=4), found, atol=0)


def test_a_list_longer_than_the_candidates_is_worth_what_all_of_them_are():
    found = expected_utility([[0.9, 0.4]], "f1", max_size=5)[0]
    assert found.shape == (5,)
    assert np.all(found[1:] == found[1])


@pytest.mark.parametrize("utility", EVERY, ids=lambda u: u.name)
def test_a_tail_of_small_probabilities_equals_the_items_themselves(utility):
    rng = np.random.default_rng(0)
    rows = -np.sort(-rng.beta(0.3, 6, size=(5, 400)))
    whole = expected_utility(rows, utility, max_size=30)
    shortened = expected_utility(rows[:, :30], utility, max_size=30, tail=power_sums(rows, 12, skip=30))
    assert_allclose(shortened, whole, atol=1e-6)


def test_a_tail_as_a_mere_count_is_a_poisson_number():
    rng = np.random.default_rng(1)
    top = -np.sort(-rng.beta(1, 4, size=(3, 20)))
    many = np.concatenate([top, np.full((3, 100_000), 7.0 / 100_000)], axis=1)
    counted = expected_utility(top, "f1", max_size=20, expected_relevant=top.sum(axis=1) + 7.0)
    assert_allclose(counted, expected_utility(many, "f1", max_size=20), atol=1e-4)


def test_a_missing_tail_makes_lists_shorter():
    top = np.linspace(0.6, 0.1, 50)[None]
    alone = np.argmax(expected_utility(top, "f1"))
    with_tail = np.argmax(expected_utility(top, "f1", expected_relevant=top.sum() + 30))
    assert alone < with_tail


class TestScalingOdds:
    @settings(max_examples=15, deadline=None)
    @given(
        probabilities=st.lists(st.floats(1e-9, 1 - 1e-9), min_size=1, max_size=20),
        share=st.floats(0.001, 0.999),
        tail=st.sampled_from([0.0, 0.5, 20.0]),
    )
    def test_the_total_is_what_was_asked_for(self, probabilities, share, tail):
        p = np.array([probabilities])
        shift = scale_odds(p, share * p.shape[1], tail=tail)
        total = shift_log_odds(p, shift).sum() + tail * np.exp(shift[0])
        assert total == pytest.approx(share * p.shape[1], rel=1e-9)

    def test_certain_and_impossible_items_stay(self):
        p = np.array([[1.0, 0.5, 0.0]])
        moved = shift_log_odds(p, scale_odds(p, 1.8))
        assert_allclose(moved, [[1.0, 0.8, 0.0]], atol=1e-12)

    @pytest.mark.parametrize("target", [np.nan, -1.0, np.inf])
    def test_a_target_that_is_no_number_of_items_is_refused(self, target):
        with pytest.raises(DataError, match="expected_relevant"):
            scale_odds([[1.0, 0.5, 0.0]], target)

    @pytest.mark.parametrize("target", [1.0, 0.5, 2.0, 3.0])
    def test_a_target_that_cannot_be_met_is_refused_with_the_range_that_can(self, target):
        with pytest.raises(DataError, match="met"):
            scale_odds([[1.0, 0.5, 0.0]], target)

    def test_a_user_where_nothing_can_move_may_ask_for_what_is_there(self):
        assert scale_odds([[1.0, 1.0, 0.0]], 2.0) == [0.0]


class TestBadInput:
    @pytest.mark.parametrize(
        ("probabilities", "word"),
        [
            ([[0.5, 1.2]], "calibrate"),
            ([[-0.1, 0.5]], "probabilities"),
            ([[0.5, np.nan]], "missing"),
            ([["a"]], "numbers"),
            ([[0.1], [0.1, 0.2]], "rows"),
            ([[[0.1]]], "row"),
        ],
    )
    def test_probabilities_are_checked(self, probabilities, word):
        with pytest.raises(DataError, match=word):
            expected_utility(probabilities)

    def test_an_unknown_utility_is_named_with_those_that_exist(self):
        with pytest.raises(SettingError, match="utility"):
            expected_utility([[0.5]], "map")

    @pytest.mark.parametrize("max_size", [0, -1, 2.5, True, "ten"])
    def test_the_longest_list_must_be_a_whole_number(self, max_size):
        with pytest.raises(SettingError, match="max_size"):
            expected_utility([[0.5]], max_size=max_size)

    def test_fewer_relevant_items_than_listed_are_refused(self):
        with pytest.raises(DataError, match="below"):
            expected_utility([[0.1, 0.1], [0.9, 0.9]], expected_relevant=0.5)

    def test_two_ways_to_say_what_is_missing_are_one_too_many(self):
        with pytest.raises(SettingError, match="expected_relevant"):
            expected_utility([[0.5]], expected_relevant=1.0, tail=[[0.5]])

    @pytest.mark.parametrize("lengths", [[3], [-1], [1, 1], [0.5]])
    def test_lengths_are_checked(self, lengths):
        with pytest.raises(DataError, match="lengths"):
            expected_utility([[0.5, 0.2]], lengths=lengths)

    def test_a_utility_with_a_loss_cannot_be_normalised(self):
        with pytest.raises(SettingError, match="normalised"):
            Utility("wrong", loss=1.0, normaliser="ideal")

    def test_a_discount_must_reach_as_far_as_the_list(self):
        with pytest.raises(SettingError, match="values"):
            expected_utility([[0.5]], Utility("short", discount=(1.0, 0.5)), max_size=3)


def test_a_discount_that_changes_is_computed_again():
    class Falling:
        rate = 0.9

        def __call__(self, rank):
            return self.rate**rank

        __hash__ = None  # type: ignore[assignment]

    discount = Falling()
    utility = Utility("mine", discount=discount)
    before = expected_utility([[0.5, 0.5]], utility, max_size=2)
    discount.rate = 0.5
    assert expected_utility([[0.5, 0.5]], utility, max_size=2)[0, 0] == pytest.approx(before[0, 0] * 0.5 / 0.9)
    as_numbers = Utility("mine", discount=[0.5, 0.25])
    assert_allclose(expected_utility([[0.5, 0.5]], as_numbers, max_size=2), [[0.25, 0.375]])


@pytest.mark.parametrize("n_items", [1, 20, 120, 500, 3_000, 20_000])
@pytest.mark.parametrize("chance", [1e-6, 0.03, 0.6, 1.0])
def test_f1_of_few_and_of_many_relevant_items_follows_its_definition(n_items, chance):
    """Items that are equally likely leave a binomial number of others; up to 20,000 of them are relevant."""
    found = expected_utility(np.full((1, n_items), chance), "f1", max_size=300)[0]
    counts = np.arange(n_items)
    others = scipy.stats.binom.pmf(counts, n_items - 1, chance)
    for size in {1, min(n_items, 50), min(n_items, 300)}:
        expected = size * chance * np.sum(others * 2.0 / (size + 1 + counts))
        assert found[size - 1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("scale", [0.001, 0.1, 1.0, 4.0])
def test_f1_is_the_same_alone_and_beside_another_utility(scale):
    """Alone it is an integral; beside NDCG the distribution of the number of relevant items is there already."""
    rng = np.random.default_rng(0)
    probabilities = np.minimum(np.sort(rng.beta(0.3, 4.0, size=(20, 900)))[:, ::-1] * scale, 1.0)
    alone = expected_utility(probabilities, "f1", max_size=100)
    assert_allclose(alone, expected_utilities(probabilities, ["f1", "ndcg"], max_size=100)[0], rtol=1e-10, atol=1e-13)
