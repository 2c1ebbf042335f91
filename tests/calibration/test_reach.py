"""Scores far outside the fitted ones, and scores that rank the wrong way, are said; ordinary new scores are not."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.calibration import MinMaxCalibrator, SigmoidCalibrator, all_calibrators
from sureness.errors import SurenessWarning
from sureness.jobs.applying import apply
from tests.recommender.worlds import shop

LEARNING = [c for c in all_calibrators() if not isinstance(c, SigmoidCalibrator)]
DRAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "student": lambda rng, n: rng.standard_t(2, size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "lognormal": lambda rng, n: rng.lognormal(sigma=2.0, size=n),
}


@pytest.mark.parametrize("calibrator", LEARNING, ids=repr)
def test_scores_of_another_scale_are_said_with_their_share(calibrator, pairs):
    fitted = calibrator.fit(*pairs)
    with pytest.warns(SurenessWarning, match=r"50\.0% of the 200 scores"):
        fitted.probability(np.r_[np.linspace(-1, 1, 100), np.linspace(100, 200, 100)])


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("n_pairs", [10, 100, 3_000])
def test_new_scores_of_the_same_kind_are_not_cried_about(draw, n_pairs):
    said = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores, labels = DRAWS[draw](rng, n_pairs), np.arange(n_pairs) % 2
        fitted = MinMaxCalibrator().fit(scores, labels)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            fitted.probability(DRAWS[draw](rng, 1_000))
        said += len(found)
    assert said <= 2


def test_a_table_is_judged_as_a_whole_and_said_once(tmp_path, pairs):
    sn.PlattCalibrator().fit(*pairs).save(tmp_path / "map.json")
    pl.DataFrame({"score": np.linspace(100, 200, 50)}).write_parquet(tmp_path / "scores.parquet")
    with pytest.warns(SurenessWarning, match="100.0% of the 50 scores") as found:
        apply(tmp_path / "map.json", tmp_path / "scores.parquet", tmp_path / "out.parquet")
    assert len(found) == 1


@pytest.mark.parametrize("calibrator", [sn.PlattCalibrator(), sn.GaussianCalibrator(), sn.IsotonicCalibrator()])
def test_scores_that_rank_the_wrong_way_are_said_with_the_remedy(calibrator, pairs):
    scores, labels = pairs
    with pytest.warns(SurenessWarning, match="-scores"):
        calibrator.fit(-scores, labels)
    calibrator.fit(scores, labels)


def test_noise_is_not_called_the_wrong_way():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings(record=True, action="always") as said:
            sn.PlattCalibrator().fit(rng.normal(size=500), rng.random(500) < 0.3)
        assert not any("wrong way" in str(each.message) for each in said)


@pytest.fixture
def listed():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(60, 40))
    validation = sn.Interactions.from_matrix(rng.random(scores.shape) < 1 / (1 + np.exp(2 - scores)))
    return scores, validation


def test_lists_of_another_scale_are_said_once_and_ordinary_ones_are_not(listed):
    scores, validation = listed
    fitted = sn.ConfidentRecommender(sn.MatrixSource(scores), sn.PlattCalibrator()).fit(None, validation)
    fitted.recommend()
    fitted.decide([0, 1], scores=scores[:2])
    with pytest.warns(SurenessWarning, match=r"100\.0% of the") as found:
        fitted.decide([0, 1], scores=scores[:2] + 1_000)
    assert len(found) == 1


def test_a_ready_map_of_another_recommender_is_said_where_lists_are_made(listed):
    scores, validation = listed
    ready = sn.PlattCalibrator().fit_source(sn.MatrixSource(scores), validation)
    with pytest.warns(SurenessWarning, match="period of the labels"):
        other = sn.ConfidentRecommender(sn.MatrixSource(scores * 100), ready).fit(None, validation, refit=False)
    with pytest.warns(SurenessWarning, match="far outside") as found:
        other.recommend()
    assert len(found) == 1


@pytest.fixture(scope="module")
def world():
    return shop(names=True)


class TestMapsOfUsers:
    @pytest.mark.parametrize("top", [15, None])
    def test_scores_of_another_scale_are_said(self, world, top):
        fitted = sn.calibration.PerUserPlatt(top=top).fit(world.source, world.validation, seen=world.train)
        users = np.repeat(world.source.users.ids.to_numpy(), 5)
        with pytest.warns(SurenessWarning, match=r"100\.0% of the 300 scores"):
            fitted.probability(np.full(300, 500.0), users=users)

    def test_lower_scores_than_the_fitted_ones_are_usual(self, world):
        fitted = sn.calibration.PerUserPlatt(top=15).fit(world.source, world.validation, seen=world.train)
        scores = world.source.score_block(np.arange(world.source.n_users))
        users = np.repeat(world.source.users.ids.to_numpy(), world.source.n_items)
        assert fitted.probability(scores.ravel(), users=users).max() <= 1

    def test_another_fit_has_another_range(self, world):
        fitted = sn.calibration.PerUserPlatt().fit(world.source, world.validation, seen=world.train)
        before = fitted.reach()
        louder = sn.MatrixSource(world.source.matrix * 1_000, users=world.source.users, items=world.source.items)
        assert fitted.fit(louder, world.validation, seen=world.train).reach().high > 100 * before.high


@pytest.mark.parametrize("calibrator", [sn.PlattCalibrator(), sn.calibration.TemperatureCalibrator()], ids=repr)
def test_a_map_that_says_nothing_is_said_once(calibrator):
    """Scores in the middle are taken most often, so a rising map can only be flat."""
    scores, labels = [-2.0, -1.0, 1.0, 2.0] * 20, [0, 1, 1, 0] * 20
    with pytest.warns(SurenessWarning, match="the same probability") as said:
        fitted = calibrator.fit(scores, labels)
    assert len(said) == 1
    assert np.ptp(fitted.probability([-2.0, 2.0])) == 0
