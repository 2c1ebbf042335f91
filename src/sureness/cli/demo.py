"""sureness demo: what probabilities are worth, in a simulated world or on a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from sureness.cli._console import out, print_json, shown_progress
from sureness.cli._logs import OfLogs
from sureness.cli._options import Json, spread
from sureness.errors import SettingError
from sureness.jobs.inputs import not_usual
from sureness.tables.columns import Columns

if TYPE_CHECKING:
    from sureness.demo import DemoResult


@spread
def demo(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for report, figures, recommender and lists.")
    ] = Path("demo-output"),
    data: Annotated[
        str | None, typer.Argument(help="Name of a data set, or a log (.parquet, .csv, .tsv); else a simulated world.")
    ] = None,
    users: Annotated[int, typer.Option(help="Number of simulated users.")] = 3_000,
    items: Annotated[int, typer.Option(help="Number of simulated items.")] = 600,
    recommender: Annotated[Literal["bpr", "svd"], typer.Option(help="The recommender to train.")] = "bpr",
    used: OfLogs,
    json: Json = False,
) -> None:
    """Train a recommender, give its lists probabilities, and write a page about what these are worth.

    Everything is judged on a part of the log that nothing was fitted on: how many items need not be shown, whether
    the promised hits came, and what personal list sizes bring.
    """
    from sureness.demo import run_demo  # slow to import, and not needed for --help

    if data is None and (given := not_usual(used, Columns())):
        raise SettingError(f"{given[0]} describes a log, got none; give one as data=...")
    with shown_progress(quiet=json) as progress:
        result = run_demo(
            output, data=data, columns=used, users=users, items=items, recommender=recommender, progress=progress
        )
    if json:
        print_json(result.plain())
    else:
        print_result(result)


def print_result(result: DemoResult) -> None:
    """The findings, one line each, and where the page is."""
    out.print(result.about, markup=False)
    out.print("\nWhat probabilities are worth", style="bold")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in result.findings:
        text = Text.assemble((finding.title, "bold"), f": {finding.short}")
        table.add_row(Text(finding.value, style="bold cyan" if finding.holds else "dim"), text)
    out.print(table)
    out.print(f"\nFigures, intervals and single users: {result.page}", markup=False, soft_wrap=True)
    out.print(f"To explore it in a browser: {result.explorer}", markup=False, soft_wrap=True)
