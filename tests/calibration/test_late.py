"""Labels that come late: young pairs count as far as their label could have come."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from benchmarks.any_score import AS_OF, impressions, late_run
from sureness.calibration.late import Delays
from sureness.errors import DataError, SettingError, SurenessWarning


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("delay", ["exponential, mean 1 day", "exponential, mean 3 days"])
def test_with_exponential_delays_the_level_is_that_of_mature_labels(delay, lists):
    run = late_run(delay, 60_000, lists=lists)
    assert abs(run.with_delays - 1) < 0.03
    assert run.ignored < 0.97
    assert not run.warned


@pytest.mark.parametrize("delay", ["Weibull, shape 0.5", "Lomax, shape 1.5", "Lomax, shape 0.7", "log-normal, sigma 2"])
def test_with_heavy_tails_the_level_is_near_or_there_is_a_warning(delay):
    run = late_run(delay, 60_000)
    assert abs(run.with_delays - 1) < 0.1 or run.warned
    assert abs(run.with_delays - 1) < abs(run.ignored - 1)


def test_the_slope_is_that_of_mature_labels_too():
    known = impressions("exponential, mean 3 days", 100_000)
    late = sn.PlattCalibrator().fit(
        known.scores, shown_at=known.shown_at, taken_at=known.taken_at, as_of=AS_OF
    )  # fmt: skip
    mature = sn.PlattCalibrator().fit(known.scores, known.taken)
    assert_allclose(late.natural_parameters_["b"], mature.natural_parameters_["b"], rtol=0.03)
    assert late.horizon_.period == pytest.approx(30, abs=0.5)


def test_delays_are_those_of_the_truth_not_of_the_young():
    rng = np.random.default_rng(0)
    age, delay = rng.uniform(0, 20, 50_000), rng.exponential(3.0, 50_000)
    came = delay <= age
    delays = Delays.of(delay[came], age[came])
    within = np.array([0.5, 1.0, 3.0, 6.0, 12.0])
    truth = (1 - np.exp(-within / 3)) / (1 - np.exp(-delays.window / 3))
    assert_allclose(delays.share_within(within), truth, atol=0.02)
    assert (delay[came] <= 3).mean() > truth[2] + 0.05  # what came so far took less time
    assert delays.share_within([0.0, -1.0]).tolist() == [0.0, 0.0]
    assert delays.share_within([1e9]).tolist() == [1.0]


def test_mature_labels_are_plain_labels():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=5_000)
    taken = rng.random(5_000) < 1 / (1 + np.exp(2 - scores))
    shown_at = rng.choice([0.0, 1.0], 5_000)
    late = {"shown_at": shown_at, "taken_at": np.where(taken, shown_at + rng.random(5_000), np.nan), "as_of": 50.0}
    assert_allclose(
        sn.PlattCalibrator().fit(scores, **late).probability(scores),
        sn.PlattCalibrator().fit(scores, taken).probability(scores), rtol=1e-9,
    )  # fmt: skip


def test_what_happens_later_is_not_looked_at():
    known = impressions("exponential, mean 3 days", 20_000)
    now = known.shown_at <= 20
    shown, taken = known.shown_at[now], known.taken_at[now]
    late = sn.PlattCalibrator().fit(known.scores[now], shown_at=shown, taken_at=taken, as_of=20.0)
    hidden = np.where(taken <= 20, taken, np.nan)
    same = sn.PlattCalibrator().fit(known.scores[now], shown_at=shown, taken_at=hidden, as_of=20.0)
    assert late.natural_parameters_ == same.natural_parameters_


def test_dates_of_any_kind_are_times():
    known = impressions("exponential, mean 1 day", 5_000)
    start = datetime.datetime(2026, 1, 1)
    shown = [start + datetime.timedelta(days=day) for day in known.shown_at]
    taken = [None if np.isnan(day) else start + datetime.timedelta(days=day) for day in known.taken_at]
    numbers = sn.PlattCalibrator().fit(known.scores, shown_at=known.shown_at, taken_at=known.taken_at, as_of=AS_OF)
    for shown_at, taken_at, as_of in (
        (pl.Series(shown), pl.Series(taken), start + datetime.timedelta(days=AS_OF)),
        (shown, taken, "2026-01-31"),
        (np.array(shown, dtype="datetime64[us]"), np.array(taken, dtype="datetime64[us]"), np.datetime64("2026-01-31")),
    ):
        dates = sn.PlattCalibrator().fit(known.scores, shown_at=shown_at, taken_at=taken_at, as_of=as_of)
        assert_allclose(dates.probability([0.0]), numbers.probability([0.0]), rtol=1e-6)
    assert "days" in str(dates.horizon_)


def test_segments_and_lists_take_a_calibration_set_with_late_labels():
    known = impressions("exponential, mean 1 day", 20_000)
    data = sn.CalibrationSet.from_pairs(
        known.scores, users=np.arange(20_000) // 20, shown_at=known.shown_at, taken_at=known.taken_at, as_of=AS_OF
    )
    segments = np.where(np.arange(20_000) % 2, "a", "b")
    of_segments = sn.SegmentCalibrator().fit(data, segments=segments).probability(known.scores, segments=segments)
    of_lists = sn.ListCalibrator().fit(data).probability(known.scores, groups=np.arange(20_000) // 20)
    assert_allclose([of_segments.mean(), of_lists.mean()], known.taken.mean(), rtol=0.04)
    assert sn.calibration.cross_validate(sn.PlattCalibrator(), data)["nll"].value < 0.3


def test_changed_delays_are_warned_of():
    rng = np.random.default_rng(0)
    shown = rng.uniform(0, 30, 40_000)
    delay = np.where(shown < 8, rng.exponential(4.0, 40_000), rng.exponential(0.5, 40_000))
    taken = np.where(rng.random(40_000) < 0.3, shown + delay, np.nan)
    with pytest.warns(SurenessWarning, match="delays have changed"):
        sn.PlattCalibrator().fit(rng.normal(size=40_000), shown_at=shown, taken_at=taken, as_of=30.0)


def test_steady_delays_are_rarely_warned_of():
    warned = 0
    for seed in range(20):
        known = impressions("exponential, mean 1 day", 5_000, seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sn.PlattCalibrator().fit(known.scores, shown_at=known.shown_at, taken_at=known.taken_at, as_of=AS_OF)
        warned += bool(caught)
    assert warned <= 1


@pytest.mark.parametrize(
    ("late", "sentence"),
    [
        (
            {"taken_at": [1.0, 0.5, np.nan], "shown_at": [1.0, 1.0, 1.0], "as_of": 3},
            "before shown_at, got 1 pair",
        ),
        ({"taken_at": [1.0, 2.0, np.nan], "shown_at": [1.0, 1.0, 4.0], "as_of": 3}, "shown before as_of, got 1 pair"),
        ({"taken_at": [1.0, 2.0, np.nan], "shown_at": [1.0, 1.0, np.nan], "as_of": 3}, "known for every pair"),
        ({"taken_at": [1.0, 2.0, np.nan], "shown_at": [1.0, 1.0, 1.0]}, "as_of=, the time when the log was read"),
        ({"shown_at": [1.0, 1.0, 1.0], "as_of": 3}, "late labels need shown_at=, taken_at= and as_of="),
        ({"taken_at": [1.0, 2.0, np.nan], "shown_at": [1.0, 1.0, 1.0], "as_of": 3}, "at least 20 positives"),
        ({"taken_at": [1.0, 2.0], "shown_at": [1.0, 1.0, 1.0], "as_of": 3}, "taken_at"),
        ({"taken_at": ["soon", None, None], "shown_at": [1.0, 1.0, 1.0], "as_of": 3}, "taken_at must hold dates"),
    ],
)
def test_times_that_cannot_be_are_refused_in_a_sentence(late, sentence):
    with pytest.raises((DataError, SettingError), match=sentence):
        sn.PlattCalibrator().fit([0.1, 2.0, 3.0], **late)


def test_labels_and_times_are_not_both_given():
    with pytest.raises(SettingError, match="leave labels out"):
        sn.PlattCalibrator().fit([1.0, 2.0], [0, 1], shown_at=[0, 0], taken_at=[1, np.nan], as_of=2)
