"""Compiled loops behind the public functions of this folder; no checks, and results are allocated by the caller."""

from __future__ import annotations

import numpy as np

from sureness._types import AnyArray, FloatArray, IntArray
from sureness.numerics.compiling import kernel
from sureness.numerics.threads import block_bounds, each_block, n_threads


@kernel()
def _add_moments(row, score, weight, target):
    row[0] += 1.0
    row[1] += weight
    row[2] += weight * score
    row[3] += weight * score * score
    mass = weight * target
    if mass != 0.0:
        row[4] += mass
        row[5] += mass * score
        row[6] += mass * score * score


@kernel(nogil=True)
def _bin_block(scores, targets, weights, start, stop, inverse_width, first_key, moments, totals, outside):
    n_bins = moments.shape[0]
    n_outside = 0
    for index in range(start, stop):
        score = np.float64(scores[index])
        weight = 1.0 if weights.size == 0 else np.float64(weights[index])
        target = np.float64(targets[index])
        if target > 0.0 and weight > 0.0:
            totals[0] += 1.0
            totals[1] += (weight * target) ** 2
            totals[2] += weight * target**2
        slot = np.floor(score * inverse_width) - first_key  # a float: far outliers must not overflow an integer
        if 0.0 <= slot < n_bins:
            _add_moments(moments[int(slot)], score, weight, target)
        else:
            outside[start + n_outside] = index
            n_outside += 1
    return n_outside


def bin_moments(
    scores: FloatArray, targets: AnyArray, weights: FloatArray, inverse_width: float, first_key: float, n_bins: int
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Moments of the pairs in a dense window of bins, the positions of the pairs outside it, and totals of the targets.

    The totals are: pairs with a positive target, sum of (weight * target) squared, sum of weight * target squared.
    """
    bounds = block_bounds(scores.size, n_threads())
    moments, totals = np.zeros((n_threads(), n_bins, 7)), np.zeros((n_threads(), 3))
    outside = np.empty(scores.size, dtype=np.int64)  # memory pages that are never touched cost nothing
    kept: dict[int, IntArray] = {}

    def add(block: int) -> None:
        start, stop = bounds[block], bounds[block + 1]
        n_outside = _bin_block(
            scores, targets, weights, start, stop, inverse_width, first_key, moments[block], totals[block], outside
        )
        kept[block] = outside[start : start + n_outside]

    each_block(add, n_threads())
    return moments.sum(axis=0), np.concatenate([kept[block] for block in sorted(kept)]), totals.sum(axis=0)


@kernel()
def _contains(values, start, stop, wanted):
    """Whether a sorted stretch holds a value."""
    while start < stop:
        middle = (start + stop) >> 1
        if values[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start, start < values.shape[0] and values[start] == wanted


@kernel()
def mark_members(lists, rows, starts, members, found):
    """Which entries of each list are among the sorted members of its row."""
    for place in range(lists.shape[0]):
        start, stop = starts[rows[place]], starts[rows[place] + 1]
        for rank in range(lists.shape[1]):
            at, there = _contains(members, start, stop, lists[place, rank])
            found[place, rank] = there and at < stop


@kernel()
def nth_absent(rows, places, starts, members, drawn):
    """For each row number the value that has `places` absent values before it, among those not in its sorted stretch.

    A value v that is the j-th member of its row has v - j absent values below it, so a binary search finds the place.
    """
    for index in range(rows.shape[0]):
        start, stop = starts[rows[index]], starts[rows[index] + 1]
        low, high = start, stop
        while low < high:
            middle = (low + high) >> 1
            if members[middle] - (middle - start) <= places[index]:
                low = middle + 1
            else:
                high = middle
        drawn[index] = places[index] + (low - start)
