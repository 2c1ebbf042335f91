"""Figures show when a cell of a notebook returns them."""

from __future__ import annotations

import pytest

import sureness as sn
from sureness.report import draw_reliability, draw_side_by_side

pytest.importorskip("matplotlib")
PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def curve():
    return sn.metrics.reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2)


def test_axes_show_their_figure(curve):
    drawn = draw_reliability(curve)
    assert drawn._repr_png_().startswith(PNG)
    assert drawn.figure._repr_png_().startswith(PNG)


def test_a_figure_of_several_panels_shows(curve):
    figure = draw_side_by_side([lambda ax: draw_reliability(curve, ax=ax)] * 2)
    assert len(figure.axes) == 2
    assert figure._repr_png_().startswith(PNG)
