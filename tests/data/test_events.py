"""A log with times keeps every row until a split has cut it; no part of a split depends on what comes later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import sureness as sn
from sureness.data import Interactions, at_least, by_time, k_core, leave_one_out, past_windows, prepare, repeats_of
from sureness.data.interactions import union
from sureness.errors import ColumnError, DataError, SettingError

ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 30), st.integers(1, 5)), min_size=2, max_size=60
)
DAY = 86_400 * 10**6


def log_of(rows, **kinds):
    users, items, times, ratings = zip(*rows, strict=True)
    return Interactions.of(users, items, times=np.array(times, **kinds), ratings=ratings)


def rows_of(log):
    """All rows as ids, in the order of `events`."""
    events = log.events
    users, items = log.users.at(events.user_rows), log.items.at(events.item_rows)
    ratings = [None] * len(users) if events.ratings is None else events.ratings.tolist()
    return list(zip(users, items, events.times.tolist(), ratings, strict=True))


def facts(part):
    """All that a part holds, in ids."""
    return part.table().rows(), sorted(rows_of(part)), part.notes, part.period, part.statistics()


# --- the shop's story ----------------------------------------------------------------------------------------------


def shop():
    """Ann buys tea every month and a new book each; the last month is the test."""
    rows = [("ann", "tea", month) for month in range(6)] + [("ann", f"book {month}", month) for month in range(6)]
    users, items, times = zip(*rows, strict=True)
    return Interactions.of(users, items, times=times)


def test_what_was_bought_before_the_cut_stays_in_training():
    split = by_time(shop(), test_from=5)
    assert set(split.train.table()["item_id"]) == {"tea", *(f"book {month}" for month in range(5))}
    assert set(split.test.table()["item_id"]) == {"tea", "book 5"}
    assert repeats_of(split.test, split.train).sum() == 1
    assert (len(split.train.events.times), len(split.test.events.times)) == (10, 2)
    assert split.train.times.max() == 4


def test_a_log_that_repeats_names_the_option():
    assert any('repeats="count"' in note for note in shop().notes)
    assert any('50% of the rows of the test' in note and 'repeats="count"' in note
               for note in by_time(shop(), test_from=5).test.notes)  # fmt: skip
    few = Interactions.of([1] * 20 + [1], [*range(20), 0], times=range(21))
    assert not any("repeats=" in note for note in (*few.notes, *by_time(few, test_from=10).notes))


# --- rows and pairs ------------------------------------------------------------------------------------------------


@given(ROWS)
def test_events_are_all_rows_and_pairs_the_latest_of_each(rows):
    log = log_of(rows)
    assert sorted(rows_of(log)) == sorted(rows)
    assert (np.diff(log.events.times) >= 0).all()
    latest = {}
    for user, item, time, rating in rows:
        if (user, item) not in latest or time >= latest[user, item][0]:
            latest[user, item] = time, rating
    assert {(u, i): (t, r) for u, i, r, t in log.table().rows()} == latest


@given(ROWS, st.integers(0, 31))
def test_parts_together_are_the_log_again(rows, cut):
    log = log_of(rows)
    mask = log.every_row().times < cut
    both = union([log.keep_rows(mask), log.keep_rows(~mask)])
    assert sorted(rows_of(both)) == sorted(rows)
    assert both.table().select("user_id", "item_id", "time").equals(log.table().select("user_id", "item_id", "time"))


@given(ROWS, st.data())
def test_rows_stay_with_their_pairs(rows, data):
    log = log_of(rows)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(log), max_size=len(log))), dtype=bool)
    kept = log.keep(mask)
    pairs = {(u, i) for u, i, *_ in kept.table().rows()}
    expected = sorted(row for row in rows if (row[0], row[1]) in pairs)
    assert sorted(rows_of(kept)) == sorted(rows_of(kept.compact())) == expected
    assert sorted(rows_of(log.keep(np.flatnonzero(mask)))) == expected
    turned = log.aligned(sn.IdMap([9, 4, 3, 2, 1, 0]), sn.IdMap([5, 4, 2, 1, 0]))
    assert sorted(rows_of(turned)) == sorted(row for row in rows if row[1] != 3)


@given(ROWS)
def test_rows_are_saved(tmp_path_factory, rows):
    log, path = log_of(rows), tmp_path_factory.mktemp("log") / "log.sureness"
    log.save(path)
    assert sorted(rows_of(sn.load(path))) == sorted(rows)


def test_without_times_there_are_no_events():
    log = Interactions.of([1, 1, 1], [2, 2, 3])
    assert log.events is None
    assert len(log) == 2


def test_rows_without_a_time_come_first():
    log = Interactions.of([1, 1, 1], [2, 2, 3], times=[5.0, np.nan, 4.0])
    assert_array_equal(log.events.times, [np.nan, 4.0, 5.0])
    assert log.times.tolist() == [5.0, 4.0]


# --- the past does not know the future -------------------------------------------------------------------------------


def changed(rows, cut, others):
    """The same rows before a time, and others from then on."""
    return [row for row in rows if row[2] < cut] + [(u, i, cut + t, r) for u, i, t, r in others]


@given(ROWS, ROWS, st.integers(3, 20), st.integers(0, 8))
def test_parts_do_not_depend_on_what_comes_later(rows, others, validation_from, length):
    test_from = validation_from + length
    known = [(0, 0, 0, 5), (0, 1, test_from, 5)]  # so that there is something to cut
    one, two = ([*known, *rest] for rest in (rows, changed(rows, test_from, others)))
    if max(row[2] for row in one) < test_from or max(row[2] for row in two) < test_from:
        return
    first, second = (by_time(log_of(rows), validation_from=validation_from, test_from=test_from) for rows in (one, two))
    assert facts(first.train) == facts(second.train)
    assert facts(first.validation) == facts(second.validation)


@given(ROWS, ROWS, st.integers(3, 20), st.sampled_from([(None, None, 3), (2, None, None), (None, 2, None), (2, 2, 2)]))
def test_filters_see_only_what_came_before(rows, others, cut, filters):
    per_user, core, above = filters
    known = [(u, i, 0, 5) for u in range(3) for i in range(3)]
    parts = []
    for each in (rows, changed(rows, cut, others)):
        log = log_of([*known, *each, (0, 1, cut, 5)])
        parts.append(
            prepare(log, "time", cuts={"test_from": cut}, per_user=per_user, core=core, positive_above=above).train
        )
    assert facts(parts[0]) == facts(parts[1])


@given(ROWS, ROWS, st.integers(5, 25), st.integers(1, 3))
def test_windows_do_not_depend_on_what_comes_later(rows, others, until, n):
    known = [(0, 0, 0, 5), (1, 1, 30, 5)]
    for one, two in zip(
        past_windows(log_of([*known, *rows]), 1, n=n, until=until),
        past_windows(log_of([*known, *changed(rows, until, others), (1, 1, until, 1)]), 1, n=n, until=until),
        strict=True,
    ):
        assert facts(one.before.compact()) == facts(two.before.compact())
        assert facts(one.during) == facts(two.during)


@given(ROWS, st.integers(0, 9))
def test_a_users_last_rows_do_not_change_the_earlier_ones(rows, item):
    distinct_times = [(u, i, 31 * n + t, r) for n, (u, i, t, r) in enumerate(rows)]
    last = max(n for n, row in enumerate(distinct_times) if row[0] == distinct_times[-1][0])
    other = [*distinct_times]
    other[last] = (other[last][0], item, *other[last][2:])
    for split in (leave_one_out, lambda log: by_time(log, share_of="user")):
        one, two = split(log_of(distinct_times)), split(log_of(other))
        if len(one.test):
            user = distinct_times[-1][0]
            mine = [sorted(row for row in rows_of(each.train) if row[0] == user) for each in (one, two)]
            if any(row[0] == user for row in rows_of(one.test)):
                assert mine[0] == mine[1]


# --- windows -------------------------------------------------------------------------------------------------------


def daily(first="2024-01-01", days=100):
    times = np.datetime64(first) + np.arange(days)
    return Interactions.of(np.arange(days) % 7, np.arange(days), times=times)


def test_windows_of_days_end_with_the_last_day():
    assert [len(during) for _, during in past_windows(daily(), "10d", n=3)] == [10, 10, 10]
    assert [len(before) for before, _ in past_windows(daily(), "10d", n=3)] == [70, 80, 90]


def test_windows_of_calendar_months():
    log = daily("2023-11-15", 138)  # to 31 March 2024
    windows = list(past_windows(log, "1mo", n=4))
    assert [len(during) for _, during in windows] == [31, 31, 29, 31]
    assert windows[0].during.period[0] == np.datetime64("2023-12-01", "us").astype(int)
    assert [len(during) for _, during in past_windows(log, "1mo", n=2, until="2024-02-01")] == [31, 31]
    assert len(next(past_windows(log, "1q")).during) == 91


def test_a_window_of_some_microseconds_is_refused_with_its_unit():
    with pytest.raises(SettingError, match="30 is 30 microseconds.*30d"):
        past_windows(daily(), 30)


@pytest.mark.parametrize("window", ["30d", 0.3, timedelta(days=30), np.timedelta64(30, "D"), 30 * DAY])
def test_one_window_in_every_form(window):
    ((before, during),) = past_windows(daily(), window)
    assert (len(before), len(during)) == (70, 30)
    assert during.period[1] - during.period[0] == pytest.approx(30 * DAY)


def test_windows_of_a_log_in_seconds():
    log = Interactions.of([1] * 100, range(100), times=1_700_000_000 + 3_600 * np.arange(100))
    assert len(next(past_windows(log, "1d")).during) == 24
    assert len(next(past_windows(log, "1d", until="2023-11-17")).during) == 24


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"window": "200d"}, DataError),
        ({"window": "20d", "n": 6}, DataError),
        ({"window": "1y"}, DataError),
        ({"window": "soon"}, SettingError),
        ({"window": 0}, SettingError),
        ({"window": -1}, SettingError),
        ({"window": True}, SettingError),
        ({"window": None}, SettingError),
        ({"window": float("nan")}, SettingError),
        ({"window": "10d", "n": 0}, SettingError),
        ({"window": "10d", "until": "2030-01-01"}, SettingError),
        ({"window": "10d", "until": "2020-01-01"}, SettingError),
        ({"window": "10d", "until": "soon"}, SettingError),
    ],
    ids=str,
)
def test_windows_that_do_not_fit_are_refused_in_one_sentence(settings, error):
    with pytest.raises(error) as refused:
        past_windows(daily(), **settings)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("window", ["30d", "1mo", timedelta(1)])
def test_counters_take_no_length_of_time(window):
    with pytest.raises(SettingError, match="cannot be seconds"):
        past_windows(Interactions.of([1] * 9, range(9), times=range(9)), window)


def test_windows_need_times():
    with pytest.raises(ColumnError, match="times"):
        past_windows(Interactions.of([1, 2], [1, 2]), "1d")
    with pytest.raises(DataError, match="two different times"):
        past_windows(Interactions.of([1, 2], [1, 2], times=[3, 3]), 1)


# --- time zones ----------------------------------------------------------------------------------------------------


def test_times_of_several_zones_are_one_time():
    text = Interactions.of([1, 2, 3], [1, 2, 3], times=[
        "2024-05-31T18:00:00+02:00", "2024-05-31T16:00:00Z", "2024-05-31T12:00:00-04:00"])  # fmt: skip
    assert len(set(text.times.tolist())) == 1
    zones = [datetime(2024, 5, 31, 12 + hours, tzinfo=timezone(timedelta(hours=hours))) for hours in (0, 2)]
    assert len(set(Interactions.of([1, 2], [1, 2], times=zones).times.tolist())) == 1


@pytest.mark.parametrize(
    "times",
    [
        ["2024-05-31T18:00:00+02:00", "2024-05-31T18:00:00"],
        [datetime(2024, 5, 31, tzinfo=UTC), datetime(2024, 5, 31)],
    ],
)
def test_times_with_and_without_a_zone_are_refused(times):
    with pytest.raises(DataError, match="zone") as refused:
        Interactions.of([1, 2], [1, 2], times=times)
    assert "\n" not in str(refused.value)


def test_filters_of_the_past_leave_later_users_out():
    log = Interactions.of([1, 1, 2, 1, 2, 3], [1, 2, 1, 3, 2, 1], times=[1, 2, 3, 9, 9, 9])
    split = prepare(log, "time", cuts={"test_from": 9}, per_user=2)
    assert split.train.table()["user_id"].unique().to_list() == [1]
    assert split.test.table().rows() == []  # user 1 takes an item that training does not know
    assert len(at_least(by_time(log, test_from=9).train, per_user=2)) == 2
    assert len(k_core(by_time(log, test_from=9).train, 1)) == 3


def test_a_run_keeps_the_events_of_its_parts(tmp_path):
    split = by_time(shop(), test_from=5)
    source = sn.MatrixSource(np.zeros(split.train.shape), users=split.train.users, items=split.train.items)
    sn.recommender.Run(source, **split.parts).save(tmp_path / "run.sureness")
    opened = sn.load(tmp_path / "run.sureness")
    assert len(opened.train.events.times) == 10
    assert pl.Series(opened.seen().events.times).is_sorted()
