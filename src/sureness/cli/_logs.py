"""Options of the commands that read logs of interactions."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from sureness.cli._options import Gathered, Spread, columns
from sureness.data.recipes import Protocol
from sureness.jobs.logs import LogOptions
from sureness.tables.columns import Columns

Data = Annotated[str, typer.Argument(help="Name of a data set, or a log: a file, a folder or a pattern.")]
_CUTS = ("validation_from", "test_from", "validation_share", "test_share", "share_of")
_SPLIT = Gathered(
    ("protocol", "positive_above", "per_user", *_CUTS),
    f"How the log is split, such as ratio or time,test_share=0.1: one of {', '.join(get_args(Protocol))}, then "
    "{all}.",
    first="protocol",
)
WholeLog = Annotated[LogOptions, Spread(named={"folder": "--from"}, gathered={"--split": _SPLIT})]
OfLogs = Annotated[Columns, columns("user_id", "item_id", "rating", "time", "domain")]
OfPairs = Annotated[Columns, columns("user_id", "item_id", "domain")]
