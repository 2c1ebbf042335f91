"""Bounds of calibration errors: 0 is not excluded by chance, real errors are found, and more data means less width."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sureness.metrics import interval
from sureness.metrics.gaps import largest_gap_bounds, mean_bounds, total_gap_bounds

CALIBRATION_ERRORS = ("ece", "adaptive_ece", "debiased_ece", "mce")
every_error = pytest.mark.parametrize("metric", CALIBRATION_ERRORS)


def drawn(n, error=0.0, seed=0, low=0.02, high=0.98):
    """Pairs whose true probability is the predicted one plus an error."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(low, high, n)
    return rng.random(n) < p + error, p


def widths(metric, sizes, **world):
    """Mean widths of intervals at several numbers of pairs."""
    found = [[interval(metric, *drawn(n, seed=seed, **world)) for seed in range(15)] for n in sizes]
    return [float(np.mean([one.high - one.low for one in same])) for same in found]


@every_error
def test_perfect_calibration_is_not_called_an_error(metric):
    lows = [interval(metric, *drawn(3_000, seed=seed)).low for seed in range(40)]
    assert np.count_nonzero(lows) <= 4  # 2.5% are expected; the bootstrap has half


@every_error
def test_a_clear_error_is_found_and_contained(metric):
    found = [interval(metric, *drawn(20_000, error=0.05, seed=seed, high=0.9)) for seed in range(20)]
    assert all(one.low > 0.01 and one.high < 0.12 for one in found)
    assert sum(one.low <= 0.05 <= one.high for one in found) >= 18


def test_an_error_in_one_bin_is_found():
    labels, p = drawn(20_000)
    wrong = (p > 7 / 15) & (p < 8 / 15)
    labels[wrong] = np.random.default_rng(1).random(wrong.sum()) < p[wrong] + 0.2
    assert interval("ece", labels, p).low > 0.2 / 15 / 3
    assert interval("mce", labels, p).low > 0.1


def test_probabilities_that_are_too_extreme_are_found_by_the_tilt_of_their_gaps():
    """Gaps of +-0.02 are hardly visible in any bin of 3,000 pairs; together they are."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 6_000)
    labels = rng.random(6_000) < p + np.where(p > 0.5, -0.04, 0.04)
    assert interval("ece", labels, p).low > 0.01


@every_error
@pytest.mark.parametrize("error", [0.0, 0.05])
def test_the_width_falls_with_the_root_of_the_number_of_pairs(metric, error):
    few, many = widths(metric, [4_000, 64_000], error=error, high=0.9)
    assert 3.0 < few / many < 5.0  # 4 is the root of 16


def test_a_large_error_has_almost_the_width_of_normal_theory():
    labels, p = drawn(20_000, error=0.1, high=0.9)
    found = interval("ece", labels, p)
    normal = 2 * 1.96 * np.std(labels - p) / np.sqrt(20_000)
    assert normal < found.high - found.low < 1.4 * normal


def test_both_estimates_of_one_error_share_their_bounds():
    labels, p = drawn(3_000, error=0.03, high=0.9)
    plain, debiased = (interval(metric, labels, p) for metric in ("ece", "debiased_ece"))
    assert debiased.value < plain.value
    assert (plain.low, plain.high) == (debiased.low, debiased.high)


@every_error
def test_the_value_lies_inside(metric):
    for seed in range(30):
        found = interval(metric, *drawn(60, seed=seed), n_resamples=100)
        assert 0 <= found.low <= found.value <= found.high


def test_a_bin_with_few_pairs_says_little_about_the_largest_error():
    labels, p = drawn(5_000, high=0.6)
    alone = interval("mce", labels, p)
    with_one_more = interval("mce", np.append(labels, True), np.append(p, 0.99))
    assert alone.high < 0.2
    assert with_one_more.low == 0
    assert with_one_more.high == pytest.approx(0.99)  # all that is known of that bin: a frequency lies in [0, 1]


@every_error
def test_doubling_all_weights_changes_nothing(metric):
    labels, p = drawn(2_000, error=0.02)
    weight = np.random.default_rng(1).random(2_000)
    once, twice = (interval(metric, labels, p, sample_weight=scale * weight) for scale in (1.0, 2.0))
    assert_allclose([once.low, once.high], [twice.low, twice.high], atol=1e-12)


@every_error
def test_users_that_answer_alike_widen_the_interval(metric):
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(100), 30)
    p = rng.uniform(0.02, 0.98, 3_000)
    labels = np.repeat(rng.random(100), 30) < p
    clustered, single = interval(metric, labels, p, users=users), interval(metric, labels, p)
    assert clustered.high - clustered.low > 1.2 * (single.high - single.low)


@pytest.mark.parametrize("bounds", [mean_bounds, total_gap_bounds, largest_gap_bounds])
@pytest.mark.parametrize("n_clusters", [1, 2])
def test_one_or_two_clusters_give_finite_bounds(bounds, n_clusters):
    sums = np.zeros((n_clusters, 3, 4))
    sums[:, :2] = [10.0, 10.0, 4.0, 5.0]  # the last cell is empty
    low, high = bounds(sums, 0.95, 100, np.random.default_rng(0))
    assert 0 <= low <= high < np.inf


def test_the_bounds_of_a_mean_are_those_of_student():
    rng = np.random.default_rng(0)
    losses = rng.random(12)
    sums = np.zeros((12, 1, 4))
    sums[:, 0, 0], sums[:, 0, 2] = 1.0, losses
    reach = 2.200985 * losses.std(ddof=1) / np.sqrt(12)  # 97.5% of Student's t with 11 degrees of freedom
    assert_allclose(mean_bounds(sums, 0.95), [losses.mean() - reach, losses.mean() + reach], rtol=1e-6)
