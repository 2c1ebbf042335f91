"""Bands of pairs by probability against hand computations."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from sureness.numerics.ratios import ratio_of_sums
from sureness.report import draw_bands, prepare_bands


def test_bands_narrow_towards_the_top_and_hold_what_was_promised_and_came():
    rng = np.random.default_rng(0)
    p = rng.random(10_000) ** 4
    labels = rng.random(10_000) < p
    bands = prepare_bands(labels, p)
    assert bands.names[0] == "top 0.5%"
    assert_allclose(bands.weight, [50, 50, 100, 300, 500, 1_000, 3_000, 5_000])
    top = np.argsort(-p)[:50]
    assert_allclose([bands.promised[0], bands.realised[0]], [p[top].mean(), labels[top].mean()])
    assert_allclose(bands.lift[0], labels[top].mean() / labels.mean())
    assert_allclose((bands.weight * bands.realised).sum(), labels.sum())


def test_equal_probabilities_share_a_band_whatever_their_order():
    p, labels = np.repeat([0.3, 0.1], [300, 700]), np.arange(1_000) % 7 == 0
    order = np.argsort(~labels, kind="stable")  # positives first
    bands, again = prepare_bands(labels, p), prepare_bands(labels[order], p[order])
    assert bands.names == ("top 30%", "30–100%")
    assert_array_equal(bands.realised, again.realised)


def test_weights_count():
    p, labels = np.repeat([0.3, 0.1], [300, 700]), np.arange(1_000) % 2 == 0
    bands = prepare_bands(labels, p, sample_weight=np.where(labels, 3.0, 1.0))
    assert_allclose(bands.realised, 0.75)
    assert_allclose(bands.base_rate, 0.75)
    assert_allclose(bands.weight, [600, 1_400])


def test_intervals_are_wider_where_pairs_of_a_user_come_together():
    p, users = np.full(1_000, 0.5), np.repeat(np.arange(50), 20)
    labels = users % 2 == 0
    alone, together = prepare_bands(labels, p), prepare_bands(labels, p, users=users)
    assert together.high[0] - together.low[0] > 3 * (alone.high[0] - alone.low[0])


def test_no_hits_and_no_promise_have_no_invented_numbers():
    assert ratio_of_sums(np.zeros(3), np.zeros(3)) == (None, None, None)
    assert ratio_of_sums(np.array([1.0]), np.array([2.0])) == (0.5, None, None)
    none_came = ratio_of_sums(np.zeros(10), np.full(10, 0.1))
    assert none_came.low == 0
    assert none_came.high > 3
    bands = prepare_bands(np.zeros(100), np.zeros(100))
    assert np.isnan([bands.ratio[0], bands.lift[0]]).all()
    assert draw_bands(bands).get_xlim()[0] == 0
