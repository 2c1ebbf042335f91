"""Straight lines between knots at many places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.numerics.blocks import in_blocks

_MANY = 1 << 12  # places for which a table of cells pays
_CELLS = 1 << 14  # whose table stays in the cache of a core
_SAMPLE = 512
_MOST_SHARED = 0.25  # of the places in cells with a knot inside: with more, the table does not pay


def interpolate(places: FloatArray, knots: FloatArray, values: FloatArray) -> FloatArray:
    """What `numpy.interp` returns, to the last bit; faster if places are many and in no order.

    Parameters
    ----------
    places : array of shape (n,)
        Finite numbers.
    knots : array of shape (k,)
        Never falling.
    values : array of shape (k,)

    Examples
    --------
    >>> interpolate(np.array([-1.0, 0.5, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0])).tolist()
    [0.0, 0.5, 4.0]
    """
    width = knots[-1] - knots[0]
    if len(places) >= _MANY and 0.0 < width < np.inf and _CELLS / width < np.inf:
        table = _Table.of(knots, values, _CELLS / width)
        sample = places[:: len(places) // _SAMPLE]
        if np.mean(table.pieces(sample) < 0) <= _MOST_SHARED:
            return in_blocks(places, table.at)
    return np.interp(places, knots, values)


@dataclass(frozen=True, eq=False)
class _Table:
    """The range of the knots in equal cells, nearly all of which lie between two knots, so that no search is needed.

    The number of a cell never falls where the place rises, rounding included. So the knots of lower cells lie below a
    place, and those of higher cells above it.
    """

    knots: FloatArray
    values: FloatArray
    per_unit: float  # cells
    n_below: IntArray  # (cells,) knots below each cell; -1: there is a knot inside
    starts: FloatArray  # (k + 1,) of the pieces between knots, the first of which is below all of them
    heights: FloatArray  # (k + 1,)
    slopes: FloatArray  # (k + 1,)

    @classmethod
    def of(cls, knots: FloatArray, values: FloatArray, per_unit: float) -> _Table:
        inside = np.bincount(_cells(knots, knots[0], per_unit), minlength=_CELLS + 3)
        with np.errstate(all="ignore"):  # no place lies between equal knots
            slopes = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
        return cls(
            knots, values, per_unit, np.where(inside > 0, -1, np.cumsum(inside)),
            np.concatenate([knots[:1], knots]), np.concatenate([values[:1], values]), slopes,
        )  # fmt: skip

    def pieces(self, places: FloatArray) -> IntArray:
        """The number of the piece that each place lies on; -1 where it takes a search."""
        return np.asarray(self.n_below[_cells(places, self.knots[0], self.per_unit)])

    def at(self, places: FloatArray) -> FloatArray:
        """The lines at some places."""
        piece = self.pieces(places)
        result = self.slopes[piece] * (places - self.starts[piece]) + self.heights[piece]
        searched = np.flatnonzero(piece < 0)
        result[searched] = np.interp(places[searched], self.knots, self.values)
        return np.asarray(result)


def _cells(places: FloatArray, first: float, per_unit: float) -> IntArray:
    """The number of the cell of each place: 0 is below the first knot, and the last one above the last."""
    with np.errstate(over="ignore"):
        cells = np.clip((places - first) * per_unit + 1.0, 0.0, _CELLS + 2.0)
    return np.asarray(cells, dtype=np.int64)
