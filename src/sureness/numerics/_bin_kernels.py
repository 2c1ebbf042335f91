"""Compiled row loops that put the scores of each row into bins, nothing else."""

from __future__ import annotations

import numpy as np

from sureness.numerics.compiling import kernel
from sureness.numerics.threads import row_loop

_FINE = 16  # narrow bins in each bin


@kernel(error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
def _places(scores, low, per_score, last, places):
    """The fine bin of each score plus 1, and 0 for -inf; without branches, so that it runs on vector instructions."""
    for at in range(scores.shape[0]):
        place = (scores[at] - low) * per_score + np.float32(1.0)
        place = place if place > np.float32(0.0) else np.float32(0.0)
        places[at] = np.int32(place if place < last else last)  # a range beyond float32 overflows


@kernel(error_model="numpy")
def _bin_row(scores, low, high, means, counts):
    """Number and mean of the scores in equal bins from low to high; -inf marks what is no candidate.

    Scores are only counted, in bins that are _FINE times narrower, from which the means follow. Two counters for each,
    taken in turn: neighbours often fall into one bin, and would wait for each other.
    """
    n_bins, n_fine = counts.shape[0], counts.shape[0] * _FINE
    width = max((np.float64(high) - np.float64(low)) / (n_fine - 1), 1e-30)
    places = np.empty(scores.shape[0], dtype=np.int32)
    _places(scores, np.float32(low), np.float32(1.0 / width), np.float32(n_fine), places)
    counters = np.zeros((2, n_fine + 2), dtype=np.int32)
    even = scores.shape[0] - scores.shape[0] % 2
    for at in range(0, even, 2):
        counters[0, places[at]] += 1
        counters[1, places[at + 1]] += 1
    if even < scores.shape[0]:
        counters[0, places[even]] += 1
    for place in range(n_bins):
        count, total = 0, 0.0
        for fine in range(place * _FINE, (place + 1) * _FINE):
            found = counters[0, fine + 1] + counters[1, fine + 1]
            count += found
            total += found * (fine + 0.5)
        counts[place] = count
        means[place] = low + width * total / count if count > 0 else low


@row_loop()
def bin_rows(start, stop, block, rows, starts, seen, lows, highs, means, counts):
    """Bin each row of a block; seen entries are set to -inf first."""
    for place in range(start, stop):
        for at in range(starts[rows[place]], starts[rows[place] + 1]):
            block[place, seen[at]] = -np.inf
        if highs[place] >= lows[place]:
            _bin_row(block[place], lows[place], highs[place], means[place], counts[place])
        else:
            means[place] = 0.0
            counts[place] = 0.0
