"""Bins of the scores of each row hold every score once."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from sureness.calibration.per_user import bin_scores


def binned(block, n_bins, seen=()):
    """`bin_scores` of a block whose rows all leave out the same columns."""
    block = np.array(block, dtype=np.float32)
    columns = np.asarray(seen, dtype=np.int64)
    n = len(block)
    return bin_scores(block, n_bins, rows=np.arange(n), starts=np.arange(n + 1) * len(columns),
                      seen=np.tile(columns, n))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    scores=arrays(np.float32, st.integers(1, 40), elements=st.floats(-1e6, 1e6, width=32)),
    n_bins=st.integers(2, 20),
)
@example(scores=np.zeros(5, dtype=np.float32), n_bins=4)
@example(scores=np.full(5, 1e6, dtype=np.float32), n_bins=4)
@example(scores=np.array([0, np.finfo(np.float32).tiny], dtype=np.float32), n_bins=512)
def test_bins_hold_every_score_once_near_its_value(scores, n_bins):
    means, counts = binned([scores], n_bins)
    assert counts.sum() == len(scores)
    width = (float(scores.max()) - float(scores.min())) / n_bins
    ordered, placed = np.sort(scores.astype(np.float64)), np.repeat(means[0], counts[0].astype(int))
    rounding = 1e-6 * float(np.abs(scores).max()) + 1e-30
    assert_allclose(placed, ordered, rtol=0, atol=1.1 * width + rounding)
    assert_allclose(placed.mean(), ordered.mean(), rtol=0, atol=width / 10 + rounding)


def test_bins_are_equally_wide_between_the_smallest_and_the_largest():
    means, counts = binned([[0.0, 1.0, 3.0, 5.0, 9.0, 10.0]], 5)
    assert counts[0].tolist() == [2, 1, 1, 0, 2]
    assert_allclose(means[0][[0, 1, 2, 4]], [0.5, 3.0, 5.0, 9.5], atol=0.1)


def test_excluded_and_missing_entries_do_not_count():
    means, counts = binned([[8.0, 0.0, 1.0, -np.inf], [1.0, 2.0, 4.0, 3.9]], 20, seen=[0])
    assert counts.sum(axis=1).tolist() == [2, 3]
    for row, expected in zip((0, 1), ([0.0, 1.0], [2.0, 3.95]), strict=True):
        assert_allclose(means[row][counts[row] > 0], expected, atol=0.05)


def test_a_row_without_candidates_is_empty():
    means, counts = binned([[-np.inf, -np.inf]], 3)
    assert counts.tolist() == [[0, 0, 0]]
    assert np.isfinite(means).all()
