"""Expected gains of the first k items for every k, and shifts of log-odds that meet a wanted number of relevant items.

Both take arrays that were checked before; `sureness.lists.expectation` is the public face.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sureness._printing import fields_repr
from sureness._types import BoolArray, FloatArray, IntArray


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


def expected_gains(
    probabilities: FloatArray, lengths: IntArray, tails: FloatArray, gains: Gains
) -> tuple[FloatArray, BoolArray]:
    """Expected gains of the first k items of each row, and which rows hold probabilities throughout.

    Parameters
    ----------
    probabilities : array of shape (n_users, n_items)
    lengths : array of shape (n_users,)
        How many entries of each row count.
    tails : array of shape (n_users, n_powers)
        Power sums of the candidates that are not listed.
    gains : Gains

    Returns
    -------
    values : array of shape (n_utilities, n_users, max_size)
        Undefined for rows that are not valid.
    valid : boolean array of shape (n_users,)
        Whether every entry that counts is a number from 0 to 1.
    """
    from sureness.numerics import _counting_kernels  # loads the compiler

    max_size = gains.discount.shape[1]
    values = np.empty((len(gains.kind), len(probabilities), max_size))
    valid = np.empty(len(probabilities), dtype=bool)
    cosine, sine = _counting_kernels.ROOTS
    _counting_kernels.expected_rows(
        probabilities, lengths, tails, cosine, sine, _counting_kernels.NODES, max_size, gains.discount, gains.gain,
        gains.loss, gains.kind, gains.inverse, values, valid,
    )  # fmt: skip
    return values, valid


def log_odds_shifts(probabilities: FloatArray, tails: FloatArray, wanted: FloatArray) -> FloatArray:
    """The shift of each row's log-odds at which its probabilities and its tail add up to a wanted number.

    Examples
    --------
    >>> log_odds_shifts(np.array([[0.5, 0.5]]), np.zeros(1), np.array([1.2])).round(3)  # log(0.6 / 0.4)
    array([0.405])
    """
    from sureness.numerics import _odds_kernels  # loads the compiler

    shifts = np.zeros(len(probabilities))
    _odds_kernels.scale_rows(probabilities, tails, wanted, shifts)  # a row whose wanted number is NaN stays
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
