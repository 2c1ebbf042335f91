"""Compiled loops that find the highest entries of rows, nothing else.

Most entries of a long row are far from its top, so a bound that at least k entries reach is found first, and only what
reaches it is ranked. Both passes over the whole row run on vector instructions.
"""

from __future__ import annotations

import numpy as np

from sureness.numerics.compiling import kernel
from sureness.numerics.threads import row_loop

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
