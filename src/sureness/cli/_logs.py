"""Options of the commands that read logs of interactions."""

from __future__ import annotations

from typing import Annotated

import typer

from sureness.cli._options import Spread, columns
from sureness.jobs.logs import LogOptions
from sureness.tables.columns import Columns

Data = Annotated[str, typer.Option(help="Name of a data set, or a log: a file, a folder or a pattern.")]
CUTS = ("validation_from", "test_from", "validation_share", "test_share", "share_of")  # of --protocol time
WholeLog = Annotated[LogOptions, Spread(named={"folder": "--from"})]
OfLogs = Annotated[Columns, columns("user_id", "item_id", "rating", "time", "domain")]
OfPairs = Annotated[Columns, columns("user_id", "item_id", "domain")]
