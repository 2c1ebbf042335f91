"""Compiled expected gains that are divided by the mean of the list size and the number of relevant items.

With S_r the number of relevant items without the one at rank r, ``E[1 / (k + 1 + S_r)]`` is the integral of
``t**k * E[t**S_r]`` over t from 0 to 1, and ``E[t**S_r]`` is a product over all other items. A few dozen nodes of Gauss
and Legendre give it to rounding, for all r and k at once and without the distribution of S.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sureness.numerics._risk_kernels import falling_exponentials

_FAST: dict[str, Any] = {
    "cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}  # fmt: skip


def _nodes_and_weights() -> Any:
    """For 32, 64 and 128 nodes in turn: 1 - t and the weight of each node; shape (2, 224)."""
    tables = [np.polynomial.legendre.leggauss(number) for number in (32, 64, 128)]
    return np.concatenate([[(1.0 - x) / 2.0, weight / 2.0] for x, weight in tables], axis=1)


NODES = _nodes_and_weights()


@njit(**_FAST)
def nodes_for(degree):
    """Where the nodes for powers of t up to a degree start and stop in `NODES`; (0, 0) if there are too few.

    Powers up to these degrees are right to 1e-10, up to four fifths of them to 1e-12, far beyond the 2 n - 1 to which n
    nodes are exact; and counts near the last one of a window have next to no mass.
    """
    if degree <= 165:
        return 0, 32
    if degree <= 640:
        return 32, 96
    if degree <= 2_500:
        return 96, 224
    return 0, 0


@njit(**_FAST)
def _generating(away, sums, n_sums, large, result):
    """E[t**S] at t = 1 - away: a product over the large probabilities, and a series in power sums of the others."""
    exponent, bits = np.zeros(away.shape[0]), np.empty(away.shape[0], dtype=np.int64)
    for j in range(n_sums - 1, -1, -1):
        part = sums[j] / (j + 1.0)
        for node in range(away.shape[0]):
            exponent[node] = (exponent[node] + part) * away[node]
    falling_exponentials(exponent, bits, result)
    for p in large:
        for node in range(away.shape[0]):
            result[node] *= 1.0 - p * away[node]


@njit(**_FAST)
def add_by_mean(top, shares, sums, n_sums, large, away, weight, values):
    """Expected gains of the first k items, for every k, times 2 / (k + m) with m relevant items in all."""
    mass, gained = np.empty(away.shape[0]), np.zeros(away.shape[0])
    _generating(away, sums, n_sums, large, mass)
    for node in range(away.shape[0]):
        mass[node] *= 2.0 * weight[node]
    for r in range(top.shape[0]):
        p, share, total = top[r], shares[r], 0.0
        for node in range(away.shape[0]):
            mass[node] *= 1.0 - away[node]
            gained[node] += share / (1.0 - p * away[node])
            total += gained[node] * mass[node]
        values[r] = total
