"""Compiled steps of dense Adam: `torch.optim.Adam` on a whole table is their readable form and their test."""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST
from sureness.numerics.compiling import kernel


@kernel(fastmath=FAST, error_model="numpy")
def _one_step(values, mean, square, slope, scale, decay, rate, of_first, of_second, keep_first, keep_second, small):
    """One step of Adam on a row with this gradient, times `scale`, and weight decay."""
    one = np.float32(1.0)
    for f in range(values.shape[0]):
        g = slope[f] * scale + decay * values[f]
        mean[f] = keep_first * mean[f] + (one - keep_first) * g
        square[f] = keep_second * square[f] + (one - keep_second) * g * g
        values[f] -= rate * (mean[f] / of_first) / (np.sqrt(square[f] / of_second) + small)


@kernel(error_model="numpy")
def step_rows(
    table, first, second, gradient, places, rows, reached, step, scale, decay, rate, of_first, of_second, keep_first,
    keep_second, small,
):  # fmt: skip
    """The step number `step` of the rows that have a gradient, which stands at `places`."""
    for place in range(rows.shape[0]):
        row = rows[place]
        reached[row] = step
        _one_step(
            table[row], first[row], second[row], gradient[places[place]], scale, decay, rate, of_first, of_second,
            keep_first, keep_second, small,
        )  # fmt: skip


@kernel(error_model="numpy")
def decay_rows(table, first, second, rows, reached, step, decay, rate, keep_first, keep_second, small):
    """All steps up to `step` of rows without a gradient, where weight decay is their gradient."""
    one, nothing, none = np.float32(1.0), np.float32(0.0), np.zeros(table.shape[1], dtype=np.float32)
    for place in range(rows.shape[0]):
        row = rows[place]
        if row < 0 or reached[row] >= step:
            continue
        of_first, of_second = float(keep_first) ** reached[row], float(keep_second) ** reached[row]
        for _ in range(reached[row], step):
            of_first, of_second = of_first * keep_first, of_second * keep_second
            _one_step(
                table[row], first[row], second[row], none, nothing, decay, rate, np.float32(one - of_first),
                np.float32(one - of_second), keep_first, keep_second, small,
            )  # fmt: skip
        reached[row] = step


@kernel(fastmath=FAST, error_model="numpy")
def coast_rows(table, first, second, rows, reached, step, ways, roots, rate, keep_first, keep_second, small):
    """All steps up to `step` of rows without any gradient: the old moments carry them on, in one move."""
    for place in range(rows.shape[0]):
        row = rows[place]
        if row < 0 or reached[row] >= step:
            continue
        missed = step - reached[row]
        way, root = np.float32(rate * ways[reached[row]]), np.float32(roots[reached[row]])
        less_first, less_second = np.float32(keep_first**missed), np.float32(keep_second**missed)
        values, mean, square = table[row], first[row], second[row]
        for f in range(values.shape[0]):
            values[f] -= way * mean[f] / (root * np.sqrt(square[f]) + small)
            mean[f] *= less_first
            square[f] *= less_second
        reached[row] = step
