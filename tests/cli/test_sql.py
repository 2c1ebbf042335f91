"""sureness sql: what is printed runs in a database."""

from __future__ import annotations

import polars as pl
import pytest

import sureness as sn
from tests.cli.runner import run, succeed, told
from tests.sql.cases import difference, expected, of_all_users, of_fields
from tests.sql.engines import Column, SQLite

SCORES = Column("double", [-1.0, 0.0, None, 2.5])


def test_the_expression_is_that_of_the_library(inputs):
    printed = succeed("sql", "map.json", "--dialect", "spark", "--column", "s", "--table", "shop.t", cwd=inputs)
    assert printed == sn.load(inputs / "map.json").expression("spark", "s", table="shop.t") + "\n"


def test_a_query_runs(inputs):
    engine, calibrator = SQLite(), sn.load(inputs / "map.json")
    engine.load("t", {"score": SCORES})
    printed = succeed("sql", "map.json", "--dialect", "sqlite", "--table", "t", "--query", cwd=inputs)
    found = [probability for _, probability in engine.rows(printed)]
    assert difference(found, expected(calibrator.probability, SCORES)) < 1e-12


def test_maps_of_users_come_with_the_table_to_join(inputs, tmp_path):
    written = told(
        "sql", "users.sureness", "--dialect", "sqlite", "--table", "t", "--user-column", "who", "--maps", "m",
        "--maps-output", tmp_path / "maps.parquet", cwd=inputs,
    )  # fmt: skip
    maps, users = pl.read_parquet(tmp_path / "maps.parquet"), sn.load(inputs / "users.sureness")
    assert written["users"] == len(maps) == len(users.users_)
    asked = Column("integer", [*users.users_.ids.to_list()[:2], 10_000, None])
    engine = SQLite()
    engine.load("t", {"who": asked, "score": SCORES})
    engine.load("m", {each.name: Column("double", each.to_list()) for each in maps})
    found = [row[-1] for row in engine.rows(written["sql"])]
    assert difference(found, expected(users.probability, SCORES, users=asked.values)) < 1e-12


@pytest.mark.parametrize("made", [of_all_users, of_fields])
def test_other_maps_are_written_as_they_are_in_python(made, tmp_path):
    fitted, file = made("platt"), tmp_path / "map.sureness"
    if made is of_fields:
        file = tmp_path / "map.json"
    fitted.save(file)
    printed = succeed("sql", file, "--dialect", "postgres", "--table", "t", "--query", cwd=tmp_path)
    assert printed.strip() == sn.load(file).query("postgres", "t")
    assert ("LEFT JOIN" in printed) == (made is of_all_users)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("users.sureness",), "setting"),  # a join needs the table
        (("map.json", "--query"), "setting"),
        (("map.json", "--maps-output", "maps.parquet"), "setting"),
        (("map.json", "--column", ""), "setting"),
        (("run.sureness",), "kind"),
        (("users.sureness", "--table", "t", "--maps-output", "users.sureness"), "output"),
    ],
)
def test_what_makes_no_sense_is_refused(inputs, words, code):
    done = run("sql", *words, "--dialect", "duckdb", cwd=inputs)
    assert (done.returncode, done.error) == (1, code)
    assert not (inputs / "maps.parquet").exists()


def test_an_unknown_dialect_is_refused_with_those_there_are(inputs):
    assert "postgres" in run("sql", "map.json", "--dialect", "oracle", cwd=inputs).stderr
