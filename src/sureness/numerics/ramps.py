"""Piecewise straight curves on knots that the data choose, and a compression of scores whose tail is long.

A ramp rises with slope 1 between two knots and is flat outside them. A curve is a sum of ramps, each with a slope of
its own: with slopes that are not negative it never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from sureness._types import FloatArray

_LONG = 10.0  # lower quarters between the middle and the lowest scores that make a long tail; 3.5 if they are normal
_NARROWEST = 0.02  # of the lower half of the scores: the least width of the part that stays straight


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve that is 0 at its first knot and straight between knots and beyond them."""

    knots: FloatArray  # (k + 1,) rising
    slopes: FloatArray  # (k,)

    @cached_property
    def _heights(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(self.slopes * np.diff(self.knots))])

    def values(self, x: FloatArray) -> FloatArray:
        """The curve at each x.

        Examples
        --------
        >>> Curve(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0])).values(np.array([-1.0, 0.5, 1.5, 3.0]))
        array([-1. ,  0.5,  2.5,  7. ])
        """
        if not len(self.slopes):
            return np.zeros(np.shape(x))
        part = np.searchsorted(self.knots[1:-1], x)
        return np.asarray(self._heights[part] + self.slopes[part] * (x - self.knots[part]))


def ramps(x: FloatArray, knots: FloatArray) -> list[FloatArray]:
    """The columns that a `Curve` is a sum of; the first and the last go on beyond the knots.

    Examples
    --------
    >>> [column.tolist() for column in ramps(np.array([-1.0, 0.5, 3.0]), np.array([0.0, 1.0, 2.0]))]
    [[-1.0, 0.5, 1.0], [0.0, 0.0, 2.0]]
    """
    if len(knots) < 2:
        return []
    ends = [-np.inf, *knots[1:-1], np.inf]
    return [np.clip(x, low, high) - start for low, high, start in zip(ends[:-1], ends[1:], knots[:-1], strict=True)]


def knots_between(values: FloatArray, of_positives: FloatArray, n_ramps: int) -> FloatArray:
    """Knots halfway between the quantiles of all values and those of the positives; fewer where values are tied.

    Examples
    --------
    >>> knots_between(np.arange(9.0), np.arange(4.0, 9.0), 2)
    array([2., 5., 8.])
    """
    shares = np.linspace(0.0, 1.0, n_ramps + 1)
    return np.unique((np.quantile(values, shares) + np.quantile(of_positives, shares)) / 2)


class Compression(NamedTuple):
    """``asinh((score - base) / width)``: straight near the base, a logarithm far from it.

    Scores with a long tail, such as counts and exponentials, are spread evenly by it; others are hardly bent. It rises
    strictly, so the order of scores stays.
    """

    base: float
    width: float

    @classmethod
    def of(cls, scores: FloatArray) -> Self:
        """From the lowest tenth of the scores, or from the middle half where the tail below it is long as well.

        Examples
        --------
        >>> Compression.of(np.arange(101.0))
        Compression(base=1.0, width=9.0)
        >>> Compression.of(np.linspace(-10, 10, 101) ** 5).base
        0.0
        """
        lowest, tenth, quarter, middle, upper = np.quantile(scores, [0.01, 0.1, 0.25, 0.5, 0.75])
        base, width = lowest, max(tenth - lowest, _NARROWEST * (middle - lowest))
        if middle - lowest > _LONG * (middle - quarter) > 0:
            base, width = middle, (upper - quarter) / 2
        if not width > 0:  # most scores are tied
            width = float(scores.max() - base) or 1.0
        return cls(float(base), float(width))

    def values(self, scores: FloatArray) -> FloatArray:
        """Compressed scores."""
        return np.asarray(np.arcsinh((scores - self.base) / self.width))
