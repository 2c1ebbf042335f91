"""Compiled loops over the rows of a block: where each entry stands, and draws by what that is worth."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_FAST = {"reassoc", "contract", "arcp", "nsz"}  # -inf marks what does not count, so infinities stay what they are


@njit(cache=True, error_model="numpy")
def _count_bins(scores, high, scale, bins, counts):
    """The bin of every entry, the highest first, and how many each holds; -1 for what does not count."""
    counted = 0
    for i in range(scores.shape[0]):
        if scores[i] == -np.inf:
            bins[i] = -1
        else:
            b = np.int32((high - scores[i]) * scale)
            bins[i] = b
            counts[b] += 1
            counted += 1
    return counted


@njit(cache=True, error_model="numpy")
def _sketch_row(scores, n_bins, allowed, bins, counts, places, ranks):
    """Ranks of one row to half the entries of a bin; False if a bin holds more than `allowed`."""
    low, high = np.inf, -np.inf
    for i in range(scores.shape[0]):
        s = scores[i]
        high = s if s > high else high
        low = s if s < low and s != -np.inf else low
    scale = np.float32((n_bins - 1) / (high - low)) if high > low else np.float32(0.0)
    if not np.isfinite(scale) or high == np.inf:
        return False
    counts[:] = 0
    _count_bins(scores, np.float32(high), scale, bins, counts)
    before = 0
    for b in range(n_bins):
        if counts[b] > allowed:
            return False
        places[b] = before + (counts[b] + 1) // 2
        before += counts[b]
    for i in range(scores.shape[0]):
        ranks[i] = places[bins[i]] if bins[i] >= 0 else 0
    return True


@njit(cache=True, parallel=True, error_model="numpy")
def sketch_rows(scores, n_bins, allowed, ranks, done):
    for row in prange(scores.shape[0]):
        bins = np.empty(scores.shape[1], dtype=np.int32)
        counts, places = np.empty(n_bins, dtype=np.int32), np.empty(n_bins, dtype=np.int32)
        done[row] = _sketch_row(scores[row], n_bins, allowed, bins, counts, places, ranks[row])


@njit(cache=True, error_model="numpy")
def hide_rows(scores, rows, starts, hidden):
    """Sets the hidden entries of each row to -inf."""
    for place in range(rows.shape[0]):
        for k in range(starts[rows[place]], starts[rows[place] + 1]):
            scores[place, hidden[k]] = -np.inf


@njit(cache=True, fastmath=_FAST, error_model="numpy")
def _sum_weights(mine, other, table, compared, sums):
    """Running sums of the table's weights at (my rank - the other's rank); rank 0 weighs nothing."""
    middle = table.shape[0] // 2
    total = 0.0
    for i in range(mine.shape[0]):
        if other[i] > 0 and mine[i] > 0:
            total += table[(mine[i] if compared else 0) - other[i] + middle]
        sums[i] = total
    return total


@njit(cache=True, fastmath=_FAST, error_model="numpy")
def _sum_equal(mine, other, sums):
    total = 0.0
    for i in range(mine.shape[0]):
        if other[i] > 0 and mine[i] > 0:
            total += 1.0
        sums[i] = total
    return total


@njit(cache=True, error_model="numpy")
def _draw_from(sums, total, uniforms, first, drawn):
    """Entries as likely as their share of the sums; `first` cuts the search short."""
    n_cells = first.shape[0]
    i = 0
    for cell in range(n_cells):
        start = total * cell / n_cells
        while sums[i] <= start:
            i += 1
        first[cell] = i
    for draw in range(uniforms.shape[0]):
        target = uniforms[draw] * total
        i = first[int(uniforms[draw] * n_cells)]
        while sums[i] <= target and i < sums.shape[0] - 1:
            i += 1
        drawn[draw] = i


@njit(cache=True, parallel=True, error_model="numpy")
def draw_rows(mine, other, table, compared, starts, uniforms, drawn):
    """For row r the draws starts[r] to starts[r + 1]; uniform where nothing has weight, -1 where nothing counts."""
    n_columns = mine.shape[1]
    for row in prange(mine.shape[0]):
        part = slice(starts[row], starts[row + 1])
        if starts[row] == starts[row + 1]:
            continue
        sums, first = np.empty(n_columns), np.empty(max(1, n_columns // 8), dtype=np.int32)
        total = _sum_weights(mine[row], other[row], table, compared, sums)
        if not total > 0.0:
            total = _sum_equal(mine[row], other[row], sums)
        if total > 0.0:
            _draw_from(sums, total, uniforms[part], first, drawn[part])
        else:
            drawn[part] = -1
