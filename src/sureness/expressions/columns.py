"""The names of tables and columns that an expression reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sureness.errors import SettingError
from sureness.expressions.nodes import Reference


@dataclass(frozen=True)
class ColumnNames:
    """Where scores, segments, users and what was learned about each segment are found.

    Names are taken letter by letter. A dot in a table's name separates schema and table; a dot in a column's name
    separates table and column, unless the table is given.

    Examples
    --------
    >>> ColumnNames(score="t.score").reference_to("score")
    Reference(column='score', table=('t',), holds='numbers')
    >>> ColumnNames(score="a.b", table="t").reference_to("score")
    Reference(column='a.b', table=('t',), holds='numbers')
    """

    score: str = "score"
    table: str | None = None
    segment: str = "segment"
    user: str = "user_id"
    maps: str | None = None  # the joined table of what was learned about each segment

    def reference_to(self, what: str) -> Reference:
        """The column of the scores, segments or users."""
        name: str = getattr(self, what)
        if self.table is not None:
            return Reference(_named(name), path_of(self.table), _holds(what))
        *table, column = path_of(name)
        return Reference(column, tuple(table), _holds(what))

    def field(self, name: str, holds: Literal["numbers", "ids"]) -> Reference:
        """A column with the name of a field; a dot is part of the name."""
        return Reference(_named(name), () if self.table is None else path_of(self.table), holds)

    def learned(self, column: str) -> Reference:
        """A column of numbers of the joined table."""
        return Reference(column, () if self.maps is None else path_of(self.maps))


def path_of(name: str) -> tuple[str, ...]:
    """Schema, table and column out of a name with dots.

    Examples
    --------
    >>> path_of("shop.scores")
    ('shop', 'scores')
    """
    return tuple(_named(part) for part in name.split("."))


def _named(name: str) -> str:
    if not name or "\0" in name:
        raise SettingError(f"tables and columns must have a name, got {name!r}")
    return name


def _holds(what: str) -> Literal["numbers", "ids"]:
    return "ids" if what in ("segment", "user") else "numbers"
