"""Pages about list sizes alone, or distillation alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sureness._progress import Progress, silent
from sureness.report.distillation import Distillation
from sureness.report.distillation_headline import distillation_headline, distillation_tiles
from sureness.report.figures import Plan, distillation_plans, draw_figures, list_plans
from sureness.report.headline import Headline, Tile
from sureness.report.inputs import NO_TEXT, ExtraTable, PageText
from sureness.report.list_headline import list_headline, list_tiles
from sureness.report.list_sizes import ListSizes
from sureness.report.page import ReportSummary, figure_files, rendered, require_report, write_page


@dataclass(frozen=True, eq=False)
class PartPage:
    """What a page about one part says around it."""

    title: str
    headline: Headline
    tiles: tuple[Tile, ...]
    tables: tuple[ExtraTable, ...]
    notes: tuple[str, ...]


def write_list_size_report(
    path: str | os.PathLike[str],
    list_sizes: ListSizes,
    text: PageText = NO_TEXT,
    *,
    figures_dir: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> ReportSummary:
    """Write one HTML page about list sizes alone; `write_report` shows them beside calibration.

    Parameters
    ----------
    path : path
        Where to write the page.
    list_sizes : ListSizes
        What `gather_list_sizes` found.
    text : PageText
        Title, notes and tables.
    figures_dir, progress
        As for `write_report`.
    """
    headline, tiles = list_headline(list_sizes), list_tiles(list_sizes)
    page = _page(text, "How many items to show?", headline, tiles)
    drawn = _Drawn("list_size_page.html.j2", list_plans(list_sizes), {"lists": list_sizes})
    files = _write_part(Path(path), page, drawn, figures_dir, progress)
    return ReportSummary(Path(path), headline.sentence, list_sizes.main, {}, files)


def write_distillation_report(
    path: str | os.PathLike[str],
    distillation: Distillation,
    text: PageText = NO_TEXT,
    *,
    figures_dir: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> ReportSummary:
    """Write one HTML page about distillation alone; `write_report` shows it beside calibration.

    Parameters
    ----------
    path : path
        Where to write the page.
    distillation : Distillation
        What `gather_distillation` found.
    text, figures_dir, progress
        As for `write_list_size_report`.
    """
    headline, tiles = distillation_headline(distillation), distillation_tiles(distillation)
    page = _page(text, "What can a small model learn?", headline, tiles)
    values = {"distilled": distillation, "distilled_headline": None}
    drawn = _Drawn("distillation_page.html.j2", distillation_plans(distillation), values)
    files = _write_part(Path(path), page, drawn, figures_dir, progress)
    return ReportSummary(Path(path), headline.sentence, distillation.main, {}, files)


class _Drawn(NamedTuple):
    template: str
    plans: Sequence[Plan]
    values: Mapping[str, object]  # for the template


def _page(text: PageText, title: str, headline: Headline, tiles: tuple[Tile, ...]) -> PartPage:
    tables = tuple(ExtraTable(*table).checked() for table in text.tables)
    return PartPage(text.title or title, headline, tiles, tables, tuple(text.notes))


def _write_part(
    path: Path, page: PartPage, drawn: _Drawn, figures_dir: str | os.PathLike[str] | None, progress: Progress
) -> tuple[Path, ...]:
    """Draw and write the page; returns the files of its figures."""
    require_report()
    folder = None if figures_dir is None else Path(figures_dir)
    figures = draw_figures(drawn.plans, folder, progress)
    write_page(path, rendered(drawn.template, figures, page=page, **drawn.values))
    return figure_files(folder, figures)
