from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

import sureness as sn
from sureness.errors import DataError
from sureness.numerics.histogram import ScoreHistogram

finite = st.floats(-1e6, 1e6, allow_subnormal=False)
some_scores = arrays(np.float64, st.integers(1, 200), elements=finite)


def slow_moments(scores, targets, weight, exponent):
    bins: dict[int, np.ndarray] = {}
    for s, t, w in zip(scores, targets, weight, strict=True):
        key = int(np.floor(s / 2.0**exponent))
        bins.setdefault(key, np.zeros(7))
        bins[key] += [1, w, w * s, w * s * s, w * t, w * t * s, w * t * s * s]
    return bins


@given(some_scores, st.integers(0, 1_000), st.integers(4, 64))
def test_moments_agree_with_a_loop(scores, seed, max_bins):
    rng = np.random.default_rng(seed)
    targets, weight = rng.choice([0.0, 1.0, 4.5], len(scores)), rng.integers(1, 4, len(scores)).astype(float)
    histogram = ScoreHistogram.of(scores, targets, weight, max_bins=max_bins)
    slow = slow_moments(scores, targets, weight, histogram.exponent)
    keys = np.r_[histogram.keys, histogram.far_keys]
    moments = np.concatenate([histogram.moments, histogram.far_moments[:, :7]])
    assert sorted(keys) == sorted(slow)
    assert_allclose(moments, [slow[key] for key in keys], rtol=1e-9, atol=1e-9)
    assert len(histogram.keys) <= max_bins
    assert histogram.n_pairs == len(scores)
    found = histogram.points()
    if not found.masked:
        assert_allclose((found.minimum, found.maximum), (scores.min(), scores.max()), rtol=1e-12, atol=1e-190)
        assert found.n_positive == np.count_nonzero(targets)
        assert_allclose(found.target_square, ((weight * targets) ** 2).sum())


@given(some_scores, some_scores, some_scores)
def test_adding_is_associative_and_equals_the_whole(a, b, c):
    parts = [ScoreHistogram.of(part, part > 0, max_bins=64) for part in (a, b, c)]
    left, right = (parts[0] + parts[1]) + parts[2], parts[2] + (parts[1] + parts[0])
    for histogram in (left, right):
        assert histogram.n_pairs == len(a) + len(b) + len(c)
        sums, others = (h.moments.sum(axis=0)[:5] + h.far_moments.sum(axis=0)[:5] for h in (histogram, left))
        assert_allclose(sums, others, rtol=1e-9, atol=1e-6)
        assert (histogram.minimum, histogram.maximum) == (left.minimum, left.maximum)
    if left.exponent == right.exponent:
        assert_array_equal(left.keys, right.keys)


def test_one_outlier_costs_one_bin():
    scores = np.random.default_rng(0).normal(size=100_000)
    plain = ScoreHistogram.of(scores, scores > 0)
    outlier = ScoreHistogram.of(np.r_[scores, 1e4], np.r_[scores > 0, True])
    assert outlier.exponent == plain.exponent
    assert len(outlier.keys) + len(outlier.far_keys) == len(plain.keys) + 1
    assert outlier.points().maximum == 1e4


def test_memory_does_not_grow_with_pairs():
    rng = np.random.default_rng(0)
    histogram = ScoreHistogram.of(rng.normal(size=1_000), rng.random(1_000) < 0.5)
    for _ in range(20):
        histogram += ScoreHistogram.of(rng.standard_cauchy(size=20_000), rng.random(20_000) < 0.5)
    assert len(histogram.keys) <= histogram.max_bins
    assert histogram.n_pairs == 401_000


def test_quadrature_is_right_to_second_order():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=50_000)
    targets = rng.random(50_000) < 0.3
    points = ScoreHistogram.of(scores, targets, max_bins=64).points()
    at, weight, target_at, target = points.quadrature()
    for function in (np.square, lambda s: np.log1p(np.exp(s))):
        assert weight @ function(at) == pytest.approx(function(scores).sum(), rel=1e-4)
        assert target @ function(target_at) == pytest.approx(function(scores[targets]).sum(), rel=1e-4)
    assert weight @ at**2 == pytest.approx((scores**2).sum(), rel=1e-12)


@pytest.mark.parametrize("scores", [[0.0], [3.5] * 10, [1e-300, 2e-300], [-1e15, 1e15], [1e100, -1e100, 0.0]])
def test_extreme_scores_are_kept(scores):
    histogram = ScoreHistogram.of(scores, np.ones(len(scores)))
    assert histogram.n_pairs == len(scores)
    assert np.all(np.diff(histogram.points().scores) >= 0)


def test_different_estimands_do_not_add_up():
    from dataclasses import replace

    one = ScoreHistogram.of([0.0, 1.0], [0, 1])
    with pytest.raises(sn.errors.DataError, match="add"):
        _ = one + replace(one, estimand="preference")


def test_lengths_must_agree():
    with pytest.raises(sn.errors.DataError, match="targets"):
        ScoreHistogram.of([0.0, 1.0], [1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5])
def test_targets_must_be_finite_and_not_negative(bad):
    with pytest.raises(DataError, match="targets"):
        ScoreHistogram.of([0.0, 1.0, 2.0], [0.0, bad, 1.0])


def test_pairs_without_weight_are_as_if_they_were_not_there():
    rng = np.random.default_rng(0)
    scores, targets, weight = rng.normal(size=500), rng.random(500) < 0.3, rng.integers(0, 3, 500).astype(float)
    weight[[scores.argmin(), scores.argmax()]] = 0.0
    held = weight > 0
    found, without = (
        ScoreHistogram.of(scores, targets, weight),
        ScoreHistogram.of(scores[held], targets[held], weight[held]),
    )
    assert_array_equal(found.keys, without.keys)
    assert_array_equal(found.moments, without.moments)
    assert (found.minimum, found.maximum) == (without.minimum, without.maximum)


@pytest.mark.parametrize("value", [-1e9, 1e30, -1e30, -999.0])
@pytest.mark.parametrize("sizes", [[1, 5, 4_000], [4_000, 1, 3], [30, 2_000, 7]])
def test_masked_scores_are_found_however_the_pairs_are_cut(value, sizes):
    rng = np.random.default_rng(1)
    parts = []
    for size in sizes:
        scores = rng.normal(size=size)
        scores[: max(1, size // 3)] = value
        parts.append((scores, rng.random(size) < 0.3))
    histogram = sum((ScoreHistogram.of(*part) for part in parts[1:]), ScoreHistogram.of(*parts[0]))
    whole = np.concatenate([part[0] for part in parts])
    found = histogram.points()
    (mask,) = found.masked
    assert (mask.low, mask.count) == (pytest.approx(value), np.count_nonzero(whole == value))
    real = whole != value
    assert found.n_pairs == np.count_nonzero(real)
    assert found.n_positive == np.count_nonzero(np.concatenate([part[1] for part in parts])[real])
    assert (found.minimum, found.maximum) == (whole[real].min(), whole[real].max())
    assert histogram.exponent < -5  # the bins are as fine as without the masks


@given(some_scores, st.integers(0, 1_000))
def test_sums_that_another_engine_made_are_the_same_histogram(scores, seed):
    targets = np.random.default_rng(seed).choice([0.0, 1.0, 4.5], len(scores))
    expected = ScoreHistogram.of(scores, targets)
    singles = np.stack(
        [np.ones_like(scores), np.ones_like(scores), scores, scores**2, targets, targets * scores, targets * scores**2,
         targets > 0, targets**2, targets**2],
        axis=1,
    )  # fmt: skip
    constant = scores.min() == scores.max()
    low, high = (scores[0], scores[0]) if constant else (expected.minimum, expected.maximum)
    near = (scores >= low) & (scores <= high)
    found = ScoreHistogram.of_cells(
        np.floor(scores * 2.0**-expected.exponent),
        singles,
        ~near,
        exponent=expected.exponent,
        minimum=low,
        maximum=high,
    )
    assert_array_equal(found.keys, expected.keys)
    assert_array_equal(found.far_keys, expected.far_keys)
    assert_allclose(found.moments, expected.moments, rtol=1e-9, atol=1e-9)
    assert (found.n_pairs, found.n_positive) == (expected.n_pairs, expected.n_positive)
