"""Outcomes as files: Parquet for machines, Markdown for repositories, one HTML page for people, every figure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from sureness import __version__
from sureness.artefacts import read_record, replacing, write_record
from sureness.data import write_table
from sureness.errors import ArtefactError, SurenessWarning
from sureness.plots import FONTS, figure_svg, save_figure
from sureness.report import MISSING, page_environment, plain
from sureness_reproduction.catalogue import experiments
from sureness_reproduction.experiment import Experiment, Plan
from sureness_reproduction.outcome import Outcome, ResultFigure
from sureness_reproduction.published import TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = "outcome.json"
_KIND = "reproduction/outcome"


@dataclass(frozen=True, eq=False)
class Written:
    """An experiment with its outcome, and where it was written."""

    experiment: Experiment
    plan: Plan
    outcome: Outcome
    folder: Path

    @property
    def page(self) -> Path:
        """The page to look at."""
        return self.folder / "index.html"

    @property
    def command(self) -> str:
        """What shows it again."""
        plan, every = self.plan, self.experiment.data[self.plan.scale]
        some = set(plan.data + plan.absent) != set(every)
        only = "".join(f" --data {name}" for name in plan.data) if some else ""
        return f"sureness reproduce {self.experiment.name} --{plan.scale} --seeds {len(plan.seeds)}{only}"

    @property
    def place(self) -> str:
        """Where in the dissertation it stands."""
        each = self.experiment
        return f"Chapter {each.chapter}, {each.shows}." if each.chapter else f"{each.shows.capitalize()}."

    @property
    def about(self) -> dict[str, Any]:
        """What the page of all experiments says of it."""
        each, outcome = self.experiment, self.outcome
        return {
            "name": each.name, "chapter": each.chapter, "title": each.title, "shows": each.shows,
            "command": self.command, "findings": list(outcome.findings), "tables": len(outcome.tables),
            "figures": len(outcome.figures),
        }  # fmt: skip

    @property
    def told(self) -> list[str]:
        """How it was measured: the experiment's notes, seeds, data that were there and that were not."""
        seeds = ", ".join(str(seed) for seed in self.plan.seeds)
        here = ", ".join(TITLES.get(name, name) for name in self.plan.data) or "none"
        absent = [f"Not here, so not run: {TITLES.get(name, name)}." for name in self.plan.absent]
        return [*self.outcome.notes, f"Data: {here}. Seeds: {seeds}.", *absent]


def write_outcome(experiment: Experiment, plan: Plan, outcome: Outcome, folder: Path) -> Written:
    """Write everything an experiment came to into a folder of its name."""
    written = Written(experiment, plan, outcome, folder / experiment.name)
    for table in outcome.tables:
        write_table(table.shown if table.tidy is None else table.tidy, written.folder / f"{table.name}.parquet")
    svgs = {figure.name: _drawn(figure, written.folder / "figures") for figure in outcome.figures}
    write_record(written.folder / _ABOUT, _KIND, written.about)
    _write(written.folder / "README.md", markdown(written))
    _write(written.page, _html("reproduced.html.j2", one=written, svgs=svgs, title=experiment.title))
    return written


def write_index(folder: Path) -> Path:
    """One page that leads to all experiments of a folder, also those of earlier runs, with their findings."""
    order = list(experiments())
    read = [_read_about(file) for file in sorted(folder.glob(f"*/{_ABOUT}"))]
    known = (one for one in read if one is not None and one["name"] in order)
    every = sorted(known, key=lambda one: order.index(one["name"]))
    lines = [
        f"- [{one['title']}]({one['name']}/README.md) ({one['shows']}). {' '.join(one['findings'])}" for one in every
    ]
    _write(folder / "README.md", "\n".join(["# The dissertation, reproduced", "", *lines, ""]))
    _write(folder / "index.html", _html("reproduced_index.html.j2", every=every, title="The dissertation, reproduced"))
    return folder / "index.html"


def _read_about(file: Path) -> dict[str, Any] | None:
    """What an earlier run wrote about its outcome; None, with a warning, if that is not what is there now."""
    try:
        return read_record(file, _KIND)
    except ArtefactError as error:
        warnings.warn(
            f"{file.parent.name} is left out of the page of all experiments: {error}; reproduce it again",
            SurenessWarning, stacklevel=3,
        )  # fmt: skip
        return None


def markdown(written: Written) -> str:
    """An outcome as Markdown.

    Tables, findings, figures, and how it was measured.
    """
    outcome, experiment = written.outcome, written.experiment
    lines = [f"# {experiment.title}", "", f"{written.place} `{written.command}`", ""]
    lines += _listed(outcome.findings)
    for table in outcome.tables:
        lines += [
            f"## {table.title}",
            "",
            *markdown_table(table.shown),
            "",
            *([table.caption, ""] if table.caption else []),
        ]
    for figure in outcome.figures:
        lines += [f"![{figure.caption}](figures/{figure.name}.png)", "", figure.caption, ""]
    return "\n".join([*lines, "## How it was measured", "", *_listed(written.told)])


def markdown_table(frame: pl.DataFrame) -> list[str]:
    """A table as lines of Markdown, numbers to the right.

    Examples
    --------
    >>> markdown_table(pl.DataFrame({"model": ["bpr"], "ece": [0.25], "why": [None]}))
    ['| model | ece | why |', '|---|---:|---|', '| bpr | 0.2500 | – |']
    """
    aligned = "".join("---:|" if dtype.is_numeric() else "---|" for dtype in frame.dtypes)
    rows = [[readable_cell(*each) for each in zip(row, frame.columns, strict=True)] for row in frame.iter_rows()]
    return ["| " + " | ".join(frame.columns) + " |", "|" + aligned, *(f"| {' | '.join(row)} |" for row in rows)]


def readable_cell(value: Any, column: str) -> str:
    """A value of a table; a dash where there is nothing to say.

    Examples
    --------
    >>> readable_cell("", "remark"), readable_cell("a|b", "remark"), readable_cell(0.25, "ece")
    ('–', 'a/b', '0.2500')
    """
    return plain(value, column).replace("|", "/") or MISSING


def _listed(sentences: Iterable[str]) -> list[str]:
    lines = [f"- {sentence}" for sentence in sentences]
    return [*lines, ""] if lines else []


def _drawn(figure: ResultFigure, folder: Path) -> str:
    """Draw a figure, write it as PNG and SVG, and give it for the page."""
    drawn = figure.draw()
    whole = cast("Figure", getattr(drawn, "figure", None) or drawn)
    for ending in ("png", "svg"):
        save_figure(whole, folder / f"{figure.name}.{ending}")
    return figure_svg(whole, label=figure.caption)


def is_wide(svg: str) -> bool:
    """Whether a figure needs the width of the page: several diagrams in a row.

    Examples
    --------
    >>> is_wide('<svg viewBox="0 0 800 300">'), is_wide('<svg viewBox="0 0 400 300">')
    (True, False)
    """
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    return found is not None and float(found[1]) > max(480.0, 1.25 * float(found[2]))


def _html(template: str, **values: Any) -> str:
    from jinja2 import PackageLoader
    from markupsafe import Markup

    svgs: Mapping[str, str] = values.pop("svgs", {})
    environment = page_environment(PackageLoader("sureness_reproduction", "pages"))
    environment.filters |= {"cell": readable_cell, "wide": is_wide}
    marked = {name: Markup(svg) for name, svg in svgs.items()}
    page: str = environment.get_template(template).render(
        fonts=Markup(FONTS), version=__version__, svgs=marked, **values
    )
    return page


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
