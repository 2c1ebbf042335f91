"""The best of several must be better than the best that chance produces."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sureness.metrics.resampling import confidence_in_gains, resampled_means


def confidence(values, seed=1, n_resamples=1_000):
    return confidence_in_gains(values.mean(axis=0), resampled_means(values, n_resamples, np.random.default_rng(seed)))


def test_resampled_means_vary_as_means_do():
    values = np.random.default_rng(0).normal(3.0, [1.0, 2.0], size=(500, 2))
    drawn = resampled_means(values, 4_000, np.random.default_rng(1))
    assert_allclose(drawn.mean(axis=0), values.mean(axis=0), atol=0.01)
    assert_allclose(drawn.std(axis=0), values.std(axis=0) / np.sqrt(500), rtol=0.05)


def test_many_rows_vary_alike_and_take_bounded_memory():
    values = np.random.default_rng(0).normal(size=(200_000, 5))
    tracemalloc.start()
    drawn = resampled_means(values, 2_000, np.random.default_rng(1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6  # one weight per row and resample would take 3.2 GB
    assert_allclose(drawn.std(axis=0), values.std(axis=0) / np.sqrt(200_000), rtol=0.06)


def test_one_candidate_is_as_sure_as_its_resamples():
    values = np.random.default_rng(3).normal(0.08, size=(400, 1))
    drawn = resampled_means(values, 4_000, np.random.default_rng(1))
    assert_allclose(confidence_in_gains(values.mean(axis=0), drawn), [(drawn > 0).mean()], atol=0.02)


def test_the_best_of_many_is_less_sure_than_the_same_one_alone():
    values = np.random.default_rng(0).normal(size=(400, 5)) * [1, 2, 3, 4, 5]
    best = int((values.mean(axis=0) / values.std(axis=0)).argmax())
    together, alone = confidence(values)[best], confidence(values[:, [best]])[0]
    assert alone > 0.8
    assert together < alone - 0.05


def test_copies_of_one_candidate_count_once():
    values = np.random.default_rng(0).normal(0.1, size=(400, 1))
    assert confidence(np.tile(values, 5))[0] == confidence(values)[0]


def test_a_clear_gain_among_many_is_sure():
    values = np.random.default_rng(0).normal([0, 0, 0, 0, 1], size=(100, 5))
    assert confidence(values)[4] == 1.0


@pytest.mark.parametrize(("gain", "expected"), [(0.0, 0.0), (0.1, 1.0), (-0.1, 0.0)])
def test_what_never_varies_is_certain(gain, expected):
    values = np.stack([np.full(50, gain), np.random.default_rng(0).normal(size=50)], axis=1)
    assert confidence(values)[0] == expected
    assert confidence(values[:, :1])[0] == expected
