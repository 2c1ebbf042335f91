"""Sources promise float32; scores that it cannot tell apart are refused where they come in."""

from __future__ import annotations

import numpy as np

from sureness._types import AnyArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.errors import DataError

_LEVELS = 4_096  # with fewer float32 numbers between a user's lowest and highest score, ties are looked for
_SPACING = 2.0**-23  # between neighbouring float32 numbers, relative to their size


def check_precision(block: AnyArray) -> None:
    """Refuse a block of scores, one row per user, if float32 would merge different scores of a user.

    That two of thousands of scores agree to seven digits is no harm. It is one where a large number is added to all
    scores of a user, so that few float32 numbers are left between them.

    Examples
    --------
    >>> check_precision(np.array([[0.1, 0.2, 0.3]]))
    >>> try:
    ...     check_precision(1e9 + np.arange(10.0)[None])
    ... except DataError as error:
    ...     print(str(error)[:61])
    scores of a user must differ as float32, but the 10 different
    """
    if block.dtype == np.float32 or not block.size:
        return
    for row in np.flatnonzero(_coarse(block.min(axis=1), block.max(axis=1))):
        _check_user(block[row])


def check_sparse_precision(scores: AnyArray, starts: IntArray) -> None:
    """The same for sparse rows."""
    if scores.dtype == np.float32 or not scores.size:
        return
    filled = np.flatnonzero(np.diff(starts))
    lows, highs = (extreme.reduceat(scores, starts[filled]) for extreme in (np.minimum, np.maximum))
    for row in filled[_coarse(lows, highs)]:
        _check_user(scores[starts[row] : starts[row + 1]])


def as_float32(block: AnyArray) -> FloatArray:
    """A block of scores as float32, refused if that would merge different scores of a user."""
    check_precision(block)
    return np.asarray(block, dtype=np.float32)


def _coarse(lows: AnyArray, highs: AnyArray) -> AnyArray:
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused elsewhere
        width = highs.astype(np.float64) - lows
        return (width > 0) & (width < _LEVELS * _SPACING * np.maximum(np.abs(lows), np.abs(highs)))


def _check_user(scores: AnyArray) -> None:
    n_before, n_after = len(np.unique(scores)), len(np.unique(scores.astype(np.float32)))
    if n_after < n_before:
        raise DataError(
            f"scores of a user must differ as float32, but the {counted(n_before, 'different score')} from "
            f"{scores.min():.17g} to {scores.max():.17g} become {n_after:,}; subtract each user's mean from the scores "
            "first"
        )
