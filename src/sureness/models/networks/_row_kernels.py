"""Compiled passes over the distinct rows that a step touches, whose gradients stand closely together.

A gradient with a line for every row of a table would be spread over as much memory as the table; the sums of one step
fit into the cache.
"""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST, ITEMS_AHEAD, ask_for_row
from sureness.numerics.compiling import NO_ARRAYS, kernel


@kernel(error_model="numpy", **NO_ARRAYS)
def place_rows(rows, n_counted, where, distinct, places, counts):
    """Number rows in the order in which they first come; returns how many differ.

    `places` gets the number of each row, 0 for rows below 0; `counts` how often each of `distinct` is among the first
    `n_counted`. `where` has a line for every row of the table, and is -1 throughout before and after.
    """
    n_distinct = 0
    for index in range(rows.shape[0]):
        row = rows[index]
        if row < 0:
            places[index] = 0
            continue
        if where[row] < 0:
            where[row] = n_distinct
            distinct[n_distinct], counts[n_distinct] = row, 0
            n_distinct += 1
        places[index] = where[row]
        if index < n_counted:
            counts[where[row]] += 1
    for place in range(n_distinct):
        where[distinct[place]] = -1
    return n_distinct


@kernel(fastmath=FAST, error_model="numpy", **NO_ARRAYS)
def gather_rows(table, rows, values):
    """Copy rows of a table."""
    for place in range(rows.shape[0]):
        if place + ITEMS_AHEAD < rows.shape[0]:
            ask_for_row(table, rows[place + ITEMS_AHEAD])
        row, copied = table[rows[place]], values[place]
        for f in range(row.shape[0]):
            copied[f] = row[f]


@kernel(fastmath=FAST, error_model="numpy", inline="always", **NO_ARRAYS)
def _move(values, mean, square, slopes, pull, scale, numbers):
    """One step of Adam on one row, whose gradient and L2 are multiplied by `scale`; the gradient is cleared.

    A second moment that overflows would hold its row still for ever and hide that training diverged, so the row
    becomes NaN. Only its first number is looked at, because a look at all of them takes a quarter of the step.
    """
    one = np.float32(1.0)
    learning_rate, of_first, of_second, keep_first, keep_second, small = numbers
    of_slope, of_square = (one - keep_first) * scale, (one - keep_second) * scale * scale
    rate, root = learning_rate / of_first, one / np.sqrt(of_second)
    for f in range(values.shape[0]):
        slope, slopes[f] = slopes[f] + pull * values[f], np.float32(0.0)
        moved = keep_first * mean[f] + of_slope * slope
        spread = keep_second * square[f] + of_square * slope * slope
        mean[f], square[f] = moved, spread
        values[f] -= rate * moved / (np.sqrt(spread) * root + small)
    if not np.isfinite(square[0]):
        values[0] = np.nan


@kernel(fastmath=FAST, error_model="numpy", **NO_ARRAYS)
def adam_placed(table, moments, rows, gradient, pulls, scale, numbers):
    """One step of Adam on `rows`, with `gradient` (V, d) and an L2 of `pulls` (V,), both multiplied by `scale`.

    The gradient is cleared for the sums of the next step, while it is in the cache. The two moments (n, 2, d) of a row
    stand together. Numbers: the learning rate, the two corrections, the decay of the two moments, and what keeps the
    division finite.
    """
    beside = moments.reshape(moments.shape[0], 2 * table.shape[1])
    for place in range(rows.shape[0]):
        if place + ITEMS_AHEAD < rows.shape[0]:
            ask_for_row(table, rows[place + ITEMS_AHEAD])
            ask_for_row(beside, rows[place + ITEMS_AHEAD])
        row = rows[place]
        _move(table[row], moments[row, 0], moments[row, 1], gradient[place], pulls[place], scale, numbers)


@kernel(fastmath=FAST, error_model="numpy", **NO_ARRAYS)
def adam_dense(tables, firsts, seconds, gradients, pulls, scale, numbers):
    """One step of Adam on several flat parameters at once; they are small, and calls are dear."""
    for place in range(len(tables)):
        _move(tables[place], firsts[place], seconds[place], gradients[place], pulls[place], scale, numbers)
