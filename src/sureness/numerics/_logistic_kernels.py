"""Compiled row loops of many small logistic fits, nothing else.

A row has a few dozen points, and its fit a few steps. Exponentials and logarithms of all points of a row are computed
side by side on vector instructions, and rows share the memory that they need on the way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sureness.numerics.compiling import kernel
from sureness.numerics.threads import row_loop

_MOST = 1_000  # Newton steps; a handful suffice
_HALVINGS = 30
_DONE = 1e-13  # Newton decrement, relative to the weight of a row
_ENOUGH = 1e-5  # the same where steps end: less than half a per cent of probability is left to gain
_LANES = 8  # points are padded to a multiple of this, so that none is left for a loop without vector instructions
_LOG2_E, _LN_2, _LN_2_REST = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10

_EXACT: dict[str, Any] = {"error_model": "numpy"}
_FAST: dict[str, Any] = {**_EXACT, "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


class _Points(NamedTuple):
    """Weighted points of a row, their number padded to whole vectors; a padded point has no weight."""

    columns: Any  # (d, room) features
    weight: Any  # (room,)
    n: Any


class _Row(NamedTuple):
    """What one row is fitted to."""

    points: Any
    positives: Any  # _Points with negated features: a positive has the risk softplus(-z)
    pull: Any  # (d,) sum of the features of the positives
    unlabelled: Any
    centre: Any  # (d,)
    precision: Any  # (d, d)
    bounded: Any  # (d,)


class _Space(NamedTuple):
    """Memory that all rows of a thread share."""

    work: Any  # (6, room): log-odds, exponentials, chances, and the derivatives of the risk of each point
    bits: Any  # (room,) whole numbers
    slope: Any  # (d,) of the risk
    observed: Any  # (d, d) its curvature
    matrix: Any  # (d, d + 1)
    step: Any  # (d,)
    trial: Any  # (d,)
    spare: Any  # (d,)


@kernel(**_EXACT, fastmath={"contract"})
def _falling_exponentials(z, bits, result):
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


@kernel(**_FAST)
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


@kernel(**_FAST)
def _dot(first, second):
    total = 0.0
    for at in range(first.shape[0]):
        total += first[at] * second[at]
    return total


@kernel(**_FAST)
def _weighted_dot(weight, first, second):
    total = 0.0
    for at in range(weight.shape[0]):
        total += weight[at] * first[at] * second[at]
    return total


@kernel(**_FAST)
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
    return _dot(weight, spare) + _sum_of_logarithms(shrunk, weight) if with_risk else 0.0


@kernel(**_FAST)
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


@kernel(**_FAST)
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
    _falling_exponentials(z, space.bits[:n], shrunk)
    if unlabelled:
        risk = _unlabelled_risk(z, shrunk, weight, chance, first, second, actual)
    else:
        risk = _plain_risk(z, shrunk, weight, chance, first, second, with_risk)
        actual = second
    for j in range(theta.shape[0]):
        space.slope[j] += _dot(first, columns[j, :n])
        for k in range(j + 1):
            expected[j, k] += _weighted_dot(second, columns[j, :n], columns[k, :n])
            space.observed[j, k] += _weighted_dot(actual, columns[j, :n], columns[k, :n])
    return risk


@kernel(**_FAST)
def _terms(row, theta, space, curvature, with_risk):
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
        risk -= _dot(row.pull, theta)
        space.slope[:] -= row.pull
    for j in range(theta.shape[0]):
        for k in range(j):
            curvature[k, j] = curvature[j, k]
            space.observed[k, j] = space.observed[j, k]
    return risk


@kernel(**_FAST)
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


@kernel(**_EXACT)
def _is_positive(matrix, spare):
    """Whether a symmetric matrix is positive definite; `spare` has room for a copy of it."""
    n = matrix.shape[0]
    spare[:, :n] = matrix
    for column in range(n):
        if not spare[column, column] > 1e-9 * matrix[column, column]:
            return False
        for row in range(column + 1, n):
            factor = spare[row, column] / spare[column, column]
            for k in range(column, n):
                spare[row, k] -= factor * spare[column, k]
    return True


@kernel(**_EXACT)
def _model_step(slope, curvature, theta, bounded, matrix, trial, step):
    """The step that minimises the quadratic model while bounded parameters stay non-negative.

    With d parameters at most 2**d choices of which are held at 0; the feasible one with the lowest value wins.
    """
    n_parameters = theta.shape[0]
    lowest = np.inf
    for held in range(2**n_parameters):
        allowed = True
        for j in range(n_parameters):
            if (held >> j) & 1 and not bounded[j]:
                allowed = False
        if not allowed:
            continue
        for j in range(n_parameters):
            if (held >> j) & 1:
                for k in range(n_parameters):
                    matrix[j, k] = 1.0 if j == k else 0.0
                matrix[j, n_parameters] = -theta[j]
            else:
                for k in range(n_parameters):
                    matrix[j, k] = curvature[j, k]
                matrix[j, n_parameters] = -slope[j]
        _eliminate(matrix, trial)
        value = 0.0
        feasible = True
        for j in range(n_parameters):
            if not np.isfinite(trial[j]) or (bounded[j] and theta[j] + trial[j] < -1e-12):
                feasible = False
            value += slope[j] * trial[j]
            for k in range(n_parameters):
                value += 0.5 * curvature[j, k] * trial[j] * trial[k]
        if feasible and value < lowest:
            lowest = value
            step[:] = trial
            if held == 0:  # nothing is held at its bound, so no other choice can be lower
                break
    return lowest


@kernel(**_EXACT)
def _eliminate(matrix, result):
    """Solve a small linear system, with the right side in the last column, by Gaussian elimination with pivoting."""
    n = matrix.shape[0]
    for column in range(n):
        pivot = column
        for row in range(column + 1, n):
            if abs(matrix[row, column]) > abs(matrix[pivot, column]):
                pivot = row
        if pivot != column:
            for k in range(n + 1):
                matrix[column, k], matrix[pivot, k] = matrix[pivot, k], matrix[column, k]
        for row in range(column + 1, n):
            factor = matrix[row, column] / matrix[column, column]
            for k in range(column, n + 1):
                matrix[row, k] -= factor * matrix[column, k]
    for row in range(n - 1, -1, -1):
        value = matrix[row, n]
        for k in range(row + 1, n):
            value -= matrix[row, k] * result[k]
        result[row] = value / matrix[row, row]


@kernel(**_EXACT)
def _move(row, theta, step, share, trial):
    """A trial at a share of a step, within the bounds."""
    for j in range(theta.shape[0]):
        trial[j] = theta[j] + share * step[j]
        if row.bounded[j]:
            trial[j] = max(trial[j], 0.0)


@kernel(**_EXACT)
def _search(row, space, theta, risk, promised, curvature):
    """Go along a step, or a share of it, as far as the risk falls as promised; the new risk, or inf if it never does.

    A step after which a convex risk still falls is good, whatever its value; only beyond the lowest point of a step are
    values compared.
    """
    trial, share, compared = space.trial, 1.0, row.unlabelled
    for _ in range(_HALVINGS):
        _move(row, theta, space.step, share, trial)
        new = _terms(row, trial, space, curvature, compared)
        if not row.unlabelled and _dot(space.slope, space.step) <= 0.0:
            return new
        if not compared:
            compared = True
            risk = _terms(row, theta, space, curvature, True)
            new = _terms(row, trial, space, curvature, True)
        if new <= risk + 1e-4 * share * promised:
            return new
        share *= 0.5
    return np.inf


@kernel(**_EXACT)
def _fit_row(row, space, theta, curvature):
    """Damped Newton from `theta`, which is left at the minimum, with its curvature. Says whether it was reached."""
    risk = _terms(row, theta, space, curvature, row.unlabelled)
    scale = max(row.points.weight[: row.points.n].sum(), 1.0)
    promised = -np.inf
    for _ in range(_MOST):
        shape = space.observed if _is_positive(space.observed, space.matrix) else curvature
        promised = _model_step(space.slope, shape, theta, row.bounded, space.matrix, space.spare, space.step)
        if not np.isfinite(promised):
            return False
        if -promised <= _DONE * scale:
            return True
        risk = _search(row, space, theta, risk, promised, curvature)
        if risk == np.inf:  # only rounding is left
            _terms(row, theta, space, curvature, False)
            return True
        theta[:] = space.trial
    return -promised <= _ENOUGH * scale


@kernel(**_EXACT)
def _gather(features, weight, columns, weights):
    """Points with a weight, column by column; returns their number, padded with points without."""
    n = 0
    for point in range(features.shape[0]):
        if weight[point] > 0.0:
            weights[n] = weight[point]
            for j in range(features.shape[1]):
                columns[j, n] = features[point, j]
            n += 1
    padded = (n + _LANES - 1) // _LANES * _LANES
    weights[n:padded] = 0.0
    columns[:, n:padded] = 0.0
    return padded


@kernel(**_EXACT)
def _gather_positives(features, columns, weights, pull):
    """The same for positives, whose features are negated, and their sum."""
    n, d = features.shape
    for j in range(d):
        pull[j] = 0.0
        for point in range(n):
            columns[j, point] = -features[point, j]
            pull[j] += features[point, j]
    padded = (n + _LANES - 1) // _LANES * _LANES
    weights[:n] = 1.0
    weights[n:padded] = 0.0
    columns[:, n:padded] = 0.0
    return padded


@row_loop()
def fit_rows(
    start,
    stop,
    features,
    weight,
    positives,
    starts,
    unlabelled,
    centre,
    precision,
    bounded,
    theta,
    curvature,
    converged,
):
    """Fit every row, from `theta` on.

    Features have the shape (n, points, d), weight (n, points), centre and theta (n, d); positives of row i are those
    from starts[i].
    """
    n_points, d = features.shape[1:]
    room = n_points + _LANES
    for place in range(start, stop):
        room = max(room, starts[place + 1] - starts[place] + _LANES)
    columns, negated = np.empty((d, room)), np.empty((d, room))
    weights, ones, pull = np.empty(room), np.empty(room), np.empty(d)
    space = _Space(
        np.empty((6, room)), np.empty(room, dtype=np.int64), np.empty(d), np.empty((d, d)), np.empty((d, d + 1)),
        np.zeros(d), np.empty(d), np.empty(d),
    )  # fmt: skip
    for place in range(start, stop):
        own = positives[starts[place] : starts[place + 1]]
        points = _Points(columns, weights, _gather(features[place], weight[place], columns, weights))
        labelled = _Points(negated, ones, _gather_positives(own, negated, ones, pull))
        row = _Row(points, labelled, pull, unlabelled, centre[place], precision, bounded)
        for j in range(d):
            if bounded[j]:
                theta[place, j] = max(theta[place, j], 0.0)
        converged[place] = _fit_row(row, space, theta[place], curvature[place])
