"""The reliability curve in both readings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binomtest

from sureness.errors import SettingError
from sureness.metrics import expected_calibration_error, reliability_curve
from tests.metrics.slow_metrics import bins_of, drawn_pairs

even = st.sampled_from([2, 4, 10])


def curve_of(pairs, **options):
    return reliability_curve(pairs.labels, pairs.probabilities, sample_weight=pairs.weights, **options)


@given(drawn_pairs(), st.sampled_from([1, 3, 10]))
def test_every_bin_agrees_with_a_loop_and_empty_bins_hold_nothing(pairs, n_bins):
    curve = curve_of(pairs, n_bins=n_bins)
    expected = bins_of(*pairs.all, n_bins)
    for place in range(n_bins):
        if place not in expected:
            assert curve.weight[place] == 0
            assert np.isnan([curve.confidence[place], curve.observed[place], curve.low[place], curve.high[place]]).all()
            continue
        b = expected[place]
        assert_allclose(curve.weight[place], b.weight, rtol=1e-9)
        assert_allclose(curve.confidence[place], b.predicted / b.weight, rtol=1e-9)
        assert_allclose(curve.observed[place], b.observed / b.weight, rtol=1e-9, atol=1e-12)
        assert curve.low[place] - 1e-12 <= curve.observed[place] <= curve.high[place] + 1e-12


@given(drawn_pairs(), even)
def test_both_readings_have_the_same_gap_in_every_bin(pairs, n_bins):
    frequency, accuracy = (curve_of(pairs, n_bins=n_bins, reading=reading) for reading in ("frequency", "accuracy"))
    gaps = [np.abs(curve.observed - curve.confidence) for curve in (frequency, accuracy)]
    assert_allclose(*gaps, atol=1e-12)
    assert_allclose(accuracy.low + (accuracy.high - accuracy.low), accuracy.high)
    assert np.all((accuracy.low <= accuracy.high) | np.isnan(accuracy.low))


@given(drawn_pairs(), even)
def test_the_accuracy_reading_is_what_a_loop_over_predicted_classes_finds(pairs, n_bins):
    """Below 1/2 the negative class is predicted, with confidence 1 - p (formula note 11)."""
    curve = curve_of(pairs, n_bins=n_bins, reading="accuracy")
    right = [int((p >= 0.5) == bool(y)) for y, p in zip(pairs.labels, pairs.probabilities, strict=True)]
    sure = [p if p >= 0.5 else 1 - p for p in pairs.probabilities]
    places = [min(int(p * n_bins), n_bins - 1) for p in pairs.probabilities]
    for place in np.flatnonzero(curve.weight):
        inside = [i for i, other in enumerate(places) if other == place]
        weight = [pairs.weights[i] for i in inside]
        assert_allclose(curve.observed[place], np.average([right[i] for i in inside], weights=weight), atol=1e-9)
        assert_allclose(curve.confidence[place], np.average([sure[i] for i in inside], weights=weight), atol=1e-9)


@given(drawn_pairs(), even, st.sampled_from(["frequency", "accuracy"]))
def test_the_mean_gap_of_the_curve_is_the_ece(pairs, n_bins, reading):
    ece = expected_calibration_error(pairs.labels, pairs.probabilities, sample_weight=pairs.weights, n_bins=n_bins)
    assert_allclose(curve_of(pairs, n_bins=n_bins, reading=reading).calibration_error, ece, atol=1e-12)


@pytest.mark.parametrize(("positives", "pairs"), [(0, 7), (3, 10), (10, 10), (1, 1), (40, 100)])
def test_the_bounds_are_the_wilson_interval_of_scipy(positives, pairs):
    labels = np.arange(pairs) < positives
    curve = reliability_curve(labels, np.full(pairs, 0.3), n_bins=2)
    expected = binomtest(positives, pairs).proportion_ci(0.95, method="wilson")
    assert_allclose([curve.low[0], curve.high[0]], [expected.low, expected.high], atol=1e-12)
    flipped = reliability_curve(labels, np.full(pairs, 0.3), n_bins=2, reading="accuracy")
    assert_allclose([flipped.low[0], flipped.high[0]], [1 - expected.high, 1 - expected.low], atol=1e-12)


def test_edges_are_equally_wide():
    assert_allclose(reliability_curve([0, 1], [0.2, 0.3], n_bins=4).edges, [0, 0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize("n_bins", [1, 15])
def test_the_accuracy_reading_refuses_a_bin_that_mixes_both_classes(n_bins):
    with pytest.raises(SettingError, match="even"):
        reliability_curve([0, 1], [0.2, 0.3], n_bins=n_bins, reading="accuracy")


def test_an_unknown_reading_is_refused():
    with pytest.raises(SettingError, match="reading"):
        reliability_curve([0, 1], [0.2, 0.3], reading="both")


@pytest.mark.parametrize("reading", ["frequency", "accuracy"])
def test_no_bins_are_refused(reading):
    with pytest.raises(SettingError, match="n_bins"):
        reliability_curve([0, 1], [0.2, 0.3], n_bins=0, reading=reading)
