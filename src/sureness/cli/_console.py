"""What the commands share: where output goes, progress bars, tables, JSON."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from rich import progress as bars
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sureness._progress import Progress
from sureness._wording import visible
from sureness.cli._output import printing, write_out
from sureness.jobs.options import Result, plain

if TYPE_CHECKING:
    from sureness.recommender.promises import KeptPromise

R = TypeVar("R", bound=Result | Mapping[str, Any])


class _Results(Console):
    """What a command prints on standard output; a sentence if that is not possible."""

    def print(self, *objects: Any, **options: Any) -> None:
        with printing():
            super().print(*objects, **options)


out = _Results(highlight=False)
err = Console(stderr=True, highlight=False)


@contextmanager
def shown_progress(quiet: bool = False) -> Iterator[Progress]:
    """Show the steps of a job on a terminal, with the time left; nothing elsewhere."""
    with compiling_announced(is_shown(quiet)), progress_bar(quiet) as bar:
        yield steps_of(bar)


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[bars.Progress]:
    """A bar with the time left on a terminal; nothing elsewhere."""
    columns = (
        bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(), bars.TextColumn("left:"),
        bars.TimeRemainingColumn(),
    )  # fmt: skip
    with bars.Progress(*columns, console=err, transient=True, disable=not is_shown(quiet)) as bar:
        yield bar


def is_shown(quiet: bool) -> bool:
    """Whether somebody sees how far a job is."""
    return not quiet and sys.stderr.isatty()


@contextmanager
def compiling_announced(shown: bool) -> Iterator[None]:
    """Say why a job waits before its first step, if something has to be compiled; nothing to those who want quiet."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from sureness.numerics.compiling import before_compiling, notice  # slow to import, and not needed elsewhere

    with before_compiling(lambda: err.print(notice(), markup=False, soft_wrap=True) if shown else None):
        yield


def steps_of(bar: bars.Progress) -> Progress:
    """A callback that shows steps on the bar, one line for each total; finished lines go when another step begins."""
    tasks: dict[int, bars.TaskID] = {}

    def show(step: str, done: int, total: int) -> None:
        if total not in tasks:
            for finished in [known for known, task in tasks.items() if bar.tasks[bar.task_ids.index(task)].finished]:
                bar.remove_task(tasks.pop(finished))
            tasks[total] = bar.add_task(step, total=total)
        bar.update(tasks[total], description=step, completed=done)

    return show


def present(result: R, as_json: bool, show: Callable[[R], None]) -> None:
    """One JSON object for machines, or what people read."""
    if as_json:
        print_json(result if isinstance(result, Mapping) else result.plain())
    else:
        show(result)


def print_json(content: Mapping[str, object]) -> None:
    """One JSON object for machines; numbers that JSON does not have, NaN and infinity, are null."""
    write_out(json.dumps(plain(content), indent=2, allow_nan=False))


def say(*lines: str) -> None:
    """Print lines as they are: no markup, no line breaks of our own."""
    for line in lines:
        out.print(visible(line), markup=False, soft_wrap=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print what people should know before they read the result, with arguments as they are typed."""
    from sureness.cli._app import in_words_of_command  # which imports this module too

    say(*(f"note: {in_words_of_command(note)}" for note in notes))


def print_next(written: str, run: object) -> None:
    """Print what was written, and what can be done with a run."""
    quoted = shlex.quote(str(run))
    say(f"wrote {written}; next:")
    say_command(f"fit {quoted} --method lists -o calibrator.json")
    say_command(f"apply calibrator.json {quoted} -o top.parquet", "in the period of the labels")
    say_command(f"list-size {quoted} --calibrator calibrator.json -o lists.parquet", "in the period after it")


def say_command(words: str, about: str | None = None) -> None:
    """Print a command that can be run as it is."""
    say(f"  sureness {words}" + (f"   # probabilities {about}" if about else ""))


def print_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[object]], caption: str | None = None
) -> None:
    """A table for people, as it is (no markup): text to the left, numbers to the right."""
    table = Table(title=Text(visible(title), style="bold"), caption=caption)
    table.title_justify = table.caption_justify = "left"
    for place, name in enumerate(header):
        table.add_column(visible(name), justify="left" if place == 0 else "right", no_wrap=place == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(shown(value))) for value in row))
    out.print(table)


def shown(value: object) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}" if 1e-4 <= abs(value) < 1e4 or value == 0 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def show_promise(kept: KeptPromise) -> None:
    """Two tables: promised against realised hits of shown items by rank, and by probability."""
    from sureness.report.formatting import ratio

    tables = (("rank", kept.by_rank), ("probability", kept.by_probability))
    cut = "is a later period of its own" if kept.by_time else "was not cut by time"
    caption = (
        f"A hit: an item that is {kept.of}. The test {cut}. Below 1 lists promise too much, above 1 too little; 95% "
        "intervals over users."
    )
    for by, table in tables:
        rows = [
            (next(iter(row.values())), row["shown"], f"{row['promised']:,.1f}", row["realised"], ratio(row))
            for row in table.iter_rows(named=True)
        ]
        header = [by, "shown", "promised hits", "realised hits", "realised / promised"]
        print_table(f"Promised and realised hits by {by}", header, rows, caption if by == "probability" else None)
