"""What the commands share: where output goes, progress bars, tables, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    """A bar with the time left on a terminal; nothing elsewhere."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("left:"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=err, transient=True, disable=quiet or not sys.stderr.isatty()) as bar:
        yield bar


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[object]], caption: str | None = None
) -> None:
    """A table for people: text to the left, numbers to the right."""
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left", title_style="bold")
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place == 0 else "right", no_wrap=place == 0, overflow="fold")
    for row in rows:
        table.add_row(*(shown(value) for value in row))
    out.print(table)


def shown(value: object) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}" if 1e-4 <= abs(value) < 1e4 or value == 0 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def print_json(result: dict[str, Any]) -> None:
    """One JSON object for machines."""
    sys.stdout.write(json.dumps(result, indent=2, default=float) + "\n")


def steps_of(bar: Progress) -> Callable[[str, int, int], None]:
    """A callback that shows the steps of a library function on the bar."""
    tasks: dict[int, TaskID] = {}

    def show(step: str, done: int, total: int) -> None:
        if total not in tasks:
            tasks[total] = bar.add_task(step, total=total)
        bar.update(tasks[total], description=step, completed=done)

    return show
