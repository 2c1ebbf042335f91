"""Negatives are never seen items, and as likely as they should be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sureness.data.interactions import Interactions
from sureness.data.sampling import NegativeSampler
from sureness.errors import DataError, SettingError

POWERS = [0.0, 0.5, 0.75, 1.0]
every_power = pytest.mark.parametrize("power", POWERS)


def random_log(seed, n_users=8, n_items=10, density=0.6):
    """Any log in which every user lacks an item."""
    seen = np.random.default_rng(seed).random((n_users, n_items)) < density
    seen[np.arange(n_users), np.random.default_rng(seed).integers(0, n_items, n_users)] = False
    return Interactions.from_matrix(seen)


def skewed_log():
    """Twelve items seen by 1, 2, 4, 9, 16, ... of 150 users; user 0 has seen five of them."""
    rng = np.random.default_rng(1)
    seen = rng.random((150, 12)) < (np.arange(12) + 1) ** 2 / 150
    seen[0] = np.arange(12) % 3 == 0
    seen[0, 11] = True
    return Interactions.from_matrix(seen)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(POWERS), st.floats(0.0, 1.0))
def test_a_seen_item_is_never_drawn(seed, power, density):
    log = random_log(seed, density=density)
    users = np.random.default_rng(seed).integers(0, log.n_users, 400)
    drawn = NegativeSampler(log, power).draw(users, np.random.default_rng(seed))
    assert not (log.matrix.toarray()[users, drawn] > 0).any()
    assert drawn.dtype == np.int64


@every_power
def test_unseen_items_are_drawn_in_proportion_to_their_popularity(power):
    log = skewed_log()
    drawn = NegativeSampler(log, power).draw(np.zeros(60_000, dtype=np.int64), np.random.default_rng(0))
    unseen = np.setdiff1d(np.arange(12), log.items_of(0))
    mass = (log.item_degree[unseen] + 1.0) ** power
    counts = np.bincount(drawn, minlength=12)
    assert counts.sum() == counts[unseen].sum()
    assert chisquare(counts[unseen], 60_000 * mass / mass.sum()).pvalue > 1e-4


@every_power
def test_all_items_are_drawn_where_seen_ones_are_included(power):
    log = skewed_log()
    drawn = NegativeSampler(log, power, include_seen=True).draw(
        np.zeros(60_000, dtype=np.int64), np.random.default_rng(0)
    )
    mass = (log.item_degree + 1.0) ** power
    assert chisquare(np.bincount(drawn, minlength=12), 60_000 * mass / mass.sum()).pvalue > 1e-4


def test_who_has_seen_everything_popular_gets_the_rest_evenly():
    seen = np.zeros((500, 40), dtype=bool)
    seen[:, :4] = True  # the four items that everyone knows
    log = Interactions.from_matrix(seen)
    drawn = NegativeSampler(log, 4.0).draw(np.zeros(36_000, dtype=np.int64), np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=40)
    assert counts[:4].sum() == 0
    assert chisquare(counts[4:]).pvalue > 1e-4


@every_power
def test_who_has_seen_everything_is_refused(power):
    log = Interactions.from_matrix(np.array([[1, 1, 1], [1, 0, 0]]))
    with pytest.raises(DataError, match="row"):
        NegativeSampler(log, power).draw(np.array([1, 0]), np.random.default_rng(0))
    assert NegativeSampler(log, power, include_seen=True).draw(np.array([0]), np.random.default_rng(0))[0] in {0, 1, 2}


@every_power
@pytest.mark.parametrize("include_seen", [True, False])
def test_a_seed_gives_the_same_draws_and_another_another(power, include_seen):
    log, users = random_log(0), np.arange(8).repeat(50)
    sampler = NegativeSampler(log, power, include_seen=include_seen)
    first, again, other = (sampler.draw(users, np.random.default_rng(seed)).tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("n_items", [10, 100, 1_000, 5_000])
def test_the_largest_random_number_still_draws_an_item(n_items):
    class Largest:
        def random(self, n):
            return np.full(n, np.nextafter(1.0, 0.0))

    for seed in range(20):
        degrees = np.random.default_rng(seed).integers(0, 50, n_items)
        log = Interactions.from_matrix(np.arange(50)[:, None] < degrees)
        drawn = NegativeSampler(log, 0.75, include_seen=True).draw(np.array([0]), Largest())
        assert drawn.tolist() == [n_items - 1]


def test_pairs_are_known_as_seen_or_not():
    log = Interactions.of([0, 0, 1], ["a", "c", "b"])
    users, items = np.repeat([0, 1], 3), np.tile(np.arange(3), 2)
    assert NegativeSampler(log).seen(users, items).tolist() == [True, False, True, False, True, False]


def test_a_negative_power_is_refused():
    with pytest.raises(SettingError, match="power"):
        NegativeSampler(random_log(0), -1)
