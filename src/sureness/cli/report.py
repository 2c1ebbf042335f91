"""sureness report: labelled pairs and calibrators become a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness.cli._console import present, say, shown_progress
from sureness.cli._options import Json, Spread, columns, spread
from sureness.jobs.reporting import ReportOptions, report
from sureness.report.formatting import error
from sureness.report.page import ReportSummary
from sureness.tables.columns import Columns


@spread
def write_report(
    *,
    table: Annotated[Path, typer.Argument(help="Table with score and label to judge on: file, folder or pattern.")],
    calibrators: Annotated[list[Path], typer.Argument(help="Calibrators written by `sureness fit`; the first leads.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the page goes.")] = Path("report.html"),
    options: Annotated[ReportOptions, Spread()],
    used: Annotated[Columns, columns("score", "label", "user_id", "item_id", "weight", "segment", "title")],
    json: Json = False,
) -> None:
    """Judge calibrators on labelled pairs and write one self-contained HTML page."""
    with shown_progress(json) as progress:
        result = report(table, calibrators, output, options, columns=used, progress=progress)
    present(result, json, _show)


def _show(found: ReportSummary) -> None:
    error_of_main = f"ECE of {found.main} over all pairs: {error(found.ece[found.main])}"
    say(found.headline, error_of_main, f"wrote {found.path}")
