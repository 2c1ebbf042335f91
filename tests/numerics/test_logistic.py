from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize
from scipy.special import expit

from sureness.numerics.logistic import GaussianPrior, fit_logistic, logit, sigmoid


def logistic_risk(theta, features, weight, linear):
    """The readable reference of the compiled loop."""
    return float(weight @ np.logaddexp(0, features @ theta) - linear @ theta)


def problem(seed, n=120, k=3, scale=1.0):
    rng = np.random.default_rng(seed)
    features = np.c_[np.ones(n), rng.normal(size=(n, k - 1)) * scale]
    targets = rng.random(n) < expit(features @ rng.normal(size=k))
    weight = rng.uniform(0.5, 2, n)
    return features, weight, (weight * targets) @ features, np.r_[False, np.ones(k - 1, bool)]


@given(st.integers(0, 5_000), st.sampled_from([2, 3, 4]), st.sampled_from([1.0, 1e-4, 1e5]))
def test_the_minimum_is_that_of_a_general_solver(seed, k, scale):
    features, weight, linear, bounded = problem(seed, k=k, scale=scale)
    found = fit_logistic(features, weight, linear, bounded=bounded)
    if found.endless is not None:
        return
    standard = features / np.r_[1.0, np.full(k - 1, scale)]
    general = minimize(
        lambda theta: logistic_risk(theta, standard, weight, linear / np.r_[1.0, np.full(k - 1, scale)]),
        np.zeros(k), bounds=[(0 if b else None, None) for b in bounded], method="L-BFGS-B", options={"ftol": 1e-15},
    )  # fmt: skip
    assert found.risk <= general.fun + 1e-7
    assert np.all(found.theta[bounded] >= -1e-12 * np.abs(found.theta).max())


@given(st.integers(0, 2_000))
def test_gradient_conditions_hold_at_the_minimum(seed):
    features, weight, linear, bounded = problem(seed)
    found = fit_logistic(features, weight, linear, bounded=bounded)
    if found.endless is not None:
        return
    gradient = (weight * expit(features @ found.theta)) @ features - linear
    active = bounded & (found.theta <= 1e-12)
    assert_allclose(gradient[~active], 0, atol=1e-6)
    assert np.all(gradient[active] >= -1e-6)


def has_minimum_by_linear_programme(features, weight, linear, bounded):
    """The full programme: minimise sum w h - linear d with h >= x d, h >= 0 on each face of the box."""
    n, k = features.shape
    for coordinate in range(k):
        for sign in (1, -1):
            if sign < 0 and bounded[coordinate]:
                continue
            bounds = [(0 if b else -1, 1) for b in bounded] + [(0, None)] * n
            bounds[coordinate] = (sign, sign)
            found = linprog(
                np.r_[-linear, weight], A_ub=np.c_[features, -np.eye(n)], b_ub=np.zeros(n), bounds=bounds
            )  # fmt: skip
            if found.status == 0 and found.fun <= 1e-9:
                return False
    return True


@given(st.integers(0, 10_000), st.floats(0.5, 8.0))
def test_whether_a_minimum_exists_agrees_with_the_full_linear_programme(seed, inflation):
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(size=12))
    features = np.c_[np.ones(12), scores]
    targets = inflation * (rng.random(12) < expit(2 * scores))
    if not 0 < np.count_nonzero(targets) < 12:
        return
    weight, bounded = np.ones(12), np.array([False, True])
    linear = targets @ features
    found = fit_logistic(features, weight, linear, bounded=bounded)
    assert (found.endless is None) == has_minimum_by_linear_programme(features, weight, linear, bounded)


def test_a_prior_pulls_towards_its_mean_and_makes_a_minimum():
    features = np.c_[np.ones(4), [-2.0, -1.0, 1.0, 2.0]]
    linear = np.array([0, 0, 1, 1.0]) @ features
    bounded = np.array([False, True])
    assert fit_logistic(features, np.ones(4), linear, bounded=bounded).endless is not None
    for precision, expected in ((1e9, 1.0), (1e-3, None)):
        prior = GaussianPrior(np.array([0.0, 1.0]), np.diag([0.0, precision]))
        found = fit_logistic(features, np.ones(4), linear, bounded=bounded, prior=prior)
        assert np.isfinite(found.theta).all()
        if expected is not None:
            assert found.theta[1] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("start", [[0.0, 0.0], [3.0, 5.0], [-4.0, -1.0]])
def test_the_minimum_is_the_same_from_every_start(start):
    rng = np.random.default_rng(0)
    features = np.c_[np.ones(200), rng.normal(size=200)]
    linear = (rng.random(200) < 0.3) @ features
    prior = GaussianPrior(np.array([0.0, 1.0]), np.diag([0.0, 5.0]))
    bounded = np.array([False, True])
    usual = fit_logistic(features, np.ones(200), linear, bounded=bounded, prior=prior)
    other = fit_logistic(features, np.ones(200), linear, bounded=bounded, prior=prior, start=np.array(start))
    np.testing.assert_allclose(other.theta, usual.theta, atol=1e-6)


def test_the_curvature_is_that_of_the_risk():
    features, weight, linear, bounded = problem(1)
    found = fit_logistic(features, weight, linear, bounded=bounded)
    p = expit(features @ found.theta)
    assert_allclose(found.curvature, (features.T * (weight * p * (1 - p))) @ features, rtol=1e-6, atol=1e-9)


def test_sigmoid_and_logit_are_stable():
    assert_allclose(sigmoid(np.array([-800.0, 0.0, 800.0])), [0.0, 0.5, 1.0])
    assert_allclose(logit(np.array([0.0, 0.5, 1.0])), [-np.inf, 0.0, np.inf])


def test_a_fit_says_whether_it_converged(monkeypatch):
    features, labels = np.c_[np.ones(6), [-2.0, -1, 0.5, -0.5, 1, 2]], np.array([0, 0, 0, 1, 1, 1.0])
    bounded = np.array([False, True])
    assert fit_logistic(features, np.ones(6), labels @ features, bounded=bounded).converged
    monkeypatch.setattr("sureness.numerics.logistic._MAX_ITERATIONS", 1)
    assert not fit_logistic(features, np.ones(6), labels @ features, bounded=bounded).converged


@pytest.mark.parametrize("outlier", [1e3, 1e5])
def test_what_lies_far_outside_does_not_spoil_the_fit_of_the_others(outlier):
    rng = np.random.default_rng(0)
    scores = np.r_[rng.normal(size=5_000), outlier]
    labels = np.r_[rng.random(5_000) < 1 / (1 + np.exp(1 - scores[:-1])), True].astype(float)
    features = np.c_[np.ones(5_001), scores]
    found = fit_logistic(features, np.ones(5_001), labels @ features, bounded=np.array([False, True]))
    without = fit_logistic(features[:-1], np.ones(5_000), labels[:-1] @ features[:-1], bounded=np.array([False, True]))
    assert found.converged  # a positive on the right side of the line costs nothing
    assert_allclose(found.theta, without.theta, rtol=1e-6)


@pytest.mark.parametrize("size", [0.0, 2.0])
def test_an_offset_is_a_column_whose_parameter_is_one(size):
    features, weight, _, bounded = problem(3, n=400)
    rng = np.random.default_rng(0)
    offset = size * rng.normal(size=400)
    targets = rng.random(400) < expit(features @ [-0.5, 0.8, 0.4] + offset)
    linear = (weight * targets) @ features
    found = fit_logistic(features, weight, linear, bounded=bounded, offset=offset)
    general = minimize(
        lambda theta: weight @ np.logaddexp(0, features @ theta + offset) - linear @ theta, np.zeros(3),
        bounds=[(None, None), (0, None), (0, None)], method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    assert_allclose(found.theta, general.x, atol=1e-4)
    assert found.risk <= general.fun + 1e-7
