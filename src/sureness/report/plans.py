"""All figures of the page, drawn from its contents."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sureness._progress import Progress
from sureness._wording import counted
from sureness.metrics.calibration import ReliabilityCurve
from sureness.recommender.promises import KeptPromise
from sureness.report.contents import Contents
from sureness.report.distillation import Distillation
from sureness.report.figures.comparison import draw_metric_comparison
from sureness.report.figures.degrees import draw_confidence_by_degree, draw_size_by_degree
from sureness.report.figures.distillation import draw_rank_differences, draw_rank_scatter, draw_training_curves
from sureness.report.figures.lists import draw_list_cut, draw_size_distributions
from sureness.report.figures.promises import draw_promise, prepare_promise
from sureness.report.figures.reliability import draw_bands, draw_reliability
from sureness.report.figures.saving import figure_svg, save_figure
from sureness.report.figures.scores import draw_fitted_curves, draw_score_distributions
from sureness.report.figures.style import error_text
from sureness.report.list_sizes import ListSizes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PageFigure:
    """A figure ready for the page."""

    name: str  # of its files
    section: str
    svg: str


@dataclass(frozen=True)
class Plan:
    """A figure that is yet to be drawn."""

    name: str
    section: str
    label: str  # alternative text
    draw: Callable[[], Axes]


def draw_figures(plans: Sequence[Plan], figures_dir: Path | None, progress: Progress) -> tuple[PageFigure, ...]:
    """Draw every figure once; with a folder, also write each as PNG and SVG."""
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


def page_plans(contents: Contents) -> list[Plan]:
    """The figures about calibration and, if the page has them, about list sizes."""
    main = contents.main.name
    plans = [
        *_comparison(contents),
        Plan(
            "promise",
            "promise",
            f"Promised and realised shares of {main} from the least to the most likely pairs",
            partial(draw_bands, contents.bands[main], title=main),
        ),
        *_diagrams(contents),
        Plan(
            "scores",
            "scores",
            f"Densities of the scores of pairs {contents.outcome} and not {contents.outcome}",
            partial(draw_score_distributions, contents.distributions),
        ),
        Plan(
            "curves",
            "curves",
            "Probability against score for several calibrators",
            partial(draw_fitted_curves, contents.curves),
        ),
    ]
    if contents.degree is not None:
        plans.append(
            Plan(
                "degree",
                "degree",
                "Mean probability of the top items against the degree of the user",
                partial(draw_confidence_by_degree, contents.degree),
            )
        )
    if contents.list_sizes is not None:
        plans += list_plans(contents.list_sizes)
    return plans


def list_plans(found: ListSizes) -> list[Plan]:
    """The figures about list sizes."""
    cuts = [
        Plan(
            f"list_case_{place}",
            f"list-case-{place}",
            f"Probabilities of user {case.user} with the cut after {counted(case.size, 'item')}",
            partial(draw_list_cut, case.cut),
        )
        for place, case in enumerate(found.cases, start=1)
    ]
    return [
        Plan(
            "list_sizes",
            "list-sizes",
            "How many users have lists of each size, by policy",
            partial(draw_size_distributions, found.distributions),
        ),
        Plan(
            "list_degree",
            "list-degree",
            "Size of the list against the degree of the user",
            partial(draw_size_by_degree, found.degree),
        ),
        *_promise_plans(found.promise),
        *cuts,
    ]


def _promise_plans(found: KeptPromise | None) -> list[Plan]:
    if found is None:
        return []
    return [
        Plan(
            f"promise_{by}",
            "list-promise",
            f"Promised and realised hits of shown items by {by}",
            partial(draw_promise, prepare_promise(table)),
        )
        for by, table in (("rank", found.by_rank), ("probability", found.by_probability))
    ]


def distillation_plans(found: Distillation) -> list[Plan]:
    """The figures about distillation."""
    plans = [
        Plan(
            "distillation_models",
            "distillation-models",
            f"{found.metrics[0]} of every model with its interval",
            partial(draw_metric_comparison, found.comparison, what="model"),
        ),
        Plan(
            "rank_differences",
            "distillation-differences",
            "Sorted rank differences of teacher and student",
            partial(draw_rank_differences, found.differences),
        ),
        Plan(
            "rank_scatter",
            "distillation-scatter",
            "Ranks of items that student or teacher ranks high",
            partial(draw_rank_scatter, found.scatter),
        ),
    ]
    if found.training is not None:
        plans.append(
            Plan(
                "distillation_training",
                "distillation-training",
                f"{found.training.metric} of both by epoch",
                partial(draw_training_curves, found.training),
            )
        )
    return plans


def _comparison(contents: Contents) -> list[Plan]:
    if len(contents.methods) == 1:
        return []
    draw = partial(draw_metric_comparison, contents.comparison)
    return [Plan("comparison", "metrics", "ECE of every method with its interval", draw)]


def _diagrams(contents: Contents) -> list[Plan]:
    """The main method large, then one small diagram per method if there are several."""
    if contents.rare:
        return _small_bands(contents)
    main = contents.main.name
    large = [_diagram(contents, main, contents.diagrams[main], "reliability", "reliability")]
    if len(contents.diagrams) == 1:
        return large
    return large + [
        _diagram(contents, name, curve, f"reliability_{place}_{_file_name(name)}", "diagrams", compact=True)
        for place, (name, curve) in enumerate(contents.diagrams.items(), start=1)
    ]


def _small_bands(contents: Contents) -> list[Plan]:
    """One small diagram per method; none if there is only the main one, which is shown large."""
    if len(contents.bands) == 1:
        return []
    return [
        Plan(
            f"promise_{place}_{_file_name(name)}",
            "diagrams",
            f"Promised and realised shares of {name}",
            partial(draw_bands, bands, title=name, compact=True),
        )
        for place, (name, bands) in enumerate(contents.bands.items(), start=1)
    ]


def _diagram(
    contents: Contents, name: str, curve: ReliabilityCurve, file: str, section: str, *, compact: bool = False
) -> Plan:
    error = next(method.ece.value for method in contents.methods if method.name == name)
    label = f"Reliability diagram of {name}; ECE {error_text(error)}"
    return Plan(file, section, label, partial(draw_reliability, curve, title=name, error=error, compact=compact))


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "method"
