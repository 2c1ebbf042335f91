"""The number of relevant items against the exact recursion, scipy and its own moments."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sureness.errors import SettingError
from sureness.numerics.poisson_binomial import poisson_binomial_pmf, power_sums

PROBABILITY = st.one_of(st.sampled_from([0.0, 1.0, 1e-12, 0.5, 1 / 16, 1 / 512]), st.floats(0, 1))


def windowed_recursion(probabilities: np.ndarray) -> tuple[int, np.ndarray]:
    """The recursion over a window that moves with the mean: exact to 1e-16, and quick enough for 100,000 items."""
    first, pmf, mean, variance = 0, np.array([1.0]), 0.0, 0.0
    for p in probabilities:
        pmf = np.concatenate([pmf, [0.0]]) * (1 - p) + np.concatenate([[0.0], pmf]) * p
        mean, variance = mean + p, variance + p * (1 - p)
        keep = np.flatnonzero(pmf > 1e-25)
        first, pmf = first + keep[0], pmf[keep[0] : keep[-1] + 1]
    return first, pmf


@settings(max_examples=150, deadline=None)
@given(st.lists(PROBABILITY, min_size=1, max_size=60))
def test_it_agrees_with_scipy(probabilities):
    expected = scipy.stats.poisson_binom(probabilities).pmf(np.arange(len(probabilities) + 1))
    assert_allclose(poisson_binomial_pmf(probabilities), expected, atol=1e-10)
    first, exact = windowed_recursion(np.array(probabilities))
    assert_allclose(poisson_binomial_pmf(probabilities)[first : first + len(exact)], exact, atol=1e-12)


MIXES = {
    "rare": lambda rng, n: rng.random(n) * 1e-3,
    "as after calibration": lambda rng, n: 0.8 / (1 + np.arange(n)) ** 0.9,
    "all alike": lambda rng, n: np.full(n, 0.5),
    "anything": lambda rng, n: rng.random(n),
    "certain and impossible": lambda rng, n: np.where(rng.random(n) < 0.5, 1.0, np.where(rng.random(n) < 0.5, 0, 0.3)),
    "nearly certain": lambda rng, n: 1 - rng.random(n) * 1e-3,
    "around the thresholds": lambda rng, n: rng.choice([1 / 16, 1 / 16 - 1e-9, 1 / 512, 1 / 512 - 1e-12, 0.45], n),
}


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("n_items", [1_000, 20_000])
def test_it_equals_the_recursion_for_many_items(mix, n_items):
    p = MIXES[mix](np.random.default_rng(0), n_items)
    first, expected = windowed_recursion(p)
    found = poisson_binomial_pmf(p)
    assert_allclose(found[first : first + len(expected)], expected, atol=1e-12)
    assert found.sum() == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("mix", ["as after calibration", "anything"])
def test_it_equals_the_recursion_for_a_hundred_thousand_items(mix):
    p = MIXES[mix](np.random.default_rng(1), 100_000)
    if mix == "anything":
        p[::3] *= 1e-4
    first, expected = windowed_recursion(p)
    assert_allclose(poisson_binomial_pmf(p)[first : first + len(expected)], expected, atol=1e-12)


def test_rows_are_as_if_alone():
    rows = np.random.default_rng(2).random((4, 30))
    together = poisson_binomial_pmf(rows)
    for row, found in zip(rows, together, strict=True):
        assert_allclose(found, poisson_binomial_pmf(row), atol=0)


def test_the_largest_count_cuts_the_same_distribution():
    rows = np.random.default_rng(3).random((2, 40))
    whole, part = (poisson_binomial_pmf(rows, max_count=count) for count in (None, 12))
    assert_allclose(part, whole[:, : part.shape[1]], atol=1e-15)
    assert poisson_binomial_pmf(rows, max_count=50).shape == (2, 51)


def test_without_items_nothing_is_relevant():
    assert_allclose(poisson_binomial_pmf(np.empty((2, 0))), [[1.0], [1.0]])


def test_power_sums_are_sums_of_powers():
    rows = np.random.default_rng(6).random((3, 20))
    expected = np.stack([np.sum(rows[:, 5:] ** j, axis=1) for j in (1, 2, 3)], axis=1)
    assert_allclose(power_sums(rows, 3, skip=5), expected, rtol=1e-13)


@pytest.mark.parametrize("max_count", [-1, 2.5, "many"])
def test_a_largest_count_must_be_whole(max_count):
    with pytest.raises(SettingError, match="max_count"):
        poisson_binomial_pmf([0.5], max_count=max_count)
