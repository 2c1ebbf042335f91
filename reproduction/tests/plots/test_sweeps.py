"""Figures of sweeps: what is averaged, and that every edge can be drawn."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from sureness.errors import DataError
from sureness.plots import figure_svg
from sureness_reproduction.plots.sweeps import draw_sweep, draw_weight_map, prepare_sweep, prepare_weight_map

ONE = pl.DataFrame({"to_student": [0.5], "to_teacher": [0.5], "hit@50": [0.0]})


def test_a_sweep_over_names_keeps_their_order_and_averages_runs():
    table = pl.DataFrame(
        {
            "partner": ["T", "S", "S", "fixed S", "alone", "alone"],
            "model": ["teacher"] * 6,
            "hit@50": [0.2, 0.5, 0.3, None, 0.1, 0.3],
        }
    )
    found = prepare_sweep(table, "partner")
    assert found.ticks == ("T", "S")
    assert_allclose(found.value["teacher"], [0.2, 0.4])
    assert_allclose([found.low["teacher"], found.high["teacher"]], [[0.2, 0.3], [0.2, 0.5]])
    assert found.alone == pytest.approx({"teacher": 0.2})
    assert not found.joined
    ax = draw_sweep(found)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["T", "S"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["alone"]


def test_a_sweep_over_numbers_is_sorted_and_joined():
    table = pl.DataFrame(
        {
            "rank_gap_scale": [1e-2, 1e-4, 1e-3, 1e-4, None],
            "model": ["teacher", "teacher", "student", "student", "student"],
            "ndcg@50": [0.3, 0.1, 0.2, 0.4, 0.05],
        }
    )
    found = prepare_sweep(table, "rank_gap_scale", "ndcg@50")
    assert found.ticks == ("1e-4", "0.001", "0.01")
    assert found.log
    assert found.joined
    assert_allclose(found.value["teacher"], [0.1, np.nan, 0.3])
    assert_allclose(found.value["student"], [0.4, 0.2, np.nan])
    assert found.alone == {"student": 0.05}
    ax = draw_sweep(found)
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "smoothness ε"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["teacher", "student", "student alone"]


def test_a_narrow_range_of_numbers_has_an_even_axis():
    assert not prepare_sweep(pl.DataFrame({"refresh_every": [1, 20, 50], "hit@50": [0.1] * 3}), "refresh_every").log
    assert not prepare_sweep(pl.DataFrame({"weight": [0.0, 100.0], "hit@50": [0.1] * 2}), "weight").log


def test_a_grid_of_weights_has_every_cell_in_its_place():
    cells = [(0.1, 0.5, 0.3), (0.5, 0.5, 0.2), (0.5, 0.1, 0.6), (0.5, 0.1, 0.8)]
    table = pl.DataFrame(cells, schema=["to_student", "to_teacher", "hit@50"], orient="row")
    table = pl.concat([table.with_columns(model=pl.lit("teacher")), table.with_columns(model=pl.lit("student"))])
    found = prepare_weight_map(table, model="student")
    assert_array_equal(found.to_student, [0.1, 0.5])
    assert_array_equal(found.to_teacher, [0.1, 0.5])
    assert_allclose(found.value, [[np.nan, 0.7], [0.3, 0.2]])
    ax = draw_weight_map(found)
    assert [text.get_text() for text in ax.texts] == ["0.7000", "0.3000", "0.2000"]
    assert ax.get_title(loc="left") == "hit@50 of the student"
    (frame,) = ax.patches
    assert (round(frame.get_x() + 0.48), round(frame.get_y() + 0.46)) == (1, 0)  # around the best


AXES = {
    "one value": lambda: draw_sweep(prepare_sweep(pl.DataFrame({"x": [1], "hit@50": [0.5]}), "x")),
    "a model without runs": lambda: draw_sweep(
        prepare_sweep(pl.DataFrame({"x": ["S", "alone"], "model": ["a", "b"], "hit@50": [0.5, 0.1]}), "x")
    ),
    "one cell": lambda: draw_weight_map(prepare_weight_map(ONE)),
}


@pytest.mark.parametrize("kind", AXES)
def test_every_edge_is_drawn_as_valid_svg(kind):
    root = ElementTree.fromstring(figure_svg(AXES[kind]().figure).replace("xlink:href", "href"))
    assert root.tag == "svg"


def test_given_axes_are_used():
    for draw, data in (
        (draw_sweep, prepare_sweep(pl.DataFrame({"x": [1, 2], "hit@50": [0.5, 0.4]}), "x")),
        (draw_weight_map, prepare_weight_map(ONE)),
    ):
        ax = Figure().add_subplot()
        assert draw(data, ax=ax) is ax


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: prepare_sweep(ONE, "nothing"), "a sweep must have the columns nothing, hit@50"),
        (
            lambda: prepare_sweep(pl.DataFrame({"partner": ["alone"], "hit@50": [0.1]}), "partner"),
            "a sweep over partner needs at least one run that has it, got none",
        ),
        (lambda: prepare_weight_map(ONE, model="student"), "must have the columns .*; rename or add model"),
        (
            lambda: prepare_weight_map(ONE.with_columns(model=pl.lit("teacher")), model="student"),
            "a weight map needs at least one run of the student, got none",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused(wrong, message):
    with pytest.raises(DataError, match=message):
        wrong()
