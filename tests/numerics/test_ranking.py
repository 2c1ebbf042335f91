"""The compiled top, membership and draws are what sorting, sets and counting give."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

from sureness.errors import DataError, SettingError
from sureness.numerics import ranking
from sureness.numerics.ranking import draw_absent, members, top_k

VALUES = st.one_of(
    st.integers(-2, 2).map(float), st.floats(-1e6, 1e6, width=32), st.sampled_from([-np.inf, np.inf, 0.0, -0.0])
)
BLOCKS = st.sampled_from([np.float32, np.float64]).flatmap(
    lambda dtype: arrays(dtype, array_shapes(min_dims=2, max_dims=2, max_side=14), elements=VALUES)
)
N_COLUMNS = 12


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    """The first entries of a process are sorted instead."""
    with patch.object(ranking, "_FIRST", 0):
        yield


SETS = st.lists(st.sets(st.integers(0, N_COLUMNS - 1)), min_size=1, max_size=6)


def sparse(sets):
    """Sets of columns as sorted sparse rows."""
    values = [column for row in sets for column in sorted(row)]
    return np.cumsum([0, *map(len, sets)]), np.array(values, dtype=np.int64)


def sorted_top(block, k, seen):
    """Row by row: sort what counts by falling value, then by column."""
    columns, values = np.full((len(block), k), -1), np.full((len(block), k), -np.inf, dtype=block.dtype)
    for row, entries in enumerate(block):
        there = [column for column in range(len(entries)) if column not in seen[row] and entries[column] > -np.inf]
        best = sorted(there, key=lambda column: (-entries[column], column))[:k]
        columns[row, : len(best)], values[row, : len(best)] = best, entries[best]
    return columns, values


# --- the top of rows -----------------------------------------------------------------------------------------------


both_ways = pytest.mark.parametrize("first", [0, 1 << 62], ids=["compiled", "by sorting"])


@both_ways
@settings(max_examples=60, deadline=None)
@given(BLOCKS, st.integers(1, 20))
def test_the_top_is_what_sorting_gives(first, block, k):
    expected = sorted_top(block, k, [set()] * len(block))
    with patch.object(ranking, "_FIRST", first):
        columns, values = top_k(block.copy(), k)
    assert_array_equal(columns, expected[0])
    assert_array_equal(values, expected[1])
    assert (columns.dtype, values.dtype) == (np.int64, block.dtype)


@both_ways
@given(st.data(), st.sampled_from([np.float32, np.float64]), SETS, st.integers(1, N_COLUMNS + 3))
def test_excluded_entries_are_those_of_the_named_sparse_row(first, data, dtype, sets, k):
    rows = np.array(data.draw(st.lists(st.integers(0, len(sets) - 1), min_size=1, max_size=8)))
    block = data.draw(arrays(dtype, (len(rows), N_COLUMNS), elements=VALUES))
    expected = sorted_top(block, k, [sets[row] for row in rows])
    starts, seen = sparse(sets)
    with patch.object(ranking, "_FIRST", first):
        columns, values = top_k(block.copy(), k, rows=rows, starts=starts, seen=seen)
    assert_array_equal(columns, expected[0])
    assert_array_equal(values, expected[1])


def test_ties_go_to_the_earlier_column_also_in_long_rows():
    scores = np.random.default_rng(0).integers(0, 4, (50, 3_000)).astype(np.float32)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :200]
    assert_array_equal(top_k(scores, 200)[0], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_columns", "k"), [(511, 7), (512, 7), (2_000, 90), (2_001, 333)])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99, 1.0])
def test_the_top_of_long_rows_is_what_sorting_gives(n_columns, k, share, dtype):
    """Whatever share of the entries does not count: -inf, not a number, or seen."""
    rng = np.random.default_rng(n_columns)
    block = rng.normal(size=(6, n_columns)).round(2).astype(dtype)
    block[rng.random(block.shape) < share / 2] = -np.inf
    block[rng.random(block.shape) < share / 2] = np.nan
    seen = [set(np.flatnonzero(rng.random(n_columns) < 0.2).tolist()) for _ in block]
    expected = sorted_top(block, k, seen)
    starts, values = sparse(seen)
    found = top_k(block, k, rows=np.arange(6), starts=starts, seen=values)
    assert_array_equal(found[0], expected[0])
    assert_array_equal(found[1], expected[1])


def test_what_is_not_a_number_does_not_count():
    assert top_k(np.array([[np.nan, 1.0, np.nan, 2.0]]), 3)[0].tolist() == [[3, 1, -1]]


def test_no_rows_have_no_top():
    columns, values = top_k(np.empty((0, 5), dtype=np.float32), 2)
    assert columns.shape == values.shape == (0, 2)


@pytest.mark.parametrize("k", [0, -3])
def test_a_top_of_nothing_is_refused(k):
    with pytest.raises(SettingError, match=f"k must be at least 1, got {k}"):
        top_k(np.zeros((1, 2)), k)


# --- membership ----------------------------------------------------------------------------------------------------


@given(st.data(), SETS)
def test_members_are_those_of_the_set(data, sets):
    rows = np.array(data.draw(st.lists(st.integers(0, len(sets) - 1), min_size=1, max_size=8)))
    lists = data.draw(arrays(np.int64, (len(rows), 5), elements=st.integers(-1, N_COLUMNS)))
    expected = [[entry in sets[row] for entry in entries] for row, entries in zip(rows, lists, strict=True)]
    assert members(lists, rows, *sparse(sets)).tolist() == expected


# --- draws ---------------------------------------------------------------------------------------------------------


class Evenly:
    """Stands in for a generator: its numbers lie evenly between 0 and 1."""

    def random(self, n):
        return (np.arange(n) + 0.5) / n


@given(st.sets(st.integers(0, N_COLUMNS - 1), max_size=N_COLUMNS - 1), st.integers(1, 4))
def test_even_numbers_draw_every_absent_column_equally_often(held, times):
    absent = sorted(set(range(N_COLUMNS)) - held)
    rows = np.full(times * len(absent), 1)
    drawn = draw_absent(rows, *sparse([{0, 1}, held]), N_COLUMNS, Evenly())
    assert drawn.tolist() == np.repeat(absent, times).tolist()


@given(SETS, st.integers(0, 1_000))
def test_what_a_row_holds_is_never_drawn(sets, seed):
    sets = [row if len(row) < N_COLUMNS else row - {seed % N_COLUMNS} for row in sets]
    rows = np.random.default_rng(seed).integers(0, len(sets), 300)
    drawn = draw_absent(rows, *sparse(sets), N_COLUMNS, np.random.default_rng(seed))
    assert ((drawn >= 0) & (drawn < N_COLUMNS)).all()
    assert not any(column in sets[row] for row, column in zip(rows, drawn, strict=True))


def test_absent_columns_are_equally_likely():
    sets = [{0, 1, 2, 7}, set(), {3, 9}]
    rows = np.repeat([0, 1, 2], 20_000)
    drawn = draw_absent(rows, *sparse(sets), 10, np.random.default_rng(3))
    for row, held in enumerate(sets):
        counts = np.bincount(drawn[rows == row], minlength=10)
        absent = sorted(set(range(10)) - held)
        assert counts.sum() == counts[absent].sum()
        assert chisquare(counts[absent]).pvalue > 1e-4


def test_a_full_row_is_refused():
    with pytest.raises(DataError, match="row"):
        draw_absent(np.array([0, 1]), *sparse([{1}, {0, 1, 2}]), 3, np.random.default_rng(0))


def test_nothing_is_drawn_for_nobody():
    assert len(draw_absent(np.empty(0, dtype=np.int64), *sparse([{0}]), 1, np.random.default_rng(0))) == 0
