"""What is compared with outcomes of a longer or shorter period is converted, or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import sureness as sn
from sureness._settings import clone
from sureness.calibration.horizon import Horizon
from sureness.data.interactions import Interactions, Part
from sureness.data.splitting import by_ratio
from sureness.data.time_splitting import by_time
from sureness.errors import SettingError, SurenessWarning
from sureness.numerics.intensity import once_gone, over_periods, over_shares
from sureness.sources.base import MatrixSource

N_USERS, N_ITEMS = 400, 60
RNG = np.random.default_rng(0)
RATES = np.exp(RNG.normal(-4.0, 1.0, (N_USERS, N_ITEMS)))  # interactions of each pair in a unit of time
SOURCE = MatrixSource(np.log(RATES))


def happened(start, stop, seed):
    """First interactions between two times, at a steady rate, with the time of each."""
    first = np.random.default_rng(seed).exponential(1 / RATES)
    users, items = np.nonzero((first >= start) & (first < stop))
    times = first[users, items]
    ends = Interactions.of([0, N_USERS - 1], [0, N_ITEMS - 1], times=[start, stop])  # so that the log spans all of it
    log = Interactions.of(users, items, times=times)
    known = sn.IdMap.counting(N_USERS), sn.IdMap.counting(N_ITEMS)
    return sn.data.union([ends.aligned(*known), log.aligned(*known)])


def split_by_time(validation, test, seed=0):
    """Two units of training, then validation and test of some length."""
    log = happened(0.0, 2.0 + validation + test, seed)
    return by_time(log, validation_from=2.0, test_from=2.0 + validation)


def at_random(n_users, shares, seed=0):
    """Every pair goes to one of the parts by itself, so that no rounding for each user comes into it."""
    rng = np.random.default_rng(seed)
    rates = np.exp(rng.normal(-4.0, 1.0, (n_users, N_ITEMS)))
    taken = rng.exponential(1 / rates) < 4.0
    part = rng.choice(3, p=shares, size=taken.shape)
    train, *held_out = (Interactions.from_matrix(taken & (part == number)) for number in range(3))
    told = [replace(log, part=Part(len(log) / taken.sum(), len(train))) for log in held_out]
    return MatrixSource(np.log(rates)), sn.data.Split(train, *told)


def fitted(split, calibrator=None, **settings):
    policy = sn.ExpectedUtility("f1", max_size=15)
    recommender = sn.ConfidentRecommender(SOURCE, calibrator, policy, **settings)
    return recommender.fit(split.train, split.validation)


class TestConversion:
    def test_periods_add_up(self):
        chances = np.linspace(0, 1, 11)
        np.testing.assert_allclose(
            over_periods(over_periods(chances, 2.0), 1.5), over_periods(chances, 3.0), atol=1e-12
        )
        np.testing.assert_array_equal(over_periods(chances, 1.0).round(15), chances.round(15))

    def test_shares_add_up_and_are_those_of_the_odds(self):
        log_odds = np.linspace(-8.0, 8.0, 33)
        chances = once_gone(log_odds)
        np.testing.assert_allclose(over_shares(chances, 0.5), once_gone(log_odds, 0.5), rtol=1e-9)
        np.testing.assert_allclose(over_shares(over_shares(chances, 2.0), 1.5), over_shares(chances, 3.0), rtol=1e-9)
        np.testing.assert_allclose(over_shares(chances, 1.0), chances, rtol=1e-9)

    def test_a_rare_item_is_twice_as_likely_in_twice_as_much(self):
        np.testing.assert_allclose(over_shares(np.array([0.0, 0.001, 0.05]), 2.0), [0.0, 0.002, 0.1], rtol=1e-4)
        assert over_shares(np.array([1.0]), 0.5)[0] <= 1


class TestRatio:
    def test_periods_or_shares_but_not_both(self):
        assert Horizon(period=7).ratio(Horizon(period=28)) == 4
        assert Horizon(log_share=0.2).ratio(Horizon(log_share=0.1)) == 0.5
        assert Horizon(period=7, log_share=0.2).ratio(Horizon(log_share=0.1)) is None
        assert Horizon(period=7, log_share=0.2).ratio(Horizon(period=7, log_share=0.1)) == 1
        assert Horizon().ratio(Horizon(log_share=0.1)) is None

    def test_nearly_the_same_is_the_same(self):
        assert not Horizon(period=30).differs(Horizon(period=31))
        assert Horizon(period=28).differs(Horizon(period=31))
        assert not Horizon().differs(Horizon(period=31))


class TestOutcomes:
    def test_a_longer_test_is_met_by_its_own_probabilities(self):
        split = split_by_time(validation=1.0, test=3.0)
        recommender = fitted(split)
        with pytest.warns(SurenessWarning, match="3 times as much"):
            converted = recommender.lists(labels=split.test)
        np.testing.assert_allclose(converted.promised, over_periods(recommender.lists().probabilities, 3.0))
        with pytest.warns(SurenessWarning, match="3 times as much"):
            kept = recommender.promise(split.test)["ratio"][0]
        assert kept == pytest.approx(1.0, abs=0.25)
        unknown = recommender.promise(replace(split.test, period=None, part=None))["ratio"][0]
        assert unknown > 1.6

    def test_the_lists_that_are_judged_are_those_that_are_shown(self):
        split = split_by_time(validation=1.0, test=3.0)
        recommender = fitted(split)
        with pytest.warns(SurenessWarning, match="3 times as much"):
            judged = recommender.promise(split.test)["shown"][0]
        assert judged == recommender.recommend().height

    @pytest.mark.parametrize("door", ["evaluate", "promise"])
    def test_every_comparison_says_so(self, door):
        split = by_ratio(happened(0.0, 4.0, 1), (0.5, 0.1, 0.4), seed=0)
        with pytest.warns(SurenessWarning, match="times as much"):
            getattr(fitted(split), door)(split.test)

    @pytest.mark.parametrize("split", [
        split_by_time(1.0, 1.0), by_ratio(happened(0.0, 4.0, 1), seed=0), sn.leave_one_out(happened(0.0, 4.0, 1)),
    ], ids=["time", "ratio", "leave-one-out"])  # fmt: skip
    def test_nothing_is_converted_where_as_much_happens(self, split):
        recommender = fitted(split)
        assert recommender.lists(labels=split.test).promised is None

    def test_numbers_of_the_user_are_taken_at_their_word(self):
        split = split_by_time(1.0, 3.0)
        recommender = fitted(split, expected_relevant=3.0)
        assert recommender.horizon_ == Horizon()
        recommender.promise(split.test)

    def test_a_saved_recommender_knows_its_period(self, tmp_path):
        split = split_by_time(1.0, 3.0)
        recommender = fitted(split)
        recommender.save(tmp_path / "saved.sureness")
        opened = sn.load(tmp_path / "saved.sureness")
        assert opened.horizon_ == recommender.horizon_
        assert opened.horizon_.period == pytest.approx(1.0)
        assert sn.saving.inspect(tmp_path / "saved.sureness").about["horizon"]["population"] == "unseen"

    def test_preference_makes_no_promise_about_a_log(self):
        split = by_ratio(happened(0.0, 4.0, 1), seed=0)
        data = sn.CalibrationSet.from_source(
            SOURCE, split.validation, seen=split.train, estimand="preference", held_out_share=0.25
        )
        calibrator = sn.PlattCalibrator().fit(data)
        recommender = sn.ConfidentRecommender(SOURCE, calibrator, expected_relevant="fitted")
        with pytest.raises(SettingError):
            recommender.fit(split.train, split.validation, refit=False).promise(split.test)


class TestCarried:
    """What is held out is gone when lists are made, and as much happens again."""

    @staticmethod
    def log_odds(recommender, lists):
        found = next(iter(recommender._candidates(lists.users, recommender.seen_)))
        histories = recommender.chances_.mapped.histories(found.users)
        log_odds = recommender.chances_.mapped.log_odds(found.scores, found.users, found.items, found.best, histories)
        return log_odds[:, : lists.width]

    @pytest.mark.parametrize(
        "calibrator", [sn.ListCalibrator(), sn.PlattCalibrator(), sn.calibration.PerUserPlatt()], ids=repr
    )
    def test_a_split_by_time_uses_the_probabilities_as_they_are(self, calibrator):
        """What was not taken in one period is as likely in the next: an item stays as attractive as it was."""
        recommender = fitted(split_by_time(1.0, 1.0), calibrator)
        lists = recommender.lists()
        np.testing.assert_allclose(lists.probabilities, expit(self.log_odds(recommender, lists)), rtol=1e-9)

    @pytest.mark.parametrize(
        "calibrator", [sn.ListCalibrator(), sn.PlattCalibrator(), sn.calibration.PerUserPlatt()], ids=repr
    )
    def test_a_random_split_uses_the_odds(self, calibrator):
        """What was not held out at random has fewer parts left to be in."""
        recommender = fitted(by_ratio(happened(0.0, 4.0, 1), seed=0), calibrator)
        lists = recommender.lists()
        np.testing.assert_allclose(lists.probabilities, once_gone(self.log_odds(recommender, lists)), rtol=1e-9)

    def test_the_promise_is_kept_by_a_random_split(self):
        split = by_ratio(happened(0.0, 4.0, 1), (0.6, 0.2, 0.2), seed=0)
        for_all = fitted(split).promise(split.test).row(0, named=True)
        assert for_all["low"] < 1 < for_all["high"]

    @pytest.mark.parametrize("ratios", [(0.7, 0.2, 0.1), (0.7, 0.1, 0.2)], ids=["less", "more"])
    def test_the_promise_is_kept_by_another_share_of_a_random_split(self, ratios):
        source, split = at_random(2_000, ratios)
        recommender = sn.ConfidentRecommender(source, policy=sn.ExpectedUtility("f1", max_size=15))
        recommender.fit(split.train, split.validation)
        times = len(split.test) / len(split.validation)
        with pytest.warns(SurenessWarning, match=f"{times:.3g} times as much"):
            converted = recommender.lists(labels=split.test)
        np.testing.assert_allclose(converted.promised, over_shares(converted.probabilities, times))
        with pytest.warns(SurenessWarning, match=f"{times:.3g} times as much"):
            in_total = recommender.promise(split.test).row(0, named=True)
        assert in_total["low"] < 1 < in_total["high"]
        assert in_total["high"] - in_total["low"] < 0.25
        unknown = recommender.promise(replace(split.test, part=None))["ratio"][0]
        assert unknown == pytest.approx(times * in_total["ratio"], rel=0.15)


class TestMapsThatWereFittedBefore:
    @pytest.mark.parametrize("calibrator", [sn.ListCalibrator(), sn.calibration.PerUserPlatt()], ids=repr)
    def test_counts_are_those_of_the_new_period(self, calibrator):
        before, now = split_by_time(1.0, 1.0), split_by_time(2.0, 1.0)
        kept = clone(calibrator).fit_source(SOURCE, before.validation, seen=before.train)
        recommender = sn.ConfidentRecommender(SOURCE, kept).fit(now.train, now.validation, refit=False)
        assert recommender.horizon_.period == pytest.approx(2.0)
        as_it_is = sn.ConfidentRecommender(SOURCE, kept, expected_relevant="fitted")
        as_it_is.fit(now.train, now.validation, refit=False)
        assert as_it_is.horizon_.period == pytest.approx(1.0)
        np.testing.assert_allclose(
            recommender.lists().probabilities, over_periods(as_it_is.lists().probabilities, 2.0), rtol=1e-9
        )


@pytest.mark.parametrize(
    "calibrator",
    [
        sn.PlattCalibrator(),
        sn.calibration.PerUserPlatt(),
        sn.calibration.ShapeCalibrator(),
        sn.calibration.TopNCalibrator(sn.PlattCalibrator(), n=10),
        sn.ListCalibrator(),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("seen", ["unseen", "all"])
def test_every_map_knows_period_share_and_pairs_also_when_saved(calibrator, seen, tmp_path):
    split = split_by_time(1.0, 1.0)
    fitted = clone(calibrator).fit_source(SOURCE, split.validation, seen=split.train if seen == "unseen" else "nothing")
    name = tmp_path / f"map.{'json' if fitted.saved_as == 'json' else 'sureness'}"
    fitted.save(name)
    for each in (fitted, sn.load(name)):
        assert each.horizon_.period == pytest.approx(1.0)
        assert each.horizon_.log_share == split.validation.part.share
        assert each.horizon_.population == seen


def test_a_map_of_plain_pairs_knows_nothing_of_a_period():
    fitted = sn.PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
    assert fitted.horizon_ == Horizon(held_out_share=1.0)
    assert "unknown length" in str(fitted.horizon_)


def test_a_horizon_in_words():
    assert str(Horizon(0.25, 31 * 86_400_000_000.0, 0.2, "unseen")) == "unseen pairs, in a period of 31.0 days"
    assert str(Horizon(0.25, 200.0)) == "the given pairs, in a period of 200"
    assert str(Horizon(0.25, None, 0.2, "all")) == "all pairs, training pairs too, in a period with 20.0% of the log"


class TestPopulation:
    """What is known about all pairs says little about unseen ones, and nothing converts one to the other."""

    @pytest.fixture
    def now(self):
        return split_by_time(1.0, 1.0)

    def platt(self, split, seen):
        data = sn.CalibrationSet.from_source(SOURCE, split.validation, seen=seen)
        return sn.PlattCalibrator().fit(data)

    def test_a_kept_map_of_other_pairs_is_refused(self, now):
        for calibrator, seen in ((self.platt(now, "nothing"), now.train), (self.platt(now, now.train), "nothing")):
            with pytest.raises(SettingError, match="the same seen"):
                sn.ConfidentRecommender(SOURCE, calibrator).fit(seen, now.validation, refit=False)
