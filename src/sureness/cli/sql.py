"""sureness sql: a calibrator in the language of a database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sureness._wording import counted
from sureness.cli._console import present
from sureness.cli._options import Json, Spread, spread
from sureness.workflows.translating import SqlOptions, SqlResult, translate


@spread
def print_sql(
    *,
    calibrator: Annotated[Path, typer.Argument(help="Calibrator or map written by `sureness fit`.")],
    options: Annotated[SqlOptions, Spread()],
    json: Json = False,
) -> None:
    """Print a calibrator as one SQL expression of a column of scores, or as a query.

    What is missing, infinite or not a number gets no probability (NULL). Maps per user are a query that joins a table,
    which --maps-output writes; load it into the database under the name that --maps gives.
    """
    present(translate(calibrator, options), json, _show)


def _show(result: SqlResult) -> None:
    sys.stdout.write(f"{result.sql}\n")  # as it is: nothing wrapped, nothing coloured
    if result.maps_output is not None and result.n_users is not None:
        sys.stderr.write(f"wrote {result.maps_output}: {counted(result.n_users, 'user')}\n")


COMMAND = print_sql
