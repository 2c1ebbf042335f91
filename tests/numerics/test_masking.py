"""Masks are found wherever they are put; real scores of any shape are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from sureness.numerics.masking import find_masked, real_scores


def found_in(scores):
    scores = np.asarray(scores, dtype=np.float64)
    return find_masked(scores, float(scores.min()), float(scores.max()))


REAL = {
    "normal": lambda rng, n: rng.normal(size=n),
    "probabilities": lambda rng, n: rng.beta(0.5, 5, size=n),
    "log-probabilities": lambda rng, n: np.maximum(np.log(rng.random(n) ** 8), -23.0),
    "far from zero": lambda rng, n: 1e6 + rng.normal(size=n),
    "many zeros": lambda rng, n: np.where(rng.random(n) < 0.95, 0.0, rng.gamma(0.5, size=n)),
    "counts": lambda rng, n: rng.poisson(3, size=n),
    "heavy counts": lambda rng, n: rng.zipf(2.0, size=n),
    "ratings": lambda rng, n: rng.integers(1, 6, n),
    "popularity": lambda rng, n: np.round(1e5 / np.arange(1, 51) ** 1.2)[rng.integers(0, 50, n)],
    "one hit": lambda rng, n: np.where(rng.random(n) < 0.1, 1_000, rng.integers(1, 11, n)),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "cauchy items": lambda rng, n: rng.standard_cauchy(size=50)[rng.integers(0, 50, n)],
    "lognormal": lambda rng, n: rng.lognormal(sigma=3.0, size=n),
    "lognormal items": lambda rng, n: rng.lognormal(sigma=2.0, size=100)[rng.integers(0, 100, n)],
    "two blocks": lambda rng, n: rng.choice([0.0, 1e9], n),
    "three blocks": lambda rng, n: rng.choice([0.0, 1.0, 1e4], n),
    "block and spread": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, 5 + rng.normal(size=n)),
    "minus one": lambda rng, n: np.where(rng.random(n) < 0.5, -1.0, rng.random(n)),
    "one outlier": lambda rng, n: np.r_[rng.normal(size=n - 1), 1e4],
}
MASKS = (-1e9, 1e30, -1e30, 1e9, -999.0, -9_999.0, -1e4, -1e38, -65_504.0, -123_456.789)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("n_pairs", [20, 300, 5_000])
def test_real_scores_of_any_shape_are_left_alone(name, n_pairs):
    for seed in range(20):
        assert found_in(REAL[name](np.random.default_rng(seed), n_pairs)) == []


@pytest.mark.parametrize("value", MASKS)
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_shared_value_far_outside_is_masked_whatever_its_share(value, share, kind):
    scores = np.random.default_rng(0).normal(size=2_000).astype(kind)
    masked = np.arange(2_000) < 2_000 * share
    scores[masked] = value
    (found,) = found_in(scores)
    assert found.count == masked.sum()
    assert (found.low, found.high) == (kind(value), kind(value))
    assert (found.real_low, found.real_high) == (scores[~masked].min(), scores[~masked].max())
    np.testing.assert_array_equal(real_scores(scores, [found]), ~masked)


def test_masks_at_both_ends_are_found_together():
    scores = np.r_[np.full(30, -1e9), np.random.default_rng(0).normal(size=500), np.full(7, 1e9), np.full(4, 1e30)]
    assert sorted((found.low, found.count) for found in found_in(scores)) == [(-1e9, 30), (1e9, 7), (1e30, 4)]


def test_a_mask_that_was_added_to_the_scores_is_one_too():
    scores = np.random.default_rng(0).normal(size=1_000)
    scores[:200] -= 1e9
    (found,) = found_in(scores)
    assert found.count == 200


def test_ratings_with_a_mask():
    scores = np.r_[np.random.default_rng(0).integers(1, 6, 300), np.full(20, -999)]
    assert [(found.low, found.count) for found in found_in(scores)] == [(-999.0, 20)]


def test_one_score_alone_is_masked_only_where_nothing_real_can_lie():
    scores = np.random.default_rng(0).normal(size=1_000)
    assert found_in(np.r_[scores, 1e5]) == []
    assert [found.count for found in found_in(np.r_[scores, 1e9])] == [1]
