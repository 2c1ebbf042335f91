"""Compiled search in sorted texts that lie one behind the other in one array of bytes."""

from __future__ import annotations

import numpy as np

from sureness.numerics.compiling import kernel


@kernel()
def _compare(content, start, stop, asked, asked_start, asked_stop):
    """Negative if this text comes before the asked one, 0 if they are equal, positive if it comes after."""
    length = min(stop - start, asked_stop - asked_start)
    for place in range(length):
        difference = np.int64(content[start + place]) - np.int64(asked[asked_start + place])
        if difference:
            return difference
    return (stop - start) - (asked_stop - asked_start)


@kernel()
def find_sorted(content, offsets, asked, asked_offsets, found):
    for number in range(len(asked_offsets) - 1):
        low, high = 0, len(offsets) - 1
        found[number] = -1
        while low < high:
            middle = (low + high) // 2
            order = _compare(
                content, offsets[middle], offsets[middle + 1], asked, asked_offsets[number], asked_offsets[number + 1]
            )
            if order == 0:
                found[number] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
