"""What databases write differently: quotes, double-precision numbers, text, and the names of two functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sureness.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class SqlDialect:
    """How one database writes what a formula needs."""

    name: str
    double: str  # its type of double-precision numbers
    number: str | None = None  # how to write one; None: with an exponent, without which it would be an exact decimal
    quote: str = '"'  # around names
    not_in_names: str = ""  # characters that cannot be part of a name
    backslash_escapes: bool = False  # whether a backslash in text needs another one
    quote_in_text: str = "''"
    least: str = "LEAST"  # the smallest of several values, none of which is missing
    greatest: str = "GREATEST"
    no_number: str | None = None  # condition under which a value is no number, where a cast would make it 0
    same_ids: str = "{}"  # around an id of text, so that only equal text is equal
    has_lateral: bool = True  # whether a joined subquery may use columns of the tables before it
    kept_apart: str = ""  # end of a subquery that is computed before it is used, not written out where it is

    def double_literal(self, value: float) -> str:
        """A number with all its digits."""
        text = repr(float(value))
        if self.number is not None:
            return self.number.format(text)
        return text if "e" in text else f"{text}e0"

    def identifier(self, *path: str) -> str:
        """Schema, table and column, each in quotes."""
        return ".".join(self._quoted(name) for name in path)

    def _quoted(self, name: str) -> str:
        if any(character in self.not_in_names for character in name):
            raise SettingError(f"{self.name} has no names with one of {self.not_in_names!r}, got {name!r}; rename it")
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def text_literal(self, value: str) -> str:
        """A text in single quotes."""
        if "\0" in value:
            raise SettingError(f"text in SQL must not hold the character 0, got {value!r}; rename the segment")
        if self.backslash_escapes:
            value = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        return "'" + value.replace("'", self.quote_in_text) + "'"

    def equal_ids(self, reference: str, value: str | int) -> str:
        """Whether a column holds an id; no two different texts are equal."""
        if isinstance(value, int):
            return f"{reference} = {value}"
        return f"{self.same_ids.format(reference)} = {self.text_literal(value)}"


_ALL = (
    SqlDialect(name="duckdb", double="DOUBLE"),
    SqlDialect(name="postgres", double="double precision", number="'{}'::float8", kept_apart=" OFFSET 0"),
    SqlDialect(
        name="sqlite",
        double="REAL",
        quote="`",  # an unknown name in double quotes would be read as a text
        least="MIN",
        greatest="MAX",
        no_number="TYPEOF({}) NOT IN ('integer', 'real')",
        has_lateral=False,
    ),
    SqlDialect(
        name="spark", double="DOUBLE", number="{}D", quote="`", backslash_escapes=True,
        quote_in_text="\\'",  # two quotes would be the end of one text and the start of another
    ),
    SqlDialect(
        name="bigquery", double="FLOAT64", quote="`", not_in_names="`\\\n\r", backslash_escapes=True,
        quote_in_text="\\'", has_lateral=False,
    ),
    SqlDialect(name="snowflake", double="DOUBLE", number="'{}'::DOUBLE", backslash_escapes=True),
    SqlDialect(
        name="mysql", double="DOUBLE", quote="`", backslash_escapes=True,
        same_ids="CONVERT({} USING utf8mb4) COLLATE utf8mb4_bin",  # usual collations do not tell A from a
    ),
)  # fmt: skip

DIALECTS: Mapping[str, SqlDialect] = MappingProxyType({dialect.name: dialect for dialect in _ALL})
"""Every dialect by name."""


def dialect_named(name: str) -> SqlDialect:
    """A dialect by name; an unknown one is refused.

    Examples
    --------
    >>> dialect_named("spark").identifier("shop", "score")
    '`shop`.`score`'
    >>> dialect_named("postgres").double_literal(0.5)
    "'0.5'::float8"
    """
    if name not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise SettingError(f"there is no dialect {name!r}; there are {known}, and polars for an expression of polars")
    return DIALECTS[name]
