"""Lists of several domains on one page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sureness.data import Interactions, SimulatorSettings, by_ratio, simulate
from sureness.sources import svd_source
from sureness_reproduction.list_size.shared_pages import domain_lists

SLOTS = 10


@pytest.fixture(scope="module")
def world():
    drawn = simulate(SimulatorSettings(n_users=150, n_items=80, exposure_rate=0.4))
    split = by_ratio(Interactions.from_matrix(drawn.train), seed=0)
    return svd_source(split.train, n_factors=4), split, np.array(drawn.domains)[drawn.item_domain]


@pytest.fixture(scope="module")
def lists(world):
    return domain_lists(*world, slots=SLOTS)


def test_slots_are_kept_and_filled_on_request(lists):
    assert lists.shared().sum(axis=1).max() <= SLOTS
    assert (lists.shared(fill=True).sum(axis=1) == SLOTS).all()


def test_a_full_page_loses_as_little_as_possible(lists):
    """Against every other way to fill the page of a user with two domains."""
    two = replace(lists, worth=lists.worth[:, :2], lengths=lists.lengths[:, :2])
    padded = np.pad(two.worth, ((0, 0), (0, 0), (1, 0)))  # no item is worth nothing
    sizes = two.shared(fill=True)
    for user in range(0, len(two.users), 10):
        totals = [padded[user, 0, k] + padded[user, 1, SLOTS - k] for k in range(SLOTS + 1)]
        found = padded[user, 0, sizes[user, 0]] + padded[user, 1, sizes[user, 1]]
        assert found == pytest.approx(max(totals))


def test_only_users_with_a_relevant_item_are_judged(lists):
    assert (lists.relevant.sum(axis=1) > 0).all()
    assert len(lists.users) == len(lists.worth) == len(np.unique(lists.users))


def test_what_a_domain_was_worth_is_its_f1(lists):
    sizes = lists.equal()
    worth = lists.realised(sizes)
    for user, domain in ((0, 0), (3, 1), (5, 3)):
        k, relevant = sizes[user, domain], lists.relevant[user, domain]
        expected = 2 * lists.hits[user, domain, :k].sum() / (k + relevant) if relevant else 0.0
        assert worth[user, domain] == pytest.approx(expected)
