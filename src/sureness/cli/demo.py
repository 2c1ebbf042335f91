"""sureness demo: the whole story, in a world whose truth is known or on a log."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from sureness.cli import _log_demo, _simulated_demo
from sureness.cli._columns import Json
from sureness.cli._console import out, print_json
from sureness.cli._demo_parts import Told
from sureness.cli._demo_progress import demo_progress


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for report, figures, calibrator and lists.")
    ] = Path("demo-output"),
    data: Annotated[
        str | None, typer.Option(help="Name of a data set, or a log (.parquet, .csv, .tsv); else a simulated world.")
    ] = None,
    users: Annotated[int, typer.Option(help="Number of simulated users.")] = 3_000,
    items: Annotated[int, typer.Option(help="Number of simulated items.")] = 600,
    seeds: Annotated[int, typer.Option(min=1, help="Number of worlds; tables show the mean over them.")] = 1,
    recommender: Annotated[Literal["bpr", "svd"], typer.Option(help="What is trained and calibrated.")] = "bpr",
    json: Json = False,
) -> None:
    """Train a recommender, calibrate it with every method, choose list sizes, teach a small model; write a page.

    In the simulated world the truth is known, so naive and unbiased probabilities can be held against it. With --data
    the same is done on a real log, and judged by its test part.
    """
    plan = _simulated_demo.expected_seconds(seeds) if data is None else _log_demo.expected_seconds()
    with demo_progress(plan, quiet=json) as stages:
        if data is None:
            told = _simulated_demo.simulated_demo(output, users, items, seeds, recommender, stages)
        else:
            told = _log_demo.log_demo(data, output, recommender, stages)
    if json:
        found = [asdict(finding) for finding in told.findings]
        print_json({"report": str(told.page), "findings": found, "skipped": list(told.skipped)} | told.details)
    else:
        print_told(told)


def print_told(told: Told) -> None:
    """The few numbers that matter, each with a sentence, and where the rest is."""
    out.print(told.about, markup=False)
    out.print("\nWhat calibrated confidence is good for", style="bold")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in told.findings:
        text = Text.assemble((finding.title, "bold"), f": {finding.short}")
        table.add_row(Text(finding.value, style="bold cyan" if finding.holds else "dim"), text)
    out.print(table)
    for sentence in told.skipped:
        out.print(sentence, markup=False)
    out.print(f"\nEverything with pictures, intervals and all methods: {told.page}", markup=False, soft_wrap=True)


COMMAND = demo
