"""A calibrator as SQL: an expression, or a query with the table of users that it joins."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated

from sureness.artefacts.packed import JSON
from sureness.artefacts.saving import load
from sureness.calibration.expressing import DialectName
from sureness.calibration.maps import ProbabilityMap
from sureness.data.tables import write_table
from sureness.errors import SettingError
from sureness.workflows.outputs import check_outputs
from sureness.workflows.results import plain


@dataclass(frozen=True, kw_only=True)
class SqlOptions:
    """The names that the SQL reads, and how much of a query it is."""

    dialect: Annotated[DialectName, "The database; Databricks is spark."]
    column: Annotated[str, "Column with the scores, letter by letter."] = "score"
    table: Annotated[str | None, "Table of the columns; a dot separates schema and table."] = None
    segment_column: Annotated[str, "Column with the segments, for maps per segment."] = "segment"
    user_column: Annotated[str, "Column with the users, for maps per user."] = "user_id"
    query: Annotated[bool, "Print a whole query of the table. Maps per user are always one."] = False
    maps: Annotated[str, "For maps per user: the table in the database with what was learned about each user."] = (
        "user_maps"
    )
    maps_output: Annotated[Path | None, "For maps per user: where to write that table (.parquet, .csv, .tsv)."] = None


@dataclass(frozen=True, kw_only=True)
class SqlResult:
    """The text, and the table of users that it joins."""

    sql: str
    dialect: str
    maps_output: Path | None = None  # where the table of users was written
    n_users: int | None = None  # its rows

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        found = {"sql": self.sql, "dialect": self.dialect, "maps_output": self.maps_output, "users": self.n_users}
        return plain(found)  # type: ignore[no-any-return]


def translate(calibrator: str | PathLike[str], options: SqlOptions) -> SqlResult:
    """Print a saved map as SQL, and write the table of users that it joins if that is asked for.

    Parameters
    ----------
    calibrator : path
        Any saved map.
    options : SqlOptions
    """
    check_outputs([(options.maps_output, "table")], [calibrator])
    fitted = load(calibrator, ProbabilityMap)
    if options.maps_output is None:
        return SqlResult(sql=_text(fitted, options, whole=fitted.joins_users), dialect=options.dialect)
    if not fitted.joins_users:
        raise SettingError(f"{type(fitted).__name__} joins no table of users; leave out maps_output")
    text, table = _text(fitted, options, whole=True), fitted.table()
    write_table(table, options.maps_output)
    return SqlResult(sql=text, dialect=options.dialect, maps_output=options.maps_output, n_users=len(table))


def _text(fitted: ProbabilityMap, options: SqlOptions, *, whole: bool) -> str:
    segment, user = options.segment_column, options.user_column
    if not (whole or options.query):
        return fitted.expression(options.dialect, options.column, table=options.table, segment=segment, user=user)
    if options.table is None:
        raise SettingError("a query needs the name of the table with the scores, got none; give table")
    return fitted.query(options.dialect, options.table, options.column, segment=segment, user=user, maps=options.maps)
