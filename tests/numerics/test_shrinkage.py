"""Counts of users, drawn towards the mean of all users or of those who were as active."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sureness.numerics.shrinkage import counts_by_activity, shrunk_counts


def users(n_users=4_000, seed=0, spread=2.0):
    """How active users were, how many items they take next, and how many to expect if their rates were known."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(spread, 1.0 / spread, n_users)
    return rng.poisson(3 * rates), rng.poisson(rates), rates


def test_activity_tells_more_than_a_few_items():
    activity, counts, rates = users()
    by_activity, alone = counts_by_activity(counts, activity), shrunk_counts(counts)
    assert np.mean((by_activity - rates) ** 2) < 0.75 * np.mean((alone - rates) ** 2)


def test_groups_of_users_keep_their_totals():
    activity, counts, _ = users()
    expected = counts_by_activity(counts, activity)
    for low, high in ((0, 1), (2, 4), (5, 99)):
        inside = (activity >= low) & (activity <= high)
        assert expected[inside].sum() == pytest.approx(counts[inside].sum(), rel=0.02)


def test_users_of_one_activity_are_drawn_to_the_mean_of_all():
    _, counts, _ = users()
    assert_allclose(counts_by_activity(counts, np.full(len(counts), 7)), shrunk_counts(counts), rtol=1e-12)


def test_something_is_expected_of_everybody():
    counts, activity = np.repeat([0, 6], 100), np.repeat([1, 20], 100)
    expected = counts_by_activity(counts, activity)
    assert 0 < expected[0] < 0.1
    assert expected[-1] == pytest.approx(6, rel=0.01)


@pytest.mark.parametrize("n_users", [1, 3, 60])
def test_few_users_are_one_group(n_users):
    counts, activity = np.arange(n_users), np.arange(n_users) % 7
    assert_allclose(counts_by_activity(counts, activity), shrunk_counts(counts))
