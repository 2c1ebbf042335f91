"""`fit` and `choose` never change the objects they are given, so several things may share one calibrator.

Two recommenders that shared one overwrote each other's maps.
"""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness._settings import Configurable
from sureness.calibration import Segments
from tests.conftest import draw_pairs
from tests.recommender.worlds import shop


@pytest.fixture(scope="module")
def world():
    return shop(40, 30, names=True)


@pytest.fixture(scope="module")
def segments():
    return Segments(np.array(["film", "song"] * 15))


def attributes(value):
    """Everything an object holds, and what that holds: what was learned would show up here."""
    if isinstance(value, Configurable):
        return type(value).__name__, {name: attributes(held) for name, held in vars(value).items()}
    return [attributes(part) for part in value] if isinstance(value, list | tuple) else repr(value)


def is_unfitted(value):
    return not any(name.endswith("_") for name in vars(value))


@pytest.mark.parametrize("fitted", [False, True], ids=["unfitted", "fitted to other pairs"])
class TestCalibrators:
    def shared(self, fitted, make=sn.PlattCalibrator):
        return make().fit(*draw_pairs(500, seed=7)) if fitted else make()

    def test_the_base_of_a_map_for_segments(self, fitted):
        base = self.shared(fitted)
        before = attributes(base)
        sn.SegmentCalibrator(base).fit(*draw_pairs(600), segments=np.tile(["a", "b"], 300))
        assert attributes(base) == before

    def test_the_base_of_a_map_for_the_top(self, fitted):
        base = self.shared(fitted)
        before = attributes(base)
        sn.calibration.TopNCalibrator(base, n=3).fit(*draw_pairs(600), users=np.arange(600) // 10)
        assert attributes(base) == before

    def test_calibrators_to_choose_from(self, fitted):
        shared, simple = self.shared(fitted, sn.calibration.TemperatureCalibrator), self.shared(fitted)
        before = attributes([shared, simple])
        data = sn.CalibrationSet.from_pairs(*draw_pairs(800))
        choice = sn.choose_calibrator([shared], data, simple=simple)
        assert attributes([shared, simple]) == before
        assert choice.best is not shared
        assert choice.best is not simple
        sn.calibration.cross_validate(shared, data)
        assert attributes([shared, simple]) == before

    def test_the_calibrator_of_a_recommender(self, fitted, world, segments):
        shared = sn.SegmentCalibrator(self.shared(fitted))
        before = attributes(shared)
        first = sn.ConfidentRecommender(world.source, shared, segments=segments).fit(world.train, world.validation)
        lists = first.recommend()
        sn.ConfidentRecommender(world.source, shared, segments=segments).fit(world.validation, world.train)
        assert attributes(shared) == before
        assert first.recommend().equals(lists)


def test_recommenders_to_choose_from_stay_unfitted(world):
    shared, policy = sn.calibration.PerUserPlatt(), sn.lists.ValidationBest(max_size=5)
    candidates = [
        sn.ConfidentRecommender(world.source, shared, policy),
        sn.ConfidentRecommender(world.source, shared, sn.ExpectedUtility(max_size=5)),
    ]
    before = attributes([shared, policy])
    for sure in (0.0, 2.0):  # one of the candidates, and the simple one
        choice = sn.choose_list_sizes(candidates, world.train, world.validation, sure=sure)
        assert attributes([shared, policy]) == before
        assert all(is_unfitted(candidate) for candidate in candidates)
        assert all(choice.best is not candidate for candidate in candidates)
        assert choice.best.calibrator is not shared


def test_a_recommender_that_keeps_a_fitted_map_does_not_change_it(world):
    kept = sn.ListCalibrator().fit_source(world.source, world.validation, seen=world.train)
    before = attributes(kept)
    recommender = sn.ConfidentRecommender(world.source, kept).fit(world.train, world.validation, refit=False)
    recommender.recommend()
    assert attributes(kept) == before
