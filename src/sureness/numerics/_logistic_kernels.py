"""Compiled row loops of many small logistic fits, nothing else."""

from __future__ import annotations

import numpy as np
from numba import njit

from sureness.numerics.threads import row_loop

_MOST = 1_000  # Newton steps; a handful suffice, except where the curvature is only the expected one
_HALVINGS = 30
_FINE = 16  # narrow bins in each bin
_DONE = 1e-13  # Newton decrement, relative to the weight of a row
_ENOUGH = 1e-5  # the same where steps end: less than half a per cent of probability is left to gain


@njit(cache=True, error_model="numpy")
def _terms(features, weight, positives, unlabelled, centre, precision, theta, slope, curvature, with_risk):
    """The risk of a row with its prior, and its derivatives.

    Every point counts as if it were no positive, and each positive takes that back for itself: softplus(z) and -z in
    the plain form, log(1 + p) and softplus(-z) where the points hold as many positives without a label as with one. The
    latter is not convex everywhere, so its curvature is the expected one, which is. The plain risk itself, whose
    logarithm costs more than all the rest, is left out where only its derivatives are wanted.
    """
    n_parameters = theta.shape[0]
    risk = 0.0
    for j in range(n_parameters):
        slope[j] = 0.0
        for k in range(n_parameters):
            curvature[j, k] = precision[j, k]
            slope[j] += precision[j, k] * (theta[k] - centre[k])
            risk += 0.5 * precision[j, k] * (theta[j] - centre[j]) * (theta[k] - centre[k])
    for point in range(features.shape[0]):
        w = weight[point]
        if w == 0.0:
            continue
        z = 0.0
        for j in range(n_parameters):
            z += features[point, j] * theta[j]
        shrunk = np.exp(-abs(z))  # one exponential serves softplus and sigmoid, and cannot overflow
        inverse = 1.0 / (1.0 + shrunk)
        p = inverse if z >= 0 else shrunk * inverse
        q = shrunk * inverse if z >= 0 else inverse
        if unlabelled:
            risk += w * np.log1p(p)
            first = w * p * q / (1.0 + p)
            second = first * q / (1.0 + p)
        else:
            if with_risk:
                risk += w * (max(z, 0.0) + np.log1p(shrunk))
            first = w * p
            second = first * q
        for j in range(n_parameters):
            slope[j] += first * features[point, j]
            for k in range(j + 1):
                curvature[j, k] += second * features[point, j] * features[point, k]
    for point in range(positives.shape[0]):
        z = 0.0
        for j in range(n_parameters):
            z += positives[point, j] * theta[j]
        share = 1.0
        if unlabelled:
            shrunk = np.exp(-abs(z))
            risk += max(-z, 0.0) + np.log1p(shrunk)
            share = shrunk / (1.0 + shrunk) if z >= 0 else 1.0 / (1.0 + shrunk)
        else:
            risk -= z
        for j in range(n_parameters):
            slope[j] -= share * positives[point, j]
    for j in range(n_parameters):
        for k in range(j):
            curvature[k, j] = curvature[j, k]
    return risk


@njit(cache=True, error_model="numpy")
def _model_step(slope, curvature, theta, bounded, step):
    """The step that minimises the quadratic model while bounded parameters stay non-negative.

    With d parameters at most 2**d choices of which are held at 0; the feasible one with the lowest value wins.
    """
    n_parameters = theta.shape[0]
    lowest = np.inf
    matrix = np.empty((n_parameters, n_parameters + 1))
    trial = np.empty(n_parameters)
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


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def _fit_row(features, weight, positives, unlabelled, centre, precision, bounded, theta, curvature):
    """Damped Newton from the prior's centre; theta and curvature are left at the minimum. Says whether it was reached.

    A step after which a convex risk still falls is good, whatever its value; only beyond the lowest point of a step are
    values compared.
    """
    n_parameters = theta.shape[0]
    slope, step, trial = np.empty(n_parameters), np.zeros(n_parameters), np.empty(n_parameters)
    theta[:] = centre
    for j in range(n_parameters):
        if bounded[j]:
            theta[j] = max(theta[j], 0.0)
    risk = _terms(features, weight, positives, unlabelled, centre, precision, theta, slope, curvature, unlabelled)
    scale = max(weight.sum(), 1.0)
    promised = -np.inf
    for _ in range(_MOST):
        promised = _model_step(slope, curvature, theta, bounded, step)
        if not np.isfinite(promised):
            return False
        if -promised <= _DONE * scale:
            return True
        share = 1.0
        moved = compared = unlabelled
        for _halving in range(_HALVINGS):
            ahead = 0.0
            for j in range(n_parameters):
                trial[j] = theta[j] + share * step[j]
                if bounded[j]:
                    trial[j] = max(trial[j], 0.0)
            new = _terms(features, weight, positives, unlabelled, centre, precision, trial, slope, curvature, compared)
            for j in range(n_parameters):
                ahead += slope[j] * step[j]
            moved = ahead <= 0.0 and not unlabelled
            if moved:
                break
            if not compared:
                compared = True
                risk = _terms(features, weight, positives, unlabelled, centre, precision, theta, slope, curvature, True)
                new = _terms(features, weight, positives, unlabelled, centre, precision, trial, slope, curvature, True)
            moved = new <= risk + 1e-4 * share * promised
            if moved:
                break
            share *= 0.5
        if not moved:  # only rounding is left
            _terms(features, weight, positives, unlabelled, centre, precision, theta, slope, curvature, False)
            return True
        theta[:] = trial
        risk = new
    return -promised <= _ENOUGH * scale


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
    """Fit every row: features (n, points, d), weight (n, points), centre (n, d), positives of row i from starts[i]."""
    for row in range(start, stop):
        converged[row] = _fit_row(
            features[row], weight[row], positives[starts[row] : starts[row + 1]], unlabelled, centre[row], precision,
            bounded, theta[row], curvature[row],
        )  # fmt: skip


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
def _places(scores, low, per_score, last, places):
    """The fine bin of each score plus 1, and 0 for -inf; without branches, so that it runs on vector instructions."""
    for at in range(scores.shape[0]):
        place = (scores[at] - low) * per_score + np.float32(1.0)
        place = place if place > np.float32(0.0) else np.float32(0.0)
        places[at] = np.int32(place if place < last else last)  # a range beyond float32 overflows


@njit(cache=True, error_model="numpy")
def _bin_row(scores, low, high, means, counts):
    """Number and mean of the scores in equal bins from low to high; -inf marks what is no candidate.

    Scores are only counted, in bins that are _FINE times narrower, from which the means follow. Two counters for each,
    taken in turn: neighbours often fall into one bin, and would wait for each other.
    """
    n_bins, n_fine = counts.shape[0], counts.shape[0] * _FINE
    width = max((np.float64(high) - np.float64(low)) / (n_fine - 1), 1e-30)
    places = np.empty(scores.shape[0], dtype=np.int32)
    _places(scores, np.float32(low), np.float32(1.0 / width), np.float32(n_fine), places)
    counters = np.zeros((2, n_fine + 2), dtype=np.int32)
    even = scores.shape[0] - scores.shape[0] % 2
    for at in range(0, even, 2):
        counters[0, places[at]] += 1
        counters[1, places[at + 1]] += 1
    if even < scores.shape[0]:
        counters[0, places[even]] += 1
    for place in range(n_bins):
        count, total = 0, 0.0
        for fine in range(place * _FINE, (place + 1) * _FINE):
            found = counters[0, fine + 1] + counters[1, fine + 1]
            count += found
            total += found * (fine + 0.5)
        counts[place] = count
        means[place] = low + width * total / count if count > 0 else low


@row_loop()
def bin_rows(start, stop, block, rows, starts, seen, lows, highs, means, counts):
    """Bin each row of a block; seen entries are set to -inf first."""
    for place in range(start, stop):
        for at in range(starts[rows[place]], starts[rows[place] + 1]):
            block[place, seen[at]] = -np.inf
        if highs[place] >= lows[place]:
            _bin_row(block[place], lows[place], highs[place], means[place], counts[place])
        else:
            means[place] = 0.0
            counts[place] = 0.0
