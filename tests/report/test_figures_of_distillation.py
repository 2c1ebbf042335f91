"""Figures of training: what is drawn, and that every edge can be."""

import polars as pl
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

from sureness.errors import ColumnError, EmptyError
from sureness.report import (
    draw_side_by_side,
    draw_training_curves,
)
from tests.report.svg import svg_of


def history(**columns):
    return pl.DataFrame({"epoch": [0, 5, 10], "model": ["student"] * 3, "metric": [0.1, 0.3, 0.2], **columns})


# --- learning ------------------------------------------------------------------------------------------------------


def test_the_best_epoch_is_ringed_and_unjudged_ones_are_left_out():
    table = pl.concat([history(), pl.DataFrame({"epoch": [7], "model": ["student"], "metric": [None]})])
    table = pl.concat([table, history(model=["teacher"] * 3, metric=[0.6, 0.5, 0.4])])
    ax = draw_training_curves(table, warm_up=5, metric="N@50")
    assert_array_equal(ax.lines[0].get_xdata(), [0, 5, 10])
    rings = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_markersize() == 11]
    assert rings == [(5, 0.3), (0, 0.6)]
    assert ax.get_title(loc="left") == "N@50 on the validation set"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["student", "teacher", "epoch kept"]
    assert any("each other" in text.get_text() for text in ax.texts)


# --- edges ---------------------------------------------------------------------------------------------------------

AXES = {
    "one epoch": lambda: draw_training_curves(history()[:1]),
    "unknown models": lambda: draw_training_curves(history(model=["$x$", "y", "y"])),
}


@pytest.mark.parametrize("kind", AXES)
def test_every_edge_is_drawn_as_valid_svg(kind):
    svg_of(AXES[kind]())


def test_given_axes_are_used():
    for draw, data in ((draw_training_curves, history()),):
        ax = Figure().add_subplot()
        assert draw(data, ax=ax) is ax


def test_panels_stand_side_by_side():
    figure = draw_side_by_side([lambda ax: draw_training_curves(history(), ax=ax)] * 3, panel=(2.0, 1.5))
    assert len(figure.axes) == 3
    assert tuple(figure.get_size_inches()) == (6.0, 1.5)
    figure = draw_side_by_side([lambda ax: draw_training_curves(history(), ax=ax)] * 5, panel=(2.0, 1.5), n_rows=2)
    assert len(figure.axes) == 5
    assert tuple(figure.get_size_inches()) == (6.0, 3.0)


@pytest.mark.parametrize(
    ("wrong", "error", "word"),
    [
        (lambda: draw_training_curves(history(metric=[None] * 3)), EmptyError, "epoch"),
        (lambda: draw_training_curves(pl.DataFrame({"epoch": [1]})), ColumnError, "history"),
        (lambda: draw_side_by_side([]), EmptyError, "panel"),
    ],
)
def test_bad_input_is_refused(wrong, error, word):
    with pytest.raises(error, match=word):
        wrong()
