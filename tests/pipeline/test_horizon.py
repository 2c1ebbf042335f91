"""What is compared with outcomes of a longer or shorter period is converted, or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sureness as sn
from sureness._settings import clone
from sureness.calibration.horizon import Horizon
from sureness.data.interactions import Interactions
from sureness.data.splitting import by_ratio
from sureness.data.time_splitting import by_time
from sureness.errors import SettingError, SurenessWarning
from sureness.numerics.intensity import over_periods
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
        assert sn.inspect(tmp_path / "saved.sureness").about["horizon"]["population"] == "unseen"

    def test_preference_makes_no_promise_about_a_log(self):
        split = by_ratio(happened(0.0, 4.0, 1), seed=0)
        data = sn.CalibrationSet.from_source(
            SOURCE, split.validation, seen=split.train, estimand="preference", held_out_share=0.25
        )
        calibrator = sn.PlattCalibrator().fit(data)
        recommender = sn.ConfidentRecommender(SOURCE, calibrator, expected_relevant="fitted")
        with pytest.raises(SettingError):
            recommender.fit(split.train, split.validation, refit=False).promise(split.test)


class TestMapsThatWereFittedBefore:
    def test_counts_are_those_of_the_new_period(self):
        before, now = split_by_time(1.0, 1.0), split_by_time(2.0, 1.0)
        calibrator = sn.PerUserPlatt().fit(SOURCE, before.validation, seen=before.train)
        recommender = sn.ConfidentRecommender(SOURCE, calibrator).fit(now.train, now.validation, refit=False)
        assert recommender.horizon_.period == pytest.approx(2.0)
        np.testing.assert_allclose(recommender.summaries_.expected, 2 * calibrator.expected_relevant_, rtol=1e-3)
        fitted_as_it_is = sn.ConfidentRecommender(SOURCE, calibrator, expected_relevant="fitted")
        assert fitted_as_it_is.fit(now.train, now.validation, refit=False).horizon_.period == pytest.approx(1.0)

    def test_a_chain_of_different_periods_is_refused(self):
        short, long = split_by_time(1.0, 1.0), split_by_time(2.0, 1.0)
        personal = sn.PerUserPlatt().fit(SOURCE, short.validation, seen=short.train)
        for split, error in ((short, None), (long, SettingError)):
            overall = sn.PlattCalibrator().fit_source(SOURCE, split.validation, seen=split.train)
            if error is None:
                assert sn.MapChain.of(personal, overall).horizon_ == personal.horizon_
            else:
                with pytest.raises(error):
                    sn.MapChain.of(personal, overall)


@pytest.mark.parametrize("calibrator", [
    sn.PlattCalibrator(), sn.PerUserPlatt(), sn.ShapeCalibrator(), sn.TopNCalibrator(sn.PlattCalibrator(), n=10),
    sn.MapChain([sn.PerUserPlatt(), sn.PlattCalibrator()]),
], ids=lambda each: type(each).__name__)  # fmt: skip
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

    def test_a_chain_of_maps_of_other_pairs_is_refused(self, now):
        personal = sn.PerUserPlatt().fit(SOURCE, now.validation, seen=now.train)
        with pytest.raises(SettingError, match="the same pairs"):
            sn.MapChain.of(personal, self.platt(now, "nothing"))
        assert len(sn.MapChain.of(personal, self.platt(now, now.train)).links_) == 2

    def test_pairs_that_were_given_go_with_any(self, now):
        given = sn.PlattCalibrator().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
        personal = sn.PerUserPlatt().fit(SOURCE, now.validation, seen=now.train)
        assert sn.MapChain.of(personal, given).links_
