"""Every metric against slow loops, scikit-learn and numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import brier_score_loss, log_loss

from sureness.errors import DataError, SettingError
from sureness.metrics import (
    METRICS,
    adaptive_calibration_error,
    brier_score,
    debiased_calibration_error,
    expected_calibration_error,
    interval,
    maximum_calibration_error,
    negative_log_likelihood,
    top_n_calibration_error,
)
from tests.metrics.slow_metrics import (
    Drawn,
    drawn_pairs,
    slow_brier,
    slow_debiased,
    slow_ece,
    slow_mce,
    slow_nll,
)

BINNED = {
    "ece": expected_calibration_error,
    "mce": maximum_calibration_error,
    "adaptive_ece": adaptive_calibration_error,
    "debiased_ece": debiased_calibration_error,
}
PLAIN = {"nll": negative_log_likelihood, "brier": brier_score}
EVERY = BINNED | PLAIN

n_bins_drawn = st.sampled_from([1, 2, 3, 10, 15, 100])
metric_names = pytest.mark.parametrize("name", EVERY)


def weighted(function, pairs, **options):
    return function(pairs.labels, pairs.probabilities, sample_weight=pairs.weights, **options)


def twice_the_first(pairs):
    """The first pair written down twice, and the first pair with weight 2."""
    repeated = Drawn(*([column[0], *column] for column in pairs))
    heavier = pairs._replace(weights=[2 * pairs.weights[0], *pairs.weights[1:]])
    return repeated, heavier


# --- against slow references ---------------------------------------------------------------------------------------


@given(drawn_pairs(), n_bins_drawn)
def test_ece_agrees_with_a_loop_over_pairs(pairs, n_bins):
    expected = slow_ece(*pairs.all, n_bins)
    assert_allclose(weighted(expected_calibration_error, pairs, n_bins=n_bins), expected, atol=1e-12)


@given(drawn_pairs(), n_bins_drawn)
def test_mce_agrees_with_a_loop_over_pairs(pairs, n_bins):
    expected = slow_mce(*pairs.all, n_bins)
    assert_allclose(weighted(maximum_calibration_error, pairs, n_bins=n_bins), expected, atol=1e-9)


@given(drawn_pairs(), n_bins_drawn)
def test_debiased_ece_agrees_with_the_folded_normal_of_scipy(pairs, n_bins):
    expected = slow_debiased(*pairs.all, n_bins)
    assert_allclose(weighted(debiased_calibration_error, pairs, n_bins=n_bins), expected, atol=1e-7)


@given(drawn_pairs())
def test_nll_and_brier_agree_with_loops(pairs):
    assert_allclose(weighted(negative_log_likelihood, pairs), slow_nll(*pairs.all), rtol=1e-9)
    assert_allclose(weighted(brier_score, pairs), slow_brier(*pairs.all), rtol=1e-9, atol=1e-12)


@given(drawn_pairs(probabilities=st.floats(1e-6, 1 - 1e-6)))
def test_nll_and_brier_agree_with_scikit_learn(pairs):
    theirs = log_loss(pairs.labels, pairs.probabilities, sample_weight=pairs.weights, labels=[0, 1])
    assert_allclose(weighted(negative_log_likelihood, pairs), theirs, rtol=1e-9)
    theirs = brier_score_loss(pairs.labels, pairs.probabilities, sample_weight=pairs.weights, pos_label=1)
    assert_allclose(weighted(brier_score, pairs), theirs, rtol=1e-9, atol=1e-15)


@given(st.integers(1, 12), st.integers(1, 6), st.randoms(use_true_random=False))
def test_adaptive_ece_cuts_different_probabilities_into_equal_parts(n_bins, each, random):
    probabilities = random.sample(range(1, 10_000), n_bins * each)
    pairs = sorted((p / 10_000, random.randint(0, 1)) for p in probabilities)
    parts = [pairs[start : start + each] for start in range(0, len(pairs), each)]
    expected = sum(abs(sum(y - p for p, y in part)) for part in parts) / len(pairs)
    random.shuffle(pairs)
    p, y = zip(*pairs, strict=True)
    assert_allclose(adaptive_calibration_error(y, p, n_bins=n_bins), expected, atol=1e-12)


@given(drawn_pairs(), st.integers(1, 4), n_bins_drawn, st.data())
def test_ece_at_n_is_the_ece_of_the_pairs_that_a_loop_picks(pairs, n, n_bins, data):
    users = data.draw(st.lists(st.sampled_from("abc"), min_size=len(pairs.labels), max_size=len(pairs.labels)))
    kept = []
    for user in set(users):
        mine = [place for place, other in enumerate(users) if other == user]
        kept += sorted(mine, key=lambda place: -pairs.probabilities[place])[:n]
    picked = Drawn(*([column[place] for place in kept] for column in pairs._replace(weights=[1.0] * len(users))))
    found = top_n_calibration_error(pairs.labels, pairs.probabilities, users, n=n, n_bins=n_bins)
    assert_allclose(found, slow_ece(*picked.all, n_bins), atol=1e-12)


# --- properties ----------------------------------------------------------------------------------------------------


@given(drawn_pairs(), n_bins_drawn)
def test_the_largest_gap_is_at_least_the_mean_gap(pairs, n_bins):
    ece = weighted(expected_calibration_error, pairs, n_bins=n_bins)
    assert weighted(maximum_calibration_error, pairs, n_bins=n_bins) >= ece - 1e-12


@pytest.mark.parametrize("name", [name for name in EVERY if name != "debiased_ece"])
@settings(max_examples=20)
@given(pairs=drawn_pairs(weights=st.just(1.0)), n_bins=n_bins_drawn)
@example(pairs=Drawn([1, 0, 0], [0.1, 0.2, 0.3], [1.0, 1.0, 1.0]), n_bins=3)
def test_a_weight_of_two_equals_the_pair_twice(name, pairs, n_bins):
    """Not the debiased error: to it a weight says how much a pair counts, not how often it was drawn."""
    repeated, heavier = twice_the_first(pairs)
    options = {"n_bins": n_bins} if name in BINNED else {}
    assert_allclose(weighted(EVERY[name], heavier, **options), weighted(EVERY[name], repeated, **options), atol=1e-12)


@metric_names
@settings(max_examples=20)
@given(pairs=drawn_pairs(), odd=drawn_pairs())
def test_pairs_of_weight_zero_might_as_well_not_be_there(name, pairs, odd):
    with_odd = Drawn(*(a + b for a, b in zip(pairs, odd._replace(weights=[0.0] * len(odd.labels)), strict=True)))
    assert_allclose(weighted(EVERY[name], with_odd), weighted(EVERY[name], pairs), atol=1e-12)


@metric_names
@settings(max_examples=20)
@given(pairs=drawn_pairs(weights=st.sampled_from([0.0, 1.0, 2.0])), factor=st.sampled_from([0.25, 8.0]))
def test_only_the_ratios_of_weights_matter(name, pairs, factor):
    scaled = pairs._replace(weights=[factor * weight for weight in pairs.weights])
    assert_allclose(weighted(EVERY[name], scaled), weighted(EVERY[name], pairs), rtol=1e-12, atol=1e-14)


@metric_names
@settings(max_examples=20)
@given(pairs=drawn_pairs(weights=st.just(1.0)), random=st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(name, pairs, random):
    order = random.sample(range(len(pairs.labels)), len(pairs.labels))
    shuffled = Drawn(*([column[place] for place in order] for column in pairs))
    assert_allclose(weighted(EVERY[name], shuffled), weighted(EVERY[name], pairs), atol=1e-9)


@metric_names
@settings(max_examples=20)
@given(pairs=drawn_pairs())
def test_the_value_of_an_interval_is_the_metric_itself(name, pairs):
    options = {"n_bins": 15} if name in BINNED else {}
    found = interval(name, pairs.labels, pairs.probabilities, sample_weight=pairs.weights, n_resamples=2)
    assert_allclose(found.value, weighted(EVERY[name], pairs, **options), atol=1e-12)


@metric_names
def test_float32_probabilities_are_judged_as_the_numbers_they_are(name):
    rng = np.random.default_rng(0)
    p = (rng.integers(0, 11, 500) / 10).astype(np.float32)  # edges of the bins: 0.7 is below 0.7 in float32
    y = rng.random(500) < p
    options = {"n_bins": 10} if name in BINNED else {}
    exact = EVERY[name](y, p.astype(np.float64), **options)
    assert_allclose(EVERY[name](y, p, **options), exact, atol=1e-6)
    assert_allclose(interval(name, y, p, n_resamples=2, n_bins=10).value, exact, atol=1e-6)


@metric_names
def test_integers_booleans_and_lists_are_understood(name):
    expected = EVERY[name]([0, 1, 1], [0.0, 1.0, 1.0])
    assert EVERY[name](np.array([False, True, True]), np.array([0, 1, 1])) == expected
    assert EVERY[name](np.array([0.0, 1.0, 1.0], dtype=np.float32), [False, True, True]) == expected


@pytest.mark.parametrize("name", ["ece", "mce", "adaptive_ece", "debiased_ece", "brier"])
@pytest.mark.parametrize(
    ("label", "probability", "gap"), [(1, 0.25, 0.75), (0, 1.0, 1.0), (1, 1.0, 0.0), (0, 0.0, 0.0)]
)
def test_one_pair_has_its_own_distance_as_error(name, label, probability, gap):
    assert EVERY[name]([label], [probability]) == (gap**2 if name == "brier" else gap)


# --- by hand -------------------------------------------------------------------------------------------------------


def test_a_small_example_worked_out_by_hand():
    labels, p = [0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 1.0]
    # two bins: {.1, .2, .3} with one positive, gap |1/3 - .2|; {.6, .8, 1} with two, gap |2/3 - .8|
    assert_allclose(expected_calibration_error(labels, p, n_bins=2), 2 / 15)
    assert_allclose(maximum_calibration_error(labels, p, n_bins=2), 2 / 15)
    # three equal parts: {.1, .2}: .15; {.3, .6}: .55; {.8, 1}: .4
    assert_allclose(adaptive_calibration_error(labels, p, n_bins=3), (0.15 + 0.55 + 0.4) / 3)
    assert_allclose(brier_score(labels, p), (0.01 + 0.04 + 0.49 + 0.16 + 0.64 + 0) / 6)
    # log 1 is 0, and the clipping of p = 1 costs 1e-15
    assert_allclose(negative_log_likelihood(labels, p), -math.log(0.9 * 0.8 * 0.3 * 0.6 * 0.2) / 6, rtol=1e-12)


@pytest.mark.parametrize("n_bins", [2, 10, 15, 20])
def test_a_probability_on_an_edge_belongs_to_the_bin_above_it_and_one_to_the_last(n_bins):
    edges = np.arange(n_bins) / n_bins
    alone = np.r_[edges, 1.0]
    labels = np.r_[np.zeros(n_bins), 1]
    gaps = np.r_[edges[:-1], abs(edges[-1] + 1 - 1)]  # each edge alone in its bin, the last one with p = 1
    assert_allclose(expected_calibration_error(labels, alone, n_bins=n_bins), gaps.sum() / (n_bins + 1))


def test_a_certain_mistake_is_costly_but_finite():
    assert_allclose(negative_log_likelihood([1, 0], [0.0, 1.0]), -math.log(1e-15), rtol=1e-2)
    assert negative_log_likelihood([0, 1], [0.0, 1.0]) < 1e-14


def test_equal_probabilities_share_a_bin_without_dragging_others_into_it():
    """Step functions (histogram, isotonic) give few distinct probabilities: each must still be judged by itself."""
    labels, p = [1, 1] + [0] * 8, [0.1] * 9 + [0.9]
    assert_allclose(adaptive_calibration_error(labels, p, n_bins=2), (abs(2 - 0.9) + 0.9) / 10)


def test_ece_at_n_orders_by_scores_where_they_are_given():
    labels, p, users = [1, 0, 1, 0], [0.9, 0.1, 0.8, 0.1], ["a", "a", "b", "b"]
    upside_down = top_n_calibration_error(labels, p, users, n=1, scores=[0.0, 1.0, 0.0, 1.0])
    assert_allclose(upside_down, 0.1)
    whole = top_n_calibration_error(labels, p, users, n=99)
    assert_allclose(whole, expected_calibration_error(labels, p))


def test_debiased_ece_of_perfect_probabilities_is_closer_to_zero():
    rng = np.random.default_rng(0)
    plain, debiased = [], []
    for _ in range(200):
        p = rng.random(600)
        y = rng.random(600) < p
        plain.append(expected_calibration_error(y, p))
        debiased.append(debiased_calibration_error(y, p))
    assert np.mean(debiased) < 0.8 * np.mean(plain)
    assert np.all(np.array(debiased) <= np.array(plain))


def test_debiased_ece_finds_a_true_error_that_chance_exaggerates():
    """With p uniform and the truth p**2 the error is the integral of p - p**2, 1/6."""
    rng = np.random.default_rng(1)
    plain, debiased = [], []
    for _ in range(200):
        p = rng.random(150)
        y = rng.random(150) < p**2
        plain.append(expected_calibration_error(y, p))
        debiased.append(debiased_calibration_error(y, p))
    assert abs(np.mean(debiased) - 1 / 6) < abs(np.mean(plain) - 1 / 6)


# --- refusals ------------------------------------------------------------------------------------------------------


@metric_names
@pytest.mark.parametrize(
    ("labels", "probabilities", "word"),
    [
        ([0, 1], [0.5], "labels"),
        ([0, 1], [0.5, 1.5], "calibrate"),
        ([0, 1], [-0.1, 0.5], "probabilities"),
        ([0, 1], [0.5, math.nan], "missing"),
        ([0, 5], [0.5, 0.5], "other"),
        ([], [], "empty"),
        ([[0, 1]], [[0.5, 0.5]], "dimensional"),
        (["0", "a"], [0.5, 0.5], "other value"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_a_reason(name, labels, probabilities, word):
    with pytest.raises(DataError, match=word):
        EVERY[name](labels, probabilities)


@metric_names
@pytest.mark.parametrize(
    ("weights", "word"),
    [([1.0, -1.0], "negative"), ([0.0, 0.0], "zero"), ([1.0], "sample_weight")],
)
def test_impossible_weights_are_refused(name, weights, word):
    with pytest.raises(DataError, match=word):
        EVERY[name]([0, 1], [0.5, 0.5], sample_weight=weights)


@pytest.mark.parametrize("name", BINNED)
@pytest.mark.parametrize("n_bins", [0, -3, 2.5, 10.0])
def test_a_number_of_bins_that_is_not_a_count_is_refused(name, n_bins):
    with pytest.raises(SettingError, match="n_bins"):
        BINNED[name]([0, 1], [0.5, 0.5], n_bins=n_bins)


def test_a_top_that_holds_nobody_is_refused():
    with pytest.raises(SettingError, match="n must"):
        top_n_calibration_error([0, 1], [0.5, 0.5], ["a", "b"], n=0)


def test_a_top_that_weighs_nothing_is_refused_and_not_divided_by():
    with pytest.raises(DataError, match="weight"):
        top_n_calibration_error([1, 0], [0.7, 0.6], ["a", "a"], n=1, sample_weight=[0, 1])


def test_users_and_scores_of_other_pairs_are_refused():
    with pytest.raises(DataError, match="users"):
        top_n_calibration_error([0, 1], [0.5, 0.5], ["a"])
    with pytest.raises(DataError, match="scores"):
        top_n_calibration_error([0, 1], [0.5, 0.5], ["a", "b"], scores=[1.0])


def test_every_metric_has_a_name_and_a_title():
    assert set(METRICS) == {*EVERY, "calibration_ratio", "normalised_entropy"}
    assert all(metric.title for metric in METRICS.values())
