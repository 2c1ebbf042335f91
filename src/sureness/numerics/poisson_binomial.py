"""How many items are relevant, and what lists are worth in expectation: sums of independent, unequal events."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray
from sureness.numerics.checks import check_probability_rows, check_whole


def poisson_binomial_pmf(probabilities: ArrayLike, *, max_count: int | None = None) -> FloatArray:
    """The probability of every possible number of relevant items.

    An inverse Fourier transform over a short window around the mean, outside of which the number falls with
    probability 1e-15; right to 1e-12.

    Parameters
    ----------
    probabilities : array-like of shape (n_items,) or (n_users, n_items)
        In any order.
    max_count : int, optional
        The largest number of relevant items to report; by default n_items.

    Returns
    -------
    array of shape (..., max_count + 1)

    Examples
    --------
    >>> poisson_binomial_pmf([0.5, 0.5]).round(3)
    array([0.25, 0.5 , 0.25])
    >>> poisson_binomial_pmf([[0.1, 0.2, 1.0]], max_count=1).round(3)
    array([[0.  , 0.72]])
    """
    from sureness.numerics import _counting_kernels  # loads the compiler

    rows, single = check_probability_rows(probabilities)
    most = rows.shape[1] if max_count is None else check_whole(max_count, "max_count")
    result = np.empty((len(rows), most + 1))
    _counting_kernels.pmf_rows(rows, result)
    return result[0] if single else result


def power_sums(probabilities: ArrayLike, n_powers: int = 8, *, skip: int = 0, most: float = 1.0) -> FloatArray:
    """Sums of p, p**2, ... over each user's candidates after the first `skip`.

    They summarise unlisted candidates: counting relevant items needs nothing else about them.

    Parameters
    ----------
    probabilities : array-like of shape (n_users, n_items)
    n_powers : int
    skip : int
        Number of leading columns to leave out.
    most : float
        A more likely item counts as several items of this probability, with the same expected number. The series built
        from the sums converges faster for smaller probabilities, and not at all above one half.

    Examples
    --------
    >>> power_sums([[0.9, 0.5, 0.1]], 2, skip=1).round(3)
    array([[0.6 , 0.26]])
    """
    rows, _ = check_probability_rows(probabilities)
    base = np.minimum(rows[:, skip:], most)
    power = np.maximum(rows[:, skip:] / most, 1.0)
    result = np.empty((len(rows), n_powers))
    for j in range(n_powers):
        power *= base
        result[:, j] = power.sum(axis=1)
    return result


class Gains(NamedTuple):
    """What items are worth by rank, for several utilities at once."""

    discount: FloatArray  # (n_utilities, max_size) by rank
    gain: FloatArray  # (n_utilities,) of a relevant item
    loss: FloatArray  # (n_utilities,) of an irrelevant item
    kind: IntArray  # (n_utilities,) 0: not normalised, 1: by min(k, m), 2: by (k + m) / 2, with m relevant items
    inverse: FloatArray  # (n_utilities, max_size + 1) one over the normaliser, by min(k, m)
    most: FloatArray  # (n_utilities,) the largest value that is possible; infinite without a normaliser

    def __repr__(self) -> str:
        return fields_repr(self)


def expected_gains(probabilities: FloatArray, lengths: IntArray, tails: FloatArray, gains: Gains) -> FloatArray:
    """Expected gains of the first k items of each row; shape (n_utilities, n_users, max_size).

    Parameters
    ----------
    probabilities : array of shape (n_users, n_items)
        Checked; the same as far as `lengths` goes.
    lengths : array of shape (n_users,)
        How many entries of each row count.
    tails : array of shape (n_users, n_powers)
        Power sums of the candidates that are not listed.
    gains : Gains
    """
    max_size = gains.discount.shape[1]
    values = np.zeros((len(gains.kind), len(probabilities), max_size))
    if (plain := np.flatnonzero(gains.kind == 0)).size:
        top = probabilities[:, :max_size]
        for which in plain:
            worth = gains.gain[which] * top - gains.loss[which] * (1.0 - top)
            values[which, :, : top.shape[1]] = np.cumsum(gains.discount[which, : top.shape[1]] * worth, axis=1)
    if (normalised := gains.kind > 0).any():
        values[normalised] = _normalised(probabilities, lengths, tails, gains, normalised)
    if lengths.min(initial=max_size) >= max_size:
        return values
    ends = np.clip(lengths, 1, max_size)[:, None] - 1
    at = np.minimum(np.arange(max_size), ends)  # there is nothing more to show
    return np.where(lengths[:, None] > 0, np.take_along_axis(values, at[None], axis=2), 0.0)


def _normalised(
    probabilities: FloatArray, lengths: IntArray, tails: FloatArray, gains: Gains, chosen: BoolArray
) -> FloatArray:
    """Those of utilities with a normaliser: by an integral where all are means, else from the pmf of the number."""
    from sureness.numerics import _counting_kernels as kernels  # loads the compiler

    discount, gain, by_mean = gains.discount[chosen], gains.gain[chosen], gains.kind[chosen] == 2
    max_size = discount.shape[1]
    values = np.zeros((len(gain), len(probabilities), max_size))
    left = np.ones(len(probabilities), dtype=bool)
    if by_mean.all():
        done = np.zeros(len(probabilities), dtype=bool)
        kernels.gains_by_integral(probabilities, lengths, tails, kernels.NODES, max_size, discount, gain, values, done)
        left = ~done
    if left.any():
        some = np.zeros((len(gain), int(left.sum()), max_size))
        kernels.gains_by_counts(
            probabilities[left], lengths[left], tails[left], max_size, discount, gain, by_mean, gains.inverse[chosen],
            some,
        )  # fmt: skip
        values[:, left] = some
    return values


def log_odds_shifts(probabilities: FloatArray, tails: FloatArray, wanted: FloatArray) -> FloatArray:
    """The shift of each row's log-odds at which its probabilities and its tail add up to a wanted number.

    The total grows with the shift; Newton's steps are kept inside a bracket that shrinks at each of them. A row whose
    wanted number is NaN stays as it is.

    Examples
    --------
    >>> log_odds_shifts(np.array([[0.5, 0.5]]), np.zeros(1), np.array([1.2])).round(3)  # log(0.6 / 0.4)
    array([0.405])
    """
    shifts = np.zeros(len(probabilities))
    low, high = np.full(len(shifts), -745.0), np.full(len(shifts), 709.0)
    active = np.flatnonzero(~np.isnan(wanted))
    for _ in range(200):
        shift, target = shifts[active], wanted[active]
        scaled = shift_log_odds(probabilities[active], shift)
        with np.errstate(over="ignore"):
            of_tail = tails[active] * np.exp(shift)
        total = scaled.sum(axis=1) + of_tail
        above = total > target
        high[active[above]], low[active[~above]] = shift[above], shift[~above]
        within = np.abs(total - target) <= 1e-14 * target
        left = ~(within | (high[active] - low[active] <= 1e-15 * np.abs(shift)))
        active = active[left]
        if not len(active):
            break
        slope = (of_tail + (scaled * (1.0 - scaled)).sum(axis=1))[left]
        with np.errstate(divide="ignore", over="ignore"):
            step = shift[left] - (total - target)[left] / slope
        inside = (low[active] < step) & (step < high[active])
        shifts[active] = np.where(inside, step, 0.5 * (low[active] + high[active]))
    return shifts


def shift_log_odds(probabilities: FloatArray, shift: FloatArray) -> FloatArray:
    """Shift the log-odds of each row's probabilities; 0 and 1 stay.

    Examples
    --------
    >>> shift_log_odds(np.array([[0.5, 0.0, 1.0]]), np.log([3.0])).round(9)
    array([[0.75, 0.  , 1.  ]])
    """
    factor = np.exp(shift)[:, None]
    return np.asarray(probabilities * factor / (1.0 - probabilities + probabilities * factor))
