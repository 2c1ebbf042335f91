from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sureness as sn
from sureness.calibration.horizon import Horizon
from sureness.data.interactions import Interactions, union
from sureness.data.preparing import prepare
from sureness.data.splitting import by_ratio, hold_out, leave_one_out
from sureness.data.time_splitting import by_time
from sureness.errors import ColumnError, DataError, SettingError
from sureness.recommender.run import Run

TIMED = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 15)), st.integers(0, 20), min_size=2, max_size=60
).filter(lambda pairs: len(set(pairs.values())) > 1)
DAY = 86_400 * 10**6


def log_of(timed, **kinds):
    users, items = zip(*timed, strict=True)
    return Interactions.of(users, items, times=np.array([*timed.values()], **kinds))


def many(times=None, n_users=40, n_items=30, seed=0):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.5)
    return Interactions.of(
        users, items, times=rng.integers(0, 1000, len(users)) if times is None else times[: len(users)]
    )


def monthly():
    """A pair on the first of each month of 2024."""
    return Interactions.of(np.arange(12) % 3, np.arange(12), times=[date(2024, month, 1) for month in range(1, 13)])


def assert_parts_of(log, split):
    assert sum(map(len, split.parts.values())) == len(log)
    assert union(list(split.parts.values())).table().equals(log.table())
    assert all(part.users is log.users and part.items is log.items for part in split.parts.values())


# --- at given times ------------------------------------------------------------------------------------------------


@given(TIMED, st.data())
def test_each_part_lies_in_its_period(timed, data):
    log = log_of(timed)
    first, last = int(log.times.min()), int(log.times.max())
    validation_from, test_from = sorted(data.draw(st.tuples(*[st.integers(first + 1, last)] * 2)))
    split = by_time(log, validation_from=validation_from, test_from=test_from)
    assert_parts_of(log, split)
    assert (split.train.times < validation_from).all()
    assert ((split.validation.times >= validation_from) & (split.validation.times < test_from)).all()
    assert (split.test.times >= test_from).all()
    assert len(split.train)
    assert len(split.test)
    periods = [part.period for part in split.parts.values()]
    assert periods == [(first, validation_from), (validation_from, test_from), (test_from, last + 1)]


@pytest.mark.parametrize(
    ("may", "october"),
    [
        ("2024-05-01", "2024-10-01T00:00:00"),
        (date(2024, 5, 1), datetime(2024, 10, 1)),
        (np.datetime64("2024-05-01"), np.datetime64("2024-10-01T00:00:00.000000000")),
        (datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))), "2024-09-30T22:00:00-02:00"),
        (19_844 * DAY, str(19_997 * DAY)),
        (float(19_844 * DAY), 19_997.0 * DAY),
    ],
)
def test_times_are_given_as_the_log_has_them(may, october):
    split = by_time(monthly(), validation_from=may, test_from=october)
    assert [part.item_rows.size for part in split.parts.values()] == [4, 5, 3]
    assert split.validation.period == (19_844 * DAY, 19_997 * DAY)


def test_without_a_time_for_validation_there_is_none():
    split = by_time(many(), test_from=800)
    assert not len(split.validation)
    assert split.train.times.max() < 800 <= split.test.times.min()


def test_pairs_without_a_time_are_the_oldest():
    log = Interactions.of([1] * 5, [1, 2, 3, 4, 5], times=[1.0, np.nan, 2.0, np.nan, 3.0])
    split = by_time(log, validation_from=2, test_from=3)
    assert split.train.table()["item_id"].to_list() == [1, 2, 4]
    assert split.test.table()["item_id"].to_list() == [5]


def test_cold_users_and_items_are_counted():
    log = Interactions.of([1, 1, 2, 3, 3], [1, 2, 1, 3, 4], times=[1, 2, 3, 3, 2])
    notes = " / ".join(by_time(log, validation_from=2, test_from=3).notes)
    for counted in ("1 user of the validation", "2 items of the validation", "2 users of the test",
                    "1 item of the test"):  # fmt: skip
        assert f"{counted} {'has' if counted[0] == '1' else 'have'} no training pair" in notes
    warm = Interactions.of([1, 1, 2, 2], [1, 2, 2, 1], times=[1, 1, 1, 2])
    assert by_time(warm, test_from=2).notes == ()


def test_a_period_without_interactions_is_said():
    log = Interactions.of([1, 1, 2, 2], [1, 2, 2, 1], times=[1, 1, 1, 20])
    assert "no interaction is in the period of the validation part" in by_time(log).notes


# --- by shares -----------------------------------------------------------------------------------------------------


@given(TIMED, st.sampled_from([(0.2, 0.2), (0.0, 0.5), (0.1, 0.05), (0.5, 0.45)]))
def test_shares_are_those_of_the_period(timed, shares):
    log = log_of(timed, dtype=float)
    split = by_time(log, validation_share=shares[0], test_share=shares[1])
    assert_parts_of(log, split)
    length = np.ptp(log.times)
    lengths = [part.period[1] - part.period[0] for part in split.parts.values()]
    assert lengths == pytest.approx(np.array([1 - sum(shares), *shares]) * length + [0, 0, 1])  # to the end of the last
    for part in split.parts.values():
        assert ((part.times >= part.period[0] - 1e-9) & (part.times <= part.period[1] + 1e-9)).all()
    assert len(split.train)
    assert len(split.test)


def test_a_fifth_each_is_usual():
    log = many()
    assert by_time(log).test.period == by_time(log, validation_share=0.2, test_share=0.2).test.period
    assert by_time(log, test_share=0.3).validation.period[0] == pytest.approx(0.5 * 999, abs=1)


@given(TIMED, st.integers(0, 100))
def test_only_the_order_of_each_user_counts(timed, seed):
    log = log_of(timed)
    split = by_time(log, validation_share=0.3, test_share=0.2, share_of="user", seed=seed)
    assert_parts_of(log, split)
    assert (split.train.user_degree >= 1).all()
    assert (split.test.user_degree == np.minimum(np.floor(log.user_degree * 0.2 + 0.5), log.user_degree - 1)).all()
    for user in range(log.n_users):
        train, validation, test = (part.times[part.user_rows == user] for part in split.parts.values())
        assert train.max() <= min([*validation, *test], default=np.inf)
        assert validation.max(initial=-1) <= test.min(initial=99)
    assert {part.period for part in split.parts.values()} == {None}
    stretched = log_of({pair: time**3 for pair, time in timed.items()})
    again = by_time(stretched, validation_share=0.3, test_share=0.2, share_of="user", seed=seed)
    assert again.test.item_rows.tolist() == split.test.item_rows.tolist()


def test_ties_within_a_user_are_broken_at_random():
    log = Interactions.of(
        np.repeat(np.arange(2_000), 5), np.tile(np.arange(5), 2_000), times=np.arange(10_000) // 9_999
    )
    shares = by_time(log, share_of="user", seed=1).test.item_degree / 2_000
    assert np.abs(shares - 0.2).max() < 0.04


# --- what cannot be done -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"validation_from": 5},
        {"test_from": 500, "test_share": 0.2},
        {"test_from": 500, "share_of": "user"},
        {"share_of": "day"},
        {"test_share": 0},
        {"test_share": 0.5, "validation_share": 0.5},
        {"validation_share": -0.1},
        {"test_share": float("nan")},
        {"validation_from": 600, "test_from": 500},
        {"test_from": 5_000},
        {"test_from": -1},
        {"test_from": "2024-05-31"},
        {"test_from": "yesterday"},
        {"test_from": float("nan")},
        {"test_from": True},
        {"test_from": [500]},
        {"test_from": ...},
        {"test_from": 10**400},
        {"test_share": "half"},
    ],
    ids=str,
)
def test_cuts_that_cut_nothing_are_refused(settings):
    with pytest.raises(SettingError):
        by_time(many(), **settings)


def test_a_log_without_times_is_refused():
    with pytest.raises(ColumnError, match="time"):
        by_time(Interactions.of([1, 2], [1, 2]))


@pytest.mark.parametrize("share_of", ["period", "user"])
@pytest.mark.parametrize("times", [[3, 3], [np.nan, np.nan], [np.nan, 3.0]])
def test_one_time_cannot_be_cut(times, share_of):
    with pytest.raises(DataError, match="times"):
        by_time(Interactions.of([1, 2], [1, 2], times=times), share_of=share_of)


def test_pairs_at_the_very_time_are_in_the_later_part():
    log = Interactions.of([1] * 6, range(6), times=[0, 10, 10, 20, 20, 20])
    assert [len(part) for part in by_time(log, validation_from=10, test_from=20).parts.values()] == [1, 2, 3]


@pytest.mark.parametrize("times", [["2024-01-05", "soon"], ["05.01.2024", "06.01.2024"]])
def test_text_that_is_no_time_is_refused(times):
    with pytest.raises(ColumnError):
        Interactions.of([1, 2], [1, 2], times=times)


@pytest.mark.parametrize(("scale", "unit"), [(1, "seconds"), (1_000, "milliseconds"), (10**9, "nanoseconds")])
def test_a_log_in_seconds_takes_dates_and_says_so(scale, unit):
    log = Interactions.of([1] * 3, range(3), times=np.array([1_700_000_000, 1_705_000_000, 1_710_000_000]) * scale)
    split = by_time(log, validation_from=date(2023, 12, 1), test_from="2024-01-01")
    assert [len(part) for part in split.parts.values()] == [1, 0, 2]
    assert split.test.period[0] == 1_704_067_200 * scale
    assert f"the times of the log are {unit} since 1970, so test_from 2024-01-01 was taken as" in split.notes[1]
    assert not any("since 1970" in note for note in by_time(log, test_from=1_704_067_200 * scale).notes)


def test_a_log_of_counters_takes_no_date():
    with pytest.raises(SettingError, match="0 to 2, cannot be seconds"):
        by_time(Interactions.of([1] * 3, range(3), times=range(3)), test_from="2024-01-01")


def test_a_date_outside_is_refused_with_the_dates_of_the_log():
    log = Interactions.of([1, 1], [1, 2], times=["2024-01-05", "2024-02-05"])
    with pytest.raises(SettingError, match=r"2024-01-05 .*2024-02-05 .*2034-02-05 "):
        by_time(log, test_from="2034-02-05")


# --- the period of what is held out -------------------------------------------------------------------------------


def test_a_part_of_a_period_is_not_all_that_happened():
    train = by_time(many(), test_from=800).train
    assert train.period is not None
    assert {part.period for part in hold_out(train)} == {None}
    for split in (by_ratio(train), leave_one_out(train)):
        assert {part.period for part in split.parts.values()} == {None}


def test_parts_together_span_their_periods():
    split = by_time(many(), validation_from=600, test_from=800)
    assert union([split.train, split.validation]).period == (split.train.period[0], 800)
    assert union([split.train, split.test]).period is None
    assert union([split.train, many()]).period is None


@pytest.mark.filterwarnings("ignore:.*every score the same")  # the log is random
def test_a_map_knows_the_length_of_its_period(tmp_path):
    split = by_time(many(), validation_from=600, test_from=800)
    Run(sn.svd_source(split.train, n_factors=4), **split.parts).save(tmp_path / "run.sureness")
    opened = sn.load(tmp_path / "run.sureness")
    assert opened.validation.period == (600, 800)
    share = len(split.validation) / (len(split.validation) + len(split.train))
    for unfitted in (sn.PlattCalibrator(), sn.calibration.PerUserPlatt(), sn.ListCalibrator()):
        fitted = unfitted.fit_source(opened.source, opened.validation, seen=opened.train)
        expected = Horizon(pytest.approx(share), 200.0, split.validation.part.share, "unseen")
        assert fitted.horizon_ == expected
    data = sn.CalibrationSet.from_source(opened.source, opened.validation, seen=opened.train)
    assert sn.PlattCalibrator().fit(data).horizon_.period == 200
    at_random = by_ratio(many())
    fitted = sn.PlattCalibrator().fit_source(opened.source, at_random.validation, seen=at_random.train)
    assert fitted.horizon_.period is None


# --- beside the other protocols ----------------------------------------------------------------------------------


def test_a_split_at_random_says_that_it_ignores_times():
    assert any("ignores the times" in note for note in by_ratio(many()).notes)
    assert by_ratio(Interactions.of([1] * 10, np.arange(10))).notes == ()
    assert not any("ignores" in note for note in leave_one_out(many()).notes)


def test_a_data_set_is_prepared_by_time():
    cuts = {"validation_from": 600, "test_from": 800}
    split = prepare(many(), "time", cuts=cuts, per_user=3)
    assert split.test.times.min() >= 800
    with pytest.raises(SettingError, match="protocol"):
        prepare(many(), "ratio", cuts=cuts)
