"""Figures of list sizes: what is counted, and that every edge can be drawn."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.stats import pearsonr

from sureness.calibration import Segments
from sureness.errors import ColumnError, DataError, EmptyError
from sureness.lists import FixedSize, Lists, promise
from sureness.report import (
    draw_group_ratios,
    draw_list_cut,
    draw_promise,
    draw_size_by_degree,
    draw_size_distributions,
    prepare_size_by_degree,
)
from tests.report.svg import svg_of


@given(st.lists(st.integers(0, 60), min_size=1, max_size=50), st.lists(st.integers(0, 60), min_size=1, max_size=50))
@settings(max_examples=10, deadline=None)
def test_shares_of_every_policy_add_up_and_have_its_mean(first, second):
    ax = draw_size_distributions({"first": first, "second": second})
    drawn = [patch.get_data().values for patch in ax.patches if not patch.get_fill()]
    for share, sizes, text in zip(drawn, (first, second), ax.get_legend().get_texts(), strict=True):
        assert len(share) == max(*first, *second) + 1
        assert_allclose(share.sum(), 1.0)
        assert_allclose(share @ np.arange(len(share)), np.mean(sizes))
        assert text.get_text().endswith(f" {np.mean(sizes):.1f}")


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 300)), min_size=3, max_size=60))
def test_each_size_has_the_mean_degree_of_its_users(users):
    sizes, degree = (np.array(column) for column in zip(*users, strict=True))
    found = prepare_size_by_degree(sizes, degree)
    for size, mean in zip(found.mean_value, found.mean_degree, strict=True):
        assert_allclose(mean, degree[sizes == size].mean())
    if len(set(sizes)) > 1 and len(set(degree)) > 1:
        assert_allclose(found.correlation, pearsonr(degree, sizes).statistic, atol=1e-9)
    else:
        assert np.isnan(found.correlation)


def test_many_users_are_drawn_as_a_sample_but_counted_whole():
    rng = np.random.default_rng(0)
    sizes, degree = rng.integers(1, 50, 5_000), rng.integers(1, 90, 5_000)
    found = prepare_size_by_degree(sizes, degree)
    assert len(found.degree) == len(found.value) == 2_000
    assert found.n_users == 5_000
    assert_allclose(found.mean_degree[0], degree[sizes == 1].mean())


def test_promises_are_hits_for_each_shown_item():
    lists = Lists.of(probabilities=[[0.6, 0.2], [0.4, 0.2], [0.5, 0.1]], hits=[[1, 0], [1, 0], [0, 1]])
    table = promise(lists, FixedSize(2))
    ax = draw_promise(table)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2-3", "4-5", "6-10", "11-20"]
    promised = [bar.get_height() for bar in ax.patches]
    assert_allclose(promised, [0.5, 0.5 / 3, 0, 0, 0])
    assert_allclose(ax.lines[0].get_ydata(), [2 / 3, 1 / 3, np.nan, np.nan, np.nan])
    highs = [segment[1][1] for segment in ax.collections[0].get_segments()]
    assert_allclose(highs, promised[:2] * table["high"].to_numpy()[1:3])
    for by in ("rank", "probability"):
        drawn = draw_promise(promise(lists, FixedSize(2), by=by))
        assert [text.get_text() for text in drawn.get_legend().get_texts()] == [
            "realised, with 95% interval",
            "promised",
        ]
        svg_of(drawn)


def test_groups_of_several_tables_stand_in_one_row():
    lists = Lists.of(probabilities=[[0.6, 0.2], [0.4, 0.2], [0.5, 0.1]], hits=[[1, 0], [1, 0], [0, 1]])
    market = Segments(["de", "fr", "fr"], of="users")
    before, after = (promise(lists, FixedSize(size), by=market) for size in (2, 1))
    drawn = draw_group_ratios({"before": before, "after": after[:2]})
    assert_allclose(drawn.lines[1].get_xdata(), [3 / 2, 1 / 0.8, 2 / 1.2])
    assert_allclose(drawn.lines[2].get_xdata(), [2 / 1.5, 1 / 0.6, np.nan])
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["before", "after"]
    assert [text.get_text() for text in drawn.get_yticklabels()] == ["all", "segment: de", "segment: fr"]
    svg_of(drawn)
    assert draw_group_ratios(before).get_legend() is None


def test_only_tables_of_promises_are_drawn():
    for draw in (draw_promise, draw_group_ratios):
        with pytest.raises(ColumnError):
            draw(pl.DataFrame({"shown": [1]}))
    with pytest.raises(EmptyError):
        draw_group_ratios({})


def test_a_cut_shows_some_items_after_it():
    p, worth = np.linspace(0.9, 0.1, 50), np.linspace(0.1, 0.5, 50)
    for size, n_drawn in ((3, 12), (20, 26), (50, 50)):
        assert len(draw_list_cut(p, worth, size).patches) == n_drawn


def test_bars_are_coloured_by_what_became_of_the_items():
    ax = draw_list_cut([0.9, 0.8, 0.7, 0.6], [0.3, 0.4, 0.3, 0.2], 2, hits=[1, 0, 1, 0])
    heights = {bars.get_label(): [bar.get_height() for bar in bars] for bars in ax.containers}
    assert heights == {"shown, relevant": [0.9], "shown": [0.8], "missed": [0.7], "not shown": [0.6]}
    assert [line.get_xdata()[0] for line in ax.lines] == [2.5]  # the cut
    assert ax.get_title(loc="left") == "2 items · expected F1 0.400"


def test_without_labels_only_the_cut_is_in_the_legend():
    ax = draw_list_cut([0.9, 0.8, 0.7], [0.3, 0.4, 0.3], 1, utility="TP")
    assert [bars.get_label() for bars in ax.containers] == ["shown", "not shown"]
    assert ax.get_title(loc="left") == "1 item · expected TP 0.300"


RISING = np.linspace(0.01, 0.4, 60)
AXES = {
    "one policy": lambda: draw_size_distributions({"$a_1$ <b> & 確率": [3, 3, 3]}),
    "no lists": lambda: draw_size_distributions({"none": [0, 0], "one": [1, 1]}),
    "many policies": lambda: draw_size_distributions({f"policy {n}": [n, 5 * n] for n in range(7)}),
    "one user": lambda: draw_size_by_degree(prepare_size_by_degree([3], [0])),
    "log degree": lambda: draw_size_by_degree(prepare_size_by_degree([1, 2, 3, 9], [1, 2, 3, 4_000])),
    "nobody sees anything": lambda: draw_size_by_degree(prepare_size_by_degree([0, 0], [1, 2])),
    "no cut": lambda: draw_list_cut(RISING[::-1], RISING, 60),
    "nothing shown": lambda: draw_list_cut([0.1, 0.05], [-0.8, -1.5], 0, utility="PDCG"),
    "nothing likely": lambda: draw_list_cut([0.0, 0.0], [0.0, 0.0], 1, hits=[0, 0]),
    "one candidate": lambda: draw_list_cut([1.0], [1.0], 1),
}


@pytest.mark.parametrize("kind", AXES)
def test_every_edge_is_drawn_as_valid_svg(kind):
    svg_of(AXES[kind]())


def test_given_axes_are_used():
    for draw, data in (
        (draw_size_distributions, [{"a": [1]}]),
        (draw_size_by_degree, [prepare_size_by_degree([1], [1])]),
        (draw_list_cut, [[0.5], [0.5], 1]),
    ):
        ax = Figure().add_subplot()
        assert draw(*data, ax=ax) is ax


@pytest.mark.parametrize(
    ("wrong", "error", "word"),
    [
        (lambda: draw_size_distributions({}), EmptyError, "policy"),
        (lambda: draw_size_distributions({"a": [0.5]}), DataError, "float64"),
        (lambda: draw_size_distributions({"a": [-1]}), DataError, "0 or more"),
        (lambda: draw_size_distributions({"a": []}), DataError, "shape"),
        (lambda: prepare_size_by_degree([1, 2], [1]), DataError, "2 and 1"),
        (lambda: draw_list_cut([0.5], [0.5], 2), DataError, "size of 2"),
        (lambda: draw_list_cut([], [], 0), DataError, "0 probabilities"),
    ],
)
def test_bad_input_is_refused(wrong, error, word):
    with pytest.raises(error, match=word) as refused:
        wrong()
    assert refused.type is error
