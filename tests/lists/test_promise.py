"""Realised against promised hits of shown items."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.lists import Lists, promise


def world(n_users, seed=0, bias=1.0):
    rng = np.random.default_rng(seed)
    p = -np.sort(-rng.random((n_users, 25)) * 0.8, axis=1)
    return Lists.of(probabilities=p, hits=rng.random(p.shape) < np.minimum(bias * p, 1))


def test_bands_and_totals_are_counted_by_hand():
    lists = Lists.of(probabilities=[[0.5, 0.4, 0.1], [0.5, 0.2, 0.1]], hits=[[1, 0, 1], [0, 1, 1]], lengths=[3, 2])
    table = promise(lists, sn.FixedSize(3), bands=[(1, 1), (2, 3)])
    assert table["ranks"].to_list() == ["all", "1", "2-3"]
    assert table["shown"].to_list() == [5, 2, 3]
    assert table["realised"].to_list() == [3, 1, 2]
    assert table["promised"].to_list() == pytest.approx([1.7, 1.0, 0.7])
    assert table["ratio"].to_list() == pytest.approx([3 / 1.7, 1.0, 2 / 0.7])


def test_bands_of_probabilities_are_counted_by_hand():
    lists = Lists.of(probabilities=[[1.0, 0.4, 0.1], [0.2, 0.2, 0.1]], hits=[[1, 0, 1], [0, 1, 1]], lengths=[3, 2])
    table = promise(lists, sn.FixedSize(3), by="probability", bands=[(0.0, 0.2), (0.2, 0.4), (0.4, 1.0)])
    assert table["probabilities"].to_list() == ["all", "0-20%", "20-40%", "40-100%"]
    assert table["shown"].to_list() == [5, 1, 2, 2]
    assert table["realised"].to_list() == [3, 1, 1, 1]
    assert table["promised"].to_list() == pytest.approx([1.9, 0.1, 0.4, 1.4])


def test_usual_bands_of_probabilities_hold_every_shown_item():
    table = promise(world(200), sn.FixedSize(20), by="probability")
    assert table["shown"][0] == table["shown"][1:].sum() == 4_000
    assert table["low"][0] < 1 < table["high"][0]


@pytest.mark.parametrize("settings", [{"by": "item"}, {"by": "probability", "bands": [(0.5, 0.1)]}], ids=str)
def test_other_groups_are_refused(settings):
    with pytest.raises(sn.errors.SettingError):
        promise(world(5), sn.FixedSize(3), **settings)


def test_only_shown_items_are_judged():
    lists = world(50)
    table = promise(lists, sn.FixedSize(4))
    assert table["shown"].to_list() == [200, 50, 100, 50, 0, 0]
    assert table["ratio"].to_list()[-1] is None


def test_intervals_cover_the_truth_as_often_as_they_say():
    inside = []
    for seed in range(200):
        table = promise(world(80, seed), sn.FixedSize(20))
        inside.append(((table["low"] <= 1) & (table["high"] >= 1)).to_numpy())
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.95) < 0.05)


def test_a_promise_that_is_too_low_is_found():
    row = promise(world(2_000, bias=1.2), sn.FixedSize(10)).row(0, named=True)
    assert row["low"] < 1.2 < row["high"]
    assert row["low"] > 1.1


def test_where_nothing_came_the_interval_says_what_could_have_been():
    lists = Lists.of(probabilities=np.full((50, 2), 0.02), hits=np.zeros((50, 2)))
    row = promise(lists, sn.FixedSize(2)).row(0, named=True)
    assert (row["realised"], row["ratio"], row["low"]) == (0, 0.0, 0.0)
    assert row["high"] == pytest.approx(-np.log(0.025) / 2)


def test_lists_of_one_user_are_one_observation():
    once = world(60)
    often = Lists.joined([once] * 9)
    single, repeated = (promise(lists, sn.FixedSize(10)).row(0, named=True) for lists in (once, often))
    assert repeated["ratio"] == pytest.approx(single["ratio"])
    assert repeated["high"] - repeated["low"] == pytest.approx(single["high"] - single["low"])


def test_one_user_has_no_interval_and_nothing_shown_is_refused():
    assert promise(world(1), sn.FixedSize(3)).row(0, named=True)["low"] is None
    with pytest.raises(sn.errors.DataError):
        promise(world(3), sn.Threshold(0.99, min_size=0))


@pytest.mark.parametrize(
    ("width", "size", "last"), [(30, 28, "21-28"), (30, 21, "21"), (30, 20, "11-20"), (5, 5, "11-20")]
)
def test_bands_of_ranks_hold_all_that_is_shown(width, size, last):
    lists = Lists.of(probabilities=np.full((3, width), 0.1), hits=np.zeros((3, width)))
    table = promise(lists, sn.FixedSize(size))
    assert table["ranks"][-1] == last
    assert table["shown"][0] == table["shown"][1:].sum()
