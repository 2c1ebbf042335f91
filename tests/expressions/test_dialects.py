"""What each database writes differently."""

from __future__ import annotations

import sys

import pytest

from sureness.errors import SettingError
from sureness.expressions import DIALECTS, dialect_named

BACKQUOTES = {"spark", "sqlite", "bigquery", "mysql"}


@pytest.mark.parametrize("name", DIALECTS)
def test_names_are_quoted_one_by_one(name):
    quote = "`" if name in BACKQUOTES else '"'
    assert DIALECTS[name].identifier("shop", "score") == f"{quote}shop{quote}.{quote}score{quote}"


@pytest.mark.parametrize("name", DIALECTS)
def test_a_quote_in_a_name_does_not_end_it(name):
    dialect = DIALECTS[name]
    if name == "bigquery":
        with pytest.raises(SettingError):
            dialect.identifier("a`b")
    else:
        assert dialect.identifier(f"a{dialect.quote}b") == f"{dialect.quote}a{2 * dialect.quote}b{dialect.quote}"


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("value", [0.1, 1e-300, 5e-324, sys.float_info.max, -2.0, 1 / 3])
def test_numbers_keep_all_digits_and_are_doubles(name, value):
    text = DIALECTS[name].double_literal(value)
    digits = text.split("'")[1] if text.startswith("'") else text.removesuffix("D")
    assert float(digits) == value
    assert text.startswith("'") or text.endswith("D") or "e" in text  # a plain decimal is an exact one in most


def test_two_quotes_are_no_quote_where_they_join_texts():
    assert dialect_named("spark").text_literal("it's") == r"'it\'s'"
    assert dialect_named("bigquery").text_literal("it's\n") == r"'it\'s\n'"
    assert dialect_named("postgres").text_literal("it's\\") == "'it''s\\'"
    assert dialect_named("mysql").text_literal("it's\\") == "'it''s\\\\'"


def test_text_that_no_database_takes_is_refused():
    with pytest.raises(SettingError):
        dialect_named("duckdb").text_literal("a\0b")


@pytest.mark.parametrize("name", ["sql", "oracle", "", "Postgres"])
def test_other_dialects_are_refused_with_those_there_are(name):
    with pytest.raises(SettingError, match="postgres"):
        dialect_named(name)
