"""sureness demo: everything once, in a simulated world or on a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from sureness._progress import Progress
from sureness.cli._console import compiling_announced, err, out, print_json
from sureness.cli._logs import OfLogs
from sureness.cli._options import Json, spread
from sureness.errors import SettingError
from sureness.jobs.inputs import not_usual
from sureness.tables.columns import Columns

if TYPE_CHECKING:
    from sureness.demo.result import DemoResult

_WIDTH = 38  # of the words beside the bar; the rest fits into 80 columns


@spread
def demo(
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for report, figures, calibrator and lists.")
    ] = Path("demo-output"),
    data: Annotated[
        str | None, typer.Argument(help="Name of a data set, or a log (.parquet, .csv, .tsv); else a simulated world.")
    ] = None,
    users: Annotated[int, typer.Option(help="Number of simulated users.")] = 3_000,
    items: Annotated[int, typer.Option(help="Number of simulated items.")] = 600,
    seeds: Annotated[
        int, typer.Option(min=1, max=1_000, help="Number of simulated worlds; tables show means over them.")
    ] = 1,
    recommender: Annotated[Literal["bpr", "svd"], typer.Option(help="The recommender to train and calibrate.")] = "bpr",
    used: OfLogs,
    json: Json = False,
) -> None:
    """Train a recommender, calibrate it with every method, choose list sizes, distil it, and write a page.

    In the simulated world the truth is known, so naive and unbiased probabilities can be compared with it. With
    DATA the same is done on a real log and judged on its test part.
    """
    from sureness.demo.log import log_demo  # slow to import, and not needed for --help
    from sureness.demo.simulated import simulated_demo

    if data is None and (given := not_usual(used, Columns())):
        raise SettingError(f"{given[0]} describes a log, got none; give one as data=...")
    with demo_progress(quiet=json) as progress:
        if data is None:
            result = simulated_demo(
                output, users=users, items=items, n_worlds=seeds, recommender=recommender, progress=progress
            )
        else:
            result = log_demo(data, output, columns=used, recommender=recommender, progress=progress)
    if json:
        print_json(result.plain())
    else:
        print_result(result)


def print_result(result: DemoResult) -> None:
    """The findings, one line each, and where the page is."""
    out.print(result.about, markup=False)
    out.print("\nWhat calibrated confidence is good for", style="bold")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in result.findings:
        text = Text.assemble((finding.title, "bold"), f": {finding.short}")
        table.add_row(Text(finding.value, style="bold cyan" if finding.holds else "dim"), text)
    out.print(table)
    for sentence in result.skipped:
        out.print(sentence, markup=False)
    out.print(f"\nFigures, intervals and all methods: {result.page}", markup=False, soft_wrap=True)


class TimeLeft(ProgressColumn):
    """The time left, estimated from the time the job has taken so far."""

    def render(self, task: Task) -> Text:
        total, elapsed = (task.total or 0.0) / 10, task.elapsed or 0.0  # the demo counts tenths of a second
        done = task.completed / 10
        left = elapsed * (total / done - 1) if done > 0.05 * total else max(0.0, total - elapsed)
        return Text(f"about {left:.0f} s left", no_wrap=True)


@contextmanager
def demo_progress(*, quiet: bool = False, console: Console = err) -> Iterator[Progress]:
    """One bar for the whole demo on a terminal, nothing elsewhere."""
    shown = not quiet and (console.is_terminal if console is not err else sys.stderr.isatty())
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TaskProgressColumn(), TimeLeft())
    bar = Bar(*columns, console=console, transient=True, disable=not shown)
    with compiling_announced(shown), bar:
        task = bar.add_task("", total=None)

        def show(step: str, done: int, total: int) -> None:
            bar.update(task, description=step[:_WIDTH].ljust(_WIDTH), completed=done, total=total)

        yield show
