"""The map for lists as a query gives what Python gives, on real databases and on the nastiest candidates."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pytest

import sureness as sn
from sureness.errors import NotFittedError, SettingError
from sureness.expressions import DIALECTS, dialect_named
from tests.sql.cases import difference
from tests.sql.engines import ENGINES, Column, started, why_absent
from tests.sql.lists import CASES, COUNTRIES, fitted, nasty

TOLERANCE = 1e-9
NAMES = {"group": "query id", "history": "past"}
KINDS = {"id": "integer", "score": "double", "past": "double", "age": "double", "country": "text"}

pytestmark = pytest.mark.filterwarnings("ignore")  # of the drivers


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    if (reason := why_absent(request.param)) is not None:
        pytest.fail(reason) if os.environ.get("SURENESS_DATABASES") == "all" else pytest.skip(reason)
    with started(request.param) as running:
        yield running


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
@pytest.mark.parametrize("name", CASES)
def test_every_map_for_lists(engine, name, text):
    given, table = nasty(name, text=text), f"lists_{name.replace(' ', '_')}_{text}".lower()
    kinds = KINDS | {"query id": "text" if text else "integer"}
    columns = {column.name: Column(kinds[column.name], column.to_list()) for column in given.table}
    engine.load(table, {dialect_named(engine.dialect).identifier(name): each for name, each in columns.items()})
    rows = sorted(engine.rows(fitted(name).query(engine.dialect, table, **NAMES)))
    assert [row[0] for row in rows] == given.table["id"].to_list()
    assert {len(row) for row in rows} == {given.table.width + 1}
    assert difference([row[-1] for row in rows], given.probability) < TOLERANCE


def test_a_group_of_a_million_candidates(engine):
    """Those that are checked are one in a thousand."""
    from_numbers = {
        "sqlite": "WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id < 999999) {} FROM n",
        "duckdb": "{} FROM (SELECT range AS id FROM range(1000000)) AS n",
        "postgres": "{} FROM (SELECT generate_series(CAST(0 AS bigint), 999999) AS id) AS n",
        "spark": "{} FROM range(1000000)",
    }
    double = dialect_named(engine.dialect).double
    scores = f"CAST(id * 7919 % 1000003 AS {double}) / CAST(100000 AS {double}) AS score"
    selected = from_numbers[engine.dialect].format(
        f"SELECT id, CASE WHEN id < 999900 THEN 1 ELSE 2 END AS user_id, {scores}"
    )
    made = f"CREATE TEMPORARY VIEW million AS {selected}"
    engine.session.sql(made) if engine.dialect == "spark" else engine.connection.execute(made)
    calibrator = fitted("scores")
    rows = engine.rows(f"SELECT * FROM ({calibrator.query(engine.dialect, 'million')}) AS found WHERE id % 1000 > 998")
    ids = np.arange(1_000_000)
    wanted = calibrator.probability((ids * 7919 % 1000003) / 100000, groups=np.where(ids < 999_900, 1, 2))
    assert len(rows) == 1_000
    assert difference([row[-1] for row in sorted(rows)], wanted[999::1_000].tolist()) < TOLERANCE


@pytest.mark.parametrize("name", CASES)
def test_polars(name):
    given = nasty(name, text=True)
    found = given.table.lazy().with_columns(fitted(name).expression("polars", **NAMES)).collect()
    assert found.columns == [*given.table.columns, "probability"]
    assert difference(found["probability"].to_list(), given.probability) < 1e-12


def test_polars_without_rows():
    empty = pl.DataFrame(schema={"user_id": pl.String, "score": pl.Float64})
    assert empty.select(fitted("scores").expression("polars")).schema == {"probability": pl.Float64}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_read_by_sqlglot(dialect):
    sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed; make install has it")
    exp = sqlglot.exp
    text = fitted("everything").query(dialect, "shop.candidates", "my score", **NAMES)
    (found,) = sqlglot.parse(text, dialect=dialect)
    tables = [(table.db, table.name) for table in found.find_all(exp.Table)]
    assert tables == [("shop", "candidates")] * 2
    assert len(found.expressions) == 2  # all columns, and the probability
    read = {column.name for column in found.find_all(exp.Column) if column.table == "scores"}
    assert read == {"*", "my score", "query id", "past", "age", "country"}
    assert {each.expression.name for each in found.find_all(exp.EQ)} == {*COUNTRIES, "list"}
    assert {function.name for function in found.find_all(exp.Anonymous)} <= {"TYPEOF"}
    assert len(text) < 20_000


def test_an_expression_of_one_row_is_refused():
    with pytest.raises(SettingError, match=r"query\(\)"):
        fitted("scores").expression("duckdb")
    with pytest.raises(SettingError, match="postgres"):
        fitted("scores").query("oracle", "candidates")
    with pytest.raises(NotFittedError):
        sn.ListCalibrator().query("duckdb", "candidates")
