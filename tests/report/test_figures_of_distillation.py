"""Figures of distillation: what is counted, and that every edge can be drawn."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from sureness.errors import ColumnError, EmptyError, SettingError
from sureness.report import (
    draw_rank_differences,
    draw_side_by_side,
    draw_training_curves,
)
from tests.report.svg import svg_of


def compared(teacher, student, n_items=100):
    return np.subtract(teacher, student) / n_items


def history(**columns):
    return pl.DataFrame({"epoch": [0, 5, 10], "model": ["student"] * 3, "metric": [0.1, 0.3, 0.2], **columns})


# --- ranks ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 100)), min_size=1, max_size=50))
@settings(max_examples=10, deadline=None)
def test_curves_are_the_sorted_differences(ranks):
    teacher, student = zip(*ranks, strict=True)
    before = compared(teacher, student)
    ax = draw_rank_differences({"before": before})
    wanted = np.sort(np.subtract(teacher, student)) / 100
    assert_allclose(ax.lines[0].get_ydata(), wanted if len(ranks) > 1 else np.repeat(wanted, 2))
    assert ax.get_legend().get_texts()[0].get_text() == f"before, average {np.abs(before).mean():.4f}"


def test_before_is_grey_and_dashed_and_after_is_on_top():
    ax = draw_rank_differences({"before": compared([9, 1], [1, 9]), "after": compared([2, 1], [1, 2])})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "before, average 0.0800",
        "after, average 0.0100",
    ]
    before, after = ax.lines[:2]
    assert before.get_linestyle() != after.get_linestyle()
    assert_allclose(after.get_ydata(), [-0.01, 0.01])
    assert {text.get_text() for text in ax.texts} == {"student better", "teacher better"}


def test_one_far_interaction_does_not_flatten_the_others():
    far = compared([100, *[2] * 199], [1, *[1] * 199])
    low, high = draw_rank_differences({"before": far}).get_ylim()
    assert -low == high < 0.1


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
    "one interaction": lambda: draw_rank_differences({"$a_1$ <b> & 確率": compared([3], [1])}),
    "all equal": lambda: draw_rank_differences({"a": compared([1, 1], [1, 1])}),
    "two comparisons": lambda: draw_rank_differences({"a": compared([1] * 900, [50] * 900), "b": compared([1], [2])}),
    "one epoch": lambda: draw_training_curves(history()[:1]),
    "unknown models": lambda: draw_training_curves(history(model=["$x$", "y", "y"])),
}


@pytest.mark.parametrize("kind", AXES)
def test_every_edge_is_drawn_as_valid_svg(kind):
    svg_of(AXES[kind]())


def test_given_axes_are_used():
    for draw, data in (
        (draw_rank_differences, {"a": compared([1], [2])}),
        (draw_training_curves, history()),
    ):
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
        (lambda: draw_rank_differences({}), SettingError, "got 0"),
        (lambda: draw_rank_differences(dict.fromkeys("abc", compared([1], [1]))), SettingError, "got 3"),
        (lambda: draw_training_curves(history(metric=[None] * 3)), EmptyError, "epoch"),
        (lambda: draw_training_curves(pl.DataFrame({"epoch": [1]})), ColumnError, "history"),
        (lambda: draw_side_by_side([]), EmptyError, "panel"),
    ],
)
def test_bad_input_is_refused(wrong, error, word):
    with pytest.raises(error, match=word):
        wrong()
