"""One calibrator for all users keeps its promise where lists are made, whatever its family."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import sureness as sn
from sureness.calibration import BBQCalibrator, all_calibrators
from sureness.calibration.maps import Segments
from sureness.calibration.shared_fit import shares_within
from tests.pipeline.worlds import Shop, shop

FAMILIES = [calibrator for calibrator in all_calibrators() if calibrator.learns_from_labels]


def rescaled_shop(n_users=800, n_items=150, *, seed=0) -> Shop:
    """Scores mean the same only within a user: each has a scale, a location and a number of items of their own."""
    rng = np.random.default_rng(seed)
    appeal = np.sort(rng.normal(size=(n_users, n_items)), axis=1)
    odds = -3.0 + rng.normal(0, 0.7, (n_users, 1)) + 1.5 * appeal
    taken = rng.random(odds.shape) < expit(odds)
    period = rng.integers(3, size=odds.shape)
    scores = appeal * np.exp(rng.normal(0, 1.0, (n_users, 1))) + rng.normal(0, 3.0, (n_users, 1))
    logs = [sn.Interactions.from_matrix(taken & (period == number)) for number in range(3)]
    return Shop(sn.MatrixSource(scores.astype(np.float32)), *logs)


@pytest.fixture(scope="module")
def world():
    return rescaled_shop()


@pytest.mark.parametrize("calibrator", FAMILIES, ids=repr)
def test_what_lists_promise_comes_whatever_the_family(world, calibrator):
    recommender = sn.ConfidentRecommender(world.source, calibrator, sn.FixedSize(20)).fit(world.train, world.validation)
    kept = recommender.promise(world.test)
    assert kept["ratio"][0] == pytest.approx(1.0, abs=0.1)
    by_rank = kept["ratio"].to_list()[2 if isinstance(calibrator, BBQCalibrator) else 1 :]  # its last bin is wide
    assert by_rank == pytest.approx([1.0] * len(by_rank), abs=0.2), kept


def test_raw_scores_of_all_pairs_do_not_keep_it(world):
    """So that the test above can fail."""
    ready = sn.PlattCalibrator().fit_source(world.source, world.validation, seen=world.train)
    recommender = sn.ConfidentRecommender(world.source, ready, sn.FixedSize(20))
    with pytest.warns(sn.errors.SurenessWarning, match="period of the labels"):
        recommender.fit(world.train, world.validation, refit=False)
    assert recommender.promise(world.test)["ratio"][1] > 1.3


def test_probabilities_of_a_user_add_up_to_what_is_expected(world):
    fitted = sn.SharedCalibrator(top=40).fit_source(world.source, world.validation, seen=world.train)
    scores = world.source.score_block(np.arange(800)).astype(np.float64)
    for log in (world.train, world.validation):
        scores[log.user_rows, log.item_rows] = -np.inf
    chance = fitted.probability_of(scores, fitted.who(800, users=np.arange(800)))
    every = chance.sum(axis=1)
    assert every.sum() == pytest.approx(fitted.expected_relevant_.sum(), rel=0.1)
    best = np.sort(chance, axis=1)[:, -40:].sum(axis=1)
    assert (best + fitted.beyond_).sum() == pytest.approx(fitted.expected_relevant_.sum(), rel=0.1)


@pytest.mark.filterwarnings("ignore:.*the same probability:sureness.errors.SurenessWarning")
def test_it_gives_the_odds_of_the_next_period_not_those_of_being_held_out():
    """With one half of the candidates held out, every other one is relevant again in the next period."""
    rng = np.random.default_rng(0)
    relevant = rng.random((2_000, 4)) < 0.5
    scores = np.tile([4.0, 3.0, 2.0, 1.0], (2_000, 1)) + 0.1 * rng.random((2_000, 4))
    period = rng.integers(2, size=relevant.shape)
    held_out, later = (sn.Interactions.from_matrix(relevant & (period == number)) for number in (0, 1))
    fitted = sn.SharedCalibrator(top=4).fit_source(sn.MatrixSource(scores), held_out)
    remaining = np.ones(scores.shape, dtype=bool)
    remaining[held_out.user_rows, held_out.item_rows] = False
    chance = fitted.probability_of(scores, fitted.who(2_000, users=np.arange(2_000)))
    came = np.zeros(scores.shape, dtype=bool)
    came[later.user_rows, later.item_rows] = True
    assert chance[remaining].mean() == pytest.approx(came[remaining].mean(), rel=0.05)
    assert chance[remaining].mean() > 1.2 * held_out.matrix.mean()


@pytest.mark.parametrize("calibrator", [sn.SegmentCalibrator(strength=10.0), sn.MultiSegmentCalibrator()], ids=repr)
def test_segments_keep_their_promise_too(world, calibrator):
    """Items of one kind are taken less often than those of the other with the same scores."""
    rng, kinds = np.random.default_rng(1), np.where(np.arange(150) % 2 == 0, "book", "film")

    def rarer(log):
        return log.keep((kinds[log.item_rows] == "book") | (rng.random(len(log)) < 0.4))

    logs = [rarer(log) for log in (world.train, world.validation, world.test)]
    recommender = sn.ConfidentRecommender(world.source, calibrator, sn.FixedSize(20), segments=Segments(kinds)).fit(
        *logs[:2]
    )
    lists = recommender.recommend()
    assert set(lists["map"]) == {"segment"}
    hits = np.zeros((800, 150))
    hits[logs[2].user_rows, logs[2].item_rows] = 1
    for kind in ("book", "film"):
        part = lists.filter(np.isin(lists["item_id"], np.flatnonzero(kinds == kind)))
        came = hits[part["user_id"], part["item_id"]].sum()
        assert came / part["probability"].sum() == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("base", [sn.PlattCalibrator(), sn.IsotonicCalibrator()], ids=repr)
def test_what_lies_behind_the_best_candidates_is_not_promised_too_much(base):
    """Log-odds fall four times as fast behind the best candidates as among them."""
    rng = np.random.default_rng(0)
    appeal = np.sort(rng.normal(size=(600, 400)), axis=1)
    border = appeal[:, [-40]]
    odds = np.where(appeal > border, appeal - border, 4.0 * (appeal - border)) - 2.0
    taken, validation = rng.random(odds.shape) < expit(odds), rng.random(odds.shape) < 0.5
    source = sn.MatrixSource(appeal.astype(np.float32))
    held_out, later = (sn.Interactions.from_matrix(taken & (validation == which)) for which in (True, False))
    fitted = sn.SharedCalibrator(base, top=40).fit_source(source, held_out, seen="nothing")
    scores = source.score_block(np.arange(600)).astype(np.float64)
    scores[held_out.user_rows, held_out.item_rows] = -np.inf
    chance = fitted.probability_of(scores, fitted.who(600, users=np.arange(600)))
    behind = appeal < border
    came = np.zeros(behind.shape, dtype=bool)
    came[later.user_rows, later.item_rows] = True
    assert (came & behind).sum() == pytest.approx(chance[behind].sum(), rel=0.25)
    far = appeal < np.quantile(appeal, 0.5)
    assert chance[far].sum() < 3 * (came & far).sum() + 5


class TestPieces:
    def test_users_of_whom_little_is_expected_get_little(self):
        """Far less than one item among fifty candidates."""
        rng = np.random.default_rng(0)
        scores = rng.normal(size=(400, 60))
        held_out = sn.Interactions.from_matrix(rng.random(scores.shape) < 0.004 * np.exp(scores))
        fitted = sn.SharedCalibrator().fit_source(sn.MatrixSource(scores), held_out)
        remaining = scores.copy()
        remaining[held_out.user_rows, held_out.item_rows] = -np.inf
        promised = fitted.probability_of(remaining, fitted.who(400, users=np.arange(400))).sum(axis=1)
        assert_allclose(promised, fitted.expected_relevant_, rtol=0.25)

    def test_shares_follow_the_number_of_items_expected(self):
        expected = np.repeat([2.0, 20.0], 500)
        n_held_out = expected.astype(int)
        shares = shares_within((expected * np.repeat([0.5, 0.2], 500)).astype(int), n_held_out, expected,
                               np.arange(1_000))  # fmt: skip
        assert shares[0] == pytest.approx(0.5, abs=0.1)
        assert shares[-1] == pytest.approx(0.2, abs=0.02)

    def test_where_the_same_is_expected_of_all_the_share_is_that_of_all(self):
        shares = shares_within(np.array([0, 1, 2]), np.array([1, 2, 3]), np.full(5, 2.0), np.array([0, 2, 4]))
        assert_allclose(shares, 0.5)

    def test_where_all_are_within_nothing_lies_behind(self):
        numbers = np.array([3, 1])
        assert_allclose(shares_within(numbers, numbers, np.array([3.0, 1.0, 2.0]), np.array([0, 1])), 1.0)


class TestRefusals:
    @pytest.mark.parametrize("settings", [{"top": 1}, {"top": None}, {"learning_users": 0}, {"base": "platt"}], ids=str)
    def test_settings_that_make_no_sense(self, world, settings):
        with pytest.raises(sn.errors.SettingError):
            sn.SharedCalibrator(**settings).fit_source(world.source, world.validation, seen=world.train)

    def test_nothing_held_out(self):
        small = shop()
        nothing = small.validation.keep(np.empty(0, dtype=np.int64))
        with pytest.raises(sn.errors.EmptyError):
            sn.SharedCalibrator().fit_source(small.source, nothing)

    def test_nothing_held_out_among_the_best(self):
        scores = np.tile(np.arange(20.0), (30, 1))
        held_out = sn.Interactions.from_matrix(scores == 0)
        with pytest.raises(sn.errors.EmptyError, match="raise top"):
            sn.SharedCalibrator(top=5).fit_source(sn.MatrixSource(scores), held_out)

    def test_one_score_for_everything(self, world):
        flat = sn.MatrixSource(np.ones((800, 150), dtype=np.float32))
        with pytest.raises(sn.errors.EmptyError, match="same score"):
            sn.SharedCalibrator().fit_source(flat, world.validation, seen=world.train)

    def test_a_chain_of_maps_of_different_users(self):
        one, other = shop(names=True), shop(50)
        maps = [calibrator.fit_source(shop_.source, shop_.validation, seen=shop_.train)
                for calibrator, shop_ in ((sn.PerUserPlatt(), one), (sn.SharedCalibrator(), other))]  # fmt: skip
        with pytest.raises(sn.errors.SettingError, match="different users"):
            sn.MapChain.of(*maps)


def test_what_is_wrong_with_the_scores_is_said_once(world):
    upside_down = sn.MatrixSource(-world.source.matrix)
    with pytest.warns(sn.errors.SurenessWarning, match="wrong way") as found:
        sn.SharedCalibrator().fit_source(upside_down, world.validation, seen=world.train)
    assert len(found) == 1


def test_few_users_suffice_to_learn_from(world):
    whole, part = (
        sn.SharedCalibrator(learning_users=n).fit_source(world.source, world.validation, seen=world.train)
        for n in (5_000, 300)
    )
    found = [fitted.probability([0.0, 1.0], users=[5, 5]) for fitted in (whole, part)]
    assert_allclose(found[1], found[0], rtol=0.15)
    assert (found[1] != found[0]).all()
