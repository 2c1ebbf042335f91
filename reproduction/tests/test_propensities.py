"""Propensities from ratings and features against formulas by hand and worlds whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from sureness_reproduction.calibration.propensities import RandomPropensity, of_features, of_ratings


def test_random_chances_belong_to_items_and_to_the_seed():
    items = np.arange(2_000)
    first, again, other = (RandomPropensity(2_000, seed=seed).propensity(items, items) for seed in (1, 1, 2))
    assert_array_equal(first, again)
    assert (first != other).any()
    assert_allclose([first.min(), first.max()], [0.1, 1.0], atol=0.01)
    assert_allclose(first.mean(), 0.1 * 0.1 + 0.9 * 0.55, atol=0.03)
    assert RandomPropensity.relative


def test_naive_bayes_finds_how_often_each_rating_is_seen():
    rng = np.random.default_rng(0)
    truth = np.array([0.02, 0.03, 0.05, 0.1, 0.2])
    ratings = rng.choice(5, size=400_000, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    seen = ratings[rng.random(400_000) < truth[ratings]]
    assert_allclose(of_ratings(np.arange(5), seen, rng.choice(ratings, 40_000), n_pairs=400_000), truth, rtol=0.1)


@pytest.mark.parametrize(
    ("wanted", "logged", "uniform", "n_pairs", "expected"),
    [
        ([1, 5, 5], [5, 5, 5, 1], [5, 1, 1, 1], 40, [1 / 30, 0.3, 0.3]),  # P(seen | 5) = (3/4)(4/40) / (1/4)
        ([5], [5, 5], [5, 1, 1, 1], 40, [0.2]),  # 1 was never logged, and still counts: 2/40 / (1/4)
        ([5, 4], [5, 4], [4, 4], 100, [0.04, 0.04 / 3]),  # 5 is not in the sample, and not impossible: 1/100 / (1/4)
    ],
)
def test_naive_bayes_by_hand(wanted, logged, uniform, n_pairs, expected):
    found = of_ratings(*map(np.array, (wanted, logged, uniform)), n_pairs=n_pairs)
    assert_allclose(found, expected)


@pytest.fixture(scope="module")
def seen_by_features():
    """A log in which features of users and items decide what is seen, about 4% of the pairs."""
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(300, 2)), rng.normal(size=(200, 2))
    truth = expit(-4 + (users @ [0.8, -0.4])[:, None] + items @ [1.0, 0.3])
    return *np.nonzero(rng.random(truth.shape) < truth), users, items, truth


@pytest.mark.parametrize("negatives_per_positive", [5, 1_000])
def test_logistic_regression_finds_the_true_chances_however_few_negatives_are_drawn(
    seen_by_features, negatives_per_positive
):
    *log, truth = seen_by_features
    model = of_features(*log, clip=1e-6, negatives_per_positive=negatives_per_positive)
    found = model.propensity(*np.indices(truth.shape).reshape(2, -1)).reshape(truth.shape)
    assert_allclose(found.mean(), truth.mean(), rtol=0.05)
    assert_allclose(np.log(found / truth).std(), 0, atol=0.15)
    assert of_features(*log, clip=0.05).values.min() == 0.05
