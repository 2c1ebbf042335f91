"""The chance that users are there in the next window, and how many items they take then."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import sureness as sn
from sureness.activity import ActivityModel
from sureness.data import Interactions, VisitSettings, past_windows, simulate_visits, window_of
from sureness.errors import ColumnError, DataError, SettingError

DAY = 86_400


def regulars(seed=0, n_users=600, days=300, period=30):
    """Each user is there in each period with a chance of their own, and takes a Poisson number of items then."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(1.0, 2.0, n_users)
    rows = []
    for start in range(0, days, period):
        for user in np.flatnonzero(rng.random(n_users) < chance):
            for _ in range(1 + rng.poisson(2)):
                item = rng.integers(40) if rng.random() < 0.3 else rng.integers(10**6)
                rows.append((user, item, (start + rng.random() * period) * DAY))
    users, items, times = (np.array(column) for column in zip(*rows, strict=True))
    return Interactions.of(users, items, times=1_700_000_000 + times.astype(int)), chance


def test_promised_users_and_items_come():
    log, truth = regulars()
    before, during = next(past_windows(log, "30d"))
    now = ActivityModel().fit(before).predict_at(before, during.period[0])
    there = during.user_degree > 0
    known = now.frequency > 0
    assert there[known].sum() == pytest.approx(now.chance[known].sum(), rel=0.1)
    assert np.corrcoef(now.chance[known], truth[log.users.ids.to_numpy()][known])[0, 1] > 0.65
    assert during.user_degree[known].sum() == pytest.approx((now.expected_new + now.expected_repeated).sum(), rel=0.12)


@pytest.mark.parametrize(
    "changed",
    [{}, {"again": 2.0}, {"drift": -1.0}, {"drift": 1.5, "again": 2.0}, {"leaving": 0.1}, {"period_days": 7}],
    ids=str,
)
def test_the_chance_is_the_true_one_in_worlds_that_are_known(changed):
    """In ten groups by chance; numbers of items over all who may be there."""
    world = simulate_visits(VisitSettings(n_users=4_000, n_items=100, seed=1, **changed))
    last = world.settings.n_periods - 1
    before, _ = window_of(world.log, world.start(last), world.start(last + 1))
    model = ActivityModel(window=f"{world.settings.period_days}d").fit(before)
    now, truth = model.predict_at(before, world.start(last)), world.chance_in(last)
    known = np.flatnonzero(now.frequency)
    groups = np.array_split(known[np.argsort(now.chance[known])], 10)
    assert np.mean([abs(truth[group].mean() - now.chance[group].mean()) for group in groups]) < 0.02
    assert now.chance[known].sum() == pytest.approx(truth[known].sum(), rel=0.08)
    here = np.flatnonzero((truth > 0) & (now.frequency > 0))[:1_500]
    probability, had = world.probability_in(last, here), np.zeros((len(truth), 100), dtype=bool)
    had[before.user_rows, before.item_rows] = True
    for number, some in ((now.new, ~had[here]), (now.repeated, had[here])):
        if (true := truth[here] @ (probability * some).sum(axis=1)) > 0:
            assert truth[here] @ number[here] == pytest.approx(true, rel=0.08)


def test_new_and_repeated_items_are_told_apart():
    rows = [("ann", "tea", 30 * month) for month in range(12)] + [("ann", f"book {k}", 30 * k) for k in range(12)]
    rows += [("bob", f"film {k}", 15 * k) for k in range(24)] + [("eve", "soap", 1)]
    users, items, times = zip(*rows, strict=True)
    log = Interactions.of(users, items, times=np.datetime64("2023-01-01") + np.array(times))
    model = ActivityModel().fit(log)
    ann, bob, _ = range(3)
    now = model.predict(log)
    assert_allclose([now.new[ann], now.repeated[ann], now.new[bob]], [1, 1, 2], atol=0.4)
    assert now.repeated[bob] < 0.3
    assert now.chance[ann] > 0.8 > 0.5 > now.chance[2]


def test_users_without_history_have_the_chance_of_newcomers():
    log, _ = regulars()
    before, during = next(past_windows(log, "30d", until="2024-02-01"))
    wider = before.aligned(sn.IdMap([*log.users.ids, 10_001]), before.items)
    model = ActivityModel().fit(wider)
    now, alone = model.predict_at(wider, during.period[0]), model.predict_at(before, during.period[0])
    assert_array_equal(now.chance[:-1], alone.chance)
    assert (now.recency[-1], now.frequency[-1], now.repeated[-1]) == (np.inf, 0, 0)
    assert now.chance[-1] == model.newcomer_[0]
    assert 0 < now.chance[-1] < 1
    assert now.new[-1] > 0


@settings(max_examples=20)
@given(st.integers(0, 5), st.integers(0, 100))
def test_nothing_that_comes_later_changes_what_is_expected(seed, later):
    log, _ = regulars(seed % 2, n_users=40)
    start = 1_700_000_000 + 270 * DAY
    before = log.keep_rows(log.every_row().times < start)
    rng = np.random.default_rng(later)
    extra = Interactions.of(
        rng.integers(40, size=30), rng.integers(9, size=30), times=start + rng.integers(9**6, size=30)
    )
    changed = sn.data.interactions.union([before, extra.aligned(before.users, before.items)])
    model = ActivityModel(window="30d").fit(before)
    for one, two in zip(model.predict_at(before, start), model.predict_at(changed, start), strict=True):
        assert_array_equal(one, two)


def test_fit_and_fit_windows_agree():
    log, _ = regulars(n_users=80)
    one = ActivityModel(window="30d").fit(log).predict(log)
    windows = list(past_windows(log, "30d", n=8))
    two = ActivityModel(window="30d").fit_windows(windows).predict(log)
    assert_allclose(one.chance, two.chance, atol=1e-9)
    assert_allclose(one.new, two.new, rtol=1e-9)


def test_visits_replace_the_log_where_there_are_some():
    log, _ = regulars(n_users=100)
    rng = np.random.default_rng(0)
    everybody = np.repeat(np.arange(100), 10)
    visits = Interactions.of(everybody, everybody, times=1_700_000_000 + (np.tile(np.arange(10), 100) * 30 + 1) * DAY
                             + rng.integers(DAY, size=1000))  # fmt: skip
    model = ActivityModel().fit(log, visits=visits)
    now = model.predict(log, visits=visits)
    assert now.chance.min() > 0.9  # they come every month, whether or not they take something
    taken = ActivityModel().fit(log).predict(log)
    assert_allclose((now.expected_new + now.expected_repeated).sum(),
                    (taken.expected_new + taken.expected_repeated).sum(), rtol=0.15)  # fmt: skip


def test_newer_windows_count_for_more():
    """In the second half of the log half as many users come."""
    log, _ = regulars(n_users=1500)
    rng = np.random.default_rng(0)
    leaving = np.flatnonzero(rng.random(log.n_users) < 0.5)
    times = log.every_row().times
    log = log.keep_rows(~(np.isin(log.every_row().user_rows, leaving) & (times > 1_700_000_000 + 150 * DAY)))
    before, during = next(past_windows(log, "30d"))
    there = (during.user_degree > 0).sum()
    promised = [
        ActivityModel(half_life=h).fit(before).predict_at(before, during.period[0]).chance.sum() for h in (1, 99)
    ]
    assert abs(promised[0] - there) < 0.15 * there
    assert promised[1] > promised[0]


def test_it_is_saved(tmp_path):
    log, _ = regulars(n_users=60)
    model = ActivityModel(window="15d").fit(log)
    model.save(tmp_path / "activity.json")
    opened = sn.load(tmp_path / "activity.json", ActivityModel)
    for one, two in zip(model.predict(log), opened.predict(log), strict=True):
        assert_array_equal(one, two)
    assert repr(opened) == repr(model)


@pytest.mark.parametrize("times", [np.float64, np.int64])
def test_units_of_time_do_not_matter(times):
    log, _ = regulars(n_users=60)
    rows = log.every_row()
    moved = Interactions.of(rows.user_rows, rows.item_rows, times=(rows.times * 10**6).astype(times))
    assert_allclose(
        ActivityModel().fit(log).predict(log).chance, ActivityModel().fit(moved).predict(moved).chance, atol=1e-3
    )


def refused(error, match, function):
    with pytest.raises(error, match=match) as found:
        function()
    assert "\n" not in str(found.value)


def test_bad_input_is_refused_in_one_sentence():
    log, _ = regulars(n_users=60)
    refused(ColumnError, "times", lambda: ActivityModel().fit(Interactions.of([1, 2], [1, 2])))
    refused(ColumnError, "logs with times", lambda: ActivityModel().fit(log, visits=Interactions.of([1, 2], [1, 2])))
    refused(DataError, "shorter", lambda: ActivityModel(window="250d").fit(log))
    refused(
        DataError, "two different times", lambda: ActivityModel().fit(Interactions.of([1, 2], [1, 2], times=[3, 3]))
    )
    refused(SettingError, "window must be", lambda: ActivityModel(window="soon").fit(log))
    refused(SettingError, "half_life", lambda: ActivityModel(half_life=0).fit(log))
    refused(DataError, "past windows", lambda: ActivityModel().fit_windows([]))
    refused(DataError, "not been fitted", lambda: ActivityModel().predict(log))
    once = Interactions.of(range(100), range(100), times=1_700_000_000 + np.arange(100) * DAY)
    refused(DataError, "who return", lambda: ActivityModel(window="20d").fit(once))


def test_a_season_that_was_seen_before_is_expected_again():
    """Log-odds swing with the year; without one they stay as they were."""
    away: dict[float, list[float]] = {0.0: [], 0.8: []}
    plain: list[float] = []
    for season, found in away.items():
        of_world = VisitSettings(n_users=1_500, n_items=40, n_periods=30, again=1.0, season=season, newcomers=0.0)
        world = simulate_visits(of_world)
        for period in range(24, 30, 2):
            before, _ = window_of(world.log, world.start(period), world.start(period + 1))
            model = ActivityModel().fit(before)
            now = model.predict_at(before, world.start(period))
            known, there = now.frequency > 0, world.chance_in(period)
            found.append(abs(np.log(there[known].sum() / now.chance[known].sum())))
            if season:
                model.season_ = 0.0
                unmoved = model.predict_at(before, world.start(period))
                plain.append(abs(np.log(there[known].sum() / unmoved.chance[known].sum())))
    assert np.mean(away[0.0]) < 0.1
    assert np.mean(away[0.8]) < 0.7 * np.mean(plain)


def test_a_log_of_less_than_a_year_and_counters_have_no_season():
    log, _ = regulars(n_users=60)
    assert ActivityModel().fit(log).season_ == 0
    rows = log.every_row()
    counted = Interactions.of(rows.user_rows, rows.item_rows, times=(rows.times - rows.times.min()) // DAY)
    assert ActivityModel(window=30).fit(counted).season_ == 0
