"""One map for all pairs whose shape is learned; what holds for every calibrator is tested in test_common.py."""

from __future__ import annotations

import numpy as np
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


def test_it_is_nearer_to_a_bent_truth_than_any_family():
    scores, labels, chance = bent_pairs(20_000)
    others = [sn.PlattCalibrator(), sn.GaussianCalibrator(), sn.GammaCalibrator(), sn.BetaCalibrator()]
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


def test_three_scores_leave_the_line_of_platt():
    scores, labels = np.tile([0.0, 1.0, 2.0], 200), np.random.default_rng(0).random(600) < 0.3
    labels[2::3] |= np.random.default_rng(1).random(200) < 0.5
    curve, line = ShapeCalibrator().fit(scores, labels), sn.PlattCalibrator().fit(scores, labels)
    assert_allclose(curve.probability([-1.0, 0.5, 3.0]), line.probability([-1.0, 0.5, 3.0]), atol=1e-9)


def test_scores_that_say_nothing_give_the_base_rate():
    scores, labels = np.arange(400.0), np.tile([0, 0, 1, 1], 100)[::-1]
    assert_allclose(ShapeCalibrator().fit(-scores, labels).probability([0.0, -399.0]), 0.5, atol=0.05)


def test_perfect_separation_is_refused():
    with pytest.raises(sn.DataError):
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
