"""Pages about one part alone: list sizes, or distillation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sureness.artefacts.files import replacing
from sureness.plots.style import require_matplotlib
from sureness.report.contents import ExtraTable, checked_table
from sureness.report.distillation import Distillation
from sureness.report.distillation_headline import distillation_headline, distillation_tiles
from sureness.report.figures import Plan, distillation_plans, draw_figures, list_plans
from sureness.report.headline import Headline, Tile
from sureness.report.list_headline import list_headline, list_tiles
from sureness.report.list_sizes import ListSizes
from sureness.report.methods import Progress
from sureness.report.page import ReportSummary, figure_files, no_progress, page_environment, rendered


@dataclass(frozen=True, eq=False)
class PartPage:
    """What a page about one part alone says around it."""

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
    title: str | None = None,
    notes: Iterable[str] = (),
    extra_tables: Sequence[ExtraTable] = (),
    progress: Progress | None = None,
) -> ReportSummary:
    """Write one HTML page about list sizes alone; `write_report` puts them beside calibration.

    Parameters
    ----------
    path : path
        Where to write the page; whole or not at all.
    list_sizes : ListSizes
        What `gather_list_sizes` found.
    figures_dir, title, notes, extra_tables, progress
        As in `write_report`.
    """
    page = PartPage(
        title or "How many items to show?", list_headline(list_sizes), list_tiles(list_sizes),
        tuple(checked_table(table) for table in extra_tables), tuple(notes),
    )  # fmt: skip
    figures = _write_part(
        path, page, "list_size_page.html.j2", list_plans(list_sizes), figures_dir, progress, lists=list_sizes
    )
    return ReportSummary(Path(path), page.headline.sentence, list_sizes.main, {}, figures)


def write_distillation_report(
    path: str | os.PathLike[str],
    distillation: Distillation,
    *,
    figures_dir: str | os.PathLike[str] | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    extra_tables: Sequence[ExtraTable] = (),
    progress: Progress | None = None,
) -> ReportSummary:
    """Write one HTML page about distillation alone; `write_report` puts it beside calibration.

    Parameters
    ----------
    path : path
        Where to write the page; whole or not at all.
    distillation : Distillation
        What `gather_distillation` found.
    figures_dir, title, notes, extra_tables, progress
        As in `write_report`.
    """
    page = PartPage(
        title or "What can a small model learn?", distillation_headline(distillation), distillation_tiles(distillation),
        tuple(checked_table(table) for table in extra_tables), tuple(notes),
    )  # fmt: skip
    figures = _write_part(
        path, page, "distillation_page.html.j2", distillation_plans(distillation), figures_dir, progress,
        distilled=distillation, distilled_headline=None,
    )  # fmt: skip
    return ReportSummary(Path(path), page.headline.sentence, distillation.main, {}, figures)


def _write_part(
    path: str | os.PathLike[str], page: PartPage, template: str, plans: Sequence[Plan],
    figures_dir: str | os.PathLike[str] | None, progress: Progress | None, **values: object,
) -> tuple[Path, ...]:  # fmt: skip
    """Draw and write a page about one part; the files of its figures."""
    environment = page_environment()
    require_matplotlib()
    folder = None if figures_dir is None else Path(figures_dir)
    figures = draw_figures(plans, folder, progress or no_progress)
    text = rendered(environment, template, figures, page=page, **values)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return figure_files(folder, figures)
