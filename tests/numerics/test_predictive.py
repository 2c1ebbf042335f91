"""Parameters whose probabilities are those to expect."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sureness.numerics.logistic import sigmoid
from sureness.numerics.predictive import predictive_rows
from sureness.numerics.row_logistic import Rows

BOUNDED = np.array([False, True])


def rows_of(n_users, n_points, *, seed=0):
    rng = np.random.default_rng(seed)
    features = np.stack([np.ones((n_users, n_points)), rng.normal(size=(n_users, n_points))], axis=-1)
    none = np.empty((0, 2)), np.zeros(n_users + 1, dtype=np.int64)
    return Rows(features, rng.uniform(0.5, 2.0, size=(n_users, n_points)), *none)


@pytest.mark.parametrize("level", [-5.0, -2.0])
def test_they_are_the_means_over_the_posterior(level):
    rows = rows_of(3, 40)
    theta = np.array([[level, 1.0]] * 3)
    covariance = np.array([[0.3, -0.05], [-0.05, 0.1]])
    found = predictive_rows(rows, theta, np.repeat(np.linalg.inv(covariance)[None], 3, axis=0), BOUNDED)
    drawn = np.random.default_rng(1).multivariate_normal(theta[0], covariance, size=40_000)
    mean = np.mean(sigmoid(np.einsum("npd,sd->snp", rows.features, drawn)), axis=0)
    promised = sigmoid(np.einsum("npd,nd->np", rows.features, found))
    likely = mean > np.median(mean)  # where positives are expected
    assert_allclose(promised[likely], mean[likely], rtol=0.05)
    assert_allclose((rows.weight * promised).sum(), (rows.weight * mean).sum(), rtol=0.01)
    assert (rows.weight * mean).sum() > 1.05 * (rows.weight * sigmoid(rows.features @ theta[0])).sum()


def test_what_is_certain_stays():
    rows, theta = rows_of(5, 30), np.random.default_rng(2).normal(size=(5, 2))
    theta[:, 1] = np.abs(theta[:, 1])
    assert_allclose(predictive_rows(rows, theta, 1e12 * np.eye(2)[None].repeat(5, 0), BOUNDED), theta, atol=1e-9)


def test_bounds_hold_and_users_without_points_stay():
    rows = rows_of(2, 30)
    rows.weight[1] = 0.0
    theta = np.array([[-1.0, 0.0], [-1.0, 0.5]])
    found = predictive_rows(rows, theta, np.eye(2)[None].repeat(2, 0), BOUNDED)
    assert np.all(found[:, 1] >= 0)
    assert_allclose(found[1], theta[1])
