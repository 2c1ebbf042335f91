"""One question for every map: these scores, for these users and segments; and chains of maps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logit

import sureness as sn
from sureness._settings import clone
from sureness.calibration.maps import ANSWERS, Segments, Who
from tests.conftest import draw_pairs
from tests.pipeline.worlds import shop

USERS, ITEMS = 60, 40


@pytest.fixture(scope="module")
def world():
    return shop(USERS, ITEMS, names=True)


@pytest.fixture(scope="module")
def segments():
    return Segments(np.where(np.arange(ITEMS) % 3 == 0, "film", "song"))


MAPS = {
    "gaussian": sn.GaussianCalibrator(), "isotonic": sn.IsotonicCalibrator(), "histogram": sn.HistogramCalibrator(),
    "per user": sn.PerUserPlatt(top=None), "per user, top": sn.PerUserGamma(top=15),
    "shared": sn.SharedCalibrator(top=15), "shared, per segment": sn.SharedCalibrator(sn.SegmentCalibrator(), top=15),
    "per segment": sn.SegmentCalibrator(), "top n": sn.TopNCalibrator(n=5),
    "chain": sn.MapChain([sn.PerUserPlatt(top=None), sn.SegmentCalibrator(), sn.PlattCalibrator()]),
    "chain of shared": sn.MapChain([sn.SharedCalibrator(sn.SegmentCalibrator(), top=15), sn.SharedCalibrator(top=15)]),
}  # fmt: skip
EVERY = pytest.mark.parametrize("unfitted", MAPS.values(), ids=MAPS)


def fitted_to(unfitted, world, segments):
    return clone(unfitted).fit_source(world.source, world.validation, seen=world.train, segments=segments)


def asked(world, n=25, seed=0):
    rng = np.random.default_rng(seed)
    names = world.source.users.at(rng.integers(USERS, size=n)).to_list()
    return rng.normal(size=n), {"users": names, "segments": rng.choice(["film", "song", "unheard of"], n)}


UNKNOWN = pytest.mark.filterwarnings("ignore:.* the map does not know")


class TestEveryMap:
    @EVERY
    @UNKNOWN
    def test_it_answers_the_same_question(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        scores, who = asked(world)
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

    @EVERY
    def test_blocks_and_pairs_get_the_same_answer(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        block = np.random.default_rng(1).normal(size=(3, 4))
        users, names = world.source.users.at([5, 0, 7]).to_list(), ["film", "song", "film"]
        who = fitted.who(3, users=users, segments=names)
        one_by_one = fitted.probability(block.ravel(), users=np.repeat(users, 4), segments=np.repeat(names, 4))
        assert_allclose(fitted.probability_of(block, who).ravel(), one_by_one, rtol=1e-12)

    @EVERY
    def test_where_there_is_no_candidate_nothing_is_likely(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        who = fitted.who(1, users=world.source.users.at([3]), segments=["film"])
        block = np.array([[0.5, -np.inf]])
        assert fitted.probability_of(block, who)[0, 1] == 0
        assert fitted.log_odds_of(block, who)[0, 1] == -np.inf

    @EVERY
    def test_log_odds_are_never_nan(self, unfitted, world, segments):
        fitted = fitted_to(unfitted, world, segments)
        scores = np.array([-1e30, -1e3, 0.0, 1e3, 1e30])
        who = {"users": world.source.users.at(np.zeros(5, int)), "segments": ["film"] * 5}
        assert not np.isnan(fitted.log_odds(scores, **who)).any()

    @EVERY
    @UNKNOWN
    def test_it_comes_back_from_a_file(self, unfitted, world, segments, tmp_path):
        fitted = fitted_to(unfitted, world, segments)
        path = tmp_path / ("map.json" if fitted.saved_as == "json" else "map.sureness")
        fitted.save(path)
        opened = sn.load(path, sn.ProbabilityMap)
        scores, who = asked(world)
        assert_array_equal(opened.probability(scores, **who), fitted.probability(scores, **who))
        assert (opened.estimand_, opened.horizon_, opened.top) == (fitted.estimand_, fitted.horizon_, fitted.top)

    @EVERY
    def test_a_recommender_takes_it(self, unfitted, world, segments, tmp_path):
        recommender = sn.ConfidentRecommender(world.source, unfitted, segments=segments)
        recommender.fit(world.train, world.validation)
        lists = recommender.recommend()
        assert set(lists["map"]) <= set(ANSWERS)
        recommender.save(tmp_path / "it.sureness")
        assert sn.load(tmp_path / "it.sureness").recommend().equals(lists)


class TestWhoAnswers:
    @UNKNOWN
    def test_a_chain_asks_the_user_then_the_segment_then_all(self, world, segments):
        chain = fitted_to(MAPS["chain"], world, segments)
        users = [*world.source.users.at([int(np.argmax(world.validation.user_degree))]).to_list(), "nobody", "nobody"]
        names = ["film", "film", "unheard of"]
        assert [ANSWERS[place] for place in chain.answered_by(chain.who(3, users, names))] == ["user", "segment", "all"]
        found = chain.probability([0.3, 0.3, 0.3], users=users, segments=names)
        links = chain.links_
        expected = [
            links[0].probability([0.3], users=users[:1])[0],
            links[1].probability([0.3], segments=["film"])[0],
            links[2].probability([0.3])[0],
        ]
        assert_allclose(found, expected, rtol=1e-12)

    def test_the_items_of_one_user_may_be_answered_by_different_segments(self, world):
        """A segment whose items nobody took cannot be fitted, so the global map answers there."""
        names = np.where(np.arange(ITEMS) < 3, "new", "old").astype(object)
        kept = world.validation.keep(np.flatnonzero(world.validation.item_rows >= 3))
        recommender = sn.ConfidentRecommender(
            world.source, sn.SegmentCalibrator(), sn.FixedSize(ITEMS), segments=Segments(names)
        ).fit(world.train, kept)
        lists = recommender.recommend()
        new = set(world.source.items.at([0, 1, 2]))
        assert set(lists.filter(lists["item_id"].is_in(new))["map"]) == {"all"}
        assert set(lists.filter(~lists["item_id"].is_in(new))["map"]) == {"segment"}

    def test_users_without_held_out_items_are_answered_by_the_global_map(self, world):
        kept = world.validation.keep(np.flatnonzero(world.validation.user_rows != 0))
        fitted = sn.PerUserPlatt(top=None).fit(world.source, kept, seen=world.train)
        who = fitted.who(3, users=[*world.source.users.at([0, 1]), "nobody"])
        assert [ANSWERS[place] for place in fitted.answered_by(who)] == ["all", "user", "all"]
        assert fitted.knows(who).tolist() == [False, True, False]

    def test_segments_of_users_work_too(self, world):
        names = np.where(np.arange(USERS) % 2 == 0, "even", "odd")
        recommender = sn.ConfidentRecommender(world.source, sn.SegmentCalibrator(), segments=Segments(names, "users"))
        lists = recommender.fit(world.train, world.validation).recommend()
        row = lists.row(0, named=True)
        rank_one = recommender.map_.log_odds(
            [row["score"]], users=[row["user_id"]], segments=["even" if row["user_id"] == "user 000" else "odd"]
        )
        shift = recommender.summaries_.shift[world.source.users.rows([row["user_id"]])[0]]
        assert row["probability"] == pytest.approx(1 / (1 + np.exp(-(rank_one[0] + shift))), rel=1e-6)

    def test_domains_of_the_log_are_segments(self, world):
        from dataclasses import replace

        import polars as pl

        domain = pl.Series(["film", "song"] * (ITEMS // 2))
        train, validation = (replace(log, item_domain=domain) for log in (world.train, world.validation))
        recommender = sn.ConfidentRecommender(world.source, sn.SegmentCalibrator(), segments="domain")
        recommender.fit(train, validation)
        assert set(recommender.map_.calibrator_.maps_) == {"film", "song"}


class TestRefusals:
    def test_maps_of_users_need_users(self, world, segments):
        with pytest.raises(sn.errors.SettingError, match="users="):
            fitted_to(sn.PerUserPlatt(), world, segments).probability([0.1])

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
        for unfitted in (sn.SegmentCalibrator(), MAPS["chain"]):
            with pytest.raises(sn.errors.SettingError, match="40"):
                fitted_to(unfitted, world, Segments(np.array(names)))

    def test_a_misspelt_name_for_the_domains_is_refused(self, world):
        for given in ("domian", np.array(["a"] * ITEMS)):
            with pytest.raises(sn.errors.SettingError, match="'domain'"):
                sn.ConfidentRecommender(world.source, segments=given).fit(world.train, world.validation)

    def test_segments_of_anything_else_are_refused(self):
        with pytest.raises(sn.errors.SettingError, match="'user'"):
            Segments(np.array(["a", "b"]), "user")

    def test_a_chain_of_nothing_and_an_unfitted_chain_are_refused(self):
        with pytest.raises(sn.errors.SettingError):
            sn.MapChain.of()
        with pytest.raises(sn.NotFittedError):
            sn.MapChain([sn.PlattCalibrator()]).probability([0.1])

    def test_a_chain_with_two_links_of_one_kind_is_refused(self, world):
        scores, labels = draw_pairs(600)
        kinds = [
            sn.SegmentCalibrator().fit(scores, labels, segments=np.tile(pair, 300)) for pair in (["a", "b"], ["b", "c"])
        ]
        with pytest.raises(sn.errors.SettingError, match="segment"):
            sn.MapChain.of(*kinds, sn.PlattCalibrator().fit(scores, labels))
        users = sn.PerUserPlatt(top=None)
        with pytest.raises(sn.errors.SettingError, match="user"):
            sn.MapChain([users, users]).fit_source(world.source, world.validation, seen=world.train)

    @UNKNOWN
    def test_a_chain_within_a_chain_answers_like_its_links(self):
        scores, labels = draw_pairs(600)
        names = np.tile(["a", "b"], 300)
        own, overall = sn.SegmentCalibrator(strength=0.0), sn.PlattCalibrator().fit(scores, labels)
        own.fit(scores, labels & (names == "a"), segments=names)
        flat = sn.MapChain.of(own, overall)
        for nested in (sn.MapChain.of(flat), sn.MapChain.of(flat, overall)):
            found = nested.probability([0.0, 0.0, 0.0], segments=["a", "b", "c"])
            assert_array_equal(found, flat.probability([0.0, 0.0, 0.0], segments=["a", "b", "c"]))

    def test_a_fitted_chain_with_segments_is_not_kept_without_them(self, world, segments):
        chain = fitted_to(sn.MapChain([sn.SegmentCalibrator(), sn.PlattCalibrator()]), world, segments)
        with pytest.raises(sn.errors.SettingError, match="segments="):
            sn.ConfidentRecommender(world.source, chain).fit(world.train, world.validation, refit=False)

    def test_a_chain_of_different_estimands_is_refused(self):
        scores, labels = draw_pairs(500)
        preference = sn.PlattCalibrator().fit(scores, labels, propensity=np.full(500, 0.9))
        with pytest.raises(sn.errors.SettingError, match="estimate"):
            sn.MapChain.of(preference, sn.PlattCalibrator().fit(scores, labels))

    def test_who_counts_rows(self):
        assert Who(3).n == 3
