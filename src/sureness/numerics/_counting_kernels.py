"""Compiled row loops of the Poisson-binomial distribution and of expected utilities, nothing else.

The number of relevant items S has the characteristic function ``prod(1 + p (e^{it} - 1))``. Small p enter its logarithm
through their power sums, larger ones as factors; one inverse Fourier transform over a short window gives the pmf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sureness._types import FloatArray
from sureness.numerics.compiling import kernel
from sureness.numerics.threads import row_loop

N_POWERS = 16  # power sums of p < SMALL: the series has the ratio 2 p, and (1/8)**17 / 17 is below rounding
SMALL = 0.0625
TINY = 0.001953125  # below this, six power sums suffice
CUT = 34.5  # -log of the probability that may lie outside the window: 1e-15

_FAST: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"}}


@kernel(**_FAST)
def _reach(variance, cut):
    """How far S is from its mean, except with probability exp(-cut): the distance that solves Bennett's inequality."""
    if variance <= 0.0:
        return 0.0
    variance = max(variance, 1e-30)  # a larger variance only widens the window and avoids overflow
    distance = np.sqrt(2.0 * cut * variance) + cut / 3.0  # beyond the solution, so Newton's method descends to it
    for _ in range(8):
        ratio = 1.0 + distance / variance
        logarithm = np.log(ratio)
        step = (variance * (ratio * logarithm - ratio + 1.0) - cut) / logarithm
        distance -= step
        if step < 1e-6 * distance:  # the next one is below rounding
            break
    return distance


@kernel(**_FAST)
def _add_tiny(probabilities, sums):
    """Add the power sums of the tiny probabilities, nearly all of a calibrated list; vector instructions do it."""
    first = second = third = fourth = fifth = sixth = 0.0
    for place in range(probabilities.shape[0]):
        p = probabilities[place]
        x = p if p < TINY else 0.0
        square = x * x
        cube = square * x
        first += x
        second += square
        third += cube
        fourth += square * square
        fifth += square * cube
        sixth += cube * cube
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = first, second, third, fourth, fifth, sixth


@kernel(**_FAST)
def _parts_of(probabilities, tail):
    """A row and the power sums of others, in parts: large probabilities, and power sums of the small ones."""
    large, n_large = np.empty(probabilities.shape[0]), 0
    sums = np.zeros(max(N_POWERS, tail.shape[0]))
    _add_tiny(probabilities, sums)
    for p in probabilities:
        if p >= SMALL:
            large[n_large] = p
            n_large += 1
        elif p >= TINY:
            power = 1.0
            for j in range(N_POWERS):
                power *= p
                sums[j] += power
    for j in range(tail.shape[0]):
        sums[j] += tail[j]
    n_sums = sums.shape[0]
    least = 1e-17 / 2.0**n_sums
    while n_sums and sums[n_sums - 1] <= least:  # terms too small to matter
        n_sums -= 1
        least *= 2.0
    return large[:n_large], sums[:n_sums]


@kernel(**_FAST)
def _window(sums, large, listed, n_most):
    """The window that S leaves with probability 1e-15 on either side: its first count and its length.

    S counts small probabilities by their power sums, large ones, and listed ones that are in neither.
    """
    mean = sums[0] if sums.shape[0] > 0 else 0.0
    variance = mean - (sums[1] if sums.shape[0] > 1 else 0.0)
    for p in large:  # not one loop over both: numba wants one type there, and one of them may be read-only
        mean += p
        variance += p * (1.0 - p)
    for p in listed:
        mean += p
        variance += p * (1.0 - p)
    reach = _reach(variance, CUT)
    first = int(max(np.floor(mean - reach), 0.0))
    last = int(min(np.ceil(mean + reach), n_most))
    return first, max(last - first + 1, 1)


# --- distributions of counts -----------------------------------------------------------------------------------------


@kernel(**_FAST)
def _count_row(large, sums, first, width):
    """The pmf of S over its window, out of `_parts_of` a row: an inverse Fourier transform of that length."""
    angles = 2.0 * np.pi * np.arange(width) / width
    cosine, sine = np.cos(angles), np.sin(angles)
    n_frequencies = width // 2 + 1  # a real pmf: the others are conjugate
    real, imaginary = np.zeros(n_frequencies), np.zeros(n_frequencies)
    for j in range(sums.shape[0] - 1, -1, -1):  # Horner's scheme of the sum over (-1)^j sums[j] z^(j+1) / (j+1)
        term = sums[j] / (j + 1.0) if j % 2 == 0 else -sums[j] / (j + 1.0)
        for place in range(n_frequencies):
            a, b = cosine[place] - 1.0, sine[place]  # z = e^{it} - 1
            x, y = real[place] + term, imaginary[place]
            real[place], imaginary[place] = x * a - y * b, x * b + y * a
    for place in range(n_frequencies):
        size, angle = np.exp(real[place]), imaginary[place]
        real[place], imaginary[place] = size * np.cos(angle), size * np.sin(angle)
    for p in large:
        for place in range(n_frequencies):
            a, b = 1.0 + p * (cosine[place] - 1.0), p * sine[place]
            x, y = real[place], imaginary[place]
            real[place], imaginary[place] = x * a - y * b, x * b + y * a
    pmf = np.empty(width)
    for at in range(width):
        step = (first + at) % width
        total, turn = real[0], 0
        for place in range(1, n_frequencies):
            turn += step
            turn -= width if turn >= width else 0
            both = 1.0 if 2 * place == width else 2.0  # with its conjugate
            total += both * (real[place] * cosine[turn] + imaginary[place] * sine[turn])
        pmf[at] = 0.0 if total < 0.0 else total / width  # rounding can give -1e-17; what does not converge stays NaN
    return pmf


@row_loop()
def pmf_rows(start, stop, probabilities, result):
    """The pmf of every row; counts beyond the last column are not kept."""
    no_tail = np.empty(0)
    for row in range(start, stop):
        large, sums = _parts_of(probabilities[row], no_tail)
        first, width = _window(sums, large, large[:0], probabilities.shape[1])
        pmf = _count_row(large, sums, first, width)
        result[row] = 0.0
        for at in range(pmf.shape[0]):
            if first + at < result.shape[1]:
                result[row, first + at] = pmf[at]


@kernel(**_FAST)
def _without_each(probabilities, first, pmf):
    """P(S without item r = count) in row r; columns are counts from max(first - 1, 0) on.

    Forward for p < 1/2, backward otherwise: each step then shrinks the errors of the one before.
    """
    lead = 1 if first > 0 else 0  # a count below the window that only S without an item reaches
    n_items, n_counts = probabilities.shape[0], pmf.shape[0] + lead
    mass = np.zeros(n_counts + 1)
    mass[lead:n_counts] = pmf
    without, left = np.empty((n_counts, n_items)), np.zeros(n_items)
    rare = np.where(probabilities < 0.5, probabilities, 0.0)
    inverse = 1.0 / (1.0 - rare)
    odds = rare * inverse
    for count in range(n_counts):
        for r in range(n_items):  # each count needs the one before, so items are computed side by side
            step = mass[count] * inverse[r] - odds[r] * left[r]
            left[r] = 0.0 if step < 0.0 else step  # NaN stays
            without[count, r] = left[r]
    for r in range(n_items):
        if probabilities[r] >= 0.5:
            share, before = (1.0 - probabilities[r]) / probabilities[r], 0.0
            for count in range(n_counts - 1, -1, -1):
                step = mass[count + 1] / probabilities[r] - share * before
                before = 0.0 if step < 0.0 else step
                without[count, r] = before
    return without.T.copy()


@kernel(**_FAST)
def _dot(values, weights):
    """A loop that writes nothing, so that rounding does not depend on where in memory the arrays lie."""
    total = 0.0
    for place in range(values.shape[0]):
        total += values[place] * weights[place]
    return total


@kernel(**_FAST)
def _add_by_mean(without, shares, lowest, values):
    """Sum over m of the gain with m relevant items in all, times 2 / (k + m)."""
    n_items, n_counts = without.shape
    weights, gained = 2.0 / (lowest + 1.0 + np.arange(n_counts + n_items)), np.zeros(n_counts)
    for r in range(n_items):
        for count in range(n_counts):
            gained[count] += shares[r] * without[r, count]
        values[r] = _dot(gained, weights[r : r + n_counts])


@kernel(**_FAST)
def _add_by_smaller(without, shares, lowest, inverse, values):
    """Sum over m of the gain with m relevant items in all, times a function of min(k, m)."""
    n_items, n_counts = without.shape
    weights, gained = np.empty(n_counts), np.zeros(n_counts)
    for r in range(n_items):
        fewer = max(0, min(n_counts, r + 1 - lowest))  # counts m < k
        for count in range(n_counts):
            gained[count] += shares[r] * without[r, count]
            weights[count] = inverse[lowest + count if count < fewer else r + 1]
        values[r] = _dot(gained, weights)


@row_loop()
def gains_by_counts(start, stop, probabilities, lengths, tails, max_size, discount, gain, by_mean, inverse, result):
    """Expected gains of every user with any normaliser; result has the shape (n_utilities, n_users, max_size)."""
    for row in range(start, stop):
        known, tail = probabilities[row, : lengths[row]], tails[row]
        n_items = min(max_size, lengths[row])
        large, sums = _parts_of(known, tail)
        # unlisted items are not counted, so there may be more
        first, width = _window(sums, large, large[:0], np.float64(lengths[row]) if tail.shape[0] == 0 else np.inf)
        without = _without_each(known[:n_items], first, _count_row(large, sums, first, width))
        lowest = max(first - 1, 0) + 1  # number of relevant items in the first column, with this one
        for which in range(by_mean.shape[0]):
            shares = discount[which, :n_items] * gain[which] * known[:n_items]
            if by_mean[which]:
                _add_by_mean(without, shares, lowest, result[which, row])
            else:
                _add_by_smaller(without, shares, lowest, inverse[which], result[which, row])


# --- means without distributions -------------------------------------------------------------------------------------


def _nodes_and_weights() -> FloatArray:
    """For 24, 32, 64 and 128 nodes in turn: 1 - t and the weight of each node; shape (2, 248)."""
    tables = [np.polynomial.legendre.leggauss(number) for number in (24, 32, 64, 128)]
    return np.concatenate([[(1.0 - x) / 2.0, weight / 2.0] for x, weight in tables], axis=1)


NODES = _nodes_and_weights()


@kernel(**_FAST)
def _nodes_for(degree):
    """Where the nodes for powers of t up to a degree start and stop in `NODES`; (0, 0) if there are too few.

    Powers up to these degrees are right to 1e-10, up to four fifths of them to 1e-12, far beyond the 2 n - 1 to which n
    nodes are exact; and counts near the last one of a window have next to no mass.
    """
    if degree <= 95:
        return 0, 24
    if degree <= 165:
        return 24, 56
    if degree <= 640:
        return 56, 120
    if degree <= 2_500:
        return 120, 248
    return 0, 0


@kernel(**_FAST)
def _generating(away, sums, large):
    """E[t**S] at t = 1 - away: a product over the large probabilities, and a series in power sums of the others."""
    result = np.zeros(away.shape[0])
    for j in range(sums.shape[0] - 1, -1, -1):
        term = -sums[j] / (j + 1.0)
        for node in range(away.shape[0]):
            result[node] = (result[node] + term) * away[node]
    for node in range(away.shape[0]):
        result[node] = np.exp(result[node])
    for p in large:
        for node in range(away.shape[0]):
            result[node] *= 1.0 - p * away[node]
    return result


@row_loop(**_FAST)
def gains_by_integral(start, stop, probabilities, lengths, tails, nodes, max_size, discount, gain, result, done):
    """Expected gains times 2 / (k + m), with m relevant items in all; not done where counts are too many for the nodes.

    The mean of 1 / (k + 1 + S_r) is the integral of ``t**k * E[t**S_r]`` over t from 0 to 1, and ``E[t**S_r]`` is a
    product over all other items: a few dozen nodes of Gauss and Legendre serve all r and k.
    """
    for row in range(start, stop):
        known, tail = probabilities[row, : lengths[row]], tails[row]
        top = known[:max_size]
        large, sums = _parts_of(known[max_size:], tail)
        first, width = _window(sums, large, top, np.float64(lengths[row]) if tail.shape[0] == 0 else np.inf)
        low, high = _nodes_for(top.shape[0] + first + width - 1)
        done[row] = high > 0
        if not done[row]:
            continue
        away = nodes[0, low:high]
        mass = 2.0 * nodes[1, low:high] * _generating(away, sums, large)
        for p in top:
            for node in range(away.shape[0]):
                mass[node] *= 1.0 - p * away[node]
        for which in range(discount.shape[0]):
            left, gained, values = mass.copy(), np.zeros(mass.shape[0]), result[which, row]
            for r in range(top.shape[0]):
                share = discount[which, r] * gain[which] * top[r]
                for node in range(away.shape[0]):
                    gained[node] += share / (1.0 - top[r] * away[node])
                    left[node] *= 1.0 - away[node]
                values[r] = _dot(gained, left)
