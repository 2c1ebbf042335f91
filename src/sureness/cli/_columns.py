"""Options that several commands share: how the columns of a table are called."""

from __future__ import annotations

from typing import Annotated

import typer

from sureness.cli._options import Json

ScoreColumn = Annotated[str, typer.Option("--score-column", help="Column with the scores.", rich_help_panel="Columns")]
LabelColumn = Annotated[str, typer.Option("--label-column", help="Column with 0 or 1.", rich_help_panel="Columns")]
UserColumn = Annotated[str, typer.Option("--user-column", help="Column with the users.", rich_help_panel="Columns")]
ItemColumn = Annotated[str, typer.Option("--item-column", help="Column with the items.", rich_help_panel="Columns")]
DomainColumn = Annotated[
    str, typer.Option("--domain-column", help="Column with domains, if any.", rich_help_panel="Columns")
]
WeightColumn = Annotated[
    str, typer.Option("--weight-column", help="Column with weights, if any.", rich_help_panel="Columns")
]
PropensityColumn = Annotated[
    str,
    typer.Option(
        "--propensity-column", help="Column with the chance that a pair was seen, if any.", rich_help_panel="Columns"
    ),
]


def renamed(**columns: str) -> dict[str, str]:
    """Agreed names to the names in the file, only where they differ."""
    return {ours: theirs for ours, theirs in columns.items() if ours != theirs}


__all__ = ["Json"]
