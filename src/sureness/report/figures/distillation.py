"""Teacher and student compared: how they rank the same items, and how they learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sureness._types import FloatArray, IntArray
from sureness.errors import EmptyError, SettingError
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
_N_POINTS = 500  # at most, of a curve


def draw_rank_differences(differences: Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Draw sorted rank differences as filled areas: the smaller the area, the better two models agree.

    The largest 2% of the differences may be cut off.

    Parameters
    ----------
    differences : mapping of name to array-like of shape (n,)
        The teacher's rank of each test interaction minus the student's, divided by the number of items. One or two,
        such as before and after distillation; the last one is the main one.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> ax = draw_rank_differences({"before": [0.2, -0.6]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['before, average 0.4000']
    """
    if not 1 <= len(differences) <= 2:
        raise SettingError(f"rank differences are drawn for one or two comparisons, got {len(differences)}")
    curves = {name: np.sort(np.asarray(each, dtype=np.float64)) for name, each in differences.items()}
    averages = {name: float(np.mean(np.abs(curve))) for name, curve in curves.items()}
    curves = {name: curve[_shown_places(len(curve))] for name, curve in curves.items()}
    looks = [(GREY, LIGHT_GREY, 0.55, DASHES[1]), (BLUE, BLUE, 0.30, "-")][-len(curves) :]
    with drawing(ax, (4.6, 3.7)) as drawn:
        for (name, curve), (line, fill, alpha, dash) in zip(curves.items(), looks, strict=True):
            share = np.linspace(0, 1, len(curve)) if len(curve) > 1 else np.array([0.0, 1.0])
            height = np.broadcast_to(curve, share.shape) if len(curve) == 1 else curve
            drawn.fill_between(share, height, 0, color=fill, alpha=alpha, linewidth=0)
            label = f"{short_name(name, 20)}, average {averages[name]:.4f}"
            drawn.plot(share, height, color=line, linewidth=1.6, linestyle=dash, label=label)
        drawn.axhline(0, color=INK, linewidth=0.8)
        reach = max([0.01, *(_reach(curve) for curve in curves.values())])
        drawn.set(xlim=(0, 1), ylim=(-reach, reach))
        drawn.set(xlabel="test interactions, sorted", ylabel="rank of teacher − rank of student")
        for axis in (drawn.xaxis, drawn.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%".replace("-", "−"))
        drawn.locator_params(axis="both", nbins=6)
        look: dict[str, Any] = {"transform": drawn.transAxes, "fontsize": 8.5, "color": GREY}
        drawn.text(0.03, 0.95, "student better", va="top", **look)
        drawn.text(0.97, 0.05, "teacher better", ha="right", **look)
        drawn.set_title("Rank differences, in % of all items")
        legend_above(drawn, len(curves))
    return drawn


def _shown_places(n: int) -> IntArray:
    """Evenly spaced places, all of them if they are few."""
    return np.linspace(0, n - 1, min(n, _N_POINTS)).round().astype(np.int64)


def _reach(curve: FloatArray) -> float:
    """Upper end of the axis: all but the outermost 2% of a curve fit."""
    return 1.15 * float(np.quantile(np.abs(curve), 0.98))


def draw_training_curves(history: Frame, *, warm_up: int = 0, metric: str = "metric", ax: Axes | None = None) -> Axes:
    """Draw the validation metric of two models that teach each other; a ring marks the epoch of each that is kept.

    Parameters
    ----------
    history : table of any kind with epoch, model and metric
        `BidirectionalDistillation.history_`; epochs that were not judged have no metric.
    warm_up : int
        Epochs in which the models were trained alone, `BidirectionalDistillation.warm_up_`.
    metric : str
        Label of the axis.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import polars as pl
    >>> history = pl.DataFrame({"epoch": [0, 5], "model": ["student"] * 2, "metric": [0.1, 0.2]})
    >>> [text.get_text() for text in draw_training_curves(history).get_legend().get_texts()]
    ['student', 'epoch kept']
    """
    judged = given_table(history, ("epoch", "model", "metric"), "history").drop_nulls("metric").sort("epoch")
    if not judged.height:
        raise EmptyError("no epoch of this history was judged; fit with a validation set to see how models learn")
    names = [str(name) for name in judged["model"].unique(maintain_order=True)]
    with drawing(ax, (4.6, 3.7)) as drawn:
        for place, name in enumerate(names):
            part = judged.filter(model=name)
            epochs, values = (part[column].to_numpy().astype(np.float64) for column in ("epoch", "metric"))
            _draw_model(drawn, place, name, epochs, values, "epoch kept" if place == len(names) - 1 else None)
        if warm_up:
            _mark_start(drawn, warm_up)
        drawn.set(xlabel="epoch", ylabel=metric)
        drawn.margins(y=0.12)
        drawn.locator_params(axis="x", integer=True)
        drawn.set_title(f"{metric} on the validation set")
        legend_above(drawn, len(names) + 1)
    return drawn


def _draw_model(ax: Axes, place: int, name: str, epochs: FloatArray, values: FloatArray, label: str | None) -> None:
    """The metric of a model by epoch, where it started, and a ring at its best."""
    colour = ROLE_COLOURS.get(name, CYCLE[place % len(CYCLE)])
    marker = ROLE_MARKERS.get(name, MARKERS[place % len(MARKERS)])
    ax.plot(epochs, values, color=colour, marker=marker, markersize=4, linewidth=1.6, label=short_name(name))
    ax.axhline(values[0], color=colour, linewidth=1.0, linestyle=DASHES[2])
    best = int(np.argmax(values))
    ring: dict[str, Any] = {"markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
    ax.plot(epochs[best], values[best], "o", label=label, **ring)


def _mark_start(ax: Axes, warm_up: int) -> None:
    ax.axvline(warm_up, color=LIGHT_GREY, linewidth=1.2)
    place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "xytext": (4, 0), "textcoords": "offset points"}
    ax.annotate("learning from\neach other →", (warm_up, 0.98), va="top", fontsize=8, color=GREY, **place)
