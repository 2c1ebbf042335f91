"""sureness sql: what is printed runs in a database."""

from __future__ import annotations

import pytest

import sureness as sn
from tests.cli.runner import run, succeed
from tests.sql.cases import difference, expected, of_fields
from tests.sql.engines import Column, SQLite

SCORES = Column("double", [-1.0, 0.0, None, 2.5])


def test_the_expression_is_that_of_the_library(inputs):
    printed = succeed("sql", "map.json", "--dialect", "spark", "--columns", "score=s", "--table", "shop.t", cwd=inputs)
    assert printed == sn.load(inputs / "map.json").expression("spark", "s", table="shop.t") + "\n"


def test_a_query_runs(inputs):
    engine, calibrator = SQLite(), sn.load(inputs / "map.json")
    engine.load("t", {"score": SCORES})
    printed = succeed("sql", "map.json", "--dialect", "sqlite", "--table", "t", "--query", cwd=inputs)
    found = [probability for _, probability in engine.rows(printed)]
    assert difference(found, expected(calibrator.probability, SCORES)) < 1e-12


def test_a_map_of_fields_is_written_as_it_is_in_python(tmp_path):
    of_fields("platt").save(tmp_path / "map.json")
    printed = succeed("sql", "map.json", "--dialect", "postgres", "--table", "t", "--query", cwd=tmp_path)
    assert printed.strip() == sn.load(tmp_path / "map.json").query("postgres", "t")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("users.sureness", "--table", "t"), "setting"),  # its table is made in Python
        (("lists.json",), "setting"),  # it compares the rows of a table
        (("map.json", "--query"), "setting"),
        (("map.json", "--columns", "score="), "setting"),
        (("run.sureness",), "kind"),
    ],
)
def test_what_makes_no_sense_is_refused(inputs, words, code):
    done = run("sql", *words, "--dialect", "duckdb", cwd=inputs)
    assert (done.returncode, done.error) == (1, code)


def test_an_unknown_dialect_is_refused_with_those_there_are(inputs):
    assert "postgres" in run("sql", "map.json", "--dialect", "oracle", cwd=inputs).stderr
