"""The approximate utility of the dissertation, and pages that trending items fill."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sureness.lists import Lists, expected_utility
from sureness.metrics import F1, NDCG, TP
from sureness_reproduction.list_size.approximate import ApproximateUtility, fill_with_trending


def approximate(p, utility, max_size, terms=2_000, **known):
    policy = ApproximateUtility(utility, max_size=max_size, terms=terms)
    return policy.expected(Lists.of(probabilities=p, **known))


def test_it_follows_the_text():
    rng = np.random.default_rng(2)
    p = -np.sort(-rng.random((1, 8)) * 0.4)
    pmf = np.array([1.0])
    for chance in p[0]:
        pmf = np.convolve(pmf, [1 - chance, chance])
    for utility in (NDCG, F1, TP):
        expected = np.zeros(8)
        for k in range(1, 9):
            gained = np.sum(p[0, :k] * utility.discounts(8)[:k])
            for m in range(1, 6):  # M = 5
                scale = {
                    "ndcg": np.sum(1 / np.log2(1 + np.arange(1, min(m, k) + 1))), "f1": (m + k) / 2, "tp": min(m, k),
                }[utility.name]  # fmt: skip
                expected[k - 1] += gained * pmf[m - 1] / scale
        assert_allclose(approximate(p, utility, 8, 5)[0], expected, atol=1e-13)


def test_both_approximations_only_lower_the_value():
    p = -np.sort(-np.random.default_rng(3).random((50, 15)))
    for utility in ("ndcg", "f1", "tp"):
        exact, rough = expected_utility(p, utility, max_size=15), approximate(p, utility, 15)
        assert np.all(rough <= exact + 1e-12)
        assert np.all(rough[:, -1] < exact[:, -1])
        assert np.all(approximate(p, utility, 15, terms=1) < rough)


def test_additive_utilities_need_no_approximation():
    p = np.array([[0.8, 0.6, 0.1]])
    for name in ("pdcg", "dcg"):
        assert_allclose(approximate(p, name, 3), expected_utility(p, name, max_size=3), atol=1e-15)


def test_a_tail_and_short_rows_work_as_in_the_exact_form():
    p, tail, lengths = np.full((2, 30), 0.01), np.array([[39.7], [49.9]]), [30, 10]
    exact = expected_utility(p, "f1", max_size=30, lengths=lengths, tail=tail)
    assert_allclose(approximate(p, "f1", 30, lengths=lengths, tail=tail), exact, rtol=0.03)


@given(
    st.lists(st.permutations(range(6)), min_size=1, max_size=4), st.permutations(range(8)), st.integers(0, 8),
    st.integers(0, 6), st.lists(st.sets(st.integers(0, 7)), min_size=4, max_size=4), st.data(),
)  # fmt: skip
def test_trending_items_fill_what_is_left(items, trending, n_trending, slots, seen, data):
    sizes = [data.draw(st.integers(0, min(slots, 6))) for _ in items]
    values = np.array([item for own in seen for item in sorted(own)], dtype=int)
    starts = np.cumsum([0, *(len(own) for own in seen)])
    found = fill_with_trending(items, sizes, trending[:n_trending], slots, (starts, values))
    for user, (page, personal, own, size) in enumerate(zip(found.items, found.personal, items, sizes, strict=True)):
        more = [item for item in trending[:n_trending] if item not in own[:size] and item not in seen[user]]
        expected = (own[:size] + more)[:slots]
        assert page.tolist() == expected + [-1] * (slots - len(expected))
        assert personal.tolist() == [True] * size + [False] * (slots - size)


def test_gaps_in_personal_lists_are_filled_as_well():
    found = fill_with_trending([[4, -1, -1]], [3], [4, 1, 2], 3, ([0, 0], []))
    assert found.items.tolist() == [[4, 1, 2]]
    assert found.personal.tolist() == [[True, False, False]]
