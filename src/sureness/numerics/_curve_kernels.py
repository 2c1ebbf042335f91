"""Compiled values of a rising curve, nothing else."""

from __future__ import annotations

import numpy as np

from sureness.numerics.compiling import kernel
from sureness.numerics.threads import row_loop


@kernel(error_model="numpy")
def _heights(knots, slopes):
    """The curve at its knots."""
    heights = np.zeros(knots.shape[0])
    for piece in range(knots.shape[0] - 1):
        heights[piece + 1] = (
            heights[piece] + (knots[piece + 1] - knots[piece]) * (slopes[piece] + slopes[piece + 1]) / 2
        )
    return heights


@row_loop(error_model="numpy")
def curve_rows(start, stop, scores, knots, slopes, result):
    """The curve at every score; the scores of a row mostly fall, so that the next is near the piece of the last."""
    heights, last = _heights(knots, slopes), knots.shape[0] - 1
    for row in range(start, stop):
        piece = last  # that starts at this knot; the last one, and -1 before the first, are straight
        for at in range(scores.shape[1]):
            score = scores[row, at]
            while piece >= 0 and score < knots[piece]:
                piece -= 1
            while piece < last and score >= knots[piece + 1]:
                piece += 1
            knot = max(piece, 0)
            moved = score - knots[knot]
            bend = 0.0
            if 0 <= piece < last:
                bend = (slopes[piece + 1] - slopes[piece]) / (2.0 * (knots[piece + 1] - knots[piece]))
            result[row, at] = heights[knot] + moved * (slopes[knot] + moved * bend)
