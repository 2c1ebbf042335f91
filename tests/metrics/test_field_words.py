"""Normalised entropy, calibration ratio, F-ECE and Field-RCE: their values, and how often their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sureness.errors import DataError
from sureness.metrics import field_calibration_error, field_relative_error, interval, negative_log_likelihood

RATE = 0.04


def drawn(seed: int, n_users: int = 400, too_high: float = 1.2):
    """Clicks of users with 10 impressions each, and probabilities that are too high by a factor; truth beside them."""
    rng = np.random.default_rng(seed)
    n = 10 * n_users
    truth = np.minimum(RATE * np.exp(rng.normal(0, 0.5, n)) * np.repeat(np.exp(rng.normal(0, 0.5, n_users)), 10), 0.5)
    return rng.random(n) < truth, truth * too_high, np.repeat(np.arange(n_users), 10), truth


def test_values_are_the_ones_of_their_definitions():
    labels, predicted, _, _ = drawn(0)
    rate = labels.mean()
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    assert_allclose(
        interval("normalised_entropy", labels, predicted).value, negative_log_likelihood(labels, predicted) / entropy
    )
    assert_allclose(interval("calibration_ratio", labels, predicted).value, predicted.sum() / labels.sum())
    price = np.random.default_rng(1).uniform(1, 9, len(labels))
    found = interval("calibration_ratio", labels, predicted, sample_weight=price).value
    assert_allclose(found, (price @ predicted) / (price @ labels))
    field = np.arange(len(labels)) % 7
    gaps = [abs(labels[field == f].mean() - predicted[field == f].mean()) * np.mean(field == f) for f in range(7)]
    assert_allclose(field_calibration_error(labels, predicted, field).value, sum(gaps))
    relative = [gap / labels[field == f].mean() for f, gap in enumerate(gaps)]
    assert_allclose(field_relative_error(labels, predicted, field).value, sum(relative))


@pytest.mark.parametrize("metric", ["calibration_ratio", "normalised_entropy"])
def test_intervals_hold_in_19_of_20_samples(metric):
    big = [drawn(seed, 20_000) for seed in range(900, 905)]
    true = np.mean([interval(metric, labels, predicted, n_resamples=2).value for labels, predicted, _, _ in big])
    inside = 0
    for seed in range(200):
        labels, predicted, users, _ = drawn(seed)
        found = interval(metric, labels, predicted, users=users, n_resamples=2)
        inside += found.low <= true <= found.high
    assert inside >= 180


def test_errors_of_fields_cover_the_true_ones():
    held = np.zeros(2)
    for seed in range(100):
        labels, predicted, users, truth = drawn(seed, 800)
        field = np.arange(len(labels)) % 4
        predicted = truth * np.array([1.0, 1.5, 0.7, 1.2])[field]
        means = [(truth[field == f].mean(), predicted[field == f].mean()) for f in range(4)]
        true = np.mean([abs(t - p) for t, p in means]), np.mean([abs(t - p) / t for t, p in means])
        found = (
            field_calibration_error(labels, predicted, field, users=users),
            field_relative_error(labels, predicted, field, users=users),
        )
        held += [each.low <= value <= each.high for each, value in zip(found, true, strict=True)]
    assert (held >= 88).all(), held


def test_what_has_no_value_is_refused_or_infinite():
    found = interval("calibration_ratio", [0, 0, 1], [0.1, 0.1, 0.2])
    assert found.high == float("inf")
    with pytest.raises(DataError, match="needs positives, got none"):
        field_relative_error([0, 0], [0.1, 0.2], ["a", "b"])
    many = np.arange(3_000)
    assert field_calibration_error(many % 2, np.full(3_000, 0.5), many).value >= 0
