"""One bar for the whole demo, with the time that is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TaskProgressColumn, TextColumn
from rich.text import Text

from sureness.cli._console import err

_WIDTH = 38  # of the text beside the bar, which leaves room for the rest in 80 columns


class Stages:
    """The stages of a job, each with the seconds it usually takes; `stage` gives the callback of one.

    Examples
    --------
    >>> stages = Stages({"train": 1.0, "judge": 3.0})
    >>> stages.stage("judge")("epoch", 1, 2)
    >>> stages.done
    2.5
    """

    def __init__(self, seconds: Mapping[str, float], bar: Progress | None = None, task: TaskID | None = None) -> None:
        self._seconds = dict(seconds)
        self._bar, self._task = bar, task
        self.done = 0.0

    def stage(self, name: str) -> Callable[[str, int, int], None]:
        """Begin a stage; everything before it is done."""
        names = list(self._seconds)
        start = sum(self._seconds[each] for each in names[: names.index(name)])
        self._show(name, start)

        def tell(step: str, done: int, total: int) -> None:
            share = min(1.0, done / total) if total else 0.0
            self._show(f"{name}: {step}", start + share * self._seconds[name])

        return tell

    def _show(self, text: str, done: float) -> None:
        self.done = max(self.done, done)  # a stage may count several times; the bar never goes back
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=text[:_WIDTH].ljust(_WIDTH), completed=self.done)


class TimeLeft(ProgressColumn):
    """The time left, from the time that the part done so far has taken."""

    def render(self, task: Task) -> Text:
        total, elapsed = task.total or 0.0, task.elapsed or 0.0
        started = task.completed > 0.05 * total
        left = elapsed * (total / task.completed - 1) if started else max(0.0, total - elapsed)
        return Text(f"about {left:.0f} s left", no_wrap=True)


@contextmanager
def demo_progress(seconds: Mapping[str, float], *, quiet: bool = False, console: Console = err) -> Iterator[Stages]:
    """A bar on a terminal, nothing elsewhere."""
    shown = not quiet and (console.is_terminal if console is not err else sys.stderr.isatty())
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TaskProgressColumn(), TimeLeft())
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        yield Stages(seconds, bar, bar.add_task("", total=sum(seconds.values())))
