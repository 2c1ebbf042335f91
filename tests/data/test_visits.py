"""The simulated visits obey their own truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sureness.data.visits import VisitSettings, simulate_visits
from sureness.errors import DataError, SettingError

SMALL = VisitSettings(n_users=400, n_items=60, n_periods=8)


def held_in(world, period):
    """What users took in a period, as a matrix."""
    events = world.log.every_row()
    inside = (events.times >= world.start(period)) & (events.times < world.start(period + 1))
    taken = np.zeros(world.liking.shape, dtype=bool)
    taken[events.user_rows[inside], events.item_rows[inside]] = True
    return taken


@pytest.mark.parametrize(
    "settings",
    [SMALL, replace(SMALL, again=2.0), replace(SMALL, drift=-2.0, leaving=0.1), replace(SMALL, season=1.5, again=5.0)],
    ids=["once", "repeats", "drift", "season"],
)
def test_what_happens_follows_the_truth(settings):
    there, items, promised_there, promised = 0, 0, 0.0, 0.0
    bins_came, bins_promised = np.zeros(10), np.zeros(10)
    for seed in range(4):
        world = simulate_visits(replace(settings, seed=seed))
        for period in range(settings.n_periods):
            taken = held_in(world, period)
            here = np.flatnonzero(taken.any(axis=1))
            there, promised_there = there + len(here), promised_there + world.chance_in(period).sum()
            probability = world.probability_in(period, here)
            items, promised = items + taken[here].sum(), promised + probability.sum()
            place = np.minimum((probability * 10).astype(int), 9).ravel()
            bins_came += np.bincount(place, taken[here].ravel(), 10)
            bins_promised += np.bincount(place, probability.ravel(), 10)
    assert there == pytest.approx(promised_there, rel=0.03)
    assert items == pytest.approx(promised, rel=0.03)
    many = bins_promised > 300
    np.testing.assert_allclose(bins_came[many], bins_promised[many], rtol=0.12)


def test_users_are_there_with_their_chance():
    came, promised = np.zeros(400), np.zeros(400)
    for seed in range(20):
        world = simulate_visits(replace(SMALL, seed=seed, newcomers=0.0, leaving=0.0))
        order = np.argsort(world.level)
        came += held_in(world, 3).any(axis=1)[order]
        promised += world.chance_in(3)[order]
    np.testing.assert_allclose(came.reshape(8, 50).sum(1), promised.reshape(8, 50).sum(1), atol=40)


def test_items_are_taken_once_unless_they_may_be_again():
    assert simulate_visits(SMALL).log.older is None
    world = simulate_visits(replace(SMALL, again=4.0))
    assert world.log.older is not None
    user = int(np.argmax(world.log.user_degree))
    taken = world.log.items_of(user)
    fresh = world.probability_in(0, np.array([user]))[0]
    later = world.probability_in(8, np.array([user]))[0]
    assert later[taken].sum() > fresh[taken].sum()


def test_newcomers_come_later_and_who_left_is_gone():
    world = simulate_visits(replace(SMALL, newcomers=0.5, leaving=0.2))
    first = np.full(400, np.inf)
    np.minimum.at(first, world.log.every_row().user_rows, world.log.every_row().times)
    last = np.zeros(400)
    np.maximum.at(last, world.log.every_row().user_rows, world.log.every_row().times)
    assert (first >= [world.start(period) for period in world.arrival]).all()
    gone = world.departure <= 8
    assert (last[gone] < [world.start(period) for period in world.departure[gone]]).all()
    assert 0.3 < (world.arrival > 0).mean() < 0.7


def test_the_same_seed_gives_the_same_log():
    one, two = simulate_visits(SMALL), simulate_visits(SMALL)
    assert one.log.table().equals(two.log.table())
    assert not one.log.table().equals(simulate_visits(replace(SMALL, seed=1)).log.table())


@pytest.mark.parametrize(
    "wrong",
    [{"n_users": 0}, {"chance": 0.0}, {"newcomers": 1.5}, {"leaving": -0.1}, {"items": 500.0}, {"again": -1.0},
     {"drift": np.nan}, {"season_periods": 0}, {"seed": -1}],
    ids=str,
)  # fmt: skip
def test_settings_that_make_no_world_are_refused(wrong):
    with pytest.raises(SettingError) as refused:
        VisitSettings(**wrong)
    assert "\n" not in str(refused.value)


def test_a_world_that_does_not_fit_in_memory_is_refused():
    with pytest.raises(DataError):
        simulate_visits(VisitSettings(n_users=10**8, n_items=10**5))
