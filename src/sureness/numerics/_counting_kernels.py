"""Compiled row loops of the Poisson-binomial distribution and of expected utilities, nothing else.

The number of relevant items S has the characteristic function ``prod(1 + p (e^{it} - 1))``. Small p enter its logarithm
through their power sums, larger ones as factors; one inverse Fourier transform over a short window gives the pmf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

N_POWERS = 16  # power sums of p < SMALL: the series has the ratio 2 p, and (1/8)**17 / 17 is below rounding
SMALL = 0.0625
TINY = 0.001953125  # below, N_TINY power sums do
N_TINY = 6
CUT = 34.5  # -log of the probability that may lie outside the window: 1e-15

_FAST: dict[str, Any] = {
    "cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}  # fmt: skip


@njit(**_FAST)
def _reach(variance, cut):
    """How far S strays from its mean, but for a chance of exp(-cut): the distance that solves Bennett's inequality."""
    if variance <= 0.0:
        return 0.0
    variance = max(variance, 1e-30)  # a larger one only widens the window, and nothing overflows
    distance = np.sqrt(2.0 * cut * variance) + cut / 3.0  # beyond the solution, so Newton's method comes down to it
    for _ in range(8):
        ratio = 1.0 + distance / variance
        value = variance * (ratio * np.log(ratio) - ratio + 1.0) - cut
        distance -= value / np.log(ratio)
    return distance


@njit(**_FAST)
def window_of(mean, variance, n_most):
    """The counts that S takes, but for a chance of 1e-15 on either side: the first, and how many there are."""
    reach = _reach(variance, CUT)
    first = int(max(np.floor(mean - reach), 0.0))
    last = int(min(np.ceil(mean + reach), n_most))
    return first, max(last - first + 1, 1)


@njit(**_FAST)
def add_power_sums(probabilities, sums, large):
    """Add the power sums of the small probabilities of a row; the others are copied to `large` and counted."""
    n_large = 0
    first = second = third = fourth = fifth = sixth = 0.0
    for p in probabilities:
        x = p if p < TINY else 0.0
        square = x * x
        first += x
        second += square
        third += square * x
        fourth += square * square
        fifth += square * square * x
        sixth += square * square * square
    sums[0] += first
    sums[1] += second
    sums[2] += third
    sums[3] += fourth
    sums[4] += fifth
    sums[5] += sixth
    for p in probabilities:
        if p >= TINY:
            if p < SMALL:
                power = 1.0
                for j in range(N_POWERS):
                    power *= p
                    sums[j] += power
            else:
                large[n_large] = p
                n_large += 1
    return n_large


@njit(**_FAST)
def _spectrum(sums, n_sums, large, n_large, real, imaginary):
    """The characteristic function of S at the first half of the frequencies of a window."""
    half = real.shape[0] - 1
    for place in range(half + 1):
        angle = np.pi * place / half
        z = np.exp(1j * angle) - 1.0
        series = 0.0 + 0.0j
        for j in range(n_sums - 1, -1, -1):  # Horner's scheme of the sum over (-1)^j power sum z^(j+1) / (j+1)
            series = (sums[j] / (j + 1.0) if j % 2 == 0 else -sums[j] / (j + 1.0)) + series * z
        value = np.exp(series * z)
        real[place], imaginary[place] = value.real, value.imag
    cosine, sine = np.empty(half + 1), np.empty(half + 1)
    for place in range(half + 1):
        cosine[place] = np.cos(np.pi * place / half) - 1.0
        sine[place] = np.sin(np.pi * place / half)
    for at in range(n_large):
        p = large[at]
        for place in range(half + 1):
            a, b = 1.0 + p * cosine[place], p * sine[place]
            x, y = real[place], imaginary[place]
            real[place] = x * a - y * b
            imaginary[place] = x * b + y * a


@njit(**_FAST)
def _transform(real, imaginary):
    """Fourier transform in place; the length is a power of two."""
    n = real.shape[0]
    other = 0
    for place in range(1, n):  # put the entries into bit-reversed order
        bit = n >> 1
        while other & bit:
            other ^= bit
            bit >>= 1
        other |= bit
        if place < other:
            real[place], real[other] = real[other], real[place]
            imaginary[place], imaginary[other] = imaginary[other], imaginary[place]
    size = 2
    while size <= n:
        half = size // 2
        for turn in range(half):
            angle = -2.0 * np.pi * turn / size
            cosine, sine = np.cos(angle), np.sin(angle)
            for start in range(turn, n, size):
                x = real[start + half] * cosine - imaginary[start + half] * sine
                y = real[start + half] * sine + imaginary[start + half] * cosine
                real[start + half] = real[start] - x
                imaginary[start + half] = imaginary[start] - y
                real[start] += x
                imaginary[start] += y
        size *= 2


@njit(**_FAST)
def _count_row(probabilities, tail):
    """First count and pmf of S over its window, for a row of probabilities and the power sums of others."""
    large = np.empty(probabilities.shape[0])
    sums = np.zeros(max(N_POWERS, tail.shape[0]))
    n_large = add_power_sums(probabilities, sums, large)
    n_sums = N_POWERS if n_large < probabilities.shape[0] else 0
    for j in range(tail.shape[0]):
        sums[j] += tail[j]
    if tail.shape[0]:
        n_sums = sums.shape[0]
    mean, variance = sums[0], sums[0] - sums[1]  # of the small ones
    for at in range(n_large):
        mean += large[at]
        variance += large[at] * (1.0 - large[at])
    n_most = probabilities.shape[0] if tail.shape[0] == 0 else np.inf
    first, width = window_of(mean, max(variance, 0.0), n_most)
    length = 2
    while length < width:
        length *= 2
    real, imaginary = np.empty(length), np.empty(length)
    half = length // 2
    _spectrum(sums, n_sums, large, n_large, real[: half + 1], imaginary[: half + 1])
    for place in range(1, half):  # a real pmf: the other frequencies are conjugate
        real[length - place], imaginary[length - place] = real[place], -imaginary[place]
    imaginary[half] = 0.0
    _transform(real, imaginary)
    pmf = np.empty(width)
    for at in range(width):
        pmf[at] = max(real[(first + at) % length] / length, 0.0)  # rounding may leave -1e-17
    return first, pmf


@njit(cache=True, parallel=True)
def pmf_rows(probabilities, result):
    """The pmf of every row; counts beyond the last column are not kept."""
    no_tail = np.empty(0)
    for row in prange(probabilities.shape[0]):
        first, pmf = _count_row(probabilities[row], no_tail)
        result[row] = 0.0
        for at in range(pmf.shape[0]):
            if first + at < result.shape[1]:
                result[row, first + at] = pmf[at]


@njit(cache=True)
def _recursion_row(probabilities, pmf):
    pmf[:] = 0.0
    pmf[0] = 1.0
    last = 0
    for p in probabilities:
        last = min(last + 1, pmf.shape[0] - 1)
        for count in range(last, 0, -1):  # downwards, so pmf[count - 1] is still the old value
            pmf[count] += p * (pmf[count - 1] - pmf[count])
        pmf[0] *= 1.0 - p


@njit(cache=True, parallel=True)
def recursion_rows(probabilities, result):
    """The pmf of every row, one item after the other: the reference."""
    for row in prange(probabilities.shape[0]):
        _recursion_row(probabilities[row], result[row])


@njit(**_FAST)
def _without_each(probabilities, first, pmf, without):
    """P(S without item r = count) in column r; rows are counts from max(first - 1, 0) on.

    Forward for p < 1/2, backward otherwise: each step then shrinks the errors of the one before. Columns are items, so
    that the inner loop runs over all of them at once.
    """
    n_rows, n_items = without.shape
    lead = 1 if first > 0 else 0  # a count below the window, which only S without an item can take
    width = pmf.shape[0]
    n_likely = 0
    while n_likely < n_items and probabilities[n_likely] >= 0.5:
        n_likely += 1
    for row in range(n_rows):
        mass = pmf[row - lead] if 0 <= row - lead < width else 0.0
        for r in range(n_likely, n_items):
            p = probabilities[r]
            before = without[row - 1, r] if row else 0.0
            without[row, r] = max((mass - p * before) / (1.0 - p), 0.0)
    for row in range(n_rows - 1, -1, -1):
        mass = pmf[row + 1 - lead] if 0 <= row + 1 - lead < width else 0.0
        for r in range(n_likely):
            p = probabilities[r]
            after = without[row + 1, r] if row + 1 < n_rows else 0.0
            without[row, r] = max((mass - (1.0 - p) * after) / p, 0.0)


@njit(**_FAST)
def _expected_row(probabilities, tail, max_size, discount, gain, loss, kind, inverse, result):
    """Expected utilities of the first k items for every k, for one user; probabilities fall over the first items."""
    n_items = min(max_size, probabilities.shape[0])
    counted = False
    for which in range(kind.shape[0]):
        if kind[which] != 0:
            counted = True
            break
    if counted:
        first, pmf = _count_row(probabilities, tail)
        lowest = max(first - 1, 0)
        n_rows = first + pmf.shape[0] - lowest
        without = np.empty((n_rows, n_items))
        top = probabilities[:n_items]
        ordered = True
        for r in range(1, n_items):
            if top[r] > top[r - 1]:
                ordered = False
        if ordered:
            _without_each(top, first, pmf, without)
        else:  # any order is allowed; one column at a time
            for r in range(n_items):
                _without_each(top[r : r + 1], first, pmf, without[:, r : r + 1])
    for which in range(kind.shape[0]):
        if kind[which] == 0:
            total = 0.0
            for r in range(n_items):
                p = probabilities[r]
                total += discount[which, r] * (gain[which] * p - loss[which] * (1.0 - p))
                result[which, r] = total
        else:
            gained = np.zeros(n_rows)  # at row m - 1 - lowest: expected discounted gain together with S = m
            for r in range(n_items):
                share = discount[which, r] * gain[which] * probabilities[r]
                for row in range(n_rows):
                    gained[row] += share * without[row, r]
                result[which, r] = _normalised(gained, lowest + 1, r + 1, kind[which], inverse[which])
        for r in range(n_items, max_size):  # there is nothing more to show
            result[which, r] = result[which, n_items - 1] if n_items else 0.0


@njit(**_FAST)
def _normalised(gained, first, size, kind, inverse):
    """The sum over m of what is gained with S = m, divided by the best that a list of this size could be."""
    total = 0.0
    if kind == 2:
        for row in range(gained.shape[0]):
            total += gained[row] * 2.0 / (first + row + size)
        return total
    near = min(max(size - first, 0), gained.shape[0])
    for row in range(near):
        total += gained[row] * inverse[first + row]
    beyond = 0.0
    for row in range(near, gained.shape[0]):
        beyond += gained[row]
    return total + beyond * inverse[size]


@njit(cache=True, parallel=True)
def expected_rows(probabilities, lengths, tails, max_size, discount, gain, loss, kind, inverse, result):
    """Expected utilities of every user; result has the shape (n_utilities, n_users, max_size)."""
    for row in prange(probabilities.shape[0]):
        known = probabilities[row, : lengths[row]]
        _expected_row(known, tails[row], max_size, discount, gain, loss, kind, inverse, result[:, row])


@njit(cache=True, parallel=True)
def tail_sums(probabilities, skipped, result):
    """Power sums of the probabilities of each row behind its first `skipped` ones."""
    for row in prange(probabilities.shape[0]):
        result[row] = 0.0
        for p in probabilities[row, skipped:]:
            power = 1.0
            for j in range(result.shape[1]):
                power *= p
                result[row, j] += power


@njit(cache=True, error_model="numpy")
def _scale_row(probabilities, tail, wanted):
    """The shift of all log-odds at which probabilities and tail add up to a wanted number.

    The total grows with the shift; Newton's steps are kept inside a bracket that shrinks at each of them.
    """
    low, high = -745.0, 709.0
    shift = 0.0
    for _ in range(200):
        factor = np.exp(shift)
        total, slope = tail * factor, tail * factor
        for p in probabilities:
            q = p * factor / (1.0 - p + p * factor)
            total += q
            slope += q * (1.0 - q)
        if total > wanted:
            high = shift
        else:
            low = shift
        if abs(total - wanted) <= 1e-14 * wanted or high - low <= 1e-15 * abs(shift):
            break
        step = shift - (total - wanted) / slope if slope > 0.0 else low
        shift = step if low < step < high else 0.5 * (low + high)
    return shift


@njit(cache=True, parallel=True)
def scale_rows(probabilities, tails, wanted, shifts):
    """Shifts of all rows; a row whose wanted number is NaN stays as it is."""
    for row in prange(probabilities.shape[0]):
        if not np.isnan(wanted[row]):
            shifts[row] = _scale_row(probabilities[row], tails[row], wanted[row])
