"""Compiled layers of a small network: matrix products in pieces that the BLAS library makes at once.

OpenBLAS multiplies small matrices where they lie and on the calling thread, at its full speed. Large ones are copied
into another order first, which takes longer than the product where a layer is narrow.
"""

from __future__ import annotations

import numpy as np

from sureness.models.networks.prefetching import FAST
from sureness.numerics.compiling import kernel

_SMALL = 262_144  # multiplications
_FEWEST = 16  # rows at a time, however wide a layer is


@kernel(error_model="numpy", inline="always")
def _piece(weight):
    """How many rows go through a layer at a time."""
    return max(_FEWEST, _SMALL // max(weight.size, 1))


@kernel(fastmath=FAST, error_model="numpy")
def forward(inputs, weight, bias, rectify, outputs):
    """Write inputs (n, w) @ weight (v, w).T + bias (v,) into `outputs` (n, v), through a rectifier or not."""
    zero, turned, piece = np.float32(0.0), weight.T.copy(), _piece(weight)
    for start in range(0, inputs.shape[0], piece):
        stop = min(start + piece, inputs.shape[0])
        np.dot(inputs[start:stop], turned, outputs[start:stop])
        for place in range(start, stop):
            total = outputs[place]
            for f in range(bias.shape[0]):
                value = total[f] + bias[f]
                total[f] = zero if rectify and value < zero else value  # NaN stays NaN


@kernel(fastmath=FAST, error_model="numpy")
def backward(gradient, inputs, weight, of_weight, of_bias, of_inputs):
    """From the gradient (n, v) of a layer before its rectifier: those of weight, bias and inputs."""
    zero, piece, part = np.float32(0.0), _piece(weight), np.empty_like(weight)
    of_weight[:], of_bias[:] = zero, zero
    for start in range(0, inputs.shape[0], piece):
        stop = min(start + piece, inputs.shape[0])
        np.dot(gradient[start:stop], weight, of_inputs[start:stop])
        np.dot(gradient[start:stop].T, inputs[start:stop], part)
        of_weight += part
        for place in range(start, stop):
            slopes = gradient[place]
            for f in range(of_bias.shape[0]):
                of_bias[f] += slopes[f]


@kernel(fastmath=FAST, error_model="numpy")
def rectified(gradient, values):
    """Replace the gradient behind a rectifier by the one before it; `values` are what came out."""
    zero = np.float32(0.0)
    for place in range(values.shape[0]):
        slopes, value = gradient[place], values[place]
        for f in range(value.shape[0]):
            slopes[f] = slopes[f] if value[f] > zero else zero
