"""How a teacher and a student learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sureness._types import FloatArray
from sureness.errors import EmptyError
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
