"""Recommenders that are fitted to past windows keep their promise in the next one."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.calibration.maps import Segments
from sureness.data.time_splitting import past_windows, window_of
from sureness.errors import ColumnError, DataError, IdError, SettingError
from sureness.recommender.expecting import Below
from sureness.recommender.forward import TrainedWindow, there_in, trained_on, trained_windows
from tests.recommender.returning import WINDOW, returning_log

pytestmark = pytest.mark.filterwarnings("ignore:.*that the source does not know")


def _svd(log: sn.Interactions) -> sn.FactorSource:
    return sn.svd_source(log, n_factors=6)


@pytest.fixture(scope="module")
def last():
    return next(past_windows(returning_log(), WINDOW, n=1))


@pytest.fixture(scope="module")
def recommender(last):
    return sn.ConfidentRecommender.forward(last.before, _svd, window=WINDOW)


def test_the_promise_holds_in_the_next_window_for_users_who_are_there(last, recommender):
    total = recommender.promise(last.during).row(0, named=True)
    assert total["promised"] > 500
    assert total["low"] < 1.05
    assert total["high"] > 0.95


def test_the_promise_holds_for_users_seen_in_the_window_before_and_for_others(last, recommender):
    during = next(past_windows(last.before, WINDOW, n=1)).during
    users = recommender.source.users
    seen = Segments(np.where(there_in(during, users), "seen", "not seen"), of="users")
    groups = recommender.promise(last.during, by=seen).filter(field="segment")
    assert groups["ratio"].is_between(0.8, 1.25).all(), groups


def test_each_window_is_judged_with_a_model_of_what_came_before_it(last):
    trained: list[tuple[float, int]] = []

    def train(log):
        trained.append((float(log.every_row().times.max()), len(log)))
        return _svd(log)

    sn.ConfidentRecommender.forward(last.before, train, window=WINDOW, windows=2)
    end = float(np.nextafter(last.before.every_row().times.max(), np.inf))
    assert [time < limit for (time, _), limit in zip(trained, (end - 2 * WINDOW, end - WINDOW, end), strict=True)]
    assert trained[-1][1] == len(last.before)
    assert sorted(trained) == trained


def test_a_repeat_is_not_a_hit_but_its_user_is_there():
    log = sn.Interactions.of(
        ["ann", "ann", "bob", "bob", "cat", "ann", "bob"], [1, 2, 1, 3, 2, 1, 9], times=[0, 0, 1, 1, 2, 11, 12]
    )
    past = next(past_windows(log, 10, n=1, until=13))
    window = TrainedWindow.of(past, lambda known: sn.MatrixSource(
        np.arange(9.0).reshape(3, 3), users=known.users, items=known.items))  # fmt: skip
    assert window.source.users.ids.to_list() == ["ann", "bob", "cat"]
    assert window.there.tolist() == [True, True, False]  # by an old item, and by one that nobody knew
    sample = window.sample(3, 10, 0, "skip")
    assert window.source.users.at(sample.users).to_list() == ["ann", "bob"]
    assert not sample.hits.any()


def test_tables_have_both_probabilities_and_survive_saving(recommender, tmp_path):
    table = recommender.recommend()
    assert table.columns[4:6] == ["probability", "probability_in_period"]
    assert (table["probability_in_period"] <= table["probability"]).all()
    recommender.save(tmp_path / "forward.sureness")
    opened = sn.load(tmp_path / "forward.sureness")
    assert opened.recommend().equals(table)
    assert opened.horizon_ == recommender.horizon_
    assert opened.horizon_.given == "there"


def test_sizes_are_decided_given_presence(recommender):
    lists = recommender.lists()
    halved = recommender.policy_.sizes(lists)
    assert (recommender.sizes()["list_size"].to_numpy() == halved).all()
    assert not np.allclose(lists.in_period, lists.probabilities)


def test_live_scores_of_unknown_users_are_taken_for_those_of_the_average(recommender):
    scores = recommender.source.score_block(np.array([3]))[0]
    found = recommender.decide(99_999, recommender.source.items.ids.to_numpy(), scores, history=2)
    assert 0 < found.there[0] < 1
    assert found.in_period.shape == found.probabilities.shape


def test_the_promise_of_the_period_needs_windows(last):
    before, during = next(past_windows(last.before, WINDOW, n=1))
    today = sn.ConfidentRecommender(_svd(before.compact())).fit(before, during)
    with pytest.raises(SettingError, match="forward"):
        today.promise(last.during, of="there")


def test_models_and_functions_train(last):
    from implicit.bpr import BayesianPersonalizedRanking

    source = trained_on(BayesianPersonalizedRanking(factors=4, num_threads=1, random_state=0), last.before)
    assert source.users.same_as(last.before.compact().users)
    with pytest.raises(DataError, match="train must be a function of a log"):
        trained_on(3, last.before)
    with pytest.raises(IdError, match="ids of its users"):
        trained_on(lambda log: sn.MatrixSource(np.zeros(log.shape)), sn.Interactions.of(["a", "b"], [1, 2]))


def test_bad_windows_are_refused(last):
    with pytest.raises(ColumnError, match="needs a log with times"):
        sn.ConfidentRecommender.forward(sn.Interactions.of([1, 2], [1, 2]), _svd, window=1)
    with pytest.raises(DataError, match="fewer or shorter ones"):
        sn.ConfidentRecommender.forward(last.before, _svd, window=WINDOW, windows=50)
    with pytest.raises(DataError, match="two different times"):
        sn.ConfidentRecommender.forward(sn.Interactions.of([1, 2], [1, 2], times=[5, 5]), _svd, window=1)


def test_users_who_come_only_in_the_future_are_refused_with_one_sentence(recommender):
    once = sn.Interactions.of(np.arange(600), np.arange(600) % 30, times=np.linspace(0, 7 * WINDOW, 600))
    refused = [
        (DataError, "users who return, got none in 3 past windows", lambda: sn.ConfidentRecommender.forward(
            once, _svd, window=WINDOW)),
        (DataError, "users who return, got none in 2 past windows", lambda: sn.backtest(
            once, _svd, window=WINDOW, windows=2, learned=2)),
        (IdError, "none of its 40 pairs has a user and an item that the source knows", lambda: recommender.promise(
            sn.Interactions.of(np.arange(40) + 10_000, [1] * 40, times=np.linspace(60, 69, 40)))),
    ]  # fmt: skip
    for error, sentence, call in refused:
        with pytest.raises(error, match=sentence) as found:
            call()
        assert "\n" not in str(found.value)


def test_weights_of_users_count_as_often_as_they_say():
    n_below, amount, weight = np.array([0, 3, 1, 5]), np.array([1, 2, 3, 4]), np.array([1, 2, 1, 3])
    weighted = Below.learned(n_below, amount, weight.astype(float))
    repeated = Below.learned(np.repeat(n_below, weight), np.repeat(amount, weight))
    assert weighted.expected(amount).sum() == pytest.approx(repeated.expected(amount).sum(), rel=0.1)


def test_pooled_windows_have_the_rows_of_tonight(last):
    windows = trained_windows(last.before, _svd, WINDOW, n=2)
    recommender = sn.ConfidentRecommender(_svd(last.before.compact())).fit_windows(last.before, windows)
    assert recommender.map_.numeric_ == ("expected",)
    assert recommender.horizon_.period == pytest.approx(WINDOW)


def test_the_map_stays_in_force_on_a_model_trained_again(last, recommender):
    events = last.before.every_row()
    again = recommender.retrained(_svd(last.before.compact()), last.before)
    assert again.recommend().equals(recommender.recommend())
    older = last.before.keep_rows(events.times < np.quantile(events.times, 0.95))
    other = recommender.retrained(_svd(older.compact()), older)
    assert other.end_ < recommender.end_
    assert other.map_ is recommender.map_
    factors = _svd(last.before.compact())
    louder = sn.FactorSource(7 * factors.user_factors, factors.item_factors, users=factors.users, items=factors.items)
    with pytest.raises(SettingError, match="not like those that the map was fitted on"):
        recommender.retrained(louder, last.before)


def test_worlds_whose_truth_is_known_get_what_is_promised():
    """Users return, arrive and leave; with the true order of items, the promise holds for both kinds of users."""
    settings = sn.data.VisitSettings(n_users=2_500, n_items=100, n_periods=9, items=6.0, seed=1)
    world = sn.data.simulate_visits(settings)
    start = world.start(8)
    before = world.log.keep_rows(world.log.every_row().times < start)
    during = world.log.keep_rows(world.log.every_row().times >= start)

    def train(log):
        liking = world.liking[log.users.ids.to_numpy()][:, log.items.ids.to_numpy()]
        return sn.MatrixSource(np.log(liking / (1 - liking)).astype(np.float32), users=log.users, items=log.items)

    recommender = sn.ConfidentRecommender.forward(before, train, window="30d")
    total = recommender.promise(during).row(0, named=True)
    assert total["promised"] > 300
    assert total["low"] < 1.03
    assert total["high"] > 0.97
    users = recommender.source.users
    earlier = next(past_windows(before, "30d", n=1)).during
    seen = Segments(np.where(there_in(earlier, users), "seen", "not seen"), of="users")
    groups = recommender.promise(during, by=seen).filter(field="segment")
    assert ((groups["low"] < 1.1) & (groups["high"] > 0.9)).all(), groups
    chance = recommender.chances_.activity.chance
    assert abs(chance.sum() / there_in(during, users).sum() - 1) < 0.15


def test_where_users_leave_one_window_promises_too_much_and_several_do_not():
    """A map of one window, on a model that grows old, against one of several windows with models trained again."""
    settings = sn.data.VisitSettings(
        n_users=2_000, n_items=100, n_periods=9, items=6.0, leaving=0.25, loyalty=1.5, newcomers=0.7, chance=0.4
    )
    world = sn.data.simulate_visits(settings)
    times, start = world.log.every_row().times, world.start(8)
    before, during = world.log.keep_rows(times < start), world.log.keep_rows(times >= start)
    earlier, validation = next(past_windows(before, "30d", n=1))
    today = sn.ConfidentRecommender(_svd(earlier.compact())).fit(earlier, validation)
    assert today.promise(during)["high"][0] < 0.95
    forward = sn.ConfidentRecommender.forward(before, _svd, window="30d")
    for of in ("there", "period"):
        total = forward.promise(during, of=of).row(0, named=True)
        assert total["low"] < 1 < total["high"], of


def _today_and_forward(leaving, calibrator):
    """Realised over promised of users seen in the window before and of others, for both ways to fit."""
    settings = sn.data.VisitSettings(
        n_users=2_500, n_items=100, n_periods=9, items=6.0, chance=0.4, loyalty=0.8, leaving=leaving
    )
    before, during = next(past_windows(sn.data.simulate_visits(settings).log, "30d"))
    earlier, validation = next(past_windows(before, "30d"))
    today = sn.ConfidentRecommender(_svd(earlier.compact()), calibrator).fit(earlier, validation)
    for recommender in (today, sn.ConfidentRecommender.forward(before, _svd, window="30d")):
        there = there_in(validation, recommender.source.users)
        groups = recommender.promise(during, by=Segments(np.where(there, "seen", "not seen"), of="users"))
        yield dict(groups.filter(field="segment").select("group", "ratio").iter_rows())


def test_a_level_of_each_user_promises_too_much_to_those_who_were_just_there_and_windows_do_not():
    """What a user did in one window is not what to expect in the next."""
    today, forward = _today_and_forward(leaving=0.02, calibrator=sn.calibration.PerUserPlatt())
    assert today["seen"] < 0.65
    assert today["seen"] < 0.8 * today["not seen"]
    assert all(0.85 < ratio < 1.15 for ratio in forward.values()), forward


def test_users_of_whom_nothing_came_are_part_of_the_level():
    """Most who were not there in the last window have left."""
    today, forward = _today_and_forward(leaving=0.25, calibrator=None)
    assert today["not seen"] < 0.65
    assert all(0.75 < ratio < 1.3 for ratio in forward.values()), forward


@pytest.mark.filterwarnings("ignore:past windows differ")
def test_users_who_visit_are_there_whether_or_not_they_take_something():
    log = returning_log(n_users=900)
    events = log.every_row()
    users = np.concatenate([events.user_rows, np.random.default_rng(0).integers(900, size=2_500)])
    times = np.concatenate([events.times, np.random.default_rng(1).uniform(0, 7 * WINDOW, size=2_500)])
    visits = sn.Interactions.of(users, np.zeros(len(users)), times=times)
    last = next(past_windows(log, WINDOW, n=1))
    start, end = last.during.period
    came = window_of(visits, start, end).during
    earlier = window_of(visits, 0, start).during
    looked = sn.ConfidentRecommender.forward(last.before, _svd, window=WINDOW, visits=earlier)
    taken = sn.ConfidentRecommender.forward(last.before, _svd, window=WINDOW)
    n_there = np.count_nonzero(there_in(came, looked.source.users))
    assert n_there > 1.2 * np.count_nonzero(there_in(last.during, looked.source.users))
    assert looked.chances_.activity.chance.sum() == pytest.approx(n_there, rel=0.15)
    assert looked.lists().probabilities.mean() < 0.9 * taken.lists().probabilities.mean()
    total = looked.promise(last.during, visits=came).row(0, named=True)
    assert total["low"] < 1.1
    assert total["high"] > 0.9
    found = sn.backtest(log, _svd, window=WINDOW, windows=2, learned=2, visits=visits)
    there = found.windows[-1].trained.there
    assert np.count_nonzero(there) == pytest.approx(n_there, rel=0.02)
    with pytest.raises(ColumnError, match="visits must be a log with times"):
        sn.backtest(log, _svd, window=WINDOW, visits=sn.Interactions.of([1], [2]))
