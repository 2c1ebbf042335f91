"""Compiled row loops of the Poisson-binomial distribution and of expected utilities, nothing else.

The number of relevant items S has the characteristic function ``prod(1 + p (e^{it} - 1))``. Small p enter its logarithm
through their power sums, larger ones as factors; one inverse Fourier transform over a short window gives the pmf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sureness.numerics.compiling import kernel
from sureness.numerics.threads import row_loop

N_POWERS = 16  # power sums of p < SMALL: the series has the ratio 2 p, and (1/8)**17 / 17 is below rounding
SMALL = 0.0625
TINY = 0.001953125  # below this, N_TINY power sums suffice
N_TINY = 6
_CHUNK = 2_048
_LONGEST = 4_096  # longest window whose roots of unity are in the table
CUT = 34.5  # -log of the probability that may lie outside the window: 1e-15

_FAST: dict[str, Any] = {
    "error_model": "numpy", "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}  # fmt: skip


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
def window_of(mean, variance, n_most):
    """The window of counts that S leaves with probability 1e-15 on either side: its first count and its length."""
    reach = _reach(variance, CUT)
    first = int(max(np.floor(mean - reach), 0.0))
    last = int(min(np.ceil(mean + reach), n_most))
    return first, max(last - first + 1, 1)


@kernel(**_FAST)
def _tiny_sums(probabilities):
    """Power sums of the tiny probabilities and how many there are: no branches, so it runs on vector instructions."""
    first = second = third = fourth = fifth = sixth = n_tiny = 0.0
    for place in range(probabilities.shape[0]):
        p = probabilities[place]
        x = p if p < TINY else 0.0
        n_tiny += 1.0 if p < TINY else 0.0
        square = x * x
        cube = square * x
        first += x
        second += square
        third += cube
        fourth += square * square
        fifth += square * cube
        sixth += cube * cube
    return first, second, third, fourth, fifth, sixth, n_tiny


@kernel(**_FAST)
def add_power_sums(probabilities, sums, large):
    """Add the power sums of the small probabilities of a row; the others are copied to `large` and counted.

    In a calibrated list nearly all are tiny, and a chunk of tiny ones is done in one sweep.
    """
    n_items = probabilities.shape[0]
    n_large, n_small = 0, 0
    small = np.empty(n_items)
    for start in range(0, n_items, _CHUNK):
        chunk = probabilities[start : min(start + _CHUNK, n_items)]
        first, second, third, fourth, fifth, sixth, n_tiny = _tiny_sums(chunk)
        sums[0] += first
        sums[1] += second
        sums[2] += third
        sums[3] += fourth
        sums[4] += fifth
        sums[5] += sixth
        if n_tiny < chunk.shape[0]:
            for p in chunk:
                if p >= SMALL:
                    large[n_large] = p
                    n_large += 1
                elif p >= TINY:
                    small[n_small] = p
                    n_small += 1
    power = np.ones(n_small)
    for j in range(N_POWERS):
        sums[j] += _next_powers(power, small)
    return n_large


@kernel(**_FAST)
def _next_powers(power, base):
    """Multiply powers by their base, and add them up."""
    total = 0.0
    for place in range(power.shape[0]):
        power[place] *= base[place]
        total += power[place]
    return total


def _table_of_roots():
    """Cosine and sine of 2 pi j / n for j < n / 2, at n / 2 + j, for every power of two n."""
    cosine, sine = np.ones(_LONGEST), np.zeros(_LONGEST)
    half = 1
    while half < _LONGEST:
        angles = np.pi * np.arange(half) / half
        cosine[half : 2 * half], sine[half : 2 * half] = np.cos(angles), np.sin(angles)
        half *= 2
    return cosine, sine


ROOTS = _table_of_roots()


@kernel(**_FAST)
def _roots(half, cosine, sine):
    """Half of the roots of unity of a length, from the table where it is long enough."""
    if 2 * half <= cosine.shape[0]:
        return cosine[half : 2 * half], sine[half : 2 * half]
    angles = np.pi * np.arange(half) / half
    return np.cos(angles), np.sin(angles)


@kernel(**_FAST)
def _spectrum(sums, n_sums, large, n_large, roots, real, imaginary):
    """The characteristic function of S at the first half of the frequencies of a window."""
    half = real.shape[0] - 1
    cosine, sine = np.empty(half + 1), np.empty(half + 1)  # of e^{it} - 1
    for place in range(half):
        cosine[place], sine[place] = roots[0][place] - 1.0, roots[1][place]
    cosine[half], sine[half] = -2.0, 0.0
    if n_sums == 0:
        real[:], imaginary[:] = 1.0, 0.0
    else:
        a, b = np.zeros(half + 1), np.zeros(half + 1)
        for j in range(n_sums - 1, -1, -1):  # Horner's scheme of the sum over (-1)^j power sum z^(j+1) / (j+1)
            term = sums[j] / (j + 1.0) if j % 2 == 0 else -sums[j] / (j + 1.0)
            for place in range(half + 1):
                x, y = a[place] + term, b[place]
                a[place] = x * cosine[place] - y * sine[place]
                b[place] = x * sine[place] + y * cosine[place]
        for place in range(half + 1):
            size = np.exp(a[place])
            real[place], imaginary[place] = size * np.cos(b[place]), size * np.sin(b[place])
    for at in range(n_large):
        p = large[at]
        for place in range(half + 1):
            a_, b_ = 1.0 + p * cosine[place], p * sine[place]
            x, y = real[place], imaginary[place]
            real[place] = x * a_ - y * b_
            imaginary[place] = x * b_ + y * a_


@kernel(**_FAST)
def _transform(real, imaginary, cosine, sine):
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
    half = 1
    while half < n:
        c, s = _roots(half, cosine, sine)
        for start in range(0, n, 2 * half):
            for turn in range(half):
                low, high = start + turn, start + turn + half
                x = real[high] * c[turn] + imaginary[high] * s[turn]
                y = imaginary[high] * c[turn] - real[high] * s[turn]
                real[high], imaginary[high] = real[low] - x, imaginary[low] - y
                real[low] += x
                imaginary[low] += y
        half *= 2


@kernel(**_FAST)
def _parts_of(probabilities, tail):
    """A row and the power sums of others, in parts: large probabilities, and power sums of the small ones."""
    large = np.empty(probabilities.shape[0])
    sums = np.zeros(max(N_POWERS, tail.shape[0]))
    n_large = add_power_sums(probabilities, sums, large)
    n_sums = N_POWERS if n_large < probabilities.shape[0] else 0
    for j in range(tail.shape[0]):
        sums[j] += tail[j]
    if tail.shape[0]:
        n_sums = sums.shape[0]
    least = 1e-17 / 2.0**n_sums
    while n_sums and sums[n_sums - 1] <= least:  # terms too small to matter
        n_sums -= 1
        least *= 2.0
    return large[:n_large], sums, n_sums


@kernel(**_FAST)
def _window(sums, large, listed, n_most):
    """The window of S: power sums of small probabilities, large ones, and others that are in neither."""
    mean, variance = sums[0], sums[0] - sums[1]
    for p in large:  # not one loop over both: numba wants one type there, and one of them may be read-only
        mean += p
        variance += p * (1.0 - p)
    for p in listed:
        mean += p
        variance += p * (1.0 - p)
    return window_of(mean, max(variance, 0.0), n_most)


@kernel(**_FAST)
def _count_row(large, sums, n_sums, first, width, cosine, sine):
    """The pmf of S over its window, out of `_parts_of` a row."""
    n_large = large.shape[0]
    length = 2
    while length < width:
        length *= 2
    real, imaginary = np.empty(length), np.empty(length)
    half = length // 2
    roots = _roots(half, cosine, sine)
    _spectrum(sums, n_sums, large, n_large, roots, real[: half + 1], imaginary[: half + 1])
    for place in range(1, half):  # a real pmf: the other frequencies are conjugate
        real[length - place], imaginary[length - place] = real[place], -imaginary[place]
    imaginary[half] = 0.0
    _transform(real, imaginary, cosine, sine)
    pmf = np.empty(width)
    for at in range(width):
        pmf[at] = max(real[(first + at) % length] / length, 0.0)  # rounding can give -1e-17
    return pmf


@row_loop()
def pmf_rows(start, stop, probabilities, cosine, sine, result):
    """The pmf of every row; counts beyond the last column are not kept."""
    no_tail = np.empty(0)
    for row in range(start, stop):
        large, sums, n_sums = _parts_of(probabilities[row], no_tail)
        first, width = _window(sums, large, large[:0], probabilities.shape[1])
        pmf = _count_row(large, sums, n_sums, first, width, cosine, sine)
        result[row] = 0.0
        for at in range(pmf.shape[0]):
            if first + at < result.shape[1]:
                result[row, first + at] = pmf[at]


@kernel()
def _recursion_row(probabilities, pmf):
    pmf[:] = 0.0
    pmf[0] = 1.0
    last = 0
    for p in probabilities:
        last = min(last + 1, pmf.shape[0] - 1)
        for count in range(last, 0, -1):  # downwards, so pmf[count - 1] is still the old value
            pmf[count] += p * (pmf[count - 1] - pmf[count])
        pmf[0] *= 1.0 - p


@row_loop()
def recursion_rows(start, stop, probabilities, result):
    """The pmf of every row, adding one item at a time: the reference."""
    for row in range(start, stop):
        _recursion_row(probabilities[row], result[row])


@kernel(**_FAST)
def _without_each(probabilities, first, pmf, without):
    """P(S without item r = count) in column r; rows are counts from max(first - 1, 0) on.

    Forward for p < 1/2, backward otherwise: each step then shrinks the errors of the one before. Columns are items, so
    that rows can be summed over items as they stand.
    """
    n_rows, n_items = without.shape
    lead = 1 if first > 0 else 0  # a count below the window that only S without an item reaches
    width = pmf.shape[0]
    n_likely = 0
    while n_likely < n_items and probabilities[n_likely] >= 0.5:
        n_likely += 1
    for r in range(n_likely):
        share, left = (1.0 - probabilities[r]) / probabilities[r], 0.0
        for row in range(n_rows - 1, -1, -1):
            mass = pmf[row + 1 - lead] if 0 <= row + 1 - lead < width else 0.0
            left = mass / probabilities[r] - share * left
            left = left if left > 0.0 else 0.0
            without[row, r] = left
    last = n_likely + (n_items - n_likely) // 4 * 4
    for r in range(n_likely, last, 4):  # each step depends on the previous one, so four items are computed side by side
        _forward_four(probabilities[r : r + 4], pmf, lead, without[:, r : r + 4])
    for r in range(last, n_items):
        share, left = probabilities[r] / (1.0 - probabilities[r]), 0.0
        for row in range(n_rows):
            mass = pmf[row - lead] if 0 <= row - lead < width else 0.0
            left = mass / (1.0 - probabilities[r]) - share * left
            left = left if left > 0.0 else 0.0
            without[row, r] = left


@kernel(**_FAST)
def _forward_four(probabilities, pmf, lead, without):
    """Four columns of `_without_each` with p < 1/2."""
    p, q, s, t = probabilities[0], probabilities[1], probabilities[2], probabilities[3]
    i, j, k, m = 1.0 / (1.0 - p), 1.0 / (1.0 - q), 1.0 / (1.0 - s), 1.0 / (1.0 - t)
    p, q, s, t = p * i, q * j, s * k, t * m
    a = b = c = d = 0.0
    for row in range(lead):
        without[row] = 0.0
    for at in range(without.shape[0] - lead):
        mass = pmf[at]
        a, b, c, d = mass * i - p * a, mass * j - q * b, mass * k - s * c, mass * m - t * d
        a = a if a > 0.0 else 0.0
        b = b if b > 0.0 else 0.0
        c = c if c > 0.0 else 0.0
        d = d if d > 0.0 else 0.0
        row = at + lead
        without[row, 0], without[row, 1], without[row, 2], without[row, 3] = a, b, c, d


def _nodes_and_weights() -> Any:
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
def _generating(away, sums, n_sums, large, result):
    """E[t**S] at t = 1 - away: a product over the large probabilities, and a series in power sums of the others."""
    result[:] = 0.0
    for j in range(n_sums - 1, -1, -1):
        term = -sums[j] / (j + 1.0)
        for node in range(away.shape[0]):
            result[node] = (result[node] + term) * away[node]
    for node in range(away.shape[0]):
        result[node] = np.exp(result[node])
    for p in large:
        for node in range(away.shape[0]):
            result[node] *= 1.0 - p * away[node]


@kernel(**_FAST)
def _masses(top, sums, n_sums, large, away, weight):
    """``2 E[t**S]`` at each node t = 1 - away, times the weight of the node; the items of `top` are in no sum."""
    mass = np.empty(away.shape[0])
    _generating(away, sums, n_sums, large, mass)
    for node in range(away.shape[0]):
        mass[node] *= 2.0 * weight[node]
    whole = top.shape[0] // 4 * 4
    for r in range(0, whole, 4):
        p, q, s, t = top[r], top[r + 1], top[r + 2], top[r + 3]
        for node in range(away.shape[0]):
            x = away[node]
            mass[node] *= (1.0 - p * x) * (1.0 - q * x) * ((1.0 - s * x) * (1.0 - t * x))
    for p in top[whole:]:
        for node in range(away.shape[0]):
            mass[node] *= 1.0 - p * away[node]
    return mass


@kernel(**_FAST)
def _integrate_means(top, discount, gain, mass, away, values):
    """Sum of the gain with m relevant items in all, times 2 / (k + m), without the distribution of m.

    The mean of 1 / (k + 1 + S_r) is the integral of ``t**k * E[t**S_r]`` over t from 0 to 1, and ``E[t**S_r]`` is a
    product over all other items: a few dozen nodes of Gauss and Legendre serve all r and k. Two items are done at
    once, because they can share a division.
    """
    mass, gained = mass.copy(), np.zeros(mass.shape[0])
    whole = top.shape[0] // 2 * 2
    for r in range(0, whole, 2):
        p, q = top[r], top[r + 1]
        share, next_share = discount[r] * gain * p, discount[r + 1] * gain * q
        total = next_total = 0.0
        for node in range(away.shape[0]):
            t, one, other = 1.0 - away[node], 1.0 - p * away[node], 1.0 - q * away[node]
            inverse = 1.0 / (one * other)
            before = gained[node] + share * other * inverse
            gained[node] = before + next_share * one * inverse
            total += before * mass[node] * t
            mass[node] *= t * t
            next_total += gained[node] * mass[node]
        values[r], values[r + 1] = total, next_total
    if whole < top.shape[0]:
        p, total = top[whole], 0.0
        share = discount[whole] * gain * p
        for node in range(away.shape[0]):
            after = gained[node] + share / (1.0 - p * away[node])
            total += after * mass[node] * (1.0 - away[node])
        values[whole] = total


@kernel(**_FAST)
def _by_integral(probabilities, n_items, tail, nodes, discount, gain, kind, result):
    """Expected utilities whose normaliser is a mean, for one user; False if counts are too many for the nodes."""
    top = probabilities[:n_items]
    large, sums, n_sums = _parts_of(probabilities[n_items:], tail)
    first, width = _window(sums, large, top, _most_relevant(probabilities, tail))
    start, stop = _nodes_for(n_items + first + width - 1)
    if stop == 0:
        return False
    away = nodes[0, start:stop]
    mass = _masses(top, sums, n_sums, large, away, nodes[1, start:stop])
    for which in range(kind.shape[0]):
        if kind[which] == 2:
            _integrate_means(top, discount[which], gain[which], mass, away, result[which])
    return True


@kernel(**_FAST)
def _by_counts(probabilities, n_items, tail, cosine, sine, discount, gain, kind, inverse, result):
    """Expected utilities with any normaliser, for one user."""
    large, sums, n_sums = _parts_of(probabilities, tail)
    first, width = _window(sums, large, large[:0], _most_relevant(probabilities, tail))
    pmf = _count_row(large, sums, n_sums, first, width, cosine, sine)
    top, without = probabilities[:n_items], np.empty((width + min(first, 1), n_items))
    if _falls(top):
        _without_each(top, first, pmf, without)
    else:  # any order is allowed; one column at a time
        for r in range(n_items):
            _without_each(top[r : r + 1], first, pmf, without[:, r : r + 1])
    lowest = max(first - 1, 0) + 1  # number of relevant items in the first row, including this one
    for which in range(kind.shape[0]):
        shares = discount[which, :n_items] * gain[which] * top
        if kind[which] == 1:
            _add_by_smaller(without, shares, lowest, inverse[which], result[which])
        elif kind[which] == 2:
            _add_by_mean(without, shares, lowest, result[which])


@kernel(**_FAST)
def _most_relevant(probabilities, tail):
    """The largest possible number of relevant items; items behind the list are not counted."""
    return np.float64(probabilities.shape[0]) if tail.shape[0] == 0 else np.inf


@kernel(**_FAST)
def _add_plainly(top, discount, gain, loss, values):
    """Sum of gains and losses, without a normaliser."""
    total = 0.0
    for r in range(top.shape[0]):
        total += discount[r] * (gain * top[r] - loss * (1.0 - top[r]))
        values[r] = total


@kernel(**_FAST)
def _falls(values):
    n_rises = 0
    for place in range(1, values.shape[0]):
        n_rises += values[place] > values[place - 1]
    return n_rises == 0


@kernel(**_FAST)
def _add_by_mean(without, shares, lowest, values):
    """Sum over m of the gain with m relevant items in all, times 2 / (k + m).

    Four rows at a time: each running sum waits for itself, four of them do not wait for each other.
    """
    n_rows, n_items = without.shape
    weights = 2.0 / (lowest + 1.0 + np.arange(n_rows + n_items + 3))
    values[:n_items] = 0.0
    whole = n_rows - n_rows % 4
    for row in range(0, whole, 4):
        a = b = c = d = 0.0
        for r in range(n_items):
            share, at = shares[r], row + r
            a += share * without[row, r]
            b += share * without[row + 1, r]
            c += share * without[row + 2, r]
            d += share * without[row + 3, r]
            values[r] += a * weights[at] + b * weights[at + 1] + c * weights[at + 2] + d * weights[at + 3]
    for row in range(whole, n_rows):
        a = 0.0
        for r in range(n_items):
            a += shares[r] * without[row, r]
            values[r] += a * weights[row + r]


@kernel(**_FAST)
def _add_by_smaller(without, shares, lowest, inverse, values):
    """Sum over m of the gain with m relevant items in all, times a function of min(k, m)."""
    n_rows, n_items = without.shape
    values[:n_items] = 0.0
    whole = n_rows - n_rows % 4
    for row in range(0, whole, 4):
        a = b = c = d = 0.0
        m = lowest + row
        for r in range(n_items):
            share, k = shares[r], r + 1
            a += share * without[row, r]
            b += share * without[row + 1, r]
            c += share * without[row + 2, r]
            d += share * without[row + 3, r]
            if k <= m:
                values[r] += (a + b + c + d) * inverse[k]
            else:
                values[r] += a * inverse[m] + b * inverse[min(m + 1, k)]
                values[r] += c * inverse[min(m + 2, k)] + d * inverse[min(m + 3, k)]
    for row in range(whole, n_rows):
        a = 0.0
        for r in range(n_items):
            a += shares[r] * without[row, r]
            values[r] += a * inverse[min(lowest + row, r + 1)]


@kernel(**_FAST)
def _all_valid(probabilities):
    """Whether all are numbers from 0 to 1; NaN is not."""
    n_valid = 0.0
    for place in range(probabilities.shape[0]):
        n_valid += 1.0 if 0.0 <= probabilities[place] <= 1.0 else 0.0
    return n_valid == probabilities.shape[0]


@row_loop()
def expected_rows(
    start,
    stop,
    probabilities,
    lengths,
    tails,
    cosine,
    sine,
    nodes,
    max_size,
    discount,
    gain,
    loss,
    kind,
    inverse,
    result,
    valid,
):
    """Expected utilities of every user; result has the shape (n_utilities, n_users, max_size)."""
    smaller, mean = np.any(kind == 1), np.any(kind == 2)
    for row in range(start, stop):
        known, tail, values = probabilities[row, : lengths[row]], tails[row], result[:, row]
        valid[row] = _all_valid(known)  # while the row is being loaded into the cache
        if not valid[row]:
            continue
        n_items = min(max_size, lengths[row])
        integrated = False
        if mean and not smaller:  # distributions of counts would serve means too
            integrated = _by_integral(known, n_items, tail, nodes, discount, gain, kind, values)
        if (mean or smaller) and not integrated:
            _by_counts(known, n_items, tail, cosine, sine, discount, gain, kind, inverse, values)
        for which in range(kind.shape[0]):
            if kind[which] == 0:
                _add_plainly(known[:n_items], discount[which], gain[which], loss[which], values[which])
            values[which, n_items:] = values[which, n_items - 1] if n_items else 0.0  # there is nothing more to show
