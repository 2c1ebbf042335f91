"""One self-contained HTML page: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sureness import __version__
from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness.calibration.maps import ProbabilityMap
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import missing_extra
from sureness.plots.saving import FONTS
from sureness.plots.style import require_matplotlib
from sureness.report import formatting
from sureness.report.cases import CARD_ITEMS, labels_known
from sureness.report.contents import Contents, gather_contents
from sureness.report.distillation_headline import distillation_headline
from sureness.report.figures import PageFigure, draw_figures, page_plans
from sureness.report.headline import best_pairs
from sureness.report.inputs import NO_ADDITIONS, NO_BACKGROUND, Additions, Background
from sureness.report.methods import MOST_GROUPS, PLAIN_NAMES, TOP_N, best_of_columns
from sureness.saving.files import replacing

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

_FILTERS = ("error", "percent", "count", "plain", "chance", "ratio", "times", "numeric_columns", "headings")


@dataclass(frozen=True)
class ReportSummary:
    """The result of a report in short, and where it was written."""

    path: Path
    headline: str
    main: str
    ece: dict[str, float]  # of every method
    figures: tuple[Path, ...]  # files in the folder of figures, if one was given

    __repr__ = fields_repr


def write_report(
    path: str | os.PathLike[str],
    pairs: ScoredPairs,
    calibrators: Mapping[str, ProbabilityMap],
    *,
    background: Background = NO_BACKGROUND,
    additions: Additions = NO_ADDITIONS,
    figures_dir: str | os.PathLike[str] | None = None,
    n_resamples: int = 300,
    progress: Progress = silent,
) -> ReportSummary:
    """Judge fitted calibrators on held-out pairs and write one HTML page about it.

    Parameters
    ----------
    path : path
        Where to write the page. The file is replaced in one step, so it is never half written.
    pairs : ScoredPairs
        Labelled pairs that no calibrator was fitted on. With users, intervals treat each as one observation;
        with items too, the page shows single users.
    calibrators : mapping of name to fitted map
        For lists, for all pairs, per segment or per user. The first is the main one. Maps for lists and per user need
        pairs with users, maps per segment need `segments` in the background. A map for lists compares the pairs of a
        user, so the pairs must hold all candidates, or the best ones.
    background : Background
        What is known about users and items: titles, degrees, groups, candidates.
    additions : Additions
        Title, findings, notes, tables, list sizes and distillation.
    figures_dir : path, optional
        Also write every figure as PNG and SVG into this folder.
    n_resamples : int
        Draws of noise for the intervals.
    progress : Progress

    Returns
    -------
    ReportSummary

    Examples
    --------
    >>> import tempfile
    >>> from sureness.calibration.nonparametric import MinMaxCalibrator
    >>> pairs = ScoredPairs.of([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1])
    >>> calibrators = {"minmax": MinMaxCalibrator().fit(pairs.scores, pairs.labels)}
    >>> write_report(Path(tempfile.mkdtemp()) / "report.html", pairs, calibrators).headline
    'The top 1% of the pairs promised 100%; 100% were chosen.'
    """
    require_report()
    contents = gather_contents(
        pairs, calibrators, background=background, additions=additions, n_resamples=n_resamples, progress=progress
    )
    folder = None if figures_dir is None else Path(figures_dir)
    figures = draw_figures(page_plans(contents), folder, progress)
    write_page(path, render_page(contents, figures))
    return ReportSummary(
        path=Path(path), headline=contents.headline.sentence, main=contents.main.name,
        ece={method.name: method.ece.value for method in contents.methods}, figures=figure_files(folder, figures),
    )  # fmt: skip


def render_page(contents: Contents, figures: tuple[PageFigure, ...]) -> str:
    """The page as text."""
    distilled = contents.distillation
    return rendered(
        "template.html.j2", figures, page=contents, lists=contents.list_sizes, distilled=distilled,
        distilled_headline=None if distilled is None else distillation_headline(distilled),
        best=best_of_columns(contents.methods), plain_names=PLAIN_NAMES, labels_known=labels_known(contents.cases),
        n_top=TOP_N, n_card=CARD_ITEMS, most_groups=MOST_GROUPS,
    )  # fmt: skip


def rendered(template: str, figures: tuple[PageFigure, ...], **values: object) -> str:
    """A template with its values and figures as text."""
    from markupsafe import Markup

    def section(name: str) -> list[Markup]:
        return [Markup(figure.svg) for figure in figures if figure.section == name]

    loaded = page_environment().get_template(template)
    return loaded.render(section=section, fonts=Markup(FONTS), version=__version__, **values)


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Replace a page in one step."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def figure_files(folder: Path | None, figures: tuple[PageFigure, ...]) -> tuple[Path, ...]:
    """Where the figures were written."""
    if folder is None:
        return ()
    return tuple(folder / f"{figure.name}.{kind}" for figure in figures for kind in ("png", "svg"))


def require_report(what: str = "a report") -> None:
    """Raise at once if matplotlib or jinja2 is missing, before hours of work end in nothing."""
    require_matplotlib(what)
    if find_spec("jinja2") is None:
        raise missing_extra(what, "jinja2", "plots")


def page_environment(*loaders: BaseLoader) -> Environment:
    """The jinja2 environment of the page templates; templates of the given loaders come first."""
    require_report()
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([*loaders, PackageLoader("sureness.report", "")]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {name: getattr(formatting, name) for name in _FILTERS} | {"best_pairs": best_pairs}
    return environment
