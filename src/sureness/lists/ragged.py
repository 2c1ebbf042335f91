"""Rows of different lengths, one after the other in one array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from sureness._types import AnyArray, FloatArray, IntArray


class Ragged(NamedTuple):
    """Numbers of lists that need not be equally long.

    Examples
    --------
    >>> rows = Ragged(np.array([0.5, 0.7, 0.4]), np.array([0, 2, 3]))
    >>> rows.at([2, 0]), rows.padded(3)
    (array([0.7, 0. ]), array([[0.5, 0.7, 0. ],
           [0.4, 0. , 0. ]]))
    """

    values: AnyArray  # row after row
    starts: IntArray  # (n_rows + 1,) where each row begins, and where the last one ends

    @classmethod
    def of_matrix(cls, matrix: AnyArray) -> Self:
        """Rows of equal length."""
        return cls(matrix.reshape(-1), np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1])

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.starts)

    def at(self, sizes: IntArray | list[int]) -> FloatArray:
        """The entry of each row at its size, counted from 1; 0 for a size of 0."""
        shown = np.asarray(sizes) > 0
        found = np.zeros(self.n_rows)
        found[shown] = self.values[(self.starts[:-1] + sizes - 1)[shown]]
        return found

    def padded(self, width: int) -> AnyArray:
        """A matrix of the rows, cut at a width and filled up with 0."""
        lengths = self.lengths
        rows = np.repeat(np.arange(self.n_rows), lengths)
        ranks = np.arange(len(rows)) - np.repeat(self.starts[:-1] - self.starts[0], lengths)
        inside = ranks < width
        result = np.zeros((self.n_rows, width), dtype=self.values.dtype)
        result[rows[inside], ranks[inside]] = self.values[self.starts[0] : self.starts[-1]][inside]
        return result

    def take(self, rows: IntArray) -> Self:
        """Some of the rows."""
        lengths = self.lengths[rows]
        starts = row_starts(lengths)
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return type(self)(self.values[places], starts)


def row_starts(lengths: IntArray) -> IntArray:
    """Where rows of these lengths begin, one after the other, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])


def similar_lengths(lengths: IntArray, cells: int) -> Iterator[IntArray]:
    """Row numbers in groups of similar length, each of which fits a matrix of that many cells.

    However long a single row is, the matrices together have few more cells than the rows have entries.

    Examples
    --------
    >>> [rows.tolist() for rows in similar_lengths(np.array([2, 9, 3, 2]), cells=9)]
    [[1], [2, 0, 3]]
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        step = max(1, cells // max(1, int(lengths[order[start]])))
        yield order[start : start + step]
        start += step
