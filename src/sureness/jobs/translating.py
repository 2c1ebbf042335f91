"""A calibrator as SQL: an expression, or a query of a table of scores."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Annotated

from sureness.calibration.expressing import DialectName
from sureness.calibration.lists import ListCalibrator
from sureness.calibration.maps import ProbabilityMap
from sureness.errors import SettingError
from sureness.jobs.results import plain
from sureness.saving.objects import load
from sureness.saving.packed import JSON
from sureness.tables.columns import Columns


@dataclass(frozen=True, kw_only=True)
class SqlOptions:
    """The database, and whether a query is wanted."""

    dialect: Annotated[DialectName, "The database; Databricks is spark."]
    table: Annotated[str | None, "Table of the columns; a dot separates schema and table."] = None
    query: Annotated[bool, "Print a whole query of the table. Maps for lists are always one."] = False


@dataclass(frozen=True, kw_only=True)
class SqlResult:
    """The text, and the database that it is for."""

    sql: str
    dialect: str

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        return plain({"sql": self.sql, "dialect": self.dialect})  # type: ignore[no-any-return]


def translate(calibrator: str | PathLike[str], options: SqlOptions, *, columns: Columns | None = None) -> SqlResult:
    """Print a saved map as SQL.

    Maps per user join a table with a row for each user, so their SQL is made in Python, with ``query`` and ``table``.

    Parameters
    ----------
    calibrator : path
        Any saved map but one per user.
    options : SqlOptions
    columns : Columns, optional
        Names of the columns score, user_id (users, queries or sessions) and segment, letter by letter.
    """
    fitted = load(calibrator, ProbabilityMap)
    if fitted.joins_users:
        raise SettingError(
            f"{calibrator} has a map for each user, whose query joins a table; write both in Python, with "
            "query(...) and table()"
        )
    return SqlResult(sql=_text(fitted, options, columns or Columns()), dialect=options.dialect)


def _text(fitted: ProbabilityMap, options: SqlOptions, columns: Columns) -> str:
    dialect, column, segment = options.dialect, columns.score, columns.segment or "segment"
    of_lists = isinstance(fitted, ListCalibrator)
    if not (of_lists or options.query):
        return fitted.expression(dialect, column, table=options.table, segment=segment)
    if options.table is None:
        raise SettingError("a query needs the name of the table with the scores, got none; give table=...")
    if isinstance(fitted, ListCalibrator):
        return fitted.query(dialect, options.table, column, group=columns.user_id)
    return fitted.query(dialect, options.table, column, segment=segment)
