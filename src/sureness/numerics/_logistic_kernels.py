"""Compiled row loops of many small logistic fits, nothing else."""

from __future__ import annotations

import numpy as np
from numba import njit

from sureness.numerics._risk_kernels import INLINE, LANES, Points, Row, Space, dot, terms
from sureness.numerics.threads import row_loop

_MOST = 1_000  # Newton steps; a handful suffice
_HALVINGS = 30
_DONE = 1e-13  # Newton decrement, relative to the weight of a row
_ENOUGH = 1e-5  # the same where steps end: less than half a per cent of probability is left to gain


@njit(**INLINE)
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


@njit(**INLINE)
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


@njit(**INLINE)
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


@njit(**INLINE)
def _move(row, theta, step, share, trial):
    """A trial at a share of a step, within the bounds."""
    for j in range(theta.shape[0]):
        trial[j] = theta[j] + share * step[j]
        if row.bounded[j]:
            trial[j] = max(trial[j], 0.0)


@njit(**INLINE)
def _search(row, space, theta, risk, promised, curvature):
    """Go along a step, or a share of it, as far as the risk falls as promised; the new risk, or inf if it never does.

    A step after which a convex risk still falls is good, whatever its value; only beyond the lowest point of a step are
    values compared.
    """
    trial, share, compared = space.trial, 1.0, row.unlabelled
    for _ in range(_HALVINGS):
        _move(row, theta, space.step, share, trial)
        new = terms(row, trial, space, curvature, compared)
        if not row.unlabelled and dot(space.slope, space.step) <= 0.0:
            return new
        if not compared:
            compared = True
            risk = terms(row, theta, space, curvature, True)
            new = terms(row, trial, space, curvature, True)
        if new <= risk + 1e-4 * share * promised:
            return new
        share *= 0.5
    return np.inf


@njit(**INLINE)
def _fit_row(row, space, theta, curvature):
    """Damped Newton from `theta`, which is left at the minimum, with its curvature. Says whether it was reached."""
    risk = terms(row, theta, space, curvature, row.unlabelled)
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
            terms(row, theta, space, curvature, False)
            return True
        theta[:] = space.trial
    return -promised <= _ENOUGH * scale


@njit(**INLINE)
def _gather(features, weight, columns, weights):
    """Points with a weight, column by column; returns their number, padded with points without."""
    n = 0
    for point in range(features.shape[0]):
        if weight[point] > 0.0:
            weights[n] = weight[point]
            for j in range(features.shape[1]):
                columns[j, n] = features[point, j]
            n += 1
    padded = (n + LANES - 1) // LANES * LANES
    weights[n:padded] = 0.0
    columns[:, n:padded] = 0.0
    return padded


@njit(**INLINE)
def _gather_positives(features, columns, weights, pull):
    """The same for positives, whose features are negated, and their sum."""
    n, d = features.shape
    for j in range(d):
        pull[j] = 0.0
        for point in range(n):
            columns[j, point] = -features[point, j]
            pull[j] += features[point, j]
    padded = (n + LANES - 1) // LANES * LANES
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
    room = n_points + LANES
    for place in range(start, stop):
        room = max(room, starts[place + 1] - starts[place] + LANES)
    columns, negated = np.empty((d, room)), np.empty((d, room))
    weights, ones, pull = np.empty(room), np.empty(room), np.empty(d)
    space = Space(
        np.empty((6, room)), np.empty(room, dtype=np.int64), np.empty(d), np.empty((d, d)), np.empty((d, d + 1)),
        np.zeros(d), np.empty(d), np.empty(d),
    )  # fmt: skip
    for place in range(start, stop):
        own = positives[starts[place] : starts[place + 1]]
        points = Points(columns, weights, _gather(features[place], weight[place], columns, weights))
        labelled = Points(negated, ones, _gather_positives(own, negated, ones, pull))
        row = Row(points, labelled, pull, unlabelled, centre[place], precision, bounded)
        for j in range(d):
            if bounded[j]:
                theta[place, j] = max(theta[place, j], 0.0)
        converged[place] = _fit_row(row, space, theta[place], curvature[place])
