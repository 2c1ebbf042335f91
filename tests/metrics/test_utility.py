"""Utilities of lists against sums written out, names of utilities, and their checks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sureness._registry import names, register
from sureness.errors import DataError, SettingError
from sureness.metrics.utility import (
    DCG,
    F1,
    NDCG,
    PDCG,
    TP,
    Utility,
    at_sizes,
    named_utility,
    utility_at_every_size,
    utility_of,
)

OWN = Utility("own", discount=lambda rank: 0.8**rank, gain=2.0, loss=0.3)
USUAL = {utility.name: utility for utility in (NDCG, PDCG, F1, TP, DCG)}
EVERY = [*USUAL.values(), OWN, Utility("shares", discount=(1.0, 0.7, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1), gain=3.0,
                                           normaliser="ideal")]  # fmt: skip
ALL = pytest.mark.parametrize("utility", EVERY, ids=lambda u: u.name)
HITS = st.lists(st.booleans(), min_size=1, max_size=8)


def dcg(hits):
    return sum(hit / np.log2(1 + rank) for rank, hit in enumerate(hits, start=1))


BY_HAND = {  # of a list of k items with m relevant ones in all
    "ndcg": lambda hits, k, m: dcg(hits) / dcg([1] * min(k, m)) if m else 0.0,
    "pdcg": lambda hits, k, m: sum((1 if hit else -1) / np.log2(1 + rank) for rank, hit in enumerate(hits, start=1)),
    "f1": lambda hits, k, m: 2 * sum(hits) / (k + m) if m else 0.0,
    "tp": lambda hits, k, m: sum(hits) / min(k, m) if m else 0.0,
    "dcg": lambda hits, k, m: dcg(hits),
}


@given(hits=HITS, missed=st.integers(0, 5))
@example(hits=[False, False], missed=0)
@example(hits=[True] * 8, missed=0)
def test_every_utility_is_what_its_name_says(hits, missed):
    m = sum(hits) + missed
    for name, value in BY_HAND.items():
        found = utility_at_every_size([hits], [m], name)
        assert_allclose(found[0], [value(hits[:k], k, m) for k in range(1, len(hits) + 1)], atol=1e-12)


def test_every_registered_utility_is_written_out_here():
    assert set(BY_HAND) == set(names("utility")) == set(USUAL)


@given(hits=HITS)
def test_a_custom_utility_adds_gains_and_subtracts_losses(hits):
    expected = np.cumsum([0.8**rank * (2.0 if hit else -0.3) for rank, hit in enumerate(hits, start=1)])
    assert_allclose(utility_at_every_size([hits], [sum(hits)], OWN)[0], expected, atol=1e-12)


@given(hits=HITS, missed=st.integers(0, 5))
def test_normalised_utilities_lie_between_zero_and_one(hits, missed):
    for utility in EVERY:
        if utility.normaliser != "none":
            values = utility_at_every_size([hits], [sum(hits) + missed], utility)
            assert np.all((values >= 0) & (values <= 1 + 1e-12)), utility.name


@pytest.mark.parametrize("name", ["ndcg", "f1", "tp"])
def test_a_list_of_exactly_the_relevant_items_is_worth_one(name):
    assert utility_at_every_size([[True, True, True, False]], [3], name)[0, 2] == pytest.approx(1.0)


@ALL
def test_users_are_independent(utility):
    hits = np.array([[True, False, True], [False, False, False], [True, True, True]])
    n_relevant = np.array([2, 0, 7])
    together = utility_at_every_size(hits, n_relevant, utility)
    for row in range(3):
        assert_array_equal(utility_at_every_size(hits[[row]], n_relevant[[row]], utility)[0], together[row])


@ALL
def test_without_users_there_are_no_values(utility):
    assert utility_at_every_size(np.empty((0, 4)), np.empty(0, dtype=int), utility).shape == (0, 4)


def test_at_sizes_takes_each_users_own_column_and_zero_for_an_empty_list():
    values = np.array([[-1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [-7.0, 8.0, 9.0]])
    assert at_sizes(values, np.array([1, 3, 0])).tolist() == [-1.0, 6.0, 0.0]


class TestNames:
    def test_names_may_be_written_in_capitals(self):
        assert named_utility("NDCG") is NDCG

    def test_a_utility_is_returned_as_it_is(self):
        assert named_utility(OWN) is OWN

    @pytest.mark.parametrize("wrong", ["map", "", None, 3, ["f1"]])
    def test_unknown_names_are_refused(self, wrong):
        with pytest.raises(SettingError, match="utility"):
            named_utility(wrong)

    def test_a_registered_utility_works_by_name(self, registry):
        register("utility", "own", OWN)
        assert named_utility("own") is OWN
        assert utility_of(OWN.plain(5)) is OWN
        assert_array_equal(
            utility_at_every_size([[True, False]], [1], "own"), utility_at_every_size([[True, False]], [1], OWN)
        )

    def test_a_name_registered_for_something_else_is_refused(self, registry):
        register("utility", "wrong", dict)
        with pytest.raises(SettingError, match="wrong"):
            named_utility("wrong")


class TestPlainValues:
    @ALL
    def test_a_utility_comes_back_with_the_same_values(self, utility):
        back = utility_of(utility.plain(8))
        hits = np.random.default_rng(0).random((20, 8)) < 0.4
        n_relevant = hits.sum(axis=1) + 1
        assert back.name == utility.name
        assert_array_equal(
            utility_at_every_size(hits, n_relevant, back), utility_at_every_size(hits, n_relevant, utility)
        )

    @pytest.mark.parametrize("name", USUAL)
    def test_registered_utilities_are_saved_by_name(self, name):
        assert USUAL[name].plain(5) == {"name": name}
        assert utility_of({"name": name}) is USUAL[name]

    def test_another_utility_under_a_registered_name_is_saved_in_full(self):
        doubled = Utility("f1", gain=2.0, normaliser="mean")
        assert utility_of(doubled.plain(5)).gain == 2.0
        listed = Utility("f1", discount=np.array([1.0, 0.5]), normaliser="mean")
        assert utility_of(listed.plain(2)).discounts(2).tolist() == [1.0, 0.5]

    def test_the_plain_form_holds_only_types_that_json_knows(self):
        plain = Utility("own", discount=np.array([1.0, 0.5]), gain=np.float32(2.0)).plain(2)
        assert plain == {"name": "own", "discount": [1.0, 0.5], "gain": 2.0, "loss": 0.0, "normaliser": "none"}
        assert [type(value) for value in plain.values()] == [str, list, float, float, str]

    def test_a_list_of_discounts_makes_equal_utilities(self):
        assert Utility("own", discount=[1, 0.5]) == Utility("own", discount=np.array([1.0, 0.5]))
        assert hash(Utility("own", discount=[1, 0.5])) == hash(Utility("own", discount=(1.0, 0.5)))


class TestBadInput:
    @pytest.mark.parametrize(
        ("settings", "word"),
        [
            ({"normaliser": "most"}, "normaliser"),
            ({"loss": 0.5, "normaliser": "mean"}, "loss"),
            ({"gain": np.inf}, "gain"),
            ({"gain": -1.0, "normaliser": "mean"}, "gain"),
            ({"loss": np.nan}, "loss"),
            ({"discount": [[1.0, 0.5]]}, "discount"),
            ({"discount": 0.5}, "discount"),
            ({"discount": ["much"]}, "discount"),
        ],
    )
    def test_a_utility_is_checked_when_it_is_made(self, settings, word):
        with pytest.raises(SettingError, match=word):
            Utility("wrong", **settings)

    @pytest.mark.parametrize(
        "discount",
        [(1.0, 0.5), lambda rank: 1.0, lambda rank: np.where(rank > 2, np.inf, 1.0), lambda rank: ["much"] * 3],
        ids=["too few", "a number", "infinite", "text"],
    )
    def test_a_discount_is_checked_up_to_the_rank_that_is_used(self, discount):
        with pytest.raises(SettingError, match="discount"):
            utility_at_every_size([[True, False, True]], [2], Utility("wrong", discount=discount))

    def test_a_rising_discount_has_no_ideal_list(self):
        with pytest.raises(SettingError, match="fall"):
            Utility("wrong", discount=(0.5, 1.0), normaliser="ideal").discounts(2)

    @pytest.mark.parametrize(
        ("hits", "n_relevant", "word"),
        [
            ([True, False], [1], "hits"),
            (np.empty((2, 0)), [1, 1], "hits"),
            ([[True, False]], [1, 1], "n_relevant"),
            ([[True, False]], [1.5], "n_relevant"),
            ([[True, True]], [1], "n_relevant"),
        ],
    )
    def test_hits_and_counts_are_checked(self, hits, n_relevant, word):
        with pytest.raises(DataError, match=word):
            utility_at_every_size(hits, n_relevant, "f1")
