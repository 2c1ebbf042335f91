"""What list sizes are worth in a simulated world, as the demo shows it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.demo.list_study import share_page_of, study_lists


@pytest.fixture(scope="module")
def world():
    return sn.simulate(sn.SimulatorSettings(n_users=1_500, n_items=300, seed=0))


@pytest.fixture(scope="module")
def study(world):
    return study_lists(world)


def test_personal_sizes_beat_the_best_fixed_one(study):
    difference, p_value = study.compared.difference("PerK", "best fixed k")
    assert difference > 0
    assert p_value < 0.1  # one small world


def test_the_split_holds_everything_that_was_logged(world, study):
    assert sum(len(part) for part in study.split.parts.values()) == world.train.nnz + world.held_out.nnz
    assert study.recommender.seen_.matrix.multiply(study.split.test.matrix).nnz == 0


def test_a_shared_page_finds_more_in_no_more_slots(world, study):
    page = share_page_of(world, study, slots=12)
    n_judged = np.count_nonzero(study.split.test.user_degree)
    assert page.sizes.shape == page.equal.shape == (n_judged, 4)
    assert np.all(page.equal == 3)
    assert page.sizes.sum(axis=1).max() <= 12
    assert page.compared.difference > 0
    assert page.table["domain"].to_list() == sorted(world.domains)
    assert_allclose(page.table["shared slots"], page.sizes.mean(axis=0))


def test_small_domains_have_short_lists():
    world = sn.simulate(sn.SimulatorSettings(n_users=200, n_items=40, preference_rate=0.3))
    page = share_page_of(world, study_lists(world, max_size=10, n_factors=4), slots=30)
    n_items = np.bincount(world.item_domain)
    assert np.all(page.sizes <= n_items)


def test_progress_names_the_domains(world, study):
    told = []
    share_page_of(world, study, slots=4, progress=lambda *step: told.append(step))
    assert told == [(f"domain {name}", place, 4) for place, name in enumerate(sorted(world.domains))]
