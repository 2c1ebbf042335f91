"""sureness sql: a calibrator in the language of a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness.cli._console import present
from sureness.cli._options import Json, Spread, names, spread
from sureness.cli._output import write_out
from sureness.jobs.exporting import SqlOptions, SqlResult, translate
from sureness.tables.columns import Columns


@spread
def print_sql(
    *,
    calibrator: Annotated[Path, typer.Argument(help="Calibrator or map written by `sureness fit`.")],
    options: Annotated[SqlOptions, Spread()],
    used: Annotated[Columns, names("score", "user_id", "segment")],
    json: Json = False,
) -> None:
    """Print a calibrator as one SQL expression of a column of scores, or as a query.

    What is missing, infinite or not a number gets no probability (NULL). A map for lists is a query, which compares the
    scores of each user; it needs --table.
    """
    present(translate(calibrator, options, columns=used), json, _show)


def _show(result: SqlResult) -> None:
    write_out(result.sql)
