"""Compiled row loops over probabilities behind a list, and over odds that are scaled to a wanted number."""

from __future__ import annotations

import numpy as np

from sureness.numerics.compiling import kernel
from sureness.numerics.threads import row_loop


@row_loop()
def tail_sums(start, stop, probabilities, skipped, most, result):
    """Power sums of each row after its first `skipped` entries; those above `most` count as several."""
    for row in range(start, stop):
        result[row] = 0.0
        for p in probabilities[row, skipped:]:
            base = min(p, most)
            power = 1.0 if p <= most else p / most
            for j in range(result.shape[1]):
                power *= base
                result[row, j] += power


@kernel(error_model="numpy")
def _scale_row(probabilities, tail, wanted):
    """The shift of all log-odds at which probabilities and tail add up to a wanted number.

    The total grows with the shift; Newton's steps are kept inside a bracket that shrinks at each of them.
    """
    low, high = -745.0, 709.0
    shift = 0.0
    for _ in range(200):
        factor = np.exp(shift)
        total, slope = tail * factor, tail * factor
        for p in probabilities:
            q = p * factor / (1.0 - p + p * factor)
            total += q
            slope += q * (1.0 - q)
        if total > wanted:
            high = shift
        else:
            low = shift
        if abs(total - wanted) <= 1e-14 * wanted or high - low <= 1e-15 * abs(shift):
            break
        step = shift - (total - wanted) / slope if slope > 0.0 else low
        shift = step if low < step < high else 0.5 * (low + high)
    return shift


@row_loop()
def scale_rows(start, stop, probabilities, tails, wanted, shifts):
    """Shifts of all rows; a row whose wanted number is NaN stays as it is."""
    for row in range(start, stop):
        if not np.isnan(wanted[row]):
            shifts[row] = _scale_row(probabilities[row], tails[row], wanted[row])
