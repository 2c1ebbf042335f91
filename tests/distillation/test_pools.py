"""Drawn items are taken from a pool by pair or by user, round by round."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from sureness.distillation.refresh import Pool
from sureness.models.networks.batches import Batch


def test_a_pool_by_pair_is_indexed_by_position_in_the_log_and_by_epoch():
    items = np.arange(5 * 3 * 2, dtype=np.int32).reshape(5, 3, 2)
    pool = Pool(items, by_user=False, scores=items.astype(np.float32) / 2)
    batch = Batch(np.array([9, 9]), np.array([0, 0]), np.array([[0], [0]]), np.array([4, 1]))
    for epoch in range(7):
        drawn = pool.take(batch, epoch)
        assert_array_equal(drawn.items, items[[4, 1], epoch % 3])
        assert_array_equal(drawn.scores, items[[4, 1], epoch % 3] / 2)
        assert drawn.items.dtype == np.int64
        assert drawn.weights is None


def test_a_pool_by_user_is_indexed_by_user():
    items = np.arange(4 * 2, dtype=np.int32).reshape(4, 1, 2)
    shares = np.arange(8, dtype=np.float32).reshape(4, 2)
    batch = Batch(np.array([3, 0, 3]), np.zeros(3, int), np.zeros((3, 1), int), np.array([10, 11, 12]))
    drawn = Pool(items, by_user=True, weights=shares).take(batch, 5)
    assert_array_equal(drawn.items, items[[3, 0, 3], 0])
    assert_array_equal(drawn.weights, shares[[3, 0, 3]])
    assert drawn.scores is None
