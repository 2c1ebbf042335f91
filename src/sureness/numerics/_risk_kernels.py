"""Compiled risk of a small logistic fit with its derivatives, nothing else.

A row has a few dozen points. Exponentials and logarithms of all of them are computed side by side on vector
instructions, and rows share the memory that they need on the way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

LANES = 8
"""Points are padded to a multiple of this, so that none is left for a loop without vector instructions."""

_LOG2_E, _LN_2, _LN_2_REST = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10

# inlined, because counting who holds an array takes longer than a short loop over it
INLINE: dict[str, Any] = {"cache": True, "error_model": "numpy", "forceinline": True}
FAST: dict[str, Any] = {**INLINE, "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


class Points(NamedTuple):
    """Weighted points of a row, their number padded to whole vectors; a padded point has no weight."""

    columns: Any  # (d, room) features
    weight: Any  # (room,)
    n: Any


class Row(NamedTuple):
    """What one row is fitted to."""

    points: Any
    positives: Any  # Points with negated features: a positive has the risk softplus(-z)
    pull: Any  # (d,) sum of the features of the positives
    unlabelled: Any
    centre: Any  # (d,)
    precision: Any  # (d, d)
    bounded: Any  # (d,)


class Space(NamedTuple):
    """Memory that all rows of a thread share."""

    work: Any  # (6, room): log-odds, exponentials, chances, and the derivatives of the risk of each point
    bits: Any  # (room,) whole numbers
    slope: Any  # (d,) of the risk
    observed: Any  # (d, d) its curvature
    matrix: Any  # (d, d + 1)
    step: Any  # (d,)
    trial: Any  # (d,)
    spare: Any  # (d,)


@njit(**INLINE, fastmath={"contract"})
def falling_exponentials(z, bits, result):
    """exp(-|z|): 2 to a whole number, whose bits are the exponent of a float, times a short series of the rest."""
    powers = bits.view(np.float64)
    for at in range(z.shape[0]):
        x = max(-abs(z[at]), -700.0)
        whole = np.floor(x * _LOG2_E + 0.5)
        r = x - whole * _LN_2 - whole * _LN_2_REST
        series = 1 / 3628800.0 + r * (1 / 39916800.0 + r * (1 / 479001600.0 + r * (1 / 6227020800.0)))
        series = 1 / 720.0 + r * (1 / 5040.0 + r * (1 / 40320.0 + r * (1 / 362880.0 + r * series)))
        series = 1 / 6.0 + r * (1 / 24.0 + r * (1 / 120.0 + r * series))
        result[at] = 1.0 + r * (1.0 + r * (1 / 2.0 + r * series))
        bits[at] = (np.int64(whole) + 1023) << 52
    for at in range(z.shape[0]):
        result[at] *= powers[at]


@njit(**FAST)
def _sum_of_logarithms(values, weight):
    """Weighted sum of log(1 + v) for v from 0 to 1, by the series of 2 artanh(v / (2 + v))."""
    total = 0.0
    for at in range(values.shape[0]):
        t = values[at] / (2.0 + values[at])
        s = t * t
        series = 1 / 27.0 + s * (1 / 29.0 + s * (1 / 31.0 + s * (1 / 33.0 + s * (1 / 35.0))))
        series = 1 / 17.0 + s * (1 / 19.0 + s * (1 / 21.0 + s * (1 / 23.0 + s * (1 / 25.0 + s * series))))
        series = 1 / 7.0 + s * (1 / 9.0 + s * (1 / 11.0 + s * (1 / 13.0 + s * (1 / 15.0 + s * series))))
        total += weight[at] * t * (1.0 + s * (1 / 3.0 + s * (1 / 5.0 + s * series)))
    return 2.0 * total


@njit(**FAST)
def dot(first, second):
    total = 0.0
    for at in range(first.shape[0]):
        total += first[at] * second[at]
    return total


@njit(**FAST)
def _weighted_dot(weight, first, second):
    total = 0.0
    for at in range(weight.shape[0]):
        total += weight[at] * first[at] * second[at]
    return total


@njit(**FAST)
def _plain_risk(z, shrunk, weight, spare, first, second, with_risk):
    """Sum of weight * softplus(z), and its derivatives in each z.

    Its logarithm costs more than all the rest and is left out where only the derivatives are wanted.
    """
    for at in range(z.shape[0]):
        inverse = 1.0 / (1.0 + shrunk[at])
        p = inverse if z[at] >= 0.0 else shrunk[at] * inverse
        q = shrunk[at] * inverse if z[at] >= 0.0 else inverse
        spare[at] = max(z[at], 0.0)
        first[at] = weight[at] * p
        second[at] = first[at] * q
    return dot(weight, spare) + _sum_of_logarithms(shrunk, weight) if with_risk else 0.0


@njit(**FAST)
def _unlabelled_risk(z, shrunk, weight, chance, first, expected, actual):
    """Sum of weight * log(1 + p), and its derivatives in each z; the actual second one is negative where p > 0.41."""
    for at in range(z.shape[0]):
        inverse = 1.0 / (1.0 + shrunk[at])
        p = inverse if z[at] >= 0.0 else shrunk[at] * inverse
        q = shrunk[at] * inverse if z[at] >= 0.0 else inverse
        share = 1.0 / (1.0 + p)
        chance[at] = p
        first[at] = weight[at] * p * q * share
        expected[at] = first[at] * q * share
        actual[at] = first[at] * (1.0 - 2.0 * p - p * p) * share
    return _sum_of_logarithms(chance, weight)


@njit(**FAST)
def _add_points(points, unlabelled, with_risk, theta, space, expected):
    """The risk of some points; what they add to slope and curvatures goes to `space` and `expected`."""
    n, work, columns, weight = points.n, space.work, points.columns, points.weight[: points.n]
    z, shrunk, chance = work[0, :n], work[1, :n], work[2, :n]
    first, second, actual = work[3, :n], work[4, :n], work[5, :n]
    z[:] = 0.0
    for j in range(theta.shape[0]):
        column = columns[j, :n]
        for at in range(n):
            z[at] += theta[j] * column[at]
    falling_exponentials(z, space.bits[:n], shrunk)
    if unlabelled:
        risk = _unlabelled_risk(z, shrunk, weight, chance, first, second, actual)
    else:
        risk = _plain_risk(z, shrunk, weight, chance, first, second, with_risk)
        actual = second
    for j in range(theta.shape[0]):
        space.slope[j] += dot(first, columns[j, :n])
        for k in range(j + 1):
            expected[j, k] += _weighted_dot(second, columns[j, :n], columns[k, :n])
            space.observed[j, k] += _weighted_dot(actual, columns[j, :n], columns[k, :n])
    return risk


@njit(**FAST)
def terms(row, theta, space, curvature, with_risk):
    """The risk of a row with its prior; its slope and curvatures are left in `space` and `curvature`.

    Every point counts as if it were no positive, and each positive takes that back for itself: softplus(z) and -z in
    the plain form, log(1 + p) and softplus(-z) where the points hold as many positives without a label as with one. The
    latter is not convex everywhere; its expected curvature is.
    """
    risk = _start_with_prior(row, theta, space, curvature)
    risk += _add_points(row.points, row.unlabelled, with_risk, theta, space, curvature)
    if row.unlabelled:  # positives do not add to the expected curvature
        risk += _add_points(row.positives, False, True, theta, space, space.matrix)
    else:
        risk -= dot(row.pull, theta)
        space.slope[:] -= row.pull
    for j in range(theta.shape[0]):
        for k in range(j):
            curvature[k, j] = curvature[j, k]
            space.observed[k, j] = space.observed[j, k]
    return risk


@njit(**FAST)
def _start_with_prior(row, theta, space, curvature):
    risk = 0.0
    for j in range(theta.shape[0]):
        space.slope[j] = 0.0
        for k in range(theta.shape[0]):
            pull = row.precision[j, k] * (theta[k] - row.centre[k])
            space.slope[j] += pull
            risk += 0.5 * (theta[j] - row.centre[j]) * pull
            curvature[j, k] = space.observed[j, k] = row.precision[j, k]
    return risk
