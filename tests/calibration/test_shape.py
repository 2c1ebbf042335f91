"""One map for all pairs whose shape is learned; what holds for every calibrator is tested in test_common.py."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.calibration import CalibrationSet, ShapeCalibrator
from sureness.metrics import negative_log_likelihood
from sureness.numerics.logistic import sigmoid
from tests.conftest import draw_pairs


def bent_pairs(n, seed=0):
    """Log-odds that are flat at first and steep at the top."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    chance = sigmoid(-3.0 + 1.5 * np.logaddexp(0.0, 3.0 * scores))
    return scores, rng.random(n) < chance, chance


def tails():
    """Scores of many shapes of the same 100,000 pairs, and the probability of each score."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=100_000)
    chance = sigmoid(-2.5 + 1.5 * z)
    labels = rng.random(100_000) < chance
    scores = {f"exp({k} z)": np.exp(k * z) for k in (1, 2, 3, 4)}
    scores |= {f"-exp(-{k} z)": -np.exp(-k * z) for k in (1, 2, 3, 4)}
    scores |= {"z - 1000": z - 1_000, "z**3": z**3, "ties": np.exp(2 * z).round(), "rounded": z.round(1)}
    scores |= {"counts": rng.poisson(np.exp(1.5 * z + 1)).astype(float)}
    return {name: (values, labels, of_equal(values, chance)) for name, values in scores.items()}


def of_equal(scores, chance):
    """The mean probability of pairs with the same score."""
    _, code = np.unique(scores, return_inverse=True)
    return (np.bincount(code, chance) / np.bincount(code))[code]


TAILS = tails()


@pytest.mark.parametrize("name", TAILS)
def test_scores_with_long_tails_ties_and_signs_are_followed(name):
    """Knots that were spread evenly over exp(3 z) left a mean error of 0.10."""
    scores, labels, chance = TAILS[name]
    assert np.abs(ShapeCalibrator().fit(scores, labels).probability(scores) - chance).mean() < 0.008


def test_it_is_nearer_to_a_bent_truth_than_any_family():
    scores, labels, chance = bent_pairs(20_000)
    others = [sn.PlattCalibrator(), sn.GaussianCalibrator(), sn.GammaCalibrator(), sn.calibration.BetaCalibrator()]
    error = {
        type(c).__name__: np.abs(c.fit(scores, labels).probability(scores) - chance).mean()
        for c in [ShapeCalibrator(), *others]
    }
    assert min(error, key=error.get) == "ShapeCalibrator"
    assert error["ShapeCalibrator"] < 0.01


def test_it_costs_little_where_the_truth_is_a_line():
    scores, labels = draw_pairs(4_000, bend=0.0)
    fresh_scores, fresh_labels = draw_pairs(40_000, seed=1, bend=0.0)
    line, curve = (
        negative_log_likelihood(fresh_labels, c.fit(scores, labels).probability(fresh_scores))
        for c in (sn.PlattCalibrator(), ShapeCalibrator())
    )
    assert curve < line + 1e-3


def test_three_scores_get_about_their_own_rates():
    scores, labels = np.tile([0.0, 1.0, 2.0], 200), np.random.default_rng(0).random(600) < 0.3
    labels[2::3] |= np.random.default_rng(1).random(200) < 0.5
    rates = [labels[scores == score].mean() for score in (0.0, 1.0, 2.0)]
    assert_allclose(ShapeCalibrator().fit(scores, labels).probability([0.0, 1.0, 2.0]), rates, atol=0.08)


def test_few_positives_leave_the_line_of_platt():
    scores, labels = draw_pairs(100, level=-1.5, bend=0.0)
    curve, line = ShapeCalibrator().fit(scores, labels), sn.PlattCalibrator().fit(scores, labels)
    assert labels.sum() < 50
    assert curve.compression_ is None
    grid = np.linspace(-5.0, 5.0, 20)
    assert_allclose(curve.probability(grid), line.probability(grid), atol=1e-6)


def test_the_formula_gives_what_arrays_give():
    for name in ("exp(3 z)", "-exp(-2 z)", "counts"):
        scores, labels, _ = TAILS[name]
        fitted = ShapeCalibrator().fit(scores, labels)
        assert fitted.compression_ is not None
        asked = np.concatenate([scores[:200], [0.0, -1e6, 1e6, 1e90, -1e90]])
        found = pl.DataFrame({"score": asked}).select(fitted.expression("polars")).to_series()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # far outside the fitted scores
            assert_allclose(found, fitted.probability(asked), rtol=1e-9, atol=1e-12)


def test_scores_that_say_nothing_give_the_base_rate():
    scores, labels = np.arange(400.0), np.tile([0, 0, 1, 1], 100)[::-1]
    assert_allclose(ShapeCalibrator().fit(-scores, labels).probability([0.0, -399.0]), 0.5, atol=0.05)


def test_perfect_separation_is_refused():
    with pytest.raises(sn.errors.DataError):
        ShapeCalibrator().fit(np.arange(100.0), np.arange(100) > 50)


def test_a_histogram_gives_what_the_pairs_give(monkeypatch):
    scores, labels, _ = bent_pairs(60_000)
    binned = ShapeCalibrator().fit(sn.ScoreHistogram.of(scores, labels))
    monkeypatch.setattr(ShapeCalibrator, "exact_pairs", len(scores))
    exact = ShapeCalibrator().fit(scores, labels)
    assert_allclose(binned.probability(scores), exact.probability(scores), atol=3e-3)


def test_the_order_is_kept_far_beyond_the_range():
    scores, labels, _ = bent_pairs(3_000)
    far = np.array([-9.0, -5.0, scores.min(), scores.max(), 5.0, 9.0])
    assert np.all(np.diff(ShapeCalibrator().fit(scores, labels).log_odds(far)) > 0)


def test_it_serves_segments_and_a_base_rate():
    scores, labels, _ = bent_pairs(6_000)
    segments = np.where(np.arange(6_000) % 2, "a", "b")
    fitted = sn.SegmentCalibrator(ShapeCalibrator()).fit(scores, labels, segments=segments)
    assert np.all(np.diff(fitted.probability([-1.0, 0.0, 1.0], segments=["a"] * 3)) > 0)
    known = ShapeCalibrator().fit(CalibrationSet.from_pairs(scores, labels, base_rate=0.05))
    assert known.probability(scores).mean() == pytest.approx(0.05, abs=1e-3)
