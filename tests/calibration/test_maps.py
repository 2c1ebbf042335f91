"""One question for every map: these scores, for these users and segments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit

import sureness as sn
from sureness._settings import clone
from sureness.calibration.maps import Segments, Who
from sureness.numerics.intensity import once_gone
from tests.recommender.worlds import shop

USERS, ITEMS = 60, 40


@pytest.fixture(scope="module")
def world():
    return shop(USERS, ITEMS, names=True)


@pytest.fixture(scope="module")
def segments():
    return Segments(np.where(np.arange(ITEMS) % 3 == 0, "film", "song"))


MAPS = {
    "gaussian": sn.GaussianCalibrator(),
    "isotonic": sn.IsotonicCalibrator(),
    "histogram": sn.calibration.HistogramCalibrator(),
    "shape": sn.calibration.ShapeCalibrator(),
    "per user": sn.calibration.PerUserPlatt(),
    "per user, top": sn.calibration.PerUserGamma(top=15),
    "per segment": sn.SegmentCalibrator(),
    "several segments": sn.SegmentCalibrator(),
    "top n": sn.calibration.TopNCalibrator(n=5),
    "lists": sn.ListCalibrator(best=15),
}
EVERY = pytest.mark.parametrize("unfitted", MAPS.values(), ids=MAPS)
OF_PAIRS = [name for name in MAPS if name != "lists"]  # those that look at one score at a time
EVERY_OF_PAIRS = pytest.mark.parametrize("unfitted", [MAPS[name] for name in OF_PAIRS], ids=OF_PAIRS)


def fitted_to(unfitted, world, segments):
    return clone(unfitted).fit_source(world.source, world.validation, seen=world.train, segments=segments)


def asked(world, n=25, seed=0):
    rng = np.random.default_rng(seed)
    names = world.source.users.at(rng.integers(USERS, size=n)).to_list()
    return rng.normal(size=n), {"users": names, "segments": rng.choice(["film", "song", "unheard of"], n)}


def told(fitted, users, segments):
    """The same users and segments as arguments of any map."""
    if isinstance(fitted, sn.ListCalibrator):
        return {"groups": users, "history": np.full(len(users), 3), "traits": {"segment": segments}}
    return {"users": users, "segments": segments}


UNKNOWN = pytest.mark.filterwarnings("ignore:.* the map does not know", "ignore:.* never saw")


class TestEveryMap:
    @EVERY
    @UNKNOWN
    def test_it_answers_the_same_question(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        scores, who = asked(world)
        who = told(fitted, **who)
        probabilities = fitted.probability(scores, **who)
        assert probabilities.shape == scores.shape
        assert np.all((probabilities >= 0) & (probabilities <= 1))
        with np.errstate(divide="ignore"):
            assert_allclose(fitted.log_odds(scores, **who), logit(probabilities), rtol=1e-9, atol=1e-9)

    @EVERY
    def test_it_says_what_its_probability_is_of(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        n_held_out, n_seen = len(world.validation), len(world.train)
        assert fitted.estimand_ == "interaction"
        assert fitted.horizon_.held_out_share == pytest.approx(n_held_out / (n_held_out + n_seen))

    @EVERY_OF_PAIRS
    def test_blocks_and_pairs_get_the_same_answer(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        block = np.random.default_rng(1).normal(size=(3, 4))
        users, names = world.source.users.at([5, 0, 7]).to_list(), ["film", "song", "film"]
        who = fitted.who(3, users=users, segments=names)
        one_by_one = fitted.probability(block.ravel(), users=np.repeat(users, 4), segments=np.repeat(names, 4))
        assert_allclose(fitted.probability_of(block, who).ravel(), one_by_one, rtol=1e-12)

    @EVERY_OF_PAIRS
    def test_where_there_is_no_candidate_nothing_is_likely(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        who = fitted.who(1, users=world.source.users.at([3]), segments=["film"])
        block = np.array([[0.5, -np.inf]])
        assert fitted.probability_of(block, who)[0, 1] == 0
        assert fitted.log_odds_of(block, who)[0, 1] == -np.inf

    @EVERY
    @pytest.mark.filterwarnings("ignore:.* far outside")
    def test_log_odds_are_never_nan(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        scores = np.array([-1e30, -1e3, 0.0, 1e3, 1e30])
        who = told(fitted, world.source.users.at(np.zeros(5, int)), ["film"] * 5)
        assert not np.isnan(fitted.log_odds(scores, **who)).any()

    @EVERY
    @UNKNOWN
    def test_it_comes_back_from_a_file(self, unfitted, world, segments, tmp_path):
        fitted = fitted_to(unfitted, world, segments)
        path = tmp_path / ("map.json" if fitted.saved_as == "json" else "map.sureness")
        fitted.save(path)
        opened = sn.load(path, sn.calibration.ProbabilityMap)
        scores, who = asked(world)
        who = told(fitted, **who)
        assert_array_equal(opened.probability(scores, **who), fitted.probability(scores, **who))
        assert (opened.estimand_, opened.horizon_) == (fitted.estimand_, fitted.horizon_)

    @EVERY
    def test_a_recommender_takes_it(self, unfitted, world, segments, tmp_path):
        recommender = sn.ConfidentRecommender(world.source, unfitted, segments=segments)
        recommender.fit(world.train, world.validation)
        lists = recommender.recommend()
        assert lists["probability"].is_between(0, 1).all()
        recommender.save(tmp_path / "it.sureness")
        assert sn.load(tmp_path / "it.sureness").recommend().equals(lists)


class TestSegments:
    def test_the_items_of_one_user_may_be_of_different_segments(self, world):
        names = np.where(np.arange(ITEMS) < 3, "new", "old").astype(object)
        recommender = sn.ConfidentRecommender(
            world.source, sn.SegmentCalibrator(), sn.FixedSize(ITEMS), segments=Segments(names)
        ).fit(world.train, world.validation)
        lists, fitted = recommender.recommend(), recommender.map_
        new = lists["item_id"].is_in(world.source.items.at([0, 1, 2]).to_list()).to_numpy()
        scores = lists["score"].to_numpy().astype(np.float64)
        own = fitted.log_odds(scores, segments=np.where(new, "new", "old"))
        assert_allclose(lists["probability"], once_gone(own), rtol=1e-6)
        assert 0 < new.sum() < len(new)

    def test_segments_of_users_work_too(self, world):
        names = np.where(np.arange(USERS) % 2 == 0, "even", "odd")
        recommender = sn.ConfidentRecommender(world.source, sn.SegmentCalibrator(), segments=Segments(names, "users"))
        lists = recommender.fit(world.train, world.validation).recommend()
        segments = names[world.source.users.rows(lists["user_id"])]
        odds = recommender.map_.log_odds(lists["score"], segments=segments)
        assert_allclose(lists["probability"], once_gone(odds), rtol=1e-6)

    def test_domains_of_the_log_are_segments(self, world):
        domain = pl.Series(["film", "song"] * (ITEMS // 2))
        train, validation = (replace(log, item_domain=domain) for log in (world.train, world.validation))
        recommender = sn.ConfidentRecommender(world.source, sn.SegmentCalibrator(), segments="domain")
        recommender.fit(train, validation)
        assert set(recommender.map_.effects_.coding.fields[0].values.ids) == {"film", "song"}


class TestUsers:
    def test_users_without_held_out_items_and_unknown_ones_have_the_global_map(self, world):
        kept = world.validation.keep(np.flatnonzero(world.validation.user_rows != 0))
        fitted = sn.calibration.PerUserPlatt().fit(world.source, kept, seen=world.train)
        own = fitted.log_odds([0.3, 0.3, 0.3], users=[*world.source.users.at([0, 1]), "nobody"])
        location, scale = fitted.location_, fitted.scale_
        places = [(0.3 - location[0]) / scale[0], (0.3 - location.mean()) / scale.mean()]
        assert_allclose(own[[0, 2]], fitted.global_.log_odds(places), rtol=1e-9)
        assert fitted.intercept_[1] != fitted.global_.intercept_


class TestRefusals:
    def test_maps_of_users_need_users(self, world, segments):
        with pytest.raises(sn.errors.SettingError, match="users="):
            fitted_to(sn.calibration.PerUserPlatt(), world, segments).probability([0.1])

    def test_maps_of_lists_need_groups(self, world, segments):
        fitted = fitted_to(sn.ListCalibrator(), world, segments)
        with pytest.raises(sn.errors.SettingError, match="groups="):
            fitted.probability_of(np.array([0.1]), Who(1))

    def test_maps_of_segments_need_segments(self, world, segments):
        with pytest.raises(sn.errors.SettingError, match="segments="):
            fitted_to(sn.SegmentCalibrator(), world, segments).probability([0.1])
        with pytest.raises(sn.errors.SettingError, match="segments="):
            sn.ConfidentRecommender(world.source, sn.SegmentCalibrator()).fit(world.train, world.validation)

    def test_a_fitted_map_of_segments_needs_segments_in_a_recommender_too(self, world, segments):
        """Without them the global map would answer for everything, without a word."""
        fitted = fitted_to(sn.SegmentCalibrator(), world, segments)
        recommender = sn.ConfidentRecommender(world.source, fitted)
        with pytest.raises(sn.errors.SettingError, match="segments="):
            recommender.fit(world.train, world.validation, refit=False)

    def test_segments_must_fit_the_source(self, world):
        with pytest.raises(sn.errors.SettingError, match="40"):
            sn.ConfidentRecommender(world.source, sn.PlattCalibrator(), segments=Segments(np.array(["a"]))).fit(
                world.train, world.validation
            )

    @pytest.mark.parametrize("names", [["a", "b"], ["a", "b"] * ITEMS], ids=["too few", "too many"])
    def test_a_map_is_not_fitted_to_segments_of_another_source(self, world, names):
        for unfitted in (sn.SegmentCalibrator(), sn.ListCalibrator()):
            with pytest.raises(sn.errors.SettingError, match="40"):
                fitted_to(unfitted, world, Segments(np.array(names)))

    def test_a_misspelt_name_for_the_domains_is_refused(self, world):
        for given in ("domian", np.array(["a"] * ITEMS)):
            with pytest.raises(sn.errors.SettingError, match="'domain'"):
                sn.ConfidentRecommender(world.source, segments=given).fit(world.train, world.validation)

    def test_segments_of_anything_else_are_refused(self):
        with pytest.raises(sn.errors.SettingError, match="'user'"):
            Segments(np.array(["a", "b"]), "user")

    def test_who_counts_rows(self):
        assert Who(3).n == 3
