"""sqlglot reads what is written for every dialect, also those that have no server here."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.expressions import DIALECTS
from tests.sql.cases import MAPS, SEGMENTS, fitted, of_fields, of_segments

sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed; make install has it")
exp = sqlglot.exp


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", MAPS)
def test_every_expression_is_read_as_one_of_the_score(name, dialect):
    found = sqlglot.parse_one(fitted(name).expression(dialect, "my score", table="shop.t"), dialect=dialect)
    columns = {(column.db, column.table, column.name) for column in found.find_all(exp.Column)}
    assert columns == {("shop", "t", "my score")}
    unknown = {function.name for function in found.find_all(exp.Anonymous)}
    assert unknown <= {"TYPEOF"}
    literals = {literal.this for literal in found.find_all(exp.Literal) if literal.is_string}
    assert dialect in ("postgres", "snowflake", "sqlite") or not literals  # a quoted column would be one


@pytest.mark.parametrize("dialect", DIALECTS)
def test_segments_are_read_letter_by_letter(dialect):
    found = sqlglot.parse_one(of_segments().query(dialect, "shop.scores"), dialect=dialect)
    texts = {each.expression.name for each in found.find_all(exp.EQ)}
    assert texts == set(SEGMENTS)
    assert [table.name for table in found.find_all(exp.Table)] == ["scores"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_fields_are_columns_of_the_table(dialect):
    found = sqlglot.parse_one(of_fields().expression(dialect, "my score", table="shop.t"), dialect=dialect)
    columns = {(column.db, column.table, column.name) for column in found.find_all(exp.Column)}
    assert columns == {("shop", "t", name) for name in ("my score", "market", "shop no", "popularity")}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_query_needs_often_is_computed_once(dialect):
    """A long tail is compressed with one square root."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=2_000)
    curve = sn.calibration.ShapeCalibrator().fit(np.exp(3 * z), rng.random(2_000) < 1 / (1 + np.exp(1 - z)))
    assert curve.compression_ is not None
    text = curve.query(dialect, "scores")
    assert sqlglot.parse_one(text, dialect=dialect)
    assert (text.count("SQRT("), curve.expression(dialect).count("SQRT(") > 1) == (1, True)
