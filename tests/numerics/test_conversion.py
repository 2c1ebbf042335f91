"""Columns of other libraries, and labels as words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from numpy.testing import assert_array_equal

from sureness.errors import DataError
from sureness.numerics.checks import check_labels, check_probability_rows, check_scores

NUMBERS = [0.5, -2.0, 1.25]
DECIMALS = [Decimal(str(number)) for number in NUMBERS]

COLUMNS = {
    "pandas": pd.Series(NUMBERS, index=[7, 7, 3]),
    "pandas nullable": pd.Series(NUMBERS, dtype="Float64", index=["c", "a", "b"]),
    "pandas of arrow": pd.Series(NUMBERS, dtype="float64[pyarrow]"),
    "pandas decimals": pd.Series(DECIMALS),
    "pandas arrow decimals": pd.Series(DECIMALS, dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    "pandas categories": pd.Series(NUMBERS, dtype="category"),
    "pandas objects": pd.Series(NUMBERS, dtype=object),
    "pandas index": pd.Index(NUMBERS),
    "polars": pl.Series(NUMBERS),
    "polars decimals": pl.Series(DECIMALS),
    "arrow": pa.array(NUMBERS),
    "arrow chunks": pa.chunked_array([NUMBERS[:1], NUMBERS[1:]]),
    "arrow decimals": pa.array(DECIMALS),
    "arrow dictionary": pa.array(NUMBERS).dictionary_encode(),
    "tensor": torch.tensor(NUMBERS, dtype=torch.float64),
    "tensor with gradient": torch.tensor(NUMBERS, requires_grad=True),
    "short tensor": torch.tensor(NUMBERS, dtype=torch.bfloat16),
    "fractions": [Fraction(number) for number in NUMBERS],
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_numbers_of_any_library_are_read_in_their_order(column):
    assert_array_equal(check_scores(column), NUMBERS)


MISSING = {
    "pandas": pd.Series([1, pd.NA], dtype="Int64"),
    "pandas objects": pd.Series([1, None], dtype=object),
    "pandas booleans": pd.Series([True, pd.NA], dtype="boolean"),
    "polars": pl.Series([1, None]),
    "polars booleans": pl.Series([True, None]),
    "arrow": pa.array([1, None]),
    "arrow chunks": pa.chunked_array([[True], [None]]),
}


@pytest.mark.parametrize("column", MISSING.values(), ids=MISSING)
def test_missing_numbers_and_labels_are_refused(column):
    with pytest.raises(DataError, match="missing"):
        check_scores(column)
    with pytest.raises(DataError, match="missing|nan"):
        check_labels(column)


LABELS = {
    "booleans": [True, False, True],
    "numbers": [1, 0, 1],
    "floats": [1.0, 0.0, 1.0],
    "capital words": ["True", "False", "True"],
    "other words": ["yes", "NO", " Yes "],
    "digits": ["1", "0", "1"],
    "digits with a point": ["1.0", "0.0", "1.0"],
    "decimals": [Decimal(1), Decimal("0.0"), Decimal("1.00")],
    "objects": np.array([True, 0, "yes"], dtype=object),
    "pandas nullable": pd.Series([True, False, True], dtype="boolean", index=[2, 1, 0]),
    "pandas strings": pd.Series(["yes", "no", "yes"], dtype="string"),
    "pandas arrow strings": pd.Series(["yes", "no", "yes"], dtype="string[pyarrow]"),
    "pandas categories": pd.Series(["yes", "no", "yes"], dtype="category"),
    "polars enum": pl.Series(["yes", "no", "yes"], dtype=pl.Enum(["no", "yes"])),
    "polars categories": pl.Series(["true", "false", "true"], dtype=pl.Categorical),
    "polars strings": pl.Series(["true", "false", "true"]),
    "arrow booleans": pa.array([True, False, True]),
    "arrow dictionary": pa.array(["1", "0", "1"]).dictionary_encode(),
    "tensor": torch.tensor([1, 0, 1]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_come_in_any_form(labels):
    assert_array_equal(check_labels(labels), [True, False, True])


@pytest.mark.parametrize(
    ("labels", "seen"),
    [
        (["yes", "maybe", "nein"], "'maybe', 'nein'"),
        ([1, 2, 3], "2, 3"),
        (pl.Series(["clicked"], dtype=pl.Categorical), "'clicked'"),
        ([Decimal(2)], "Decimal"),
        (np.array([[1], [2]], dtype=object)[:, 0], "2"),
        ([""], "''"),
    ],
)
def test_other_labels_are_refused_with_the_values_seen(labels, seen):
    with pytest.raises(DataError, match=seen):
        check_labels(labels)


def test_whole_numbers_beyond_any_float_are_refused():
    with pytest.raises(DataError, match="64 bits"):
        check_scores([10**400])


def test_rows_of_decimals_are_probabilities():
    rows, _ = check_probability_rows(np.array([[Decimal("0.5"), Decimal("0.25")]], dtype=object))
    assert_array_equal(rows, [[0.5, 0.25]])
