"""Sampling weights against the formulas of the dissertation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from sureness.distillation.sampling import (
    SCHEMES,
    check_scheme,
    equal_weights,
    exp_weights,
    tanh_weights,
    weight_table,
)
from sureness.errors import SettingError

GAPS = arrays(np.float64, st.integers(1, 30), elements=st.integers(-20_000, 20_000).map(float))
SCALES = st.sampled_from([1e-5, 1e-4, 1e-3, 1e-2])
every = pytest.mark.parametrize("scheme", SCHEMES)


@given(GAPS, SCALES)
def test_tanh_weights_follow_the_dissertation(gaps, scale):
    assert_allclose(tanh_weights(gaps, scale), [math.tanh(max(gap * scale, 0.0)) for gap in gaps], rtol=1e-12)


@given(GAPS, SCALES)
def test_exp_weights_follow_the_dissertation_up_to_a_common_factor(gaps, scale):
    """Only shares matter; the largest weight is 1, so that nothing overflows."""
    found = exp_weights(gaps, scale)
    assert found.max() == 1.0
    assert_allclose(found, [math.exp((gap - max(gaps)) * scale) for gap in gaps], rtol=1e-9)


@given(GAPS, SCALES)
def test_weights_grow_with_the_gap(gaps, scale):
    order = np.argsort(gaps)
    for weigh in (tanh_weights, exp_weights, equal_weights):
        weights = weigh(gaps, scale)
        assert weights.shape == gaps.shape
        assert np.all((weights >= 0) & np.isfinite(weights))
        assert np.all(np.diff(weights[order]) >= 0)


def test_tanh_saturates_where_exp_keeps_growing():
    """Two large gaps weigh almost the same with tanh, and very differently with exp."""
    far = np.array([3_000.0, 6_000.0])
    tanh, exp = tanh_weights(far, 1e-3), exp_weights(far, 1e-3)
    assert tanh[0] / tanh[1] == pytest.approx(1.0, abs=0.01)
    assert exp[0] / exp[1] == pytest.approx(math.exp(-3))


def test_exp_weights_of_huge_gaps_are_finite():
    assert exp_weights(np.array([-1e9, 1e9]), 1.0).tolist() == [0.0, 1.0]


@every
def test_the_table_has_the_weight_of_every_rank_difference(scheme):
    """Shares of pairs of ranks, against the formulas of the dissertation."""
    n_items, scale = 50, 0.01
    table, compared = weight_table(scheme, scale, n_items), SCHEMES[scheme].compared
    ranks = [(1, 50), (50, 1), (7, 7), (3, 9), (9, 3), (50, 50), (1, 1)]
    expected = [
        {
            "tanh": math.tanh(max((mine - other) * scale, 0.0)), "exp": math.exp((mine - other) * scale),
            "rank-aware": math.exp(-other * scale), "uniform": 1.0,
        }[scheme]
        for mine, other in ranks
    ]  # fmt: skip
    found = [table[(mine if compared else 0) - other + n_items] for mine, other in ranks]
    assert table.shape == (2 * n_items + 1,)
    assert_allclose(np.array(found) / sum(found), np.array(expected) / sum(expected), rtol=1e-12)


def test_a_rank_aware_table_gives_the_first_rank_weight_one():
    """Differences of 0 and more, which never occur, weigh as much as the first rank."""
    table = weight_table("rank-aware", 0.1, 5)
    assert_allclose(table[:5], np.exp(-0.1 * np.array([4, 3, 2, 1, 0])))
    assert_allclose(table[5:], 1.0)


def test_which_schemes_compare_both_ranks():
    assert {name: scheme.compared for name, scheme in SCHEMES.items()} == {
        "tanh": True, "exp": True, "rank-aware": False, "uniform": False,
    }  # fmt: skip


def test_top_is_a_scheme_but_has_no_table():
    check_scheme("top")
    with pytest.raises(SettingError, match="scheme"):
        weight_table("top", 1e-3, 5)


@pytest.mark.parametrize("name", ["Tanh", "", "cosine", None, 3, ["tanh"]])
def test_an_unknown_scheme_is_refused(name):
    with pytest.raises(SettingError, match="scheme"):
        check_scheme(name)
