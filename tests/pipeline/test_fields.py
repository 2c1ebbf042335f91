"""A recommender with several fields of its users and items."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import sureness as sn
from sureness.calibration import Fields
from sureness.errors import ColumnError, IdError, SettingError, SurenessWarning
from tests.pipeline.worlds import Shop

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
    calibrator = sn.MultiSegmentCalibrator(sn.PlattCalibrator())
    made = sn.ConfidentRecommender(world.source, calibrator, sn.FixedSize(10), segments=fields)
    return made.fit(world.train, world.validation)


def test_pairs_with_other_fields_have_other_probabilities(recommender, fields, world):
    found = recommender.decide([0, 1, 2])
    expected = recommender.map_.probability(
        found.scores.ravel(), users=np.repeat([0, 1, 2], found.places.shape[1]),
        segments=fields.of_pairs(np.repeat([0, 1, 2], found.places.shape[1]), found.places.ravel()),
    )  # fmt: skip
    shift, _ = recommender.summaries_.of_users(np.array([0, 1, 2]))
    odds = expected / (1 - expected) * np.exp(np.repeat(shift, found.places.shape[1]))
    assert_allclose(found.probabilities.ravel(), odds / (1 + odds), rtol=1e-6)
    assert set(recommender.recommend([0])["map"]) == {"segment"}


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
    unknown = recommender.decide(10_000, [7, 10_000], [[2.0, 1.9]], unknown="all")
    assert (unknown.probabilities > 0).all()
    assert unknown.answered_by.tolist() == [[1, 0]]  # the item has fields, the unknown one has none


def test_a_saved_recommender_gives_the_same_lists(recommender, tmp_path):
    recommender.save(tmp_path / "r.sureness")
    opened = sn.load(tmp_path / "r.sureness", sn.ConfidentRecommender)
    assert opened.recommend().equals(recommender.recommend())
    assert opened.mapped_.segments.names == ("market", "genre", "price")


@pytest.mark.parametrize("of", ["users", "items"])
def test_fields_of_one_side_are_enough(of, world, fields):
    one = Fields(**{of: fields.tables[of]})
    made = sn.ConfidentRecommender(world.source, sn.MultiSegmentCalibrator(), segments=one)
    assert made.fit(world.train, world.validation).recommend([0, 1]).height > 0


def test_a_map_of_all_candidates_takes_fields_too(world, fields):
    fitted = sn.MultiSegmentCalibrator(sn.PlattCalibrator()).fit_source(
        world.source, world.validation, seen=world.train, segments=fields
    )
    assert fitted.widths_["market x genre"][0] > 0.3


def test_a_kept_map_says_which_values_it_does_not_know(recommender, world, fields):
    other = Fields({"market": ["de"] * (N_USERS - 1) + ["it"]}, fields.tables["items"])
    kept = sn.ConfidentRecommender(world.source, recommender.map_, sn.FixedSize(5), segments=other)
    with pytest.warns(SurenessWarning, match=r"1 of 500 users ha(s|ve) a 'market'.*'it'"):
        kept.fit(world.train, world.validation, refit=False)


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
    with pytest.raises(sn.DataError):
        Fields({"age": [1, 2], "market": ["de"]})
    with pytest.raises(IdError, match="market"):
        Fields({"market": [["de"], ["fr"]]})
    for calibrator, segments, error in (
        (sn.MultiSegmentCalibrator(), Fields({"market": ["de", "fr"]}), SettingError),
        (sn.MultiSegmentCalibrator(), None, SettingError),
        (sn.SegmentCalibrator(), fields, SettingError),
    ):
        with pytest.raises(error):
            sn.ConfidentRecommender(world.source, calibrator, segments=segments).fit(world.train, world.validation)


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
        for calibrator, segments in ((sn.PlattCalibrator(), None), (sn.MultiSegmentCalibrator(), fields))
    ]
    before, after = (table.filter(field="genre") for table in tables)
    assert before["realised"].equals(after["realised"])
    assert before["p_value"].max() < 0.001
    assert before["high"][0] < 1 < before["low"][1]
    assert after["p_value"].min() > 0.05


def test_fields_of_another_source_cannot_group_a_promise(recommender, world):
    with pytest.raises(SettingError):
        recommender.promise(world.test, by=Fields(users={"market": ["de"]}))


def test_users_who_take_little_are_promised_little_by_activity():
    """Everybody is drawn to the mean if only the few items of the validation period count."""
    rng = np.random.default_rng(4)
    appeal, rate = rng.normal(size=(2_000, 60)), rng.gamma(1.0, 1.0, (2_000, 1))
    taken = rng.random(appeal.shape) < np.minimum(rate * np.exp(appeal) / 15, 1)
    period = rng.choice(3, p=(0.6, 0.2, 0.2), size=taken.shape)
    train, validation, test = (sn.Interactions.from_matrix(taken & (period == number)) for number in range(3))
    source = sn.MatrixSource(appeal)
    fields = Fields.of(source, seen=train)
    carried, by_activity = (
        sn.ConfidentRecommender(source, sn.PlattCalibrator(), sn.FixedSize(10), expected_relevant=target)
        .fit(train, validation)
        .promise(test, by=fields)
        .filter(field="activity")
        for target in ("carried", "by_activity")
    )
    assert carried["group"].equals(by_activity["group"])
    assert carried["high"][0] < 0.7
    assert by_activity["ratio"].is_between(0.7, 1.3).all()


def test_activity_needs_what_was_seen(world):
    recommender = sn.ConfidentRecommender(world.source, expected_relevant="by_activity")
    with pytest.raises(SettingError, match="seen"):
        recommender.fit("nothing", world.validation)
