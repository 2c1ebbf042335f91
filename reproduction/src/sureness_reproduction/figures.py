"""The figures of all chapters, each from the results of its study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

import sureness as sn
from sureness import report
from sureness_reproduction.calibration.maps import WITH_ANCHOR
from sureness_reproduction.calibration.measures import TOP
from sureness_reproduction.distillation.measures import STAGES
from sureness_reproduction.list_size.perk import OURS, PUBLISHED
from sureness_reproduction.pages import named
from sureness_reproduction.results import SUMMARY, Results, shown_rows
from sureness_reproduction.study import Study

_PARAMETRIC = ("platt", "gaussian", "gamma")
_DRAWN = ["sigmoid", "histogram", *(f"{name} naive" for name in _PARAMETRIC), "isotonic", "bbq",
          *(f"{name} unbiased" for name in _PARAMETRIC)]  # fmt: skip
_N_POINTS = 500  # at most, of a curve


def reliability(results: Results) -> Any:
    """A diagram for each method, over the pairs of all seeds."""
    pairs = results.table("pairs").filter(pairs=WITH_ANCHOR, test="left_out")

    def diagram(name: str, ax: Any) -> Any:
        known = pairs.drop_nulls(name)
        curve = sn.metrics.reliability_curve(known["label"].to_numpy(), known[name].to_numpy(), n_bins=10)
        return report.draw_reliability(curve, ax=ax, title=name, compact=True)

    panels = [partial(diagram, name) for name in _DRAWN if name in pairs.columns]
    return report.draw_side_by_side(panels, panel=(2.9, 3.0), n_rows=2)


def score_distributions(results: Results) -> Any:
    """The distributions of every model, first seed."""
    first = results.table("pairs").filter(seed=0, test="left_out")

    def diagram(model: str, ax: Any) -> Any:
        scores, labels = (first.filter(model=model)[name].to_numpy() for name in ("score", "label"))
        ax.set_title(model)
        return report.draw_score_distributions(scores, labels, n_bins=40, ax=ax)

    return report.draw_side_by_side([partial(diagram, name) for name in first["model"].unique().sort()])


def confidence_by_degree(results: Results) -> Any:
    """Degree and confidence of every user, first seed, with the anchor."""
    first = [results.table(name).filter(seed=0, pairs=WITH_ANCHOR) for name in ("top", "degrees")]
    return report.draw_confidence_by_degree(report.prepare_confidence_by_degree(*first, n=TOP))


def rank_differences(results: Results) -> Any:
    """Rank differences before and after BD, of the first model and start."""
    return draw_rank_differences(_rank_differences(results))


def two_models(results: Results) -> Any:
    """How the ranks of two models differ on the test, and those of items that either ranks high."""
    points = results.store.find(results.finished[0][1]).table("points")

    def scatter(ax: Any) -> Any:
        for number, role in enumerate(("teacher", "student")):
            some = points.filter(drawn_by=role)
            ax.scatter(
                some["student_rank"], some["teacher_rank"], s=3, alpha=0.4, color=report.CYCLE[number], label=role
            )
        ax.set(xlabel="rank by the student", ylabel="rank by the teacher", title="items ranked high by")
        ax.legend()
        return ax

    return report.draw_side_by_side([partial(draw_rank_differences, _rank_differences(results)), scatter])


def draw_rank_differences(differences: Mapping[str, ArrayLike], *, ax: Any = None) -> Any:
    """Draw sorted rank differences as filled areas: the smaller the area, the better two models agree.

    Each is the teacher's rank of a test interaction minus the student's, divided by the number of items; the last ones
    are the main ones. The largest 2% may be cut off.

    Examples
    --------
    >>> ax = draw_rank_differences({"before": [0.2, -0.6]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['before, average 0.4000']
    """
    curves = {name: np.sort(np.asarray(each, dtype=np.float64)) for name, each in differences.items()}
    averages = {name: float(np.mean(np.abs(curve))) for name, curve in curves.items()}
    curves = {name: curve[_shown_places(len(curve))] for name, curve in curves.items()}
    before, after = (report.GREY, report.LIGHT_GREY, 0.55, report.DASHES[1]), (report.BLUE, report.BLUE, 0.30, "-")
    with report.drawing(ax, (4.6, 3.7)) as drawn:
        for (name, curve), look in zip(curves.items(), [before, after][-len(curves) :], strict=True):
            line, fill, alpha, dash = look
            share = np.linspace(0, 1, len(curve)) if len(curve) > 1 else np.array([0.0, 1.0])
            height = np.broadcast_to(curve, share.shape) if len(curve) == 1 else curve
            drawn.fill_between(share, height, 0, color=fill, alpha=alpha, linewidth=0)
            label = f"{report.short_name(name, 20)}, average {averages[name]:.4f}"
            drawn.plot(share, height, color=line, linewidth=1.6, linestyle=dash, label=label)
        drawn.axhline(0, color=report.INK, linewidth=0.8)
        reach = max([0.01, *(_reach(curve) for curve in curves.values())])
        drawn.set(xlim=(0, 1), ylim=(-reach, reach))
        drawn.set(xlabel="test interactions, sorted", ylabel="rank of teacher − rank of student")
        for axis in (drawn.xaxis, drawn.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%".replace("-", "−"))
        drawn.locator_params(axis="both", nbins=6)
        small: dict[str, Any] = {"transform": drawn.transAxes, "fontsize": 8.5, "color": report.GREY}
        drawn.text(0.03, 0.95, "student better", va="top", **small)
        drawn.text(0.97, 0.05, "teacher better", ha="right", **small)
        drawn.set_title("Rank differences, in % of all items")
        report.legend_above(drawn, len(curves))
    return drawn


def _shown_places(n: int) -> NDArray[Any]:
    """Evenly spaced places, all of them if they are few."""
    return np.linspace(0, n - 1, min(n, _N_POINTS)).round().astype(np.int64)


def _reach(curve: NDArray[Any]) -> float:
    """Upper end of the axis: all but the outermost 2% of a curve fit."""
    return 1.15 * float(np.quantile(np.abs(curve), 0.98))


def _rank_differences(results: Results) -> dict[str, Any]:
    """The rank differences of test interactions, of the first model and start by stage."""
    found: dict[str, Any] = {}
    for point, cell in results.finished:
        name = STAGES.get(point["methods"][0], point["methods"][0])
        if name not in found:
            ranks = results.store.find(cell).table("ranks")
            found[name] = (ranks["teacher_rank"] - ranks["student_rank"]) / ranks["n_items"]
    return found


def size_distributions(results: Results) -> Any:
    """The distributions of every data set, for F1."""

    def diagram(data: str, ax: Any) -> Any:
        sizes = results.table("sizes").filter(data=data)
        drawn = {name: sizes.filter(method=name)["size"].to_numpy() for name in (OURS, "Oracle", "MtCut", PUBLISHED)}
        report.draw_size_distributions({name: some for name, some in drawn.items() if len(some)}, ax=ax)
        ax.set_title(f"{named(data)}: {ax.get_title(loc='left')}", loc="left")
        return ax

    return report.draw_side_by_side([partial(diagram, data) for data in results.table("sizes")["data"].unique().sort()])


def size_by_degree(results: Results) -> Any:
    """Degree and size of the first data set and split, for F1."""
    sizes = results.table("sizes")
    first = sizes.filter(data=sizes["data"][0], seed=0, method=PUBLISHED)
    sizes_by_degree = report.prepare_size_by_degree(first["size"].to_numpy(), first["degree"].to_numpy())
    return report.draw_size_by_degree(sizes_by_degree)


# --- figures of means, which committed results are enough for ---------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """Means along one key: a line or bars for each value of another, a panel for each value of the others."""

    x: str
    line: str
    bars: bool = False

    def __call__(self, results: Results) -> Any:
        return self.of(results.study, results.summary)

    def of(self, study: Study, summary: pl.DataFrame) -> Any:
        """The figure of these means; test pairs of the training log are left out."""
        table = shown_rows(study, summary).drop_nulls("value")
        if "test" in table.columns:
            table = table.filter(test="left_out")
        keys = [name for name in table.columns if name not in (*SUMMARY, self.x, self.line)]
        apart = [name for name in keys if table[name].n_unique() > 1]
        panels = table.group_by(apart, maintain_order=True) if apart else [((), table)]
        draws = [partial(self._panel, ", ".join(map(named, key)) or study.title, part) for key, part in panels]
        return report.draw_side_by_side(draws, n_rows=-(-len(draws) // 3))

    def _panel(self, title: str, table: pl.DataFrame, ax: Any) -> Any:
        places = {value: place for place, value in enumerate(table[self.x].unique(maintain_order=True))}
        lines = table.partition_by(self.line, as_dict=True, maintain_order=True)
        for number, ((name,), some) in enumerate(lines.items()):
            at = np.array([places[value] for value in some[self.x]])
            style = {"color": report.CYCLE[number % len(report.CYCLE)], "label": named(name)}
            if self.bars:
                width = 0.8 / len(lines)
                ax.bar(at + (number - (len(lines) - 1) / 2) * width, some["value"], width, **style)
            else:
                ax.plot(at, some["value"], marker=report.MARKERS[number % 4], **style)
        ax.set_xticks(list(places.values()), [named(value) for value in places], rotation=30, ha="right")
        ax.set_xlabel(named(self.x))
        ax.set_title(title, loc="left")
        ax.legend(title=None if self.line == "metric" else named(self.line), fontsize="small")
        return ax


fitted_functions = Lines("quantile", "method")
propensities = Lines("estimator", "method", bars=True)
sizes_of_partners = Lines("sizes", "method", bars=True)
weights = Lines("to_student__weight", "to_teacher__weight")
to_student = Lines("to_student__rank_gap_scale", "role")
to_teacher = Lines("to_teacher__rank_gap_scale", "role")
period = Lines("refresh_every", "role")
bound = Lines("method", "metric")
