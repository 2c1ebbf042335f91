"""Run studies from their grids to their pages: cells, tables, contrasts and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import polars as pl

from sureness import Progress, silent
from sureness.artefacts import replacing
from sureness.errors import DataError
from sureness_reproduction.contrasts import contrasts_of
from sureness_reproduction.rendering import page
from sureness_reproduction.results import Results
from sureness_reproduction.running import run_cells
from sureness_reproduction.store import CellStore
from sureness_reproduction.study import Asked, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Page:
    """A study as it is shown."""

    results: Results
    folder: Path

    @property
    def study(self) -> Study:
        """What was run."""
        return self.results.study

    @cached_property
    def claims(self) -> pl.DataFrame:
        """The tested claims."""
        return contrasts_of(self.results)

    @property
    def decided(self) -> bool:
        """Whether the claims may be decided: quick runs have other data, short trainings and few seeds."""
        return self.results.asked.scale == "full"

    @property
    def command(self) -> str:
        """What shows it again, and computes what is missing."""
        asked = self.results.asked
        words = [f"sureness reproduce {self.study.name} --{asked.scale}"]
        words += [] if asked.seeds is None else [f"--seeds {asked.seeds}"]
        words += [f"--{name} {value}" for name in ("data", "model", "method") for value in getattr(asked, name)]
        return " ".join(words)

    @property
    def lines(self) -> list[str]:
        """The page as lines of Markdown."""
        results = self.results
        missing = len(results.points) - len(results.finished)
        lines = list(page(self.study, results.summary, self.claims, decided=self.decided, level=1))
        lines += [f"![{self.study.title}]({self.study.name}.png)", ""] if self.study.draw else []
        lines += [f"`{self.command}`"]
        if missing:
            lines += [f"{missing} of {len(results.points)} cells are missing; the command computes them."]
        lines += [f"Not in the data folder: {', '.join(results.absent)}."] if results.absent else []
        return [*lines, ""]

    def write(self) -> None:
        """The page as Markdown, its numbers and contrasts as CSV, its figure as PNG."""
        self._write(".md", "\n".join(self.lines))
        self._write(".csv", self.results.summary.write_csv())
        if self.claims.height:
            self._write(".claims.csv", self.claims.write_csv())
        if self.study.draw is not None and self.results.finished:
            from sureness.plots import save_figure

            drawn = self.study.draw(self.results)
            save_figure(cast("Figure", getattr(drawn, "figure", None) or drawn), self.folder / f"{self.study.name}.png")

    def _write(self, ending: str, text: str) -> None:
        with replacing(self.folder / f"{self.study.name}{ending}") as temporary:
            temporary.write_text(text, encoding="utf-8")


def run_studies(
    studies: Sequence[Study],
    asked: Asked,
    store: CellStore,
    folder: Path,
    *,
    jobs: int = 1,
    progress: Progress = silent,
) -> list[Page]:
    """Compute what is missing of some studies and write their pages.

    What is finished is written also after a failure or an interruption.

    Parameters
    ----------
    studies : sequence of Study
    asked : Asked
    store : CellStore
        What is finished there is not computed again.
    folder : Path
        For the pages.
    jobs : int
    progress : callable, optional
    """
    every = [Results(study, asked, store) for study in studies]
    there = [results for results in every if results.points]
    if not there:
        absent = ", ".join(dict.fromkeys(name for results in every for name in results.absent)) or "the data asked for"
        raise DataError(f"nothing can be run: {absent} not found; set SURENESS_DATA to the folder of the data sets")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        run_cells([cell for results in there for _, cell in results.points], store, jobs=jobs, progress=progress)
    finally:
        pages = [Page(Results(results.study, asked, store), folder) for results in there]
        for number, each in enumerate(pages):
            progress(f"writing {each.study.name}", number, len(pages))
            each.write()
    return pages
