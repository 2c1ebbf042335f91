"""One self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
from numpy.typing import ArrayLike

from sureness import __version__
from sureness.artefacts.files import replacing
from sureness.calibration.base import Calibrator
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import missing_extra
from sureness.plots.saving import FONTS
from sureness.plots.style import require_matplotlib
from sureness.report import formatting
from sureness.report.cases import CARD_ITEMS, labels_known
from sureness.report.contents import Contents, ExtraTable, gather_contents
from sureness.report.distillation import Distillation
from sureness.report.distillation_headline import distillation_headline
from sureness.report.figures import PageFigure, draw_figures, page_plans
from sureness.report.findings import Finding
from sureness.report.list_sizes import ListSizes
from sureness.report.methods import MOST_GROUPS, TOP_N, Progress, best_of_columns

_FILTERS = ("error", "percent", "count", "plain", "chance", "numeric_columns")


@dataclass(frozen=True)
class ReportSummary:
    """What a report says, in short, and where it is."""

    path: Path
    headline: str
    main: str
    ece: dict[str, float]  # of every method
    figures: tuple[Path, ...]  # files in the folder of figures, if one was given


def write_report(
    path: str | os.PathLike[str],
    pairs: ScoredPairs,
    calibrators: Mapping[str, Calibrator],
    *,
    items: pl.DataFrame | None = None,
    user_degree: pl.DataFrame | None = None,
    groups: ArrayLike | None = None,
    candidates: pl.DataFrame | None = None,
    list_sizes: ListSizes | None = None,
    distillation: Distillation | None = None,
    figures_dir: str | os.PathLike[str] | None = None,
    title: str | None = None,
    notes: Iterable[str] = (),
    extra_tables: Sequence[ExtraTable] = (),
    list_tables: Sequence[ExtraTable] = (),
    findings: Iterable[Finding] = (),
    n_resamples: int = 300,
    progress: Progress | None = None,
) -> ReportSummary:
    """Judge fitted calibrators on held-out pairs and write one HTML page about it.

    Parameters
    ----------
    path : path
        Where to write the page; whole or not at all.
    pairs : ScoredPairs
        Labelled pairs that no calibrator was fitted on. With users the intervals respect them; with items there are
        case studies.
    calibrators : mapping of name to fitted Calibrator
        The first is the main one.
    items : DataFrame with item_id, title and perhaps domain, optional
    user_degree : DataFrame with user_id and degree, optional
        How many interactions of each user the recommender was trained on.
    groups : array-like of shape (n_pairs,), optional
        A group for every pair, such as its domain.
    candidates : DataFrame with user_id, item_id, score, optional
        Where the users' top items are taken from; by default the pairs.
    list_sizes : ListSizes, optional
        What `gather_list_sizes` found: adds how long lists should be.
    distillation : Distillation, optional
        What `gather_distillation` found: adds what a large and a small model learned from each other.
    figures_dir : path, optional
        Also write every figure as PNG and SVG into this folder.
    title : str, optional
    notes : iterable of str
        Sentences for the end of the page, for example how the pairs were drawn.
    extra_tables : sequence of (title, caption, DataFrame)
        Shown near the end of the page.
    list_tables : sequence of (title, caption, DataFrame)
        Shown behind the list sizes, such as how a page is shared.
    findings : iterable of Finding
        The page in short, at its top.
    n_resamples : int
        Bootstrap samples for the intervals.
    progress : callable, optional
        Called with the name of a step, how much of it is done and how much there is.

    Returns
    -------
    ReportSummary

    Examples
    --------
    >>> import tempfile
    >>> from sureness.calibration.rescaling import MinMaxCalibrator
    >>> pairs = ScoredPairs.of([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1])
    >>> calibrators = {"minmax": MinMaxCalibrator().fit(pairs.scores, pairs.labels)}
    >>> write_report(Path(tempfile.mkdtemp()) / "report.html", pairs, calibrators).headline
    'Among items shown with 0–10%, 0% were positive.'
    """
    environment = page_environment()  # missing packages are told before the work
    require_matplotlib()
    contents = gather_contents(
        pairs, calibrators, items=items, user_degree=user_degree, groups=groups, candidates=candidates,
        list_sizes=list_sizes, distillation=distillation, title=title, notes=notes, extra_tables=extra_tables,
        list_tables=list_tables, findings=findings, n_resamples=n_resamples, progress=progress,
    )  # fmt: skip
    folder = None if figures_dir is None else Path(figures_dir)
    figures = draw_figures(page_plans(contents), folder, progress or no_progress)
    with replacing(path) as temporary:
        temporary.write_text(_render(environment, contents, figures), encoding="utf-8")
    return ReportSummary(
        path=Path(path), headline=contents.headline.sentence, main=contents.main.name,
        ece={method.name: method.ece.value for method in contents.methods}, figures=figure_files(folder, figures),
    )  # fmt: skip


def render_page(contents: Contents, figures: tuple[PageFigure, ...]) -> str:
    """The page as text."""
    return _render(page_environment(), contents, figures)


def _render(environment: Any, contents: Contents, figures: tuple[PageFigure, ...]) -> str:
    distilled = contents.distillation
    return rendered(
        environment, "template.html.j2", figures, page=contents, lists=contents.list_sizes, distilled=distilled,
        distilled_headline=None if distilled is None else distillation_headline(distilled),
        best=best_of_columns(contents.methods), labels_known=labels_known(contents.cases), n_top=TOP_N,
        n_card=CARD_ITEMS, most_groups=MOST_GROUPS,
    )  # fmt: skip


def rendered(environment: Any, template: str, figures: tuple[PageFigure, ...], **values: object) -> str:
    """A template with its values and figures as text."""
    from markupsafe import Markup

    def section(name: str) -> list[Markup]:
        return [Markup(figure.svg) for figure in figures if figure.section == name]

    page: str = environment.get_template(template).render(
        section=section, fonts=Markup(FONTS), version=__version__, **values
    )
    return page


def figure_files(folder: Path | None, figures: tuple[PageFigure, ...]) -> tuple[Path, ...]:
    """Where the figures were written."""
    if folder is None:
        return ()
    return tuple(folder / f"{figure.name}.{kind}" for figure in figures for kind in ("png", "svg"))


def no_progress(step: str, done: int, total: int) -> None:
    """Nobody wants to know."""


def require_report(what: str = "a report") -> None:
    """Refuse at once what could not be drawn or rendered in the end."""
    require_matplotlib()
    if find_spec("jinja2") is None:
        raise missing_extra(what, "jinja2", "plots")


def page_environment() -> Any:
    """What renders the templates, or a sentence that says how to get it."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise missing_extra("a report", "jinja2", "plots") from error
    environment = Environment(
        loader=PackageLoader("sureness.report", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {name: getattr(formatting, name) for name in _FILTERS}
    return environment
