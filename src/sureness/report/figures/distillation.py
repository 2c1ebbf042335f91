"""Teacher and student compared: how they rank the same items, and how they learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sureness._printing import fields_repr
from sureness._types import FloatArray
from sureness.errors import EmptyError, SettingError
from sureness.metrics.rank_comparison import RankComparison, RankScatter
from sureness.report.figures.style import (
    BLUE,
    CYCLE,
    DASHES,
    GREY,
    INK,
    LIGHT_GREY,
    MARKERS,
    ORANGE,
    drawing,
    legend_above,
    short_name,
)
from sureness.report.tables import given_table
from sureness.tables.frames import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROLE_COLOURS = {"student": BLUE, "teacher": ORANGE}
ROLE_MARKERS = {"student": "o", "teacher": "s"}


@dataclass(frozen=True, eq=False)
class RankDifferences:
    """Sorted rank differences of one or two comparisons, such as before and after distillation."""

    curves: dict[str, FloatArray]  # name -> (n_points,) increasing, as shares of the catalogue
    average: dict[str, float]  # average rank difference of each
    student_better: dict[str, float]  # share of the interactions above zero

    __repr__ = fields_repr


def prepare_rank_differences(comparisons: Mapping[str, RankComparison], *, n_points: int = 500) -> RankDifferences:
    """Sort the rank differences of one or two comparisons.

    Parameters
    ----------
    comparisons : mapping of name to RankComparison
        At most two; the last one is the main one.
    n_points : int
        Largest number of points per curve.

    Examples
    --------
    >>> ranks = pl.DataFrame({"user_id": [1, 2], "item_id": [5, 5], "teacher_rank": [4, 1], "student_rank": [2, 7]})
    >>> prepare_rank_differences({"before": RankComparison(ranks, n_items=10)}).curves["before"].tolist()
    [-0.6, 0.2]
    """
    if not 1 <= len(comparisons) <= 2:
        raise SettingError(f"rank differences are drawn for one or two comparisons, got {len(comparisons)}")
    return RankDifferences(
        curves={name: found.curve(n_points) for name, found in comparisons.items()},
        average={name: found.average_difference for name, found in comparisons.items()},
        student_better={name: found.student_better for name, found in comparisons.items()},
    )


def draw_rank_differences(differences: RankDifferences, *, ax: Axes | None = None) -> Axes:
    """Draw the sorted rank differences as filled areas: the smaller the area, the better the models agree.

    The largest 2% of the differences may be cut off.

    Examples
    --------
    >>> ranks = pl.DataFrame({"user_id": [1, 2], "item_id": [5, 5], "teacher_rank": [4, 1], "student_rank": [2, 7]})
    >>> ax = draw_rank_differences(prepare_rank_differences({"before": RankComparison(ranks, n_items=10)}))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['before, average 0.4000']
    """
    looks = [(GREY, LIGHT_GREY, 0.55, DASHES[1]), (BLUE, BLUE, 0.30, "-")][-len(differences.curves) :]
    with drawing(ax, (4.6, 3.7)) as drawn:
        for (name, curve), (line, fill, alpha, dash) in zip(differences.curves.items(), looks, strict=True):
            share = np.linspace(0, 1, len(curve)) if len(curve) > 1 else np.array([0.0, 1.0])
            height = np.broadcast_to(curve, share.shape) if len(curve) == 1 else curve
            drawn.fill_between(share, height, 0, color=fill, alpha=alpha, linewidth=0)
            label = f"{short_name(name, 20)}, average {differences.average[name]:.4f}"
            drawn.plot(share, height, color=line, linewidth=1.6, linestyle=dash, label=label)
        drawn.axhline(0, color=INK, linewidth=0.8)
        reach = max([0.01, *(_reach(curve) for curve in differences.curves.values())])
        drawn.set(
            xlim=(0, 1),
            ylim=(-reach, reach),
            xlabel="test interactions, sorted",
            ylabel="rank of teacher − rank of student",
        )
        for axis in (drawn.xaxis, drawn.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%".replace("-", "−"))
        drawn.locator_params(axis="both", nbins=6)
        look: dict[str, Any] = {"transform": drawn.transAxes, "fontsize": 8.5, "color": GREY}
        drawn.text(0.03, 0.95, "student better", va="top", **look)
        drawn.text(0.97, 0.05, "teacher better", ha="right", **look)
        drawn.set_title("Rank differences, in % of all items")
        legend_above(drawn, len(differences.curves))
    return drawn


def _reach(curve: FloatArray) -> float:
    """Upper end of the axis: all but the outermost 2% of a curve fit."""
    return 1.15 * float(np.quantile(np.abs(curve), 0.98))


def draw_rank_scatter(scatter: RankScatter, *, ax: Axes | None = None) -> Axes:
    """Draw the items that either model ranks high, at their ranks in both.

    Examples
    --------
    >>> points = pl.DataFrame({"drawn_by": ["teacher", "student"], "teacher_rank": [1, 9], "student_rank": [3, 1]})
    >>> draw_rank_scatter(RankScatter(points, n_items=10)).get_xlabel()
    'rank by the student'
    """
    with drawing(ax, (4.6, 3.7)) as drawn:
        for role in ("teacher", "student"):
            part = scatter.points.filter(drawn_by=role)
            drawn.scatter(
                part["student_rank"].to_numpy(),
                part["teacher_rank"].to_numpy(),
                s=9,
                color=ROLE_COLOURS[role],
                marker=ROLE_MARKERS[role],
                alpha=0.35,
                linewidths=0,
                label=f"high in the {role}'s list",
            )
        limits = (-0.01 * scatter.n_items, 1.02 * scatter.n_items)
        drawn.set(xlim=limits, ylim=limits, xlabel="rank by the student", ylabel="rank by the teacher")
        for axis in (drawn.xaxis, drawn.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        drawn.locator_params(axis="both", nbins=5, integer=True)
        drawn.set_title("Items that either model ranks high")
        legend_above(drawn, 2)
    return drawn


@dataclass(frozen=True, eq=False)
class TrainingCurves:
    """The metric of both models by epoch."""

    epochs: dict[str, FloatArray]  # model -> (n,) epochs that were judged
    values: dict[str, FloatArray]  # model -> (n,)
    warm_up: int  # epochs before the models began to learn from each other
    metric: str

    __repr__ = fields_repr


def prepare_training_curves(history: Frame, *, warm_up: int = 0, metric: str = "metric") -> TrainingCurves:
    """Select the judged epochs of `BidirectionalDistillation.history_`.

    Parameters
    ----------
    history : table of any kind with epoch, model and metric
        Epochs that were not judged have no metric.
    warm_up : int
        Epochs in which the models were trained alone.
    metric : str
        Label of the axis.

    Examples
    --------
    >>> history = pl.DataFrame({"epoch": [0, 1, 2], "model": ["student"] * 3, "metric": [0.1, None, 0.2]})
    >>> prepare_training_curves(history).values
    {'student': array([0.1, 0.2])}
    """
    epochs = given_table(history, ("epoch", "model", "metric"), "history")
    judged = epochs.filter(pl.col("metric").is_not_null()).sort("epoch")
    if not judged.height:
        raise EmptyError("no epoch of this history was judged; fit with a validation set to see how models learn")
    parts = {str(name): judged.filter(model=name) for name in judged["model"].unique(maintain_order=True)}
    return TrainingCurves(
        epochs={name: part["epoch"].to_numpy().astype(np.float64) for name, part in parts.items()},
        values={name: part["metric"].to_numpy().astype(np.float64) for name, part in parts.items()},
        warm_up=int(warm_up),
        metric=metric,
    )


def draw_training_curves(curves: TrainingCurves, *, ax: Axes | None = None) -> Axes:
    """Draw the metric of both models; a ring marks the best epoch of each, which is kept.

    Examples
    --------
    >>> history = pl.DataFrame({"epoch": [0, 5], "model": ["student"] * 2, "metric": [0.1, 0.2]})
    >>> [text.get_text() for text in draw_training_curves(prepare_training_curves(history)).get_legend().get_texts()]
    ['student', 'epoch kept']
    """
    with drawing(ax, (4.6, 3.7)) as drawn:
        for place, (name, epochs) in enumerate(curves.epochs.items()):
            values = curves.values[name]
            colour = ROLE_COLOURS.get(name, CYCLE[place % len(CYCLE)])
            marker = ROLE_MARKERS.get(name, MARKERS[place % len(MARKERS)])
            drawn.plot(epochs, values, color=colour, marker=marker, markersize=4, linewidth=1.6, label=short_name(name))
            drawn.axhline(values[0], color=colour, linewidth=1.0, linestyle=DASHES[2])
            best = int(np.argmax(values))
            label = "epoch kept" if place == len(curves.epochs) - 1 else None
            drawn.plot(
                epochs[best], values[best], "o", markersize=11, markerfacecolor="none", markeredgecolor=INK, label=label
            )
        if curves.warm_up:
            drawn.axvline(curves.warm_up, color=LIGHT_GREY, linewidth=1.2)
            drawn.annotate(
                "learning from\neach other →",
                (curves.warm_up, 0.98),
                xycoords=("data", "axes fraction"),
                xytext=(4, 0),
                textcoords="offset points",
                va="top",
                fontsize=8,
                color=GREY,
            )
        drawn.set(xlabel="epoch", ylabel=curves.metric)
        drawn.margins(y=0.12)
        drawn.locator_params(axis="x", integer=True)
        drawn.set_title(f"{curves.metric} on the validation set")
        legend_above(drawn, len(curves.epochs) + 1)
    return drawn
