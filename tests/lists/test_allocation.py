"""Allocations are compared with exhaustive search, linear programmes and slow loops."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from scipy.stats import ttest_rel

from sureness.errors import DataError, SettingError
from sureness.lists.budgets import allocate_budget, equal_budget
from sureness.lists.comparing import compare_worth
from sureness.lists.expectation import expected_utility
from sureness.lists.pages import allocate_domains, equal_shares
from sureness.metrics.utility import at_sizes, utility_at_every_size
from sureness.numerics.threads import at_most_threads

EIGHTHS = st.integers(-4, 12).map(lambda n: n / 8)  # sums of them are exact, so that ties are ties
FALLING = [0.5, 0.7, 0.8]


def with_nothing(worth):
    """A column for the list of 0 items in front."""
    return np.concatenate([np.zeros((*worth.shape[:-1], 1)), worth], axis=-1)


def rising_less(steps):
    """Concave utilities out of steps in any order."""
    return np.cumsum(-np.sort(-steps, axis=-1), axis=-1)


def best_by_trying(worth, lows, highs, allowed):
    """The largest total over all sizes that are allowed, and the fewest items that attain it."""
    values = with_nothing(worth)
    totals = [
        (sum(values[place, size] for place, size in enumerate(sizes)), -sum(sizes))
        for sizes in itertools.product(*(range(low, high + 1) for low, high in zip(lows, highs, strict=True)))
        if allowed(sizes)
    ]
    best, fewest = max(totals)
    return best, -fewest


# --- domains on one page --------------------------------------------------------------------------------------------


@st.composite
def pages(draw):
    n_domains, width = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    worth = draw(arrays(float, (n_domains, width), elements=EIGHTHS))
    concave = draw(arrays(bool, n_domains))
    worth = np.where(concave[:, None], rising_less(worth), worth)
    lengths = draw(arrays(int, n_domains, elements=st.integers(0, width + 1)))
    highs = draw(arrays(int, n_domains, elements=st.integers(0, width)))
    lows = np.minimum(draw(arrays(int, n_domains, elements=st.integers(0, 2))), highs)
    needed = np.minimum(lows, lengths).sum()
    return worth, lengths, lows, highs, needed + draw(st.integers(0, n_domains * width))


@given(pages())
def test_a_page_equals_exhaustive_search(page):
    worth, lengths, lows, highs, slots = page
    found = allocate_domains(worth[None], slots, min_size=lows, max_size=highs, lengths=lengths[None])
    within = np.minimum(highs, lengths)
    best, fewest = best_by_trying(worth, np.minimum(lows, within), within, lambda sizes: sum(sizes) <= slots)
    assert found.value[0] == best
    assert found.sizes.sum() == fewest
    assert np.all((np.minimum(lows, within) <= found.sizes) & (found.sizes <= within))
    assert_array_equal(found.values[0], np.take_along_axis(with_nothing(worth), found.sizes[0][:, None], 1)[:, 0])


def plain_programme(worth, slots):
    """The textbook dynamic programme, for all users at once: the best total of at most so many items."""
    best = np.zeros((slots + 1, len(worth)))
    for domain in range(worth.shape[1]):
        before = best.copy()
        for used in range(1, slots + 1):
            for size in range(1, min(used, worth.shape[2]) + 1):
                best[used] = np.maximum(best[used], before[used - size] + worth[:, domain, size - 1])
    return best[slots]


@pytest.mark.parametrize("shape", ["any", "concave", "mixed"])
def test_many_users_equal_the_textbook_programme(shape):
    rng = np.random.default_rng(3)
    worth = np.cumsum(rng.normal(0.1, 1.0, (900, 4, 20)), axis=2)
    concave = {"any": [False] * 4, "concave": [True] * 4, "mixed": [True, False, True, False]}[shape]
    worth = np.where(np.array(concave)[:, None], rising_less(rng.exponential(size=worth.shape)), worth)
    worth -= np.minimum(
        worth.min(axis=2, keepdims=True), 0
    )  # so that no size is as bad as the -inf * 0 of the textbook
    found = allocate_domains(worth, 20)
    assert_allclose(found.value, plain_programme(worth, 20), rtol=1e-12)
    assert found.sizes.sum(axis=1).max() <= 20
    with at_most_threads(1):
        assert_array_equal(allocate_domains(worth, 20).sizes, found.sizes)


def test_every_user_may_have_another_page():
    worth = np.tile([FALLING, [0.4, 0.6, 0.7]], (4, 1, 1))
    assert_array_equal(allocate_domains(worth, [0, 1, 3, 99]).sizes, [[0, 0], [1, 0], [2, 1], [3, 3]])


def test_slots_that_gain_nothing_stay_free():
    assert_array_equal(allocate_domains([[[0.5, 0.5, 0.4], [0.3, 0.3, 0.3]]], 6).sizes, [[1, 1]])
    assert_array_equal(allocate_domains(np.zeros((2, 3, 4)), 6).sizes, np.zeros((2, 3)))


def test_of_equally_good_pages_the_shorter_one_is_taken():
    two_items, three_items = [0.125, 0.5, 0.5], [0.0, 0.0, 0.5]
    assert_array_equal(allocate_domains([[two_items, three_items]], 3).sizes, [[2, 0]])
    assert_array_equal(allocate_domains([[three_items, two_items]], 3).sizes, [[0, 2]])


def test_equal_domains_share_alike_and_the_earlier_gets_the_odd_item():
    assert_array_equal(allocate_domains([[FALLING, FALLING]], 3).sizes, [[2, 1]])


def test_negative_utilities_show_nothing_unless_a_minimum_asks_for_it():
    losing = -np.cumsum(np.ones((1, 2, 3)), axis=2)
    assert_array_equal(allocate_domains(losing, 6).sizes, [[0, 0]])
    forced = allocate_domains(losing, 6, min_size=[2, 0])
    assert_array_equal(forced.sizes, [[2, 0]])
    assert_array_equal(forced.value, [-2])


def test_a_domain_with_few_candidates_shows_all_of_them_under_a_minimum():
    found = allocate_domains([[FALLING, FALLING]], 4, min_size=3, lengths=[[1, 9]])
    assert_array_equal(found.sizes, [[1, 3]])


def test_no_slots_and_no_users():
    assert_array_equal(allocate_domains([[FALLING]], 0).sizes, [[0]])
    assert allocate_domains(np.empty((0, 2, 3)), 5).sizes.shape == (0, 2)
    assert allocate_domains(np.empty((2, 0, 3)), 5).value.tolist() == [0.0, 0.0]


def test_single_precision_and_whole_numbers_are_understood():
    worth = np.array([[[1, 3, 4], [2, 3, 3]]])
    for kind in (np.float32, np.int64, np.uint8):
        assert_array_equal(allocate_domains(worth.astype(kind), 3).sizes, allocate_domains(worth, 3).sizes)
    turned = np.asfortranarray(np.tile(worth, (5, 1, 1)).astype(float))
    assert_array_equal(allocate_domains(turned, 3).sizes, np.tile(allocate_domains(worth, 3).sizes, (5, 1)))


def test_what_stands_behind_the_candidates_does_not_count():
    worth = np.array([[[0.5, np.nan, 9.0], [0.4, 0.6, np.inf]]])
    assert_array_equal(allocate_domains(worth, 9, lengths=[[1, 2]]).sizes, [[1, 2]])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"utilities": [FALLING]}, "n_users"),
        ({"utilities": np.empty((1, 2, 0))}, "size"),
        ({"utilities": [[["a", "b"]]]}, "utilities"),
        ({"utilities": [[FALLING, [1, np.nan, 1]]]}, "user"),
        ({"utilities": [[FALLING, [1, np.inf, 1]]]}, "utilities"),
        ({"slots": -1}, "slots"),
        ({"slots": 2.5}, "slots"),
        ({"slots": [1, 2, 3]}, "slots"),
        ({"min_size": 2, "max_size": 1}, "min_size"),
        ({"min_size": [0, 3], "slots": 2}, "min_size"),
        ({"min_size": 4, "slots": 9}, "min_size"),
        ({"max_size": [1, 2, 3]}, "max_size"),
        ({"lengths": [[1, -1]]}, "lengths"),
        ({"lengths": [3, 3]}, "shape"),
    ],
)
def test_bad_pages_are_refused(changes, word):
    with pytest.raises(DataError, match=word):
        allocate_domains(**({"utilities": [[FALLING, FALLING]], "slots": 4} | changes))


# --- a budget over users --------------------------------------------------------------------------------------------


@st.composite
def budgets(draw, costs=("one", "same", "whole", "any"), most=4):
    n_users, width = draw(st.integers(1, most)), draw(st.integers(1, 4))
    worth = draw(arrays(float, (n_users, width), elements=EIGHTHS))
    if draw(st.booleans()):
        worth = rising_less(worth)
    units = arrays(int, (n_users, width), elements=st.integers(0, 5))
    cost = {"one": st.none(), "same": st.sampled_from([0.0, 0.5, 3]), "whole": units, "any": units.map(lambda c: c / 4)}
    lengths = draw(arrays(int, n_users, elements=st.integers(0, width + 1)))
    highs = draw(arrays(int, n_users, elements=st.integers(0, width)))
    lows = np.minimum(draw(arrays(int, n_users, elements=st.integers(0, 1))), highs)
    return worth, draw(cost[draw(st.sampled_from(costs))]), lengths, lows, highs, draw(st.integers(0, 40)) / 4


def paid_up_to(cost, shape):
    return with_nothing(np.cumsum(np.broadcast_to(1.0 if cost is None else cost, shape), axis=1))


@given(budgets(), st.booleans())
def test_a_budget_is_within_its_bound_of_exhaustive_search(problem, small):
    worth, cost, lengths, low, high, left = problem
    highs = np.minimum(high, lengths)
    lows = np.minimum(low, highs)
    users, paid = np.arange(len(worth)), paid_up_to(cost, worth.shape)
    budget = left + paid[users, lows].sum()
    with pytest.MonkeyPatch.context() as patch:
        if not small:
            patch.setattr("sureness.lists.budgets._EXACT_CELLS", 0)
        found = allocate_budget(worth, budget, cost=cost, min_size=low, max_size=high, lengths=lengths)
    best, _ = best_by_trying(worth, lows, highs, lambda sizes: paid[users, list(sizes)].sum() <= budget)
    assert found.total <= best <= found.total + found.bound + 1e-12
    assert found.spent == pytest.approx(paid[users, found.sizes].sum())
    assert found.spent <= budget
    assert np.all((lows <= found.sizes) & (found.sizes <= highs))
    assert_array_equal(found.value, with_nothing(worth)[users, found.sizes])
    if small and np.ndim(0 if cost is None else cost) == 0:
        assert found.bound == 0


@given(budgets(costs=("any",), most=5))
def test_the_bound_is_what_the_linear_programme_leaves(problem):
    worth, cost, _, _, _, budget = problem
    found = allocate_budget(worth, budget, cost=cost)
    n_users, width = worth.shape
    ones = np.kron(np.eye(n_users), np.ones(width + 1))  # every user has one size, in parts
    relaxed = linprog(
        -with_nothing(worth).ravel(), A_ub=paid_up_to(cost, worth.shape).reshape(1, -1), b_ub=[budget],
        A_eq=ones, b_eq=np.ones(n_users),
    )  # fmt: skip
    if cost.size > 1:
        assert found.total + found.bound == pytest.approx(-relaxed.fun, abs=1e-9)
    else:  # one cost for all is counted in items, of which parts are no use
        assert found.total + found.bound <= -relaxed.fun + 1e-9


@pytest.mark.parametrize("budget", [0, 1, 700, 20_000, 10**9])
def test_many_users_take_the_largest_gains(budget, monkeypatch):
    worth = rising_less(np.random.default_rng(4).exponential(size=(4_000, 20)))
    found = allocate_budget(worth, budget)
    gains = -np.sort(-np.diff(with_nothing(worth), axis=1), axis=None)
    assert found.total == pytest.approx(gains[:budget].sum())
    assert found.spent == min(budget, worth.size)
    assert found.bound == 0
    assert found.price == pytest.approx(gains[budget] if budget < worth.size else 0.0)
    monkeypatch.setattr("sureness.lists._allocation_kernels._MANY", 1)  # every block of users has bins of its own
    assert_array_equal(allocate_budget(worth, budget).sizes, found.sizes)


def test_many_users_with_costs_come_close():
    rng = np.random.default_rng(5)
    worth, cost = np.cumsum(rng.normal(0.1, 1.0, (4_000, 20)), axis=1), rng.exponential(size=(4_000, 20))
    found = allocate_budget(worth, 5_000.0, cost=cost)
    assert found.spent <= 5_000
    assert found.spent == pytest.approx(5_000, rel=1e-3)
    assert 0 < found.bound < 1e-3 * found.total


def test_a_budget_of_zero_shows_nothing_but_what_is_free():
    worth = np.array([FALLING, FALLING])
    nothing = allocate_budget(worth, 0)
    assert (nothing.sizes.tolist(), nothing.spent, nothing.bound, nothing.total) == ([0, 0], 0, 0, 0)
    free = allocate_budget(worth, 0, cost=[[0, 0, 1], [1, 0, 0]])
    assert (free.sizes.tolist(), free.spent, free.bound) == ([2, 0], 0, 0)
    assert allocate_budget(worth, 0, cost=0).sizes.tolist() == [3, 3]


@pytest.mark.parametrize("budget", [6, 1e12, float("inf")])
def test_a_budget_for_everything_gives_everybody_the_best_list(budget):
    found = allocate_budget([[0.5, 0.4, 0.8], [0.5, 0.5, 0.1]], budget)
    assert (found.sizes.tolist(), found.price, found.bound, found.spent) == ([3, 1], 0, 0, 4)


def test_earlier_users_come_first_where_gains_are_equal():
    assert allocate_budget(np.tile(FALLING, (4, 1)), 6).sizes.tolist() == [2, 2, 1, 1]


def test_a_fraction_of_an_item_is_not_lost_on_the_bound():
    assert allocate_budget([FALLING, FALLING], 2.7).bound == 0
    assert allocate_budget([FALLING, FALLING], 2.7, cost=[[1, 1, 1]]).bound == 0  # whole numbers as well


def test_three_items_of_a_tenth_fit_three_tenths():
    found = allocate_budget([[1.0], [1.0], [1.0], [1.0]], 0.3, cost=[[0.1]] * 4)
    assert found.sizes.tolist() == [1, 1, 1, 0]
    assert allocate_budget([[1.0]] * 4, 0.3, cost=0.1).sizes.tolist() == [1, 1, 1, 0]


def test_one_cost_for_all_is_a_matter_of_units():
    worth = rising_less(np.random.default_rng(6).exponential(size=(50, 6)))
    plain, dear = allocate_budget(worth, 80), allocate_budget(worth, 200, cost=2.5)
    assert_array_equal(plain.sizes, dear.sizes)
    assert (dear.spent, dear.price) == (plain.spent * 2.5, plain.price / 2.5)
    assert_array_equal(allocate_budget(worth, 200, cost=np.full((50, 1), 2.5)).sizes, plain.sizes)


def test_minimum_sizes_are_paid_first():
    worth = [[0.9, 1.0, 1.1], [-0.1, -0.2, -0.3]]
    found = allocate_budget(worth, 3, min_size=[0, 2])
    assert (found.sizes.tolist(), found.bound) == ([1, 2], 0)
    with pytest.raises(SettingError, match="min_size"):
        allocate_budget(worth, 5, min_size=1, cost=3)


def test_users_with_few_candidates_see_all_of_them_under_a_minimum():
    assert allocate_budget([FALLING, FALLING], 4, min_size=2, lengths=[1, 9]).sizes.tolist() == [1, 3]


def test_a_budget_over_nobody():
    found = allocate_budget(np.empty((0, 3)), 5)
    assert (len(found.sizes), found.spent, found.bound, found.price) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"utilities": [[FALLING]]}, "n_users"),
        ({"utilities": [[0.5, np.nan, 1.0]] * 2}, "those"),
        ({"budget": -1}, "budget"),
        ({"budget": float("nan")}, "budget"),
        ({"budget": "all"}, "budget"),
        ({"cost": -1.0}, "costs"),
        ({"cost": [[1, np.nan, 1]]}, "costs"),
        (
            {"cost": [[1, 1], [1, 1]]},
            "number",
        ),
        ({"cost": "dear"}, "cost"),
        ({"min_size": 2, "max_size": [3, 1]}, "min_size"),
        ({"max_size": 1.5}, "max_size"),
        ({"lengths": [[1], [2]]}, "shape"),
    ],
)
def test_bad_budgets_are_refused(changes, word):
    with pytest.raises(DataError, match=word):
        allocate_budget(**({"utilities": [FALLING, FALLING], "budget": 4} | changes))


# --- equal shares ---------------------------------------------------------------------------------------------------


@given(
    arrays(int, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.integers(0, 6)),
    st.integers(0, 30), st.integers(0, 2), st.integers(2, 7),
)  # fmt: skip
def test_equal_shares_are_dealt_out_one_by_one(lengths, slots, low, high):
    needed = np.minimum(low, lengths).sum(axis=1).max()
    slots += int(needed)
    for row, found in zip(lengths, equal_shares(slots, lengths, min_size=low, max_size=high), strict=True):
        sizes = np.minimum(low, row)
        for level in range(high):
            for domain, length in enumerate(row):
                if sizes[domain] == level < min(length, high) and sizes.sum() < slots:
                    sizes[domain] += 1
        assert found.tolist() == sizes.tolist()


@given(budgets())
def test_equal_budgets_are_spent_one_rank_after_the_other(problem):
    worth, cost, lengths, lows, highs, left = problem
    highs = np.minimum(highs, lengths)
    lows = np.minimum(lows, highs)
    users, paid = np.arange(len(worth)), paid_up_to(cost, worth.shape)
    budget = left + paid[users, lows].sum()
    sizes = lows.copy()
    for level in range(worth.shape[1]):
        for user in users[(sizes == level) & (highs > level)]:
            sizes[user] += 1
            if paid[users, sizes].sum() > budget:
                sizes[user] -= 1
                break
        else:
            continue
        break
    found = equal_budget(budget, lengths, cost=cost, min_size=lows, max_size=highs)
    assert found.tolist() == sizes.tolist()


def test_equal_shares_refuse_what_does_not_fit():
    with pytest.raises(DataError, match="n_users"):
        equal_shares(4, [3, 3])
    with pytest.raises(SettingError, match="need"):
        equal_shares(4, [[3, 3]], min_size=3)
    with pytest.raises(SettingError, match="cost"):
        equal_budget(4, [3, 3], min_size=3)
    assert equal_shares(4, np.empty((0, 3), dtype=int)).shape == (0, 3)
    assert equal_budget(4, np.empty(0, dtype=int)).shape == (0,)


# --- held-out labels ------------------------------------------------------------------------------------------------


def judged_by_labels(sizes, reference, hits, n_relevant, utility):
    hits, n_relevant = np.asarray(hits), np.asarray(n_relevant)
    every = utility_at_every_size(hits.reshape(-1, hits.shape[-1]), n_relevant.ravel(), utility)
    own, other = (at_sizes(every, np.ravel(each)).reshape(len(hits), -1).sum(axis=1) for each in (sizes, reference))
    return compare_worth(own, other)


@pytest.mark.parametrize("utility", ["f1", "ndcg", "tp", "pdcg", "dcg"])
@pytest.mark.parametrize("shape", [(30, 3, 5), (30, 5)])
def test_evaluation_equals_a_loop_over_lists(utility, shape):
    rng = np.random.default_rng(7)
    hits, more = rng.random(shape) < 0.3, rng.integers(0, 3, shape[:-1])
    sizes, reference = rng.integers(0, 6, (2, *shape[:-1]))
    found = judged_by_labels(sizes, reference, hits, hits.sum(axis=-1) + more, utility=utility)
    totals = np.zeros((2, len(hits)))
    for place in np.ndindex(*shape[:-1]):
        every = utility_at_every_size(hits[place][None], [hits[place].sum() + more[place]], utility)[0]
        for side, chosen in enumerate((sizes, reference)):
            totals[side, place[0]] += every[chosen[place] - 1] if chosen[place] else 0.0
    assert (found.value, found.reference) == pytest.approx(tuple(totals.mean(axis=1)))
    assert found.difference == pytest.approx(found.value - found.reference)
    assert found.standard_error == pytest.approx(np.std(totals[0] - totals[1], ddof=1) / np.sqrt(30))
    assert found.p_value == pytest.approx(ttest_rel(*totals).pvalue)


def test_differences_without_spread_have_certain_tests():
    hits = np.ones((3, 2), dtype=bool)
    same = judged_by_labels([1, 1, 1], [1, 1, 1], hits, [2, 2, 2], utility="dcg")
    assert (same.difference, same.standard_error, same.p_value) == (0, 0, 1)
    better = judged_by_labels([1, 1, 1], [0, 0, 0], hits, [2, 2, 2], utility="dcg")
    assert (better.difference, better.standard_error, better.p_value) == (1, 0, 0)
    alone = judged_by_labels([1], [0], hits[:1], [2], utility="dcg")
    assert alone.difference == 1
    assert np.isnan([alone.standard_error, alone.p_value]).all()


# --- the whole way --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world():
    """Probabilities of 400 users in three domains, of which each likes some more, and labels drawn from them."""
    rng = np.random.default_rng(9)
    level = rng.normal(-2.5, 1.5, (400, 3, 1))
    p = -np.sort(-1 / (1 + np.exp(-level - rng.normal(0, 1.0, (400, 3, 30)))), axis=2)
    return p, rng.random(p.shape) < p


def test_pages_by_expected_utility_beat_equal_shares_on_labels(world):
    p, labels = world
    expected = expected_utility(p.reshape(-1, 30), "f1", max_size=12).reshape(400, 3, 12)
    found = allocate_domains(expected, 12)
    shares = equal_shares(12, np.full((400, 3), 30))
    judged = judged_by_labels(found.sizes, shares, labels[:, :, :12], labels.sum(axis=2), utility="f1")
    assert judged.difference > 0
    assert judged.p_value < 1e-3
    assert judged.value == pytest.approx(found.value.mean(), abs=4 * judged.standard_error)


def test_budgets_by_expected_utility_beat_equal_shares_on_labels(world):
    p, labels = world[0][:, 0], world[1][:, 0]
    expected = expected_utility(p, "dcg", max_size=20)
    found = allocate_budget(expected, 1_600)
    judged = judged_by_labels(
        found.sizes, equal_budget(1_600, np.full(400, 20)), labels[:, :20], labels.sum(axis=1), utility="dcg"
    )
    assert found.spent == 1_600
    assert judged.difference > 0
    assert judged.p_value < 1e-3


def test_the_compiler_is_loaded_when_something_is_allocated():
    code = "import sureness.lists.budgets, sureness.lists.pages, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
