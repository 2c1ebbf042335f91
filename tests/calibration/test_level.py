from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import sureness as sn
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.level import UNCHANGED, Level, level_for_base_rate


def test_certain_probabilities_stay_certain():
    level = Level(intercept=2.0, slope=0.5)
    assert_allclose(level(np.array([0.0, 0.5, 1.0])), [0.0, expit(2.0), 1.0])
    assert UNCHANGED(np.array([0.3]))[0] == 0.3


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.999])
def test_any_base_rate_can_be_met(rate):
    p = np.random.default_rng(0).random(1_000)
    weight = np.random.default_rng(1).random(1_000)
    level = level_for_base_rate(p, weight, rate)
    assert np.average(level(p), weights=weight) == pytest.approx(rate, rel=1e-6)


def biased_and_anchor(slope_factor, n_anchor, seed=0):
    """A large set whose log-odds are off by a factor and a shift, and a small one with the truth."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=50_000)
    truth = -2 + 1.5 * scores
    biased = rng.random(50_000) < expit(-4 + slope_factor * 1.5 * scores)
    s = rng.normal(size=n_anchor)
    anchor = sn.data.ScoredPairs.of(s, rng.random(n_anchor) < expit(-2 + 1.5 * s))
    return scores, truth, biased, anchor


@pytest.mark.parametrize("kind", [sn.PlattCalibrator, sn.GaussianCalibrator, sn.IsotonicCalibrator])
@pytest.mark.parametrize("slope_factor", [1.0, 0.5])
def test_an_anchor_corrects_level_and_slope(kind, slope_factor):
    scores, truth, biased, anchor = biased_and_anchor(slope_factor, 5_000)
    data = CalibrationSet.from_pairs(scores, biased, anchor=anchor, estimand="preference")
    fitted = kind(risk="naive").fit(data)
    assert np.abs(fitted.probability(scores) - expit(truth)).mean() < 0.02


def test_a_small_anchor_trusts_the_large_set_for_the_slope():
    """With the slope right in the large set, 100 anchor pairs must not replace it by their own noisy one."""
    errors = {"anchored": [], "alone": []}
    for seed in range(20):
        scores, truth, biased, anchor = biased_and_anchor(1.0, 100, seed)
        anchored = sn.PlattCalibrator(risk="naive").fit(
            CalibrationSet.from_pairs(scores, biased, anchor=anchor, estimand="preference")
        )
        alone = sn.PlattCalibrator().fit(anchor.scores, anchor.labels)
        for name, fitted in (("anchored", anchored), ("alone", alone)):
            errors[name].append(np.abs(fitted.probability(scores) - expit(truth)).mean())
    assert np.mean(errors["anchored"]) < 0.9 * np.mean(errors["alone"])


def test_a_separated_anchor_gives_finite_numbers():
    scores, _, biased, _ = biased_and_anchor(1.0, 10)
    anchor = sn.data.ScoredPairs.of([-1.0, -0.5, 1.0, 2.0], [0, 0, 1, 1])
    fitted = sn.PlattCalibrator(risk="naive").fit(CalibrationSet.from_pairs(scores, biased, anchor=anchor))
    assert np.all(np.isfinite(fitted.coef_))


def test_natural_parameters_and_expressions_know_the_correction():
    scores, _, biased, anchor = biased_and_anchor(0.5, 5_000)
    fitted = sn.PlattCalibrator(risk="naive").fit(CalibrationSet.from_pairs(scores, biased, anchor=anchor))
    assert fitted.natural_parameters_["b"] == pytest.approx(1.5, abs=0.15)
    assert fitted.natural_parameters_["c"] == pytest.approx(-2.0, abs=0.15)


def test_certain_values_stay_certain_even_without_a_slope():
    assert_allclose(Level(1.0, 0.0)(np.array([0.0, 0.5, 1.0])), [0.0, 1 / (1 + np.exp(-1.0)), 1.0])
    assert_allclose(Level(1.0, 2.0)(np.array([0.0, 1.0])), [0.0, 1.0])
