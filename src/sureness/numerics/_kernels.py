"""Compiled loops of the public functions of this folder; no checks, and results are allocated by the caller."""

from __future__ import annotations

import numpy as np

from sureness._types import AnyArray, FloatArray, IntArray
from sureness.numerics.compiling import kernel
from sureness.numerics.threads import block_bounds, each_block, n_threads, row_loop


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


# --- the highest entries of rows -----------------------------------------------------------------------------------
#
# Most entries of a long row are far from its top, so a bound that at least k entries reach is found first, and only
# what reaches it is ranked. Both passes over the whole row run on vector instructions.

_FEWEST, _PER_PLACE = 256, 3  # groups of entries: at least, and for each of the k places
_STRETCH = 64  # entries that are compared with the bound at once


@kernel()
def _comes_after(score, item, other_score, other_item):
    """Whether an item ranks below another: a lower score, or the same and a later position."""
    return score < other_score or (score == other_score and item > other_item)


@kernel()
def _sink(scores, items, size, place, score, item):
    """Put an entry into a heap whose root ranks last, starting at `place` and moving down."""
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _comes_after(scores[child + 1], items[child + 1], scores[child], items[child]):
            child += 1
        if not _comes_after(scores[child], items[child], score, item):
            break
        scores[place], items[place] = scores[child], items[child]
        place = child
    scores[place], items[place] = score, item


@kernel()
def _rank(row, candidates, items, scores):
    """The highest of some entries in falling order; entries of -inf do not count, missing ones become -1."""
    size = 0
    for item in candidates:
        score = row[item]
        if size == items.shape[0]:
            if score > scores[0]:  # an equal score at a later position ranks below
                _sink(scores, items, size, 0, score, item)
        elif score > -np.inf:
            scores[size], items[size] = score, item
            size += 1
            if size == items.shape[0]:
                for place in range(size // 2 - 1, -1, -1):
                    _sink(scores, items, size, place, scores[place], items[place])
    if size < items.shape[0]:
        items[size:] = -1
        scores[size:] = -np.inf
        for place in range(size // 2 - 1, -1, -1):
            _sink(scores, items, size, place, scores[place], items[place])
    for last in range(size - 1, 0, -1):  # heap sort: the root ranks last of what remains
        score, item = scores[last], items[last]
        scores[last], items[last] = scores[0], items[0]
        _sink(scores, items, last, 0, score, item)


@kernel()
def _group_maxima(row, maxima):
    """The highest entry of each group; entry i belongs to group i modulo the number of groups."""
    n_groups = maxima.shape[0]
    maxima[:] = -np.inf  # what is not a number never exceeds it
    for start in range(0, row.shape[0], n_groups):
        part = row[start : start + n_groups]
        for group in range(part.shape[0]):
            maxima[group] = part[group] if part[group] > maxima[group] else maxima[group]


@kernel()
def _kth_highest(values, spare, k):
    """The k-th highest of some numbers, which are overwritten; quickselect without branches that depend on them."""
    start, stop = 0, values.shape[0]
    while True:
        first, middle, last = values[start], values[(start + stop) >> 1], values[stop - 1]
        pivot = max(min(first, middle), min(max(first, middle), last))
        n_above, n_below, n = 0, 0, stop - start
        for at in range(start, stop):
            value = values[at]
            spare[n_above] = value
            n_above += value > pivot
            spare[n - 1 - n_below] = value
            n_below += value < pivot
        if n_above < k <= n - n_below:
            return pivot
        if k <= n_above:
            stop = start + n_above
            values[start:stop] = spare[:n_above]
        else:
            k -= n - n_below
            stop = start + n_below
            values[start:stop] = spare[n - n_below : n]


@kernel()
def _reaching(row, bound, candidates):
    """Where entries that reach a bound stand; returns how many there are."""
    n = 0
    for start in range(0, row.shape[0], _STRETCH):
        part = row[start : start + _STRETCH]
        found = np.int32(0)
        if part.shape[0] == _STRETCH:
            for at in range(_STRETCH):
                found += np.int32(part[at] >= bound)
        if found > 0 or part.shape[0] < _STRETCH:
            for at in range(part.shape[0]):
                candidates[n] = start + at  # kept only if it counts; avoids an unpredictable branch
                n += part[at] >= bound
    return n


@row_loop()
def top_rows(start, stop, block, rows, starts, seen, items, scores):
    """Top unseen entries of each row of a block; seen ones are set to -inf first."""
    n_columns, k = block.shape[1], items.shape[1]
    n_groups = max(_FEWEST, _PER_PLACE * k)
    maxima, spare = np.empty(n_groups, dtype=block.dtype), np.empty(n_groups, dtype=block.dtype)
    bounded = n_columns >= 2 * n_groups
    candidates, n_candidates = np.empty(n_columns + 1, dtype=np.int64), n_columns
    if not bounded:
        candidates[:] = np.arange(n_columns + 1)
    for place in range(start, stop):
        row = block[place]
        for at in range(starts[rows[place]], starts[rows[place] + 1]):
            row[seen[at]] = -np.inf
        if bounded:
            _group_maxima(row, maxima)
            n_candidates = _reaching(row, _kth_highest(maxima, spare, k), candidates)
        _rank(row, candidates[:n_candidates], items[place], scores[place])
