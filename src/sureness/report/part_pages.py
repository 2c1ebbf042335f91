"""Pages about list sizes alone, or distillation alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sureness._progress import Progress, silent
from sureness.report.distillation import Distillation
from sureness.report.distillation_headline import distillation_headline, distillation_tiles
from sureness.report.figures import Plan, distillation_plans, draw_figures, list_plans
from sureness.report.headline import Headline, Tile
from sureness.report.inputs import ExtraTable
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
    *,
    figures_dir: str | os.PathLike[str] | None = None,
    title: str = "How many items to show?",
    notes: Sequence[str] = (),
    tables: Sequence[ExtraTable] = (),
    progress: Progress = silent,
) -> ReportSummary:
    """Write one HTML page about list sizes alone; `write_report` shows them beside calibration.

    Parameters
    ----------
    path : path
        Where to write the page.
    list_sizes : ListSizes
        What `gather_list_sizes` found.
    figures_dir, progress
        As for `write_report`.
    title, notes, tables
        As in `Additions`.
    """
    require_report()
    page = PartPage(
        title, list_headline(list_sizes), list_tiles(list_sizes),
        tuple(ExtraTable(*table).checked() for table in tables), tuple(notes),
    )  # fmt: skip
    files = _write_part(
        path, page, "list_size_page.html.j2", list_plans(list_sizes), figures_dir, progress, lists=list_sizes
    )
    return ReportSummary(Path(path), page.headline.sentence, list_sizes.main, {}, files)


def write_distillation_report(
    path: str | os.PathLike[str],
    distillation: Distillation,
    *,
    figures_dir: str | os.PathLike[str] | None = None,
    title: str = "What can a small model learn?",
    notes: Sequence[str] = (),
    tables: Sequence[ExtraTable] = (),
    progress: Progress = silent,
) -> ReportSummary:
    """Write one HTML page about distillation alone; `write_report` shows it beside calibration.

    Parameters
    ----------
    path : path
        Where to write the page.
    distillation : Distillation
        What `gather_distillation` found.
    figures_dir, progress
        As for `write_report`.
    title, notes, tables
        As in `Additions`.
    """
    require_report()
    page = PartPage(
        title, distillation_headline(distillation), distillation_tiles(distillation),
        tuple(ExtraTable(*table).checked() for table in tables), tuple(notes),
    )  # fmt: skip
    files = _write_part(
        path, page, "distillation_page.html.j2", distillation_plans(distillation), figures_dir, progress,
        distilled=distillation, distilled_headline=None,
    )  # fmt: skip
    return ReportSummary(Path(path), page.headline.sentence, distillation.main, {}, files)


def _write_part(
    path: str | os.PathLike[str], page: PartPage, template: str, plans: Sequence[Plan],
    figures_dir: str | os.PathLike[str] | None, progress: Progress, **values: object,
) -> tuple[Path, ...]:  # fmt: skip
    """Draw and write the page; returns the files of its figures."""
    folder = None if figures_dir is None else Path(figures_dir)
    figures = draw_figures(plans, folder, progress)
    write_page(path, rendered(template, figures, page=page, **values))
    return figure_files(folder, figures)
