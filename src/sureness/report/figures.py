"""All figures of the page, drawn from its contents."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sureness.metrics import ReliabilityCurve
from sureness.plots import (
    draw_confidence_by_degree,
    draw_fitted_curves,
    draw_metric_comparison,
    draw_reliability,
    draw_score_distributions,
    figure_svg,
    save_figure,
)
from sureness.report.contents import Contents
from sureness.report.methods import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PageFigure:
    """A figure ready to be put into the page."""

    name: str  # of its files
    section: str
    svg: str


@dataclass(frozen=True)
class _Plan:
    name: str
    section: str
    label: str  # for those who cannot see it
    draw: Callable[[], Axes]


def draw_figures(contents: Contents, figures_dir: Path | None, progress: Progress) -> tuple[PageFigure, ...]:
    """Draw every figure once; with a folder, also write each as PNG and SVG."""
    plans = _plans(contents)
    figures = []
    for done, plan in enumerate(plans):
        progress("figures", done, len(plans))
        figure = cast("Figure", plan.draw().figure)
        figures.append(PageFigure(plan.name, plan.section, figure_svg(figure, label=plan.label)))
        if figures_dir is not None:
            save_figure(figure, figures_dir / f"{plan.name}.png")
            save_figure(figure, figures_dir / f"{plan.name}.svg")
    progress("figures", len(plans), len(plans))
    return tuple(figures)


def _plans(contents: Contents) -> list[_Plan]:
    main = contents.main.name
    plans = [
        *_comparison(contents),
        _diagram(contents, main, contents.diagrams[main], "reliability", "reliability"),
        _diagram(contents, main, contents.accuracy_diagram, "reliability_accuracy", "reliability"),
        *_small_diagrams(contents),
        _Plan("scores", "scores", "Densities of the scores of positives and negatives",
              partial(draw_score_distributions, contents.distributions)),
        _Plan("curves", "curves", "Probability against score for several calibrators",
              partial(draw_fitted_curves, contents.curves)),
    ]  # fmt: skip
    if contents.degree is not None:
        plans.append(_Plan("degree", "degree", "Mean probability of the top items against the degree of the user",
                           partial(draw_confidence_by_degree, contents.degree)))  # fmt: skip
    return plans


def _comparison(contents: Contents) -> list[_Plan]:
    if len(contents.methods) == 1:
        return []
    draw = partial(draw_metric_comparison, contents.comparison)
    return [_Plan("comparison", "metrics", "ECE of every method with its interval", draw)]


def _small_diagrams(contents: Contents) -> list[_Plan]:
    """One small diagram for each of several methods; none for the main one alone, which is shown large."""
    if len(contents.diagrams) == 1:
        return []
    return [
        _diagram(contents, name, curve, f"reliability_{place}_{_file_name(name)}", "diagrams", compact=True)
        for place, (name, curve) in enumerate(contents.diagrams.items(), start=1)
    ]


def _diagram(
    contents: Contents, name: str, curve: ReliabilityCurve, file: str, section: str, *, compact: bool = False
) -> _Plan:
    error = next(method.ece.value for method in contents.methods if method.name == name)
    label = f"Reliability diagram of {name}, {curve.reading}; ECE {error:.4f}"
    return _Plan(file, section, label, partial(draw_reliability, curve, title=name, error=error, compact=compact))


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "method"
