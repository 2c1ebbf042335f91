"""Figures and axes that a notebook shows when a cell returns them, with or without pyplot."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sureness.plots.saving import rendered


class ShownFigure(Figure):
    """A figure that notebooks show as a picture."""

    def _repr_png_(self) -> bytes:
        return rendered(self, "png")


class ShownAxes(Axes):
    """Axes that notebooks show as the picture of their figure."""

    def _repr_png_(self) -> bytes:
        figure = self.get_figure(root=True)
        assert figure is not None  # axes are made in one
        return rendered(figure, "png")
