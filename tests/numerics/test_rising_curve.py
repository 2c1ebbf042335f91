"""Rising curves: their basis, their bounded fit, and how far they are pulled towards a straight line."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from sureness.calibration.families import NUMPY, rising_curve
from sureness.numerics.logistic import sigmoid
from sureness.numerics.rising_curve import (
    Labelled,
    RisingCurve,
    curve_basis,
    curve_below,
    knots_of,
    learn_curve,
    lowest_point,
)

LINE = (-2.0, 1.0)


def labelled(n, bent, *, seed=0, unlabelled=False):
    """Scores whose log-odds are a line, or a line that is flat first."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    chance = sigmoid(-2.0 + (np.logaddexp(0.0, 4.0 * scores) if bent else scores))
    if unlabelled:
        chance = chance / (1.0 + chance)
    positive = rng.random(n) < chance
    fold = rng.integers(0, 5, n)
    ones = np.ones(n)
    return Labelled(scores, ones, fold, scores[positive], ones[positive], fold[positive], unlabelled)


def log_odds(curve, scores):
    return curve.intercept + curve_basis(scores, curve.knots) @ curve.slopes


@pytest.mark.parametrize("shape", [(0,), (900,), (0, 9), (100, 9)])
def test_compiled_values_are_those_of_the_formula(shape):
    """Below, at, between and above the knots, in any order."""
    rng = np.random.default_rng(0)
    knots = np.array([-1.0, -0.5, 0.25, 2.0])
    curve = RisingCurve(0.0, knots, rng.uniform(0.1, 3.0, size=4), 1.0)
    scores = rng.choice([*knots, *rng.uniform(-3, 4, 500)], size=shape)
    assert_allclose(curve.values(scores), rising_curve(scores, knots, curve.slopes, NUMPY), atol=1e-14)
    assert np.isnan(curve.values(np.array([np.nan])))


def test_the_basis_integrates_hats_and_continues_straight():
    knots = np.array([-1.0, 0.0, 3.0])
    scores = np.linspace(-4.0, 6.0, 2_001)
    slopes = np.diff(curve_basis(scores, knots), axis=0) / np.diff(scores)[:, None]
    middle = (scores[1:] + scores[:-1]) / 2
    for column in range(3):
        assert_allclose(slopes[:, column], np.interp(middle, knots, np.eye(3)[column]), atol=2e-2)
    assert_allclose(slopes.sum(axis=1), 1.0)
    assert_allclose(curve_basis(knots[:1], knots), 0.0, atol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_the_lowest_point_of_a_parabola_inside_bounds(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 12))
    half = rng.normal(size=(size + 2, size))
    curvature, pull = half.T @ half, 3.0 * rng.normal(size=size)
    lowest = np.r_[-np.inf, rng.normal(size=size - 1)]
    found = lowest_point(curvature, pull, lowest)
    bounds = [(None if np.isinf(low) else low, None) for low in lowest]
    best = minimize(
        lambda x: 0.5 * x @ curvature @ x - pull @ x, np.maximum(lowest, 0.0), jac=lambda x: curvature @ x - pull,
        bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000},
    )  # fmt: skip
    for start in (np.where(np.isinf(lowest), 3.0, lowest), np.maximum(lowest, rng.normal(size=size))):
        assert_allclose(lowest_point(curvature, pull, lowest, start), found, atol=1e-7)
    assert np.all(found >= lowest - 1e-9)
    assert 0.5 * found @ curvature @ found - pull @ found <= best.fun + 1e-7 * (1 + abs(best.fun))


@pytest.mark.parametrize("unlabelled", [False, True])
def test_a_bent_curve_is_found(unlabelled):
    curve = learn_curve(labelled(30_000, bent=True, unlabelled=unlabelled), LINE)
    grid = np.linspace(-2.0, 2.0, 41)
    assert np.isfinite(curve.strength)
    assert np.abs(sigmoid(log_odds(curve, grid)) - sigmoid(-2.0 + np.logaddexp(0.0, 4.0 * grid))).max() < 0.04


def test_a_straight_line_stays_nearly_straight():
    curve = learn_curve(labelled(30_000, bent=False), LINE)
    grid = np.linspace(-2.0, 2.0, 41)
    assert np.abs(log_odds(curve, grid) - (-2.0 + grid)).max() < 0.25


def test_few_positives_leave_the_line():
    curve = learn_curve(labelled(40, bent=True), LINE)
    assert np.isinf(curve.strength)
    assert_allclose(log_odds(curve, np.array([-9.0, 0.0, 9.0])), [-11.0, -2.0, 7.0])


def test_slopes_are_positive_where_labels_say_the_opposite():
    data = labelled(5_000, bent=True)
    low = data.scores < -1.0
    turned = Labelled(
        data.scores, data.weight, data.fold, np.r_[data.positive_scores, data.scores[low]],
        np.r_[data.positives, np.ones(low.sum())], np.r_[data.positive_fold, data.fold[low]],
    )  # fmt: skip
    assert learn_curve(turned, (-1.0, 0.2)).slopes.min() > 0


def test_knots_follow_the_positives():
    scores = np.random.default_rng(0).exponential(size=10_000)
    knots = knots_of(scores, np.ones(len(scores)))
    assert np.all(np.diff(knots) > 0)
    assert np.mean(scores < knots[0]) < 0.01
    assert 0 < np.mean(scores > knots[-1]) < 0.01
    assert len(knots_of(np.array([1.0, 1.0, 2.0]), np.ones(3))) <= 2


class TestBelow:
    @staticmethod
    def labelled(n, *, seed=0):
        rng = np.random.default_rng(seed)
        scores, level = -rng.exponential(2.0, size=n), rng.normal(-2.0, 0.5, size=n)
        chance = sigmoid(level - 1.5 * np.sqrt(-scores))
        positive = rng.random(n) < chance
        ones, fold = np.ones(n), np.zeros(n, dtype=np.int64)
        data = Labelled(scores, ones, fold, scores[positive], ones[positive], fold[positive])
        return data, level, level[positive], chance

    def test_it_is_found_and_ends_at_0(self):
        data, level, positive_level, chance = self.labelled(60_000)
        curve = curve_below(data, level, positive_level, 1.0)
        assert curve.intercept + curve.values(np.zeros(1))[0] == pytest.approx(0.0, abs=1e-12)
        assert np.all(curve.slopes > 0)
        found = sigmoid(level + curve.intercept + curve.values(data.scores))
        for low, high in ((-0.5, 0.0), (-2.0, -0.5), (-5.0, -2.0)):
            there = (data.scores >= low) & (data.scores < high)
            assert found[there].sum() == pytest.approx(chance[there].sum(), rel=0.1)

    def test_few_labels_leave_the_first_curve_alone(self):
        data, level, positive_level, _ = self.labelled(150)
        assert data.positives.sum() < 20
        assert curve_below(data, level, positive_level, 1.0) is None
