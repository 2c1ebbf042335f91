"""The simulated world obeys its own truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sureness.data import simulator
from sureness.data.simulator import DOMAINS, SimulatorSettings, simulate, world_tables
from sureness.errors import DataError, SettingError
from sureness.propensity import PropensityModel

SMALL = SimulatorSettings(n_users=60, n_items=40, test_items=6)


@pytest.fixture(scope="module")
def world():
    return simulate(SimulatorSettings(n_users=1_000, n_items=300, held_out_share=0.2, seed=7))


@pytest.fixture(scope="module")
def everyone(world):
    return np.arange(world.n_users)


@pytest.fixture(scope="module")
def log(world):
    """All that was logged, as a matrix of zeros and ones."""
    return (world.train + world.held_out).toarray()


def z_value(count, chances):
    """Standard deviations between a count and its expectation under independent draws."""
    return (count - chances.sum()) / np.sqrt((chances * (1 - chances)).sum())


def signature(world):
    return (*world_tables(world)["train"].to_numpy().ravel(), *world.test_items, *world.test_labels, *world.titles)


# --- seeds and settings --------------------------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_world_and_another_seed_another():
    assert signature(simulate(SMALL)) == signature(simulate(SMALL))
    assert signature(simulate(SMALL)) != signature(simulate(replace(SMALL, seed=1)))


def test_a_world_made_in_blocks_of_users_is_still_whole(monkeypatch):
    monkeypatch.setattr(simulator, "_BLOCK_PAIRS", 5 * SMALL.n_items)
    world = simulate(SMALL)
    log = (world.train + world.held_out).toarray()
    assert abs(z_value(log.sum(), _both(world, np.arange(world.n_users)))) < 4
    users, items = np.tile(np.arange(60), 2)[::-1], np.arange(120) % 40
    assert_allclose(world.preference(users, items), world.preference_block(np.arange(60))[users, items])


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"n_domains": 0}, "n_domains"),
        ({"n_domains": 6}, "n_domains"),
        ({"n_users": 1}, "users"),
        ({"n_items": 7, "test_items": 1}, "items"),
        ({"test_items": 0}, "test_items"),
        ({"test_items": 601}, "test_items"),
        ({"preference_rate": 0.0}, "preference_rate"),
        ({"exposure_rate": 1.0}, "exposure_rate"),
        ({"smallest_exposure": -0.1}, "smallest_exposure"),
        ({"held_out_share": 1.5}, "held_out_share"),
        ({"n_tastes": 0}, "n_tastes"),
        ({"exposure_rate": 0.05, "smallest_exposure": 0.1}, "exposure_rate"),
        ({"popularity_bias": float("nan")}, "popularity_bias"),
    ],
    ids=str,
)
def test_settings_that_make_no_world_are_refused(setting, word):
    with pytest.raises(SettingError, match=word):
        SimulatorSettings(**setting)


def test_sizes_are_as_set(world):
    assert world.train.shape == world.held_out.shape == (world.n_users, world.n_items) == (1_000, 300)
    assert len(world.test_users) == len(world.test_items) == len(world.test_labels) == 1_000 * 16
    assert world.preference_block(np.arange(3)).shape == world.exposure_block(np.arange(3)).shape == (3, 300)


# --- the truth -----------------------------------------------------------------------------------------------------


def _both(world, users):
    return world.preference_block(users) * world.exposure_block(users)


@pytest.mark.parametrize("rates", [(0.12, 0.15), (0.5, 0.05), (0.02, 0.6)])
def test_mean_preference_and_exposure_are_as_set(rates):
    world = simulate(SimulatorSettings(n_users=300, n_items=100, preference_rate=rates[0], exposure_rate=rates[1]))
    users = np.arange(300)
    assert_allclose([world.preference_block(users).mean(), world.exposure_block(users).mean()], rates, rtol=1e-3)


def test_no_pair_is_entirely_hidden_or_certain(world, everyone):
    exposure, preference = world.exposure_block(everyone), world.preference_block(everyone)
    assert exposure.min() >= world.settings.smallest_exposure
    assert exposure.max() <= 1
    assert 0 < preference.min() < preference.max() < 1


def test_the_log_is_as_frequent_as_seen_times_liked(world, everyone, log):
    """In every tenth of the pairs, ordered by preference x exposure, the count is that of independent draws."""
    chances = _both(world, everyone).ravel()
    order = np.argsort(chances)
    counts = log.ravel()[order]
    for part in np.array_split(np.arange(len(order)), 10):
        assert abs(z_value(counts[part].sum(), chances[order][part])) < 4


def test_every_user_and_item_is_logged_as_often_as_expected(world, everyone, log):
    chances = _both(world, everyone)
    for axis in (0, 1):
        spread = np.sqrt((chances * (1 - chances)).sum(axis=axis))
        z = (log.sum(axis=axis) - chances.sum(axis=axis)) / spread
        assert_allclose([z.mean(), z.std()], [0, 1], atol=0.25)


def test_the_log_is_biased_towards_what_is_liked_and_well_known(world, everyone):
    preference, exposure = world.preference_block(everyone), world.exposure_block(everyone)
    assert np.corrcoef(preference.ravel(), exposure.ravel())[0, 1] > 0.1
    assert np.average(preference, weights=exposure) > 1.2 * preference.mean()


def test_the_held_out_share_is_as_set_and_apart_from_training(world):
    n_logged = world.train.nnz + world.held_out.nnz
    assert abs(world.held_out.nnz - 0.2 * n_logged) < 4 * np.sqrt(0.16 * n_logged)
    assert world.train.multiply(world.held_out).nnz == 0
    assert set(world.train.data) == set(world.held_out.data) == {1.0}


# --- the test ------------------------------------------------------------------------------------------------------


def test_a_logged_pair_of_the_test_is_liked(world, log):
    logged = log[world.test_users, world.test_items] > 0
    assert logged.any()
    assert world.test_labels[logged].all()
    assert_array_equal(world.in_training, world.train.toarray()[world.test_users, world.test_items] > 0)


def test_test_labels_are_draws_of_the_preference(world):
    chances = world.preference(world.test_users, world.test_items)
    order = np.argsort(chances)
    for part in np.array_split(order, 8):
        assert abs(z_value(world.test_labels[part].sum(), chances[part])) < 4


def test_test_items_are_uniform_and_differ_within_a_user(world):
    by_user = world.test_items.reshape(world.n_users, -1)
    assert all(len(set(items)) == len(items) for items in by_user.tolist())
    counts = np.bincount(world.test_items, minlength=world.n_items)
    expected = len(world.test_items) / world.n_items
    statistic = ((counts - expected) ** 2 / expected).sum() / (1 - world.settings.test_items / world.n_items)
    assert abs(statistic - (world.n_items - 1)) < 4 * np.sqrt(2 * (world.n_items - 1))  # chi-square


def test_the_test_looks_at_items_regardless_of_their_fame(world):
    exposure = world.propensity(world.test_users, world.test_items).mean()
    assert_allclose(exposure, world.settings.exposure_rate, rtol=0.05)


# --- titles and domains --------------------------------------------------------------------------------------------


def test_titles_are_unique_even_when_the_words_run_out():
    world = simulate(SimulatorSettings(n_users=2, n_items=2_500, test_items=1))
    assert len(set(world.titles)) == 2_500


def test_the_same_users_use_all_of_four_domains(world, log):
    assert world.domains == DOMAINS[:4]
    for domain in range(4):
        assert (log[:, world.item_domain == domain].sum(axis=1) > 0).mean() > 0.5


@pytest.mark.parametrize("seed", range(8))
def test_every_domain_has_items_even_in_the_smallest_world(seed):
    world = simulate(SimulatorSettings(n_users=2, n_items=10, n_domains=5, test_items=1, seed=seed))
    assert set(world.item_domain) == set(range(5))


# --- single pairs --------------------------------------------------------------------------------------------------


def test_single_pairs_agree_with_the_blocks(world, everyone):
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 1_000, 5_000), rng.integers(0, 300, 5_000)
    assert_allclose(world.preference(users, items), world.preference_block(everyone)[users, items])
    assert_allclose(world.propensity(users, items), world.exposure_block(everyone)[users, items])
    assert_allclose(world.propensity([3, 1], [0, 2]), world.exposure_block(np.array([3, 1]))[[0, 1], [0, 2]])


def test_a_world_is_a_propensity_model(world):
    assert isinstance(world, PropensityModel)


@pytest.mark.parametrize("ask", ["preference", "propensity"])
@pytest.mark.parametrize(
    ("users", "items", "word"),
    [
        ([1_000], [0], "users"),
        ([-1], [0], "users"),
        ([0], [300], "items"),
        ([0.5], [0], "users"),
        (["ann"], [0], "users"),
        ([0], [0, 1], "value"),
        ([0, 1], [0], "value"),
    ],
    ids=str,
)
def test_pairs_outside_the_world_are_refused(world, ask, users, items, word):
    with pytest.raises(DataError, match=word):
        getattr(world, ask)(users, items)


# --- tables --------------------------------------------------------------------------------------------------------


def test_the_tables_hold_what_the_world_holds(world):
    tables = world_tables(world)
    assert set(tables) == {"train", "held_out", "test", "items"}
    for name in ("train", "held_out"):
        users, items = tables[name]["user_id"].to_numpy(), tables[name]["item_id"].to_numpy()
        assert len(users) == getattr(world, name).nnz
        assert (getattr(world, name).toarray()[users, items] == 1).all()
    held_out, test, items = tables["held_out"], tables["test"], tables["items"]
    assert_allclose(held_out["propensity"], world.propensity(held_out["user_id"], held_out["item_id"]))
    assert_array_equal(test["label"], world.test_labels)
    assert_allclose(test["true_preference"], world.preference(world.test_users, world.test_items))
    assert items["title"].to_list() == world.titles
    assert items["domain"].to_list() == [world.domains[domain] for domain in world.item_domain]


def test_a_world_in_which_nothing_was_held_out_has_an_empty_table_of_numbers():
    world = simulate(replace(SMALL, n_users=2, held_out_share=1e-9))
    table = world_tables(world)["held_out"]
    assert table.height == 0
    assert table.schema["propensity"].is_float()
