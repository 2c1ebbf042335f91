"""A recommender with several fields of its users and items."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

import sureness as sn
from sureness.calibration import Fields
from sureness.errors import ColumnError, IdError, SettingError, SurenessWarning
from sureness.numerics.intensity import once_gone
from tests.recommender.worlds import Shop

N_USERS, N_ITEMS = 500, 100


@pytest.fixture(scope="module")
def fields():
    rng = np.random.default_rng(1)
    users = {"market": rng.choice(["de", "fr"], N_USERS)}
    return Fields(users, {"genre": rng.choice(["jazz", "rock", None], N_ITEMS), "price": rng.gamma(2.0, 5.0, N_ITEMS)})


@pytest.fixture(scope="module")
def world(fields):
    """Users in one market take jazz, those in the other one rock, which no score says."""
    rng = np.random.default_rng(0)
    appeal = rng.normal(size=(N_USERS, N_ITEMS))
    likes = (fields.tables["users"]["market"] == "de").to_numpy()[:, None] == (
        fields.tables["items"]["genre"] == "jazz"
    ).fill_null(False).to_numpy()  # fmt: skip
    taken = rng.random(appeal.shape) < expit(1.5 * appeal - 2.5 + np.where(likes, 1.0, -1.0))
    period = rng.integers(3, size=appeal.shape)
    logs = [sn.Interactions.from_matrix(taken & (period == number)) for number in range(3)]
    return Shop(sn.MatrixSource(appeal), *logs)


@pytest.fixture(scope="module")
def recommender(world, fields):
    calibrator = sn.SegmentCalibrator(sn.PlattCalibrator())
    made = sn.ConfidentRecommender(world.source, calibrator, sn.FixedSize(10), segments=fields)
    return made.fit(world.train, world.validation)


def test_pairs_with_other_fields_have_other_probabilities(recommender, fields, world):
    found = recommender.decide([0, 1, 2])
    expected = recommender.map_.probability(
        found.scores.ravel(), users=np.repeat([0, 1, 2], found.places.shape[1]),
        segments=fields.of_pairs(np.repeat([0, 1, 2], found.places.shape[1]), found.places.ravel()),
    )  # fmt: skip
    assert_allclose(found.probabilities.ravel(), once_gone(logit(expected)), rtol=1e-6)


def test_each_market_is_promised_its_genre(recommender, fields, world):
    """The share of jazz among the hits; without fields both markets would be promised the same."""
    hits, found = recommender.lists(labels=world.test).hits, recommender.decide(None)
    market = fields.tables["users"]["market"].to_numpy()
    jazz = (fields.tables["items"]["genre"] == "jazz").fill_null(False).to_numpy()[found.places]
    for country in ("de", "fr"):
        inside = (market == country)[:, None] & (found.places >= 0)
        promised = found.probabilities[inside & jazz].sum() / found.probabilities[inside].sum()
        assert hits[inside & jazz].sum() / hits[inside].sum() == pytest.approx(promised, rel=0.15)


def test_live_scores_of_unknown_users_and_items(recommender, world):
    scores = world.source.score_block(np.array([3]))
    known = recommender.decide(3, np.arange(N_ITEMS), scores)
    assert_array_equal(known.places, recommender.decide([3]).places)
    unknown = recommender.decide(10_000, [7, 10_000], [[2.0, 2.0]])
    assert (unknown.probabilities[:, :2] > 0).all()
    assert unknown.probabilities[0, 0] != unknown.probabilities[0, 1]  # the known item has fields


def test_a_saved_recommender_gives_the_same_lists(recommender, tmp_path):
    recommender.save(tmp_path / "r.sureness")
    opened = sn.load(tmp_path / "r.sureness", sn.ConfidentRecommender)
    assert opened.recommend().equals(recommender.recommend())
    assert opened.chances_.mapped.segments.names == ("market", "genre", "price")


@pytest.mark.parametrize("of", ["users", "items"])
def test_fields_of_one_side_are_enough(of, world, fields):
    one = Fields(**{of: fields.tables[of]})
    made = sn.ConfidentRecommender(world.source, sn.SegmentCalibrator(), segments=one)
    assert made.fit(world.train, world.validation).recommend([0, 1]).height > 0


def test_a_map_of_all_candidates_takes_fields_too(world, fields):
    fitted = sn.SegmentCalibrator(sn.PlattCalibrator()).fit_source(
        world.source, world.validation, seen=world.train, segments=fields
    )
    assert fitted.widths_["market x genre"][0] > 0.3


def test_a_kept_map_says_which_values_it_does_not_know(recommender, world, fields):
    other = Fields({"market": ["de"] * (N_USERS - 1) + ["it"]}, fields.tables["items"])
    kept = sn.ConfidentRecommender(world.source, recommender.map_, sn.FixedSize(5), segments=other)
    with pytest.warns(SurenessWarning) as said:
        kept.fit(world.train, world.validation, refit=False)
    unknown, period = (str(each.message) for each in said)
    assert re.search(r"1 of 500 users ha(s|ve) a 'market'.*'it'", unknown)
    assert "period of the labels" in period


def test_tables_by_id_are_put_in_the_order_of_the_source(world):
    table = pl.DataFrame({"user_id": [4, 2, 999], "market": ["de", "fr", "it"]})
    found = Fields.of(world.source, users=table.to_pandas()).tables["users"]["market"]
    assert found.head(5).to_list() == [None, None, "fr", None, "de"]
    with pytest.raises(IdError):
        Fields.of(world.source, users=pl.concat([table, table]))
    with pytest.raises(ColumnError):
        Fields.of(world.source, items=table)


def test_what_does_not_fit_together_is_refused(world, fields):
    with pytest.raises(SettingError):
        Fields()
    with pytest.raises(ColumnError):
        Fields({"age": [1, 2]}, {"age": [3]})
    with pytest.raises(sn.errors.DataError):
        Fields({"age": [1, 2], "market": ["de"]})
    with pytest.raises(IdError, match="market"):
        Fields({"market": [["de"], ["fr"]]})
    for calibrator, segments, error in (
        (sn.SegmentCalibrator(), Fields({"market": ["de", "fr"]}), SettingError),
        (sn.SegmentCalibrator(), None, SettingError),
    ):
        with pytest.raises(error):
            sn.ConfidentRecommender(world.source, calibrator, segments=segments).fit(world.train, world.validation)


@pytest.mark.filterwarnings("ignore:the kept")
def test_a_kept_map_refuses_fields_without_one_of_its_own(recommender, world, fields):
    less = Fields(items=fields.tables["items"])
    with pytest.raises(ColumnError, match="market"):
        sn.ConfidentRecommender(world.source, recommender.map_, segments=less).fit(
            world.train, world.validation, refit=False
        )


def test_fields_keep_the_promise_to_groups_that_one_map_breaks():
    """Songs of one genre are taken far more often than their scores say."""
    rng = np.random.default_rng(3)
    appeal, genre = rng.normal(size=(N_USERS, N_ITEMS)), np.arange(N_ITEMS) % 2
    taken = rng.random(appeal.shape) < expit(1.5 * appeal - 2.5 + 1.5 * genre)
    period = rng.integers(3, size=taken.shape)
    train, validation, test = (sn.Interactions.from_matrix(taken & (period == number)) for number in range(3))
    source, fields = sn.MatrixSource(appeal), Fields(items={"genre": genre})
    tables = [
        sn.ConfidentRecommender(source, calibrator, sn.FixedSize(10), segments=segments)
        .fit(train, validation)
        .promise(test, by=fields)
        for calibrator, segments in ((sn.PlattCalibrator(), None), (sn.SegmentCalibrator(), fields))
    ]
    before, after = (table.filter(field="genre") for table in tables)
    assert before["realised"].equals(after["realised"])
    assert before["p_value"].max() < 0.001
    assert before["high"][0] < 1 < before["low"][1]
    assert after["p_value"].min() > 0.05


def test_fields_of_another_source_cannot_group_a_promise(recommender, world):
    with pytest.raises(SettingError):
        recommender.promise(world.test, by=Fields(users={"market": ["de"]}))


def test_users_who_take_little_are_promised_little():
    """The map for lists knows how many items of a user the recommender was trained on."""
    rng = np.random.default_rng(4)
    appeal, rate = rng.normal(size=(2_000, 60)), rng.gamma(1.0, 1.0, (2_000, 1))
    taken = rng.random(appeal.shape) < np.minimum(rate * np.exp(appeal) / 15, 1)
    period = rng.choice(3, p=(0.6, 0.2, 0.2), size=taken.shape)
    train, validation, test = (sn.Interactions.from_matrix(taken & (period == number)) for number in range(3))
    source = sn.MatrixSource(appeal)
    for_all, for_lists = (
        sn.ConfidentRecommender(source, calibrator, sn.FixedSize(10))
        .fit(train, validation)
        .promise(test, by=Fields.of(source, seen=train))
        .filter(field="activity")
        for calibrator in (sn.PlattCalibrator(), sn.ListCalibrator())
    )
    assert for_all["group"].equals(for_lists["group"])
    assert for_all["high"][0] < 0.7
    assert for_lists["ratio"].is_between(0.7, 1.3).all()


def shifted_world(shift, seed=5):
    """Items are taken as often as their scores say, and by so much more or less, which no score says."""
    rng = np.random.default_rng(seed)
    appeal = rng.normal(size=(N_USERS, N_ITEMS))
    taken = rng.random(appeal.shape) < expit(1.5 * appeal - 2.5 + shift)
    period = rng.integers(3, size=appeal.shape)
    logs = [sn.Interactions.from_matrix(taken & (period == number)) for number in range(3)]
    return Shop(sn.MatrixSource(appeal), *logs)


def with_traits(world, segments):
    made = sn.ConfidentRecommender(world.source, sn.ListCalibrator(), sn.FixedSize(20), segments=segments)
    return made.fit(world.train, world.validation)


def asked(recommender, users, items):
    """Probabilities of one list of scores, whose items may be any, for each of the users."""
    scores = np.tile(np.linspace(2.0, 0.0, len(items)), (len(users), 1))
    return recommender.decide(users, items, scores, history=5).probabilities[:, : len(items)]


def odds(probabilities):
    """Out of probabilities that were carried over by `once_gone`, the odds of the map."""
    return np.exp(logit(np.asarray(probabilities) ** 4) / 4)


@pytest.fixture(scope="module")
def by_genre():
    genre = np.where(np.arange(N_ITEMS) % 2 == 0, "jazz", "rock")
    world = shifted_world(np.where(genre == "rock", 1.2, 0.0))
    return world, genre, with_traits(world, Fields(items={"genre": genre}))


class TestTraitsOfTheMapForLists:
    """Fields and segments shift the log-odds of the map for lists."""

    def test_text_shifts_the_probabilities_of_items(self, by_genre):
        world, genre, recommender = by_genre
        effects = recommender.map_.terms_.effects["genre"]
        assert effects["rock"] - effects["jazz"] == pytest.approx(1.2, abs=0.3)
        table = recommender.promise(world.test, by=Fields(items={"genre": genre})).filter(field="genre")
        assert table["p_value"].min() > 0.01
        without = with_traits(world, None).promise(world.test, by=Fields(items={"genre": genre})).filter(field="genre")
        assert without["p_value"].min() < 0.001

    def test_unknown_users_and_items_add_nothing(self, by_genre):
        """Ten thousands are ids that nobody knows; the scores of a list are the same, only its items differ."""
        _, genre, recommender = by_genre
        unknown = np.arange(10_000, 10_012)
        found = {name: asked(recommender, [20_000], np.arange(N_ITEMS)[genre == name][:12])[0]
                 for name in ("jazz", "rock")}  # fmt: skip
        nothing = asked(recommender, [20_000], unknown)[0]
        effects = recommender.map_.terms_.effects["genre"]
        for name, probabilities in found.items():
            assert_allclose(odds(probabilities), odds(nothing) * np.exp(effects[name]), rtol=1e-6)
        assert effects.get("", 0.0) == 0.0

    def test_segments_are_a_trait(self, by_genre):
        world, genre, recommender = by_genre
        segmented = with_traits(world, sn.calibration.Segments(genre))
        assert segmented.map_.named_ == ("segment",)
        assert_allclose(segmented.lists().probabilities, recommender.lists().probabilities, rtol=1e-9)

    def test_numbers_that_name_segments_are_no_amounts(self, by_genre):
        world, genre, recommender = by_genre
        numbered = with_traits(world, sn.calibration.Segments(np.where(genre == "rock", 70, 3)))
        assert numbered.map_.numeric_ == ()
        assert_allclose(numbered.lists().probabilities, recommender.lists().probabilities, rtol=1e-6)

    def test_segments_of_users_shift_their_probabilities(self):
        market = np.where(np.arange(N_USERS) % 2 == 0, "de", "fr")
        world = shifted_world(np.where(market == "fr", 1.0, 0.0)[:, None])
        for segments, name in (
            (sn.calibration.Segments(market, "users"), "segment"),
            (Fields({"market": market}), "market"),
        ):
            recommender = with_traits(world, segments)
            effects = recommender.map_.terms_.effects[name]
            assert effects["fr"] > effects["de"]
            known, other, unknown = asked(recommender, [0, 1, 20_000], np.arange(10_000, 10_012))
            assert_allclose(odds(other) / odds(known), np.exp(effects["fr"] - effects["de"]), rtol=1e-6)
            assert_allclose(odds(known) / odds(unknown), np.exp(effects["de"]), rtol=1e-6)

    def test_numbers_shift_probabilities_and_missing_ones_by_the_mean(self):
        price = np.random.default_rng(6).uniform(0.0, 10.0, N_ITEMS)
        world = shifted_world(-0.25 * price)
        price[:5] = np.nan
        recommender = with_traits(world, Fields(items={"price": price}))
        curve = recommender.map_.terms_.levels["price"]
        cheap, dear, missing = curve.values(np.array([1.0, 9.0, np.nan]))
        assert cheap > missing > dear
        assert cheap - dear == pytest.approx(2.0, abs=0.8)
        without = asked(recommender, [20_000], np.r_[0:5, 10_000:10_007])[0]
        assert_allclose(without, asked(recommender, [20_000], np.arange(10_000, 10_012))[0], rtol=1e-12)
        priced = asked(recommender, [20_000], np.arange(5, 17))[0]
        assert_allclose(odds(priced) / odds(without), np.exp(curve.values(price[5:17]) - missing), rtol=1e-6)

    def test_text_that_is_missing_is_a_value_like_another(self, by_genre):
        world, genre, recommender = by_genre
        known = pl.Series(genre).replace("jazz", None)
        absent = with_traits(world, Fields(items={"genre": known}))
        assert absent.map_.terms_.effects["genre"][""] == pytest.approx(
            recommender.map_.terms_.effects["genre"]["jazz"], abs=1e-6
        )

    def test_they_come_back_from_a_file(self, by_genre, tmp_path):
        _, _, recommender = by_genre
        recommender.save(tmp_path / "r.sureness")
        assert sn.load(tmp_path / "r.sureness").recommend().equals(recommender.recommend())

    def test_a_kept_map_needs_its_traits(self, by_genre):
        world, genre, recommender = by_genre
        for segments in (None, Fields(items={"price": np.arange(N_ITEMS)})):
            with pytest.raises(SettingError, match="genre"):
                sn.ConfidentRecommender(world.source, recommender.map_, segments=segments).fit(
                    world.train, world.validation, refit=False
                )
        more = Fields(items={"genre": genre, "price": np.arange(N_ITEMS)})
        kept = sn.ConfidentRecommender(world.source, recommender.map_, sn.FixedSize(20), segments=more)
        kept.fit(world.train, world.validation, refit=False)
        assert kept.recommend().equals(recommender.recommend())
