"""Self-contained HTML pages: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite
from pathlib import Path

import numpy as np
import polars as pl

from sureness import __version__
from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._wording import counted
from sureness.calibration.maps import ProbabilityMap
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import missing_extra
from sureness.recommender.backtesting import Backtest
from sureness.report import formatting
from sureness.report.cases import CARD_ITEMS
from sureness.report.contents import NO_ADDITIONS, NO_BACKGROUND, Additions, Background, gather_contents, page_plans
from sureness.report.figures.style import FONTS, Plan, draw_figures, require_matplotlib
from sureness.report.figures.windows import draw_windows
from sureness.report.formatting import Headline, Tile
from sureness.report.list_sizes import ListSizes, list_headline, list_plans, list_tiles
from sureness.report.methods import FEWEST_PAIRS, MOST_GROUPS, PLAIN_NAMES, TOP_N, best_of_columns, best_pairs
from sureness.saving.files import replacing
from sureness.saving.packed import JSON

_FILTERS = ("error", "percent", "count", "ratio", "times", "chance", "headings")


@dataclass(frozen=True)
class ReportSummary:
    """The result of a report in short, and where it was written."""

    path: Path
    headline: str
    main: str
    ece: dict[str, float]  # of every method
    figures: tuple[Path, ...]  # files in the folder of figures, if one was given
    n_pairs: int = 0  # judged

    __repr__ = fields_repr

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        ece: dict[str, JSON] = {name: value if isfinite(value) else None for name, value in self.ece.items()}
        return {
            "output": str(self.path),
            "pairs": self.n_pairs,
            "headline": self.headline,
            "main": self.main,
            "ece": ece,
            "figures": [str(each) for each in self.figures],
        }


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
    """Judge fitted calibrators on held-out pairs and write one HTML page about them.

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
        What is known about users and items: titles, degrees, groups.
    additions : Additions
        Title, findings and notes.
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
    values = {
        **additions.shown("How sure is the recommender?"),
        "page": contents,
        "headline": additions.headline or contents.headline,
        "tiles": contents.tiles,
        "best": best_of_columns(contents.methods),
        "plain_names": PLAIN_NAMES,
        "n_top": TOP_N,
        "n_card": CARD_ITEMS,
        "most_groups": MOST_GROUPS,
        "fewest_pairs": FEWEST_PAIRS,
    }
    files = _write(path, "calibration.html.j2", page_plans(contents), values, figures_dir, progress)
    errors = {method.name: method.ece.value for method in contents.methods}
    return ReportSummary(Path(path), contents.headline.sentence, contents.main.name, errors, files, len(pairs))


def write_list_size_report(
    path: str | os.PathLike[str],
    list_sizes: ListSizes,
    *,
    additions: Additions = NO_ADDITIONS,
    figures_dir: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> ReportSummary:
    """Write one HTML page about list sizes.

    Parameters
    ----------
    path : path
        Where to write the page.
    list_sizes : ListSizes
        What `gather_list_sizes` found.
    additions : Additions
        Title, findings and notes.
    figures_dir, progress
        As for `write_report`.
    """
    headline = additions.headline or list_headline(list_sizes)
    page = {
        **additions.shown("How many items to show?"),
        "headline": headline,
        "tiles": list_tiles(list_sizes),
        "lists": list_sizes,
    }
    files = _write(path, "list_sizes.html.j2", list_plans(list_sizes), page, figures_dir, progress)
    return ReportSummary(Path(path), headline.sentence, list_sizes.main, {}, files)


def write_backtest_report(
    path: str | os.PathLike[str],
    found: Backtest,
    *,
    additions: Additions = NO_ADDITIONS,
    figures_dir: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> ReportSummary:
    """Write one HTML page about a backtest.

    Parameters
    ----------
    path : path
        Where to write the page.
    found : Backtest
    additions : Additions
        Title, findings and notes.
    figures_dir, progress
        As for `write_report`.
    """
    table, coming = found.table(), found.coming()
    headline = additions.headline or backtest_headline(table)
    plans = [Plan("windows", "windows", headline.sentence, lambda: draw_windows(table))]
    own = {
        **additions.shown("Does the promise hold tomorrow?"),
        "notes": (*additions.notes, *found.recommender.cautions_),
        "headline": headline, "tiles": backtest_tiles(coming), "table": table, "coming": coming,
        "utilities": tuple(found.windows[0].comparisons),
    }  # fmt: skip
    files = _write(path, "backtest.html.j2", plans, own, figures_dir, progress)
    return ReportSummary(Path(path), headline.sentence, "backtest", {}, files)


def backtest_headline(table: pl.DataFrame) -> Headline:
    """In how many windows the promise to users who are there was kept, as far as the data can tell."""
    kept = table.filter(pl.col("there_low").fill_null(0) <= 1, pl.col("there_high").fill_null(np.inf) >= 1).height
    promised, realised = (float(table[f"there_{name}"].sum()) for name in ("promised", "realised"))
    sentence = f"In {kept} of {counted(table.height, 'window')} the intervals hold what was promised."
    detail = (
        f"{realised:,.0f} hits of users who were there came of {promised:,.0f} that were promised; in the period "
        f"{table['period_promised'].sum():,.0f} were promised."
    )
    return Headline(sentence, detail)


def backtest_tiles(coming: pl.DataFrame) -> tuple[Tile, ...]:
    """What is promised for the next window."""
    return tuple(
        Tile(what, f"{promised:,.1f}", f"promised for the next window, {low:,.1f} to {high:,.1f}")
        for what, promised, low, high in coming.iter_rows()
    )


def require_report(what: str = "a report") -> None:
    """Raise at once if matplotlib or jinja2 is missing, before hours of work end in nothing."""
    require_matplotlib(what)
    if find_spec("jinja2") is None:
        raise missing_extra(what, "jinja2", "plots")


def _write(
    path: str | os.PathLike[str],
    template: str,
    plans: Iterable[Plan],
    values: Mapping[str, object],
    figures_dir: str | os.PathLike[str] | None,
    progress: Progress,
) -> tuple[Path, ...]:
    """Draw the figures, fill the template and replace the page in one step; returns the files of the figures."""
    require_report()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    folder = None if figures_dir is None else Path(figures_dir)
    sections, files = draw_figures(tuple(plans), folder, progress)

    def section(name: str) -> list[Markup]:
        return [Markup(svg) for svg in sections.get(name, [])]

    environment = Environment(
        loader=PackageLoader("sureness.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: getattr(formatting, name) for name in _FILTERS} | {"best_pairs": best_pairs}
    fixed = {"section": section, "fonts": Markup(FONTS), "version": __version__}
    text = environment.get_template(template).render(**values, **fixed)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return files
