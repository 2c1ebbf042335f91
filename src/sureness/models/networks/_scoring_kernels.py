"""Compiled scores of all items by NeuMF: tiles of items go through all layers while they are in the cache.

Products are left to the BLAS library in pieces that it makes where they lie and on the calling thread.
"""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST
from sureness.numerics.compiling import kernel

TILE = 128  # items at a time
_SMALL = 262_144  # multiplications that OpenBLAS makes at once
_FEW = 256  # weights of a layer whose product takes less time than a call of the BLAS library


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def _through(weight, before, after):
    """The product weight (v, w) @ before (w, t) into `after` (v, t)."""
    if weight.size > _FEW:
        np.dot(weight, before, after)
    else:
        for j in range(weight.shape[0]):
            products = after[j]
            for t in range(TILE):
                products[t] = np.float32(0.0)
            for k in range(weight.shape[1]):
                values, one = before[k], weight[j, k]
                for t in range(TILE):
                    products[t] += one * values[t]


@kernel(fastmath=FAST, error_model="numpy", inline="always")
def _rectify(values, levels, result):
    """Write relu(values (w, t) + levels (w,)) into `result`."""
    zero = np.float32(0.0)
    for k in range(levels.shape[0]):
        before, level, after = values[k], levels[k], result[k]
        for t in range(TILE):
            total = before[t] + level
            after[t] = total if total > zero else zero


@kernel(fastmath=FAST, error_model="numpy")
def score_rows(weighted, factors, of_users, of_items, weights, biases, widths, last, level, scores):
    """Scores (U, I) of users with weighted factors (U, d) and first layers (U, w).

    Factors (n, d, t) and first layers (n, w, t) of items stand in tiles. The weights (v, w) of all other layers stand
    one after the other, as do their biases; `widths` are those of all layers.
    """
    (n_users, n_items), widest = scores.shape, widths.max()
    first, second = np.empty((widest, TILE), np.float32), np.empty((widest, TILE), np.float32)
    n_rows = max(1, _SMALL // (weighted.shape[1] * TILE))
    products = np.empty((n_rows, TILE), np.float32)
    for tile in range(of_items.shape[0]):
        n_columns = min(TILE, n_items - tile * TILE)
        for row in range(n_users):
            if row % n_rows == 0:
                some = weighted[row : row + n_rows]
                np.dot(some, factors[tile], products[: some.shape[0]])
            _rectify(of_items[tile], of_users[row], first)
            before, after, weight_place, bias_place = first, second, 0, 0
            for layer in range(widths.shape[0] - 1):
                n_inputs, n_outputs = widths[layer], widths[layer + 1]
                weight = weights[weight_place : weight_place + n_outputs * n_inputs].reshape(n_outputs, n_inputs)
                _through(weight, before[:n_inputs], after[:n_outputs])
                _rectify(after, biases[bias_place : bias_place + n_outputs], after)
                weight_place, bias_place = weight_place + weight.size, bias_place + n_outputs
                before, after = after, before
            sums = products[row % n_rows]
            for k in range(last.shape[0]):
                hidden, of_hidden = before[k], last[k]
                for t in range(TILE):
                    sums[t] += of_hidden * hidden[t]
            column = scores[row, tile * TILE : tile * TILE + n_columns]
            for t in range(n_columns):
                column[t] = sums[t] + level
