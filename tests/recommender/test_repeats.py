"""What users took before can be shown again, with how often and how long ago they took it."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.data.time_splitting import past_windows
from sureness.errors import DataError, SettingError
from sureness.recommender.forward import there_in
from sureness.recommender.repeats import MOST_OWN, Taken, pair_traits, with_own
from tests.recommender.returning import WINDOW, returning_log

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*that the source does not know", "ignore:past windows differ", "ignore:.*also in training"
)


def _svd(log: sn.Interactions) -> sn.FactorSource:
    return sn.svd_source(log, n_factors=6)


@pytest.fixture(scope="module")
def last():
    return next(past_windows(returning_log(again=0.4), WINDOW, n=1))


@pytest.fixture(scope="module")
def recommender(last):
    return sn.ConfidentRecommender.forward(last.before, _svd, window=WINDOW, repeats="count")


def test_the_promise_holds_for_new_and_for_repeated_items(last, recommender):
    there = there_in(last.during, recommender.source.users)
    lists = recommender.lists(labels=last.during).take(there)
    for again in (True, False):
        some = (lists.repeated == again) & (lists.items >= 0)
        promised, came = lists.probabilities[some].sum(), lists.hits[some].sum()
        assert promised > 200
        assert 0.8 < came / promised < 1.25


def test_new_and_repeated_items_are_judged_apart(last, recommender):
    table = recommender.promise(last.during, by="repeats")
    assert table["items"].to_list() == ["all", "new", "repeated"]
    assert table["shown"][0] == table["shown"][1:].sum()
    with pytest.warns(UserWarning, match='of the past windows repeat earlier pairs; .*repeats="count"'):
        skipping = sn.ConfidentRecommender.forward(last.before, _svd, window=WINDOW)
    with pytest.raises(DataError, match="needs the repeated of the lists"):
        skipping.promise(last.during, by="repeats")


def test_lists_are_by_probability_and_hold_what_was_taken(last, recommender):
    lists = recommender.lists()
    assert (np.diff(lists.probabilities, axis=1) <= 0).all()
    shown = recommender.policy_.decide(lists)
    assert shown.repeated[shown.shown].any()
    known = last.before.table()
    own = recommender.recommend().join(known, on=["user_id", "item_id"])
    assert own.height == shown.repeated[shown.shown].sum()


def test_an_item_taken_often_and_lately_is_likelier():
    log = sn.Interactions.of(["ann"] * 4, [7, 7, 3, 5], times=[8, 9, 0, 1])
    taken = Taken.of(log, 10, 2)
    assert log.items.at(taken.own[0, :3]).to_list() == [7, 5, 3]
    times, since = taken.found(np.array([0, -1]), np.array([[2, -1], [2, 0]]))
    assert times.tolist() == [[2, 0], [0, 0]]
    assert since[0, 0] == 0.5


def test_own_items_are_added_once_and_in_order():
    rng = np.random.default_rng(0)
    every = rng.normal(size=(50, 40)).astype(np.float32)
    items = np.argsort(-every, axis=1)[:, :10]
    own = np.stack([rng.permutation(40)[:MOST_OWN] for _ in range(50)])
    found, scores = with_own(items, np.take_along_axis(every, items, axis=1), every, own)
    for row in range(50):
        there = found[row][found[row] >= 0]
        assert sorted(there.tolist()) == sorted({*items[row].tolist(), *own[row].tolist()})
        assert (scores[row][: len(there)] == every[row, there]).all()
        assert (np.diff(scores[row][: len(there)]) <= 0).all()


def test_traits_of_pairs_say_whether_they_repeat():
    from sureness.activity import Activity

    log = sn.Interactions.of(["ann", "ann"], [7, 7], times=[8, 9])
    activity = Activity(np.array([0.5]), np.array([2.0]), np.array([3.0]), np.array([0.5]), np.array([2]))
    traits = pair_traits(Taken.of(log, 10, 2), activity, np.array([0]), np.array([[0, -1]]))
    assert traits["repeat"].tolist() == [["yes", "no"]]
    assert traits["expected"].tolist() == [[np.log(3.0), np.log(2.0)]]
    assert np.isnan(traits["times"][0, 1])


def test_it_survives_saving(recommender, tmp_path):
    recommender.save(tmp_path / "count.sureness")
    opened = sn.load(tmp_path / "count.sureness")
    assert opened.repeats == "count"
    assert opened.recommend().equals(recommender.recommend())


def test_counting_needs_windows(last):
    before, during = next(past_windows(last.before, WINDOW, n=1))
    with pytest.raises(SettingError, match="learned from past windows"):
        sn.ConfidentRecommender(_svd(before.compact()), repeats="count").fit(before, during)
    with pytest.raises(SettingError, match="repeats must be one of skip, count, got 'often'"):
        sn.ConfidentRecommender.forward(last.before, _svd, window=WINDOW, repeats="often")
