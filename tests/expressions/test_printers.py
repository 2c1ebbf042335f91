"""Trees as text and as expressions of polars."""

from __future__ import annotations

import math
import sqlite3

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sureness.errors import SettingError
from sureness.expressions import (
    DIALECTS,
    ColumnNames,
    Named,
    Number,
    Reference,
    computed_sql,
    dialect_named,
    nodes,
    polars_of,
    sql_of,
)
from sureness.expressions.nodes import Arithmetic

SQLITE = dialect_named("sqlite")
SCORE = Reference("score")
SCORES = [-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.0, 7.5]

leaves = st.one_of(st.just(SCORE), st.floats(-4, 4).map(Number))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*"), inner, inner),
        inner.map(nodes.absolute),
        inner.map(lambda node: nodes.exp(nodes.clip(node, -5.0, 5.0))),
        inner.map(lambda node: nodes.log(nodes.absolute(node) + 1.0)),
        inner.map(lambda node: 1.0 / (nodes.absolute(node) + 0.5)),
        st.builds(lambda a, b, c: nodes.choose(a, [-1.0, 1.0], [a, b, c]), inner, inner, inner),
        inner.map(lambda node: Named("again", node)),
    ),
    max_leaves=12,
)


def by_sqlite(text: str) -> list[float | None]:
    with sqlite3.connect(":memory:") as engine:
        engine.execute("CREATE TABLE t (score REAL)")
        engine.executemany("INSERT INTO t VALUES (?)", [(score,) for score in SCORES])
        found = [row[0] for row in engine.execute(f"SELECT {text} FROM t")]
    engine.close()
    return found


@given(trees)
def test_text_and_polars_agree_on_any_tree(tree):
    """Brackets are left out where they are not needed; a wrong one would give another number."""
    by_polars = pl.DataFrame({"score": SCORES}).select(pl.lit(0.0) + polars_of(tree)).to_series().to_numpy()
    by_text = np.array(by_sqlite(f"0.0 + ({sql_of(tree, SQLITE)})"), dtype=float)
    assert_allclose(by_text, np.broadcast_to(by_polars, by_text.shape), rtol=1e-12, atol=1e-12)
    once = np.array(by_sqlite(f"0.0 + ({computed_sql(tree, SQLITE).value})"), dtype=float)
    assert_allclose(once, by_text, rtol=1e-12, atol=1e-12)


def test_named_values_are_computed_once_and_give_the_same():
    """Each may use those before it; two with one name stay apart."""
    first = Named("first", SCORE * 2.0)
    second = Named("second", nodes.exp(first) - first)
    other = Named("first", SCORE - 1.0)
    tree = second * second - (first - other) * (other / 3.0)
    found = computed_sql(tree, SQLITE)
    assert found.subquery is None
    assert found.value.count("EXP") == 1
    assert_allclose(by_sqlite(found.value), by_sqlite(sql_of(tree, SQLITE)), rtol=1e-12)
    by_polars = pl.DataFrame({"score": SCORES}).select(polars_of(tree)).to_series()
    assert_allclose(by_sqlite(found.value), by_polars, rtol=1e-12)


def test_a_database_with_lateral_joins_gets_the_subquery_apart():
    found = computed_sql(Named("a", SCORE * 2.0) - Named("a", SCORE * 2.0), dialect_named("postgres"))
    assert found.value == '"computed"."a" - "computed"."a"'
    assert found.subquery is not None
    assert found.subquery.count('AS "a"') == 1
    plain = computed_sql(SCORE * 2.0, dialect_named("postgres"))
    assert plain.subquery is None
    assert plain.value == sql_of(SCORE * 2.0, dialect_named("postgres"))


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (SCORE - (SCORE - 1.0), "CAST(`score` AS REAL) - (CAST(`score` AS REAL) - 1.0e0)"),
        (SCORE - SCORE - 1.0, "CAST(`score` AS REAL) - CAST(`score` AS REAL) - 1.0e0"),
        ((SCORE + 1.0) / (SCORE * 2.0), "(CAST(`score` AS REAL) + 1.0e0) / (CAST(`score` AS REAL) * 2.0e0)"),
        (2.0 - SCORE * -1.0, "2.0e0 - CAST(`score` AS REAL) * (-1.0e0)"),
    ],
)
def test_brackets_stand_where_they_are_needed(tree, text):
    assert sql_of(tree, SQLITE) == text


@pytest.mark.parametrize("n_branches", [1, 2, 3, 8, 9, 64, 65, 1_000])
def test_a_search_finds_the_branch_of_every_score(n_branches):
    edges = np.linspace(-3, 2, n_branches - 1) if n_branches > 1 else []
    values = np.arange(n_branches, dtype=float)
    tree = nodes.choose(SCORE, edges, values)
    expected = values[np.searchsorted(edges, SCORES, side="right")]
    assert by_sqlite(sql_of(tree, SQLITE)) == expected.tolist()
    by_polars = pl.DataFrame({"score": SCORES}).select(pl.lit(0.0) + polars_of(tree)).to_series()
    assert np.broadcast_to(by_polars, 8).tolist() == expected.tolist()


def test_a_search_of_thousands_compares_few():
    text = sql_of(nodes.choose(SCORE, range(5_000), np.zeros(5_001)), SQLITE)
    nested = max(text[:place].count("CASE") - text[:place].count("END") for place in range(0, len(text), 997))
    assert nested <= 6


def test_branches_of_one_form_are_computed_once_in_polars():
    tree = nodes.choose(SCORE, range(500), [(SCORE - float(k)) * 2.0 for k in range(501)])
    assert len(str(polars_of(tree))) < 2_000


def test_exponentials_never_leave_the_range_of_doubles():
    tree = nodes.exp(SCORE * 1e6)
    largest = max(value for value in by_sqlite(sql_of(tree, SQLITE)) if value is not None)
    assert math.isfinite(largest * 1e40)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_sql_cannot_write_are_refused(value):
    with pytest.raises(SettingError):
        SCORE * value


def test_a_text_longer_than_databases_take_is_refused():
    with pytest.raises(SettingError):
        sql_of(nodes.choose(SCORE, range(60_000), np.zeros(60_001)), SQLITE)


def test_arithmetic_with_numbers_of_numpy():
    assert np.float64(2.0) * SCORE == 2.0 * SCORE
    assert np.float64(2.0) - SCORE == 2.0 - SCORE


@pytest.mark.parametrize("name", ["", "a..b", ".a", "a\0b"])
def test_names_that_are_none_are_refused(name):
    with pytest.raises(SettingError):
        ColumnNames(name).reference_to("score")


def test_the_inverse_hyperbolic_sine_is_that_of_numpy():
    values = [0.0, -0.5, 3.0, -1e-9, 1e-200, -1e40, 1e149]
    tree = nodes.asinh(SCORE)
    found = pl.DataFrame({"score": values}).select(polars_of(tree)).to_series().to_list()
    assert found == pytest.approx(np.arcsinh(values).tolist(), rel=1e-9, abs=1e-15)
    with sqlite3.connect(":memory:") as database:
        text = sql_of(tree, SQLITE)
        asked = [database.execute(f"SELECT {text} FROM (SELECT ? AS score)", [value]).fetchone()[0] for value in values]
    assert asked == pytest.approx(found, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_a_square_root(dialect):
    assert sql_of(nodes.sqrt(Number(4.0)), dialect_named(dialect)).startswith("SQRT(")
