"""Compiled loop of crossed effects, nothing else."""

from __future__ import annotations

import numpy as np

from sureness.numerics.compiling import kernel


@kernel(nogil=True, error_model="numpy")
def effect_sums(weight, score, target, target_score, level, stretch, moved, shift, factor, codes, sums):
    """Move every point by the last step, and sum the derivatives of the risk over the points of each value.

    Both in one pass, because the points do not fit into the cache: `moved` are the values that the last step moved, by
    `shift` and `factor`; `codes` are those whose `sums` are wanted: two slopes and three curvatures.
    """
    sums[:] = 0.0
    for point in range(codes.shape[0]):
        last = moved[point]
        level[point] += shift[last]
        stretch[point] *= factor[last]
        steep = stretch[point]
        rise = steep * score[point]
        z = level[point] + rise
        shrunk = np.exp(-abs(z))
        inverse = 1.0 / (1.0 + shrunk)
        first = weight[point] * (inverse if z >= 0 else shrunk * inverse)
        second = first * (shrunk * inverse if z >= 0 else inverse)
        row = sums[codes[point]]
        row[0] += first - target[point]
        row[1] += first * rise - steep * target_score[point]
        row[2] += second
        row[3] += second * rise
        row[4] += second * rise * rise
