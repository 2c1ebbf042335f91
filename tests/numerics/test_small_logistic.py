"""Many small fits at once find what a general solver finds for each, and say where they did not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit

from sureness.numerics.logistic import GaussianPrior
from sureness.numerics.small_logistic import fit_small_logistics


def drawn(n, k, points, seed=0):
    """Features, weights and the sums of the positives' features of users who differ."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, k, points))
    features[:, 0] = 1.0
    theta = rng.normal([-1.0] + [0.3] * (k - 1), 0.8, size=(n, k))
    labels = rng.random((n, points)) < expit((theta[:, None] @ features)[:, 0])
    weight = rng.integers(0, 4, (n, points)).astype(float)
    return features, weight, (features @ (weight * labels)[..., None])[..., 0]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("width", [0.3, 2.0, 100.0])
def test_each_fit_is_that_of_a_general_bounded_solver(k, width):
    features, weight, linear = drawn(30, k, 60)
    mean = np.array([-0.5] + [0.4] * (k - 1))
    found, converged = fit_small_logistics(features, weight, linear, GaussianPrior(mean, np.eye(k) / width**2))
    assert converged.all()
    assert np.any(found[:, 1:] == 0), "some bounds hold"
    bounds = [(None, None)] + [(0, None)] * (k - 1)
    for x, w, total, theta in zip(features, weight, linear, found, strict=True):

        def risk(at, x=x, w=w, total=total):
            z, away = at @ x, (at - mean) / width
            value = w @ np.logaddexp(0, z) - total @ at + 0.5 * away @ away
            return value, x @ (w * expit(z)) - total + away / width

        tight = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 10_000}
        expected = minimize(risk, mean, jac=True, method="L-BFGS-B", bounds=bounds, options=tight)
        assert risk(theta)[0] <= expected.fun + 1e-9
        assert_allclose(theta, expected.x, atol=2e-4)


def test_users_do_not_disturb_each_other():
    features, weight, linear = drawn(12, 3, 40, seed=1)
    prior = GaussianPrior(np.zeros(3), np.eye(3))
    together, _ = fit_small_logistics(features, weight, linear, prior)
    for user in range(12):
        alone, _ = fit_small_logistics(*(values[[user]] for values in (features, weight, linear)), prior)
        assert_allclose(together[user], alone[0], atol=1e-9)


def test_separated_and_missing_points_leave_a_finite_fit():
    features = np.stack([np.ones((3, 4)), np.tile([-2.0, -1.0, 1.0, 2.0], (3, 1))], axis=1)
    weight, linear = np.ones((3, 4)), np.array([[2.0, 3.0], [4.0, 0.0], [0.0, 0.0]])
    weight[2] = 0.0
    prior = GaussianPrior(np.array([-1.0, 0.5]), np.eye(2) / 100.0**2)
    found, converged = fit_small_logistics(features, weight, linear, prior)
    assert converged.all()
    assert np.isfinite(found).all()
    assert found[0, 1] > 3
    assert_array_equal(found[2], prior.mean)


def test_a_fit_without_an_answer_is_reported():
    features, weight, linear = drawn(2, 2, 5)
    features[1, 1, 0] = np.nan
    _, converged = fit_small_logistics(features, weight, linear, GaussianPrior(np.zeros(2), np.eye(2)))
    assert converged.tolist() == [True, False]
