"""Promised and realised hits of groups of users and items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.calibration import Fields
from sureness.errors import ColumnError, EmptyError, SettingError
from sureness.lists import Lists, promise
from tests.lists.test_promise import world

TWO = Lists.of(probabilities=[[0.5, 0.4, 0.1], [0.5, 0.2, 0.1]], hits=[[1, 0, 1], [0, 1, 1]], lengths=[3, 2])
TWO = replace(TWO, items=np.array([[0, 1, 2], [2, 0, -1]]))


def row_of(table, field, group):
    return table.row(by_predicate=(pl.col("field") == field) & (pl.col("group") == group), named=True)


def test_groups_of_users_are_counted_by_hand():
    table = promise(TWO, sn.FixedSize(3), by=Fields(users={"market": ["fr", "de"]}))
    assert table.select("field", "group").rows() == [("all", "all"), ("market", "de"), ("market", "fr")]
    assert table["lists"].to_list() == [2, 1, 1]
    assert table["list_size"].to_list() == [2.5, 2.0, 3.0]
    assert table["promised"].to_list() == pytest.approx([1.7, 0.7, 1.0])
    assert table["realised"].to_list() == [3, 1, 2]


def test_groups_of_items_are_counted_by_hand():
    table = promise(TWO, sn.FixedSize(3), by=Fields(items={"genre": ["rock", "jazz", None]}))
    assert table["group"].to_list() == ["all", "jazz", "rock", "missing"]
    assert table["lists"].to_list() == [2] * 4
    assert table["list_size"].to_list() == [2.5, 0.5, 1.0, 1.0]
    assert table["promised"].to_list() == pytest.approx([1.7, 0.4, 0.7, 0.6])
    assert table["realised"].to_list() == [3, 0, 2, 1]


def test_totals_and_errors_are_those_of_other_functions():
    lists = world(60)
    groups = sn.calibration.Segments(np.arange(60) % 3, of="users")
    table, known = promise(lists, sn.FixedSize(8), by=groups), promise(lists, sn.FixedSize(8))
    for column in ("promised", "realised", "ratio", "low", "high"):
        assert table[column][0] == pytest.approx(known[column][0])
    own = lists.take(np.arange(60) % 3 == 1)
    row = row_of(table, "segment", "1")
    assert row["ratio"] == pytest.approx(promise(own, sn.FixedSize(8))["ratio"][0])
    shown = own.probabilities[:, :8].ravel(), own.hits[:, :8].ravel()
    assert row["ece"] == pytest.approx(sn.expected_calibration_error(shown[1], shown[0]))
    assert row["ece_low"] <= row["ece"] <= row["ece_high"]


def test_whoever_is_promised_more_than_they_get_is_found():
    rng = np.random.default_rng(0)
    p, new = rng.random((600, 5)) * 0.4, np.arange(600) < 150
    hits = rng.random(p.shape) < np.where(new[:, None], 0.6 * p, p)
    table = promise(
        Lists.of(probabilities=p, hits=hits), sn.FixedSize(5),
        by=Fields(users={"new": new, "shoe": rng.choice(list("abcdefgh"), 600)}),
    )  # fmt: skip
    wrong = table[1:].filter(pl.col("p_value") < 1e-6)  # a quarter of those with any shoe are new too
    assert wrong.select("field", "group").rows() == [("new", "true")]
    assert wrong["low"][0] < 0.6 < wrong["high"][0] < 1


def test_p_values_are_corrected_for_the_number_of_groups():
    lists = world(80, bias=0.85)
    market = {"market": np.arange(80) % 2}
    few = promise(lists, sn.FixedSize(5), by=Fields(users=market))
    many = promise(lists, sn.FixedSize(5), by=Fields(users={**market, "room": np.arange(80) % 11}))
    assert 0 < row_of(few, "market", "0")["p_value"] < 0.3
    assert row_of(many, "market", "0")["p_value"] > 2 * row_of(few, "market", "0")["p_value"]
    assert few["p_value"][0] == many["p_value"][0]


def test_numbers_are_cut_into_groups_with_equally_many_candidates():
    rng = np.random.default_rng(0)
    activity = rng.integers(1, 500, 100)
    fields = Fields(users={"activity": activity, "age": np.arange(100) % 12, "share": activity / 7})
    table = promise(world(100), sn.FixedSize(4), by=fields)
    assert table.group_by("field").len().sort("field")["len"].to_list() == [5, 12, 1, 5]
    own = table.filter(field="activity")
    assert own["lists"].sum() == 100
    assert own["lists"].min() >= 18
    bounds = [tuple(map(int, group.split(" to "))) for group in own["group"]]
    assert bounds == sorted(bounds)
    assert (bounds[0][0], bounds[-1][1]) == (activity.min(), activity.max())


def test_groups_of_numbers_do_not_depend_on_what_is_shown():
    fields = Fields(users={"share": np.random.default_rng(0).random(100)})
    tables = [promise(world(100), policy, by=fields) for policy in (sn.FixedSize(20), sn.Threshold(0.7))]
    assert tables[0]["group"].equals(tables[1]["group"])
    assert tables[0]["list_size"][0] > tables[1]["list_size"][0]


def test_one_number_that_most_have_is_one_group():
    fields = Fields(users={"share": [0.5] * 40 + [0.1, 0.2, 0.7] + [np.nan]})
    table = promise(world(44), sn.FixedSize(2), by=fields)
    assert table["group"].to_list() == ["all", "0.1 to 0.2", "0.5 to 0.7", "missing"]


def test_users_who_see_nothing_count_in_the_size_of_lists():
    lists = Lists.of(probabilities=[[0.5, 0.4], [0.1, 0.1], [0.6, 0.1]], hits=np.zeros((3, 2)))
    table = promise(lists, sn.Threshold(0.3, min_size=0), by=sn.calibration.Segments(["a", "a", "b"], of="users"))
    assert row_of(table, "segment", "a")["list_size"] == 1.0
    assert row_of(table, "segment", "a")["lists"] == 2


def test_what_cannot_be_judged_is_refused():
    genres = Fields(items={"genre": ["jazz"] * 25})
    with pytest.raises(SettingError):
        promise(world(5), sn.FixedSize(3), by=genres)  # no items in these lists
    with pytest.raises(SettingError):
        promise(TWO, sn.FixedSize(3), by=genres, bands=[(1, 2)])
    with pytest.raises(EmptyError):
        promise(world(3), sn.Threshold(0.99, min_size=0), by=sn.calibration.Segments(["a"] * 3, of="users"))


def test_activity_and_popularity_are_counted_in_a_log():
    source = sn.MatrixSource(np.zeros((3, 4)))
    seen = sn.Interactions.of([0, 0, 2], [1, 3, 3])
    genres = pl.DataFrame({"item_id": [3], "genre": ["jazz"]})
    fields = Fields.of(source, items=genres, seen=seen)
    assert fields.names == ("activity", "genre", "popularity")
    assert fields.tables["users"]["activity"].to_list() == [2, 0, 1]
    assert fields.tables["items"].rows() == [(None, 0), (None, 1), (None, 0), ("jazz", 2)]
    with pytest.raises(ColumnError):
        Fields.of(source, items=pl.DataFrame({"item_id": [1], "popularity": [7]}), seen=seen)
