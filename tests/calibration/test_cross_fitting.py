"""Out-of-fold errors are those of the maps of the folds, not of their mixture, in which they cancel."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import sureness as sn
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.choosing import Folds


def noise(n=1_000, seed=0):
    """Scores that say nothing about the labels."""
    rng = np.random.default_rng(seed)
    return CalibrationSet.from_pairs(rng.normal(size=n), rng.random(n) < 0.3)


def errors_of_maps(data, truth):
    """The true error of the map of every fold, for pairs that all have the same probability."""
    folds = Folds.of(data, 5, seed=0)
    predicted = folds.probability(sn.PlattCalibrator())
    return [abs(predicted[folds.fold == fold].mean() - truth) for fold in range(5)]


def test_errors_of_folds_do_not_cancel():
    """Over all folds, maps that are constant have exactly the rate of the labels: 3.6e-15 was reported."""
    found = [sn.calibration.cross_validate(sn.PlattCalibrator(), noise(seed=seed))["ece"] for seed in range(10)]
    truth = [np.mean(errors_of_maps(noise(seed=seed), 0.3)) for seed in range(10)]
    assert min(one.high for one in found) > 0.005
    assert sum(one.low <= true <= one.high for one, true in zip(found, truth, strict=True)) >= 8


@pytest.mark.parametrize("metric", ["ece", "adaptive_ece", "debiased_ece"])
def test_a_good_map_has_an_error_near_zero_out_of_fold(metric):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=5_000)
    data = CalibrationSet.from_pairs(scores, rng.random(5_000) < expit(scores))
    found = sn.calibration.cross_validate(sn.PlattCalibrator(), data, metrics=[metric])[metric]
    assert found.low == 0
    assert 0 < found.value <= found.high < 0.06


@pytest.mark.parametrize("metric", ["ece", "adaptive_ece", "mce"])
def test_a_map_of_the_wrong_form_is_found_out_of_fold(metric):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=10_000)
    data = CalibrationSet.from_pairs(scores, rng.random(10_000) < expit(scores - 2))
    assert (
        sn.calibration.cross_validate(sn.calibration.TemperatureCalibrator(), data, metrics=[metric])[metric].low > 0.1
    )


def test_folds_without_shown_pairs_or_weight_are_left_out():
    rng = np.random.default_rng(2)
    users = np.arange(600) // 3
    scores, labels = rng.normal(size=600), rng.random(600) < 0.4
    folds = Folds.of(CalibrationSet.from_pairs(scores, labels, users=users), 5, seed=0)
    weight = np.where(folds.fold == 2, 0.0, 1.0)
    data = CalibrationSet.from_pairs(scores, labels, users=users, sample_weight=weight)
    for name, found in sn.calibration.cross_validate(
        sn.PlattCalibrator(), data, metrics=["ece@2", "adaptive_ece"]
    ).items():
        assert 0 <= found.low <= found.value <= found.high < 0.5, name


def test_a_choice_by_ece_is_not_led_by_errors_that_cancel():
    """With noise, the constant map looked perfect; now it is no better than one that is right."""
    choice = sn.choose_calibrator([sn.PlattCalibrator(), sn.IsotonicCalibrator()], noise(2_000), by="ece")
    assert isinstance(choice.best, sn.PlattCalibrator)
    assert choice.table["ece"].min() >= 0
