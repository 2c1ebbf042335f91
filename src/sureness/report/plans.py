"""All figures of the page, drawn from its contents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from sureness._progress import Progress
from sureness._wording import counted
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


class Plan(NamedTuple):
    """A figure that is yet to be drawn."""

    name: str  # of its files
    section: str
    label: str  # alternative text
    draw: Callable[..., Axes]
    data: object
    title: str | None = None
    compact: bool = False

    def drawn(self) -> Figure:
        """The figure; figures that are not of one method have their own title and one size."""
        given = {} if self.title is None else {"title": self.title, "compact": self.compact}
        return cast("Figure", self.draw(self.data, **given).figure)


def draw_figures(
    plans: Sequence[Plan], figures_dir: Path | None, progress: Progress
) -> tuple[dict[str, list[str]], tuple[Path, ...]]:
    """The SVG of every figure by section; with a folder, also each as PNG and SVG files, whose paths are returned."""
    sections: dict[str, list[str]] = {}
    files = []
    for done, plan in enumerate(plans):
        progress("figures", done, len(plans))
        figure = plan.drawn()
        sections.setdefault(plan.section, []).append(figure_svg(figure, label=plan.label))
        if figures_dir is not None:
            files += [save_figure(figure, figures_dir / f"{plan.name}.{kind}") for kind in ("png", "svg")]
    progress("figures", len(plans), len(plans))
    return sections, tuple(files)


def page_plans(page: Contents) -> Iterator[Plan]:
    """The figures about calibration and, if the page has them, about list sizes."""
    if len(page.methods) > 1:
        label = "ECE of every method with its interval"
        yield Plan("comparison", "metrics", label, draw_metric_comparison, page.comparison)
    main = page.main.name
    label = f"Promised and realised shares of {main} from the least to the most likely pairs"
    yield Plan("promise", "promise", label, draw_bands, page.bands[main], main)
    if not page.rare:
        label = f"Reliability diagram of {main}; ECE {error_text(page.main.ece.value)}"
        yield Plan("reliability", "reliability", label, _reliability(page, main), page.diagrams[main], main)
    yield from _small_diagrams(page)
    label = f"Densities of the scores of pairs {page.outcome} and not {page.outcome}"
    yield Plan("scores", "scores", label, draw_score_distributions, page.distributions)
    label = "Probability against score for several calibrators"
    yield Plan("curves", "curves", label, draw_fitted_curves, page.curves)
    if page.degree is not None:
        label = "Mean probability of the top items against the degree of the user"
        yield Plan("degree", "degree", label, draw_confidence_by_degree, page.degree)
    if page.list_sizes is not None:
        yield from list_plans(page.list_sizes)


def _small_diagrams(page: Contents) -> Iterator[Plan]:
    """One small diagram per method; none if there is only the main one, which is shown large."""
    shown = page.bands if page.rare else page.diagrams
    if len(shown) == 1:
        return
    for place, (name, data) in enumerate(shown.items(), start=1):
        end = f"{place}_{re.sub('[^a-z0-9]+', '_', name.lower()).strip('_') or 'method'}"
        if page.rare:
            label = f"Promised and realised shares of {name}"
            yield Plan(f"promise_{end}", "diagrams", label, draw_bands, data, name, compact=True)
        else:
            label = f"Reliability diagram of {name}"
            yield Plan(f"reliability_{end}", "diagrams", label, _reliability(page, name), data, name, compact=True)


def _reliability(page: Contents, name: str) -> Callable[..., Axes]:
    """Draws a reliability diagram with the ECE of the table of methods, which has other bins."""
    ece = next(method.ece.value for method in page.methods if method.name == name)
    return partial(draw_reliability, error=ece)


def list_plans(found: ListSizes) -> Iterator[Plan]:
    """The figures about list sizes."""
    label = "How many users have lists of each size, by policy"
    yield Plan("list_sizes", "list-sizes", label, draw_size_distributions, found.distributions)
    label = "Size of the list against the degree of the user"
    yield Plan("list_degree", "list-degree", label, draw_size_by_degree, found.degree)
    if found.promise is not None:
        for by, table in (("rank", found.promise.by_rank), ("probability", found.promise.by_probability)):
            label = f"Promised and realised hits of shown items by {by}"
            yield Plan(f"promise_{by}", "list-promise", label, draw_promise, prepare_promise(table))
    for place, case in enumerate(found.cases, start=1):
        label = f"Probabilities of user {case.user} with the cut after {counted(case.size, 'item')}"
        yield Plan(f"list_case_{place}", f"list-case-{place}", label, draw_list_cut, case.cut)


def distillation_plans(found: Distillation) -> Iterator[Plan]:
    """The figures about distillation."""
    label, draw = f"{found.metrics[0]} of every model with its interval", partial(draw_metric_comparison, what="model")
    yield Plan("distillation_models", "distillation-models", label, draw, found.comparison)
    label = "Sorted rank differences of teacher and student"
    yield Plan("rank_differences", "distillation-differences", label, draw_rank_differences, found.differences)
    label = "Ranks of items that student or teacher ranks high"
    yield Plan("rank_scatter", "distillation-scatter", label, draw_rank_scatter, found.scatter)
    if found.training is not None:
        label = f"{found.training.metric} of both by epoch"
        yield Plan("distillation_training", "distillation-training", label, draw_training_curves, found.training)
