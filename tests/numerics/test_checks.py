"""What comes through the door, and what is said to the rest."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from sureness.errors import DataError, IdError, SettingError
from sureness.numerics import checks


@given(arrays(st.sampled_from([np.float32, np.float64]), st.integers(1, 20), elements=st.floats(-1e9, 1e9, width=32)))
def test_finite_scores_pass_unchanged_and_keep_their_precision(scores):
    checked = checks.check_scores(scores[::-1])
    assert_array_equal(checked, scores[::-1])
    assert checked.dtype == scores.dtype
    assert checked.flags["C_CONTIGUOUS"]


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.float16, ">f4", ">f8", bool])
def test_other_numbers_become_float64(kind):
    checked = checks.check_scores(np.array([0, 1, 1]).astype(kind))
    assert checked.dtype == np.float64
    assert_array_equal(checked, [0, 1, 1])


@pytest.mark.parametrize("given_as", [list, tuple, pl.Series, np.array])
def test_scores_come_as_any_array_like(given_as):
    assert_array_equal(checks.check_scores(given_as([1.5, -2.0])), [1.5, -2.0])


@given(st.integers(0, 30), st.sampled_from([math.nan, math.inf, -math.inf]))
def test_the_first_value_that_is_not_finite_is_named(place, bad):
    scores = np.zeros(40)
    scores[[place, 39]] = bad
    with pytest.raises(DataError, match=f"position {place}"):
        checks.check_scores(scores)


@pytest.mark.parametrize(
    ("scores", "word"),
    [
        ([], "scores"),
        (3.0, "dimensional"),
        (np.zeros((2, 3)), "shape"),
        (["a"], "scores"),
        ([1 + 2j], "numbers"),
        ([None, 1.0], "missing"),
        ([[1.0], [1.0, 2.0]], "scores"),
    ],
    ids=["empty", "scalar", "matrix", "text", "complex", "none", "ragged"],
)
def test_what_is_no_row_of_numbers_is_refused(scores, word):
    with pytest.raises(DataError, match=word):
        checks.check_scores(scores)


@pytest.mark.parametrize("bad", [1e150, -1e308])
def test_numbers_whose_square_would_overflow_are_refused(bad):
    with pytest.raises(DataError, match="scores"):
        checks.check_scores([0.0, bad])


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], [False, True], np.array([0, 1], np.uint8), np.float32([0, 1])])
def test_labels_become_booleans(labels):
    checked = checks.check_labels(labels)
    assert checked.dtype == bool
    assert_array_equal(checked, [False, True])


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        ([0, 1, 4, 5], "other"),
        ([0.5], "0.5"),
        ([math.nan], "nan"),
        ([-1, 1], "-1"),
        (["perhaps", "yes"], "perhaps"),
        (["yes", None], "missing"),
    ],
)
def test_labels_other_than_zero_and_one_are_refused(labels, word):
    with pytest.raises(DataError, match=word):
        checks.check_labels(labels)


def test_no_weight_and_no_propensity_stay_none():
    assert checks.check_weight(None, 3) is None
    assert checks.check_propensity(None, 3) is None


@pytest.mark.parametrize(
    ("propensity", "word"),
    [
        ([0.0, 0.5], "clip"),
        ([0.5, 1.01], "propensities"),
        ([0.5], "value"),
        ([0.5, math.nan], "propensity"),
    ],
)
def test_impossible_propensities_are_refused(propensity, word):
    with pytest.raises(DataError, match=word):
        checks.check_propensity(propensity, 2)


def test_a_propensity_of_one_is_possible():
    assert_array_equal(checks.check_propensity([1.0, 1e-9], 2), [1.0, 1e-9])


@pytest.mark.parametrize("value", [0.0, 1.5, -1.0, math.nan])
def test_a_share_outside_its_range_is_refused(value):
    with pytest.raises(SettingError, match="clip"):
        checks.check_share(value, "clip")


@pytest.mark.parametrize("value", ["0.5", None])
def test_a_share_or_rate_that_is_no_number_is_refused(value):
    for check in (checks.check_share, checks.check_rate):
        with pytest.raises(SettingError, match="kept"):
            check(value, "kept")


@pytest.mark.parametrize("value", [0.0, 1.0, math.nan])
def test_a_rate_outside_its_range_is_refused(value):
    with pytest.raises(SettingError, match="base_rate"):
        checks.check_rate(value, "base_rate")


def test_shares_and_rates_inside_pass():
    assert checks.check_share(1, "clip") == 1.0
    assert checks.check_rate(0.3, "base_rate") == 0.3


def test_a_choice_must_be_among_the_words():
    assert checks.check_choice("naive", "risk", ("naive", "unbiased")) == "naive"
    with pytest.raises(SettingError, match="risk"):
        checks.check_choice("fair", "risk", ("naive", "unbiased"))


@pytest.mark.parametrize("ids", [[1, 2], ["a", "ü"], np.array(["a", "b"], dtype=object), [1.0, 2.0]])
def test_ids_pass_as_they_come(ids):
    assert_array_equal(checks.check_ids(ids, 2, "users"), np.asarray(ids))


@pytest.mark.parametrize(
    "ids",
    [["a", None], [1.0, math.nan], np.array(["a", math.nan], dtype=object), np.array(["2024", "NaT"], "datetime64[Y]")],
    ids=["none", "nan", "nan among texts, as pandas has it", "not a time"],
)
def test_missing_ids_are_refused(ids):
    with pytest.raises(IdError, match="users"):
        checks.check_ids(ids, 2, "users")


def test_the_length_that_was_expected_and_the_one_that_came_are_named():
    with pytest.raises(DataError, match="labels"):
        checks.same_length(np.zeros(2_000), 1_000, "labels")


MASKED = np.ma.array([0.5, 1.0, 0.0], mask=[False, True, False])


@pytest.mark.parametrize(
    "read",
    [
        checks.check_scores,
        checks.check_labels,
        checks.check_probabilities,
        checks.check_probability_rows,
        lambda values: checks.check_weight(values, 3),
        lambda values: checks.check_propensity(values, 3),
        lambda values: checks.check_ids(values, 3, "users"),
        lambda values: checks.check_rows(values.astype(int), 3, "users", "{}"),
    ],
)
def test_masked_values_are_refused_because_an_array_would_forget_the_mask(read):
    with pytest.raises(DataError, match="1 masked"):
        read(MASKED)


def test_a_mask_that_hides_nothing_is_no_matter():
    assert_array_equal(checks.check_scores(np.ma.array([0.5, 1.0], mask=[False, False])), [0.5, 1.0])


def test_whole_numbers_of_128_bits_are_refused_in_one_sentence():
    for read in (checks.check_scores, checks.check_labels):
        with pytest.raises(DataError, match="128"):
            read(pl.Series([0, 1], dtype=pl.Int128))


@pytest.mark.parametrize("smallest", [1e-320, 1e-200])
def test_propensities_without_an_inverse_are_refused(smallest):
    with pytest.raises(DataError, match="propensities"):
        checks.check_propensity([0.5, smallest], 2)
