"""The figure of M."""

from __future__ import annotations

import polars as pl
import pytest
from numpy.testing import assert_allclose

from sureness.errors import DataError
from sureness_reproduction.plots.summation import draw_summation_bound, prepare_summation_bound


def test_runs_are_averaged_in_the_order_of_m():
    table = pl.DataFrame({"M": ["100", "20", "20", "exact", "exact"], "value": [0.5, 0.2, 0.4, 0.6, 0.7]})
    found = prepare_summation_bound(table, "F1")
    assert found.terms.tolist() == [20, 100]
    assert_allclose(found.value, [0.3, 0.5])
    assert_allclose(found.high, [0.4, 0.5])
    assert found.exact == pytest.approx(0.65)


def test_the_exact_sum_is_drawn_where_it_is_known():
    table = pl.DataFrame({"M": ["20", "100", "exact"], "value": [0.2, 0.3, 0.31]})
    named = [draw_summation_bound(prepare_summation_bound(some, "F1")).get_legend_handles_labels()[1]
             for some in (table, table.head(2))]  # fmt: skip
    assert named == [["summed up to M", "exact"], ["summed up to M"]]


def test_a_study_without_terms_is_refused():
    with pytest.raises(DataError, match="at least one run"):
        prepare_summation_bound(pl.DataFrame({"M": ["exact"], "value": [0.3]}), "F1")
