"""Rows of different lengths."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sureness.lists.ragged import Ragged, row_starts, similar_lengths

LENGTHS = st.lists(st.integers(0, 30), min_size=1, max_size=40).map(np.array)


@given(LENGTHS, st.integers(1, 200))
def test_every_row_is_in_one_group_and_every_group_fits(lengths, cells):
    groups = list(similar_lengths(lengths, cells))
    assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(lengths)))
    assert all(len(rows) == 1 or len(rows) * lengths[rows].max() <= cells for rows in groups)


@given(LENGTHS, st.integers(1, 40))
def test_some_rows_padded_hold_their_first_entries(lengths, width):
    rows = Ragged(np.arange(lengths.sum()) + 1.0, row_starts(lengths))
    some = np.arange(len(lengths))[::-1]
    matrix = rows.take(some).padded(width)
    for place, row in enumerate(some):
        own = rows.values[rows.starts[row] : rows.starts[row + 1]][:width]
        assert_array_equal(matrix[place], np.pad(own, (0, width - len(own))))


def test_entries_at_sizes():
    rows = Ragged(np.array([0.5, 0.7, 0.4]), np.array([0, 2, 2, 3]))
    assert_array_equal(rows.at(np.array([2, 0, 1])), [0.7, 0.0, 0.4])
    assert_array_equal(Ragged.of_matrix(np.eye(2)).at(np.array([1, 1])), [1.0, 0.0])
