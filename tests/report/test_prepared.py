"""Drawn numbers against hand computations."""

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from sureness.calibration.nonparametric import MinMaxCalibrator, SigmoidCalibrator
from sureness.calibration.parametric import PlattCalibrator
from sureness.errors import ColumnError, EmptyError, IdError, SettingError
from sureness.metrics import Interval
from sureness.report import (
    draw_fitted_curves,
    draw_metric_comparison,
    draw_score_distributions,
    prepare_confidence_by_degree,
)


def densities(ax):
    """Edges and heights of both classes, the negatives first."""
    return [patch.get_data() for patch in ax.patches if not patch.get_fill()]


def test_score_distributions_have_the_moments_and_integrate_to_one():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=500), rng.random(500) < 0.3
    ax = draw_score_distributions(scores, labels, n_bins=20)
    means = [line.get_xdata()[0] for line in ax.lines]
    assert_allclose(means, [scores[~labels].mean(), scores[labels].mean()])
    assert f"std {scores[labels].std():.3g}" in ax.get_legend().get_texts()[1].get_text()
    for heights, edges, _ in densities(ax):
        assert_allclose((heights * np.diff(edges)).sum(), 1)


def test_a_weight_of_two_equals_the_pair_twice_in_the_distributions():
    scores, labels = np.array([0.0, 1.0, 2.0, 5.0]), np.array([0, 1, 0, 1])
    twice = draw_score_distributions(np.tile(scores, 2), np.tile(labels, 2))
    weighted = draw_score_distributions(scores, labels, sample_weight=np.full(4, 2.0))
    for first, second in zip(twice.get_legend().get_texts(), weighted.get_legend().get_texts(), strict=True):
        assert first.get_text() == second.get_text()
    assert_allclose(weighted.lines[1].get_xdata()[0], 3.0)


def test_one_outlier_does_not_flatten_the_distributions():
    scores = np.r_[np.linspace(0, 1, 9_999), 1e6]
    assert densities(draw_score_distributions(scores, scores > 0.5))[0].edges[-1] < 2


def test_a_class_without_pairs_is_empty():
    ax = draw_score_distributions([1.0, 2.0], [1, 1])
    assert ax.get_legend().get_texts()[0].get_text() == "negative: no pairs"
    assert densities(ax)[0].values.sum() == 0


def test_fitted_curves_evaluate_every_calibrator_and_count_every_score():
    scores = np.linspace(-2, 2, 101)
    calibrators = {"sigmoid": SigmoidCalibrator(), "minmax": MinMaxCalibrator()}
    ax = draw_fitted_curves({name: each.fit(scores, scores > 0) for name, each in calibrators.items()}, scores)
    sigmoid, minmax = (line.get_xydata().T for line in ax.lines)
    assert_allclose(sigmoid[1], 1 / (1 + np.exp(-sigmoid[0])))
    assert_allclose(minmax[1], (minmax[0] + 2) / 4)
    assert counted(ax) == 101
    assert ax.patches[0].get_width() == pytest.approx(minmax[0][-1] - minmax[0][0])  # all scores were fitted on


def counted(ax):
    """The weight of all scores in the strip below the curves."""
    return ax.child_axes[0].patches[0].get_data().values.sum()


def test_fitted_curves_need_a_calibrator():
    with pytest.raises(EmptyError, match="calibrator"):
        draw_fitted_curves({}, [1.0])


def test_confidence_is_the_mean_over_the_top_items_and_correlates_with_degree():
    candidates = pl.DataFrame(
        {
            "user_id": [1, 1, 1, 2, 2, 3],
            "score": [3.0, 2.0, 1.0, 5.0, 4.0, 0.0],
            "probability": [0.9, 0.7, 0.1, 0.4, 0.2, 0.1],
        }
    )
    degree = pl.DataFrame({"user_id": [3, 2, 1, 99], "degree": [10, 20, 90, 5]})
    found = prepare_confidence_by_degree(candidates, degree, n=2)
    assert_allclose(found.value, [0.8, 0.3, 0.1])
    assert_allclose(found.degree, [90, 20, 10])
    assert_allclose(found.correlation, np.corrcoef([0.8, 0.3, 0.1], [90, 20, 10])[0, 1])
    assert found.n_users == 3


@pytest.mark.parametrize(
    ("degrees", "log"), [([1, 2, 2, 300], True), ([10, 12, 14, 20], False), ([0, 2, 2, 300], False)]
)
def test_skewed_degrees_get_a_logarithmic_axis(degrees, log):
    candidates = pl.DataFrame({"user_id": range(4), "score": 1.0, "probability": [0.1, 0.2, 0.3, 0.4]})
    found = prepare_confidence_by_degree(candidates, pl.DataFrame({"user_id": range(4), "degree": degrees}))
    assert found.log_degree is log


@pytest.mark.parametrize(("degrees", "confidence"), [([5, 5, 5], [0.1, 0.2, 0.3]), ([1, 2, 3], [0.3, 0.3, 0.3])])
def test_what_does_not_vary_has_no_correlation(degrees, confidence):
    candidates = pl.DataFrame({"user_id": range(3), "score": 1.0, "probability": confidence})
    found = prepare_confidence_by_degree(candidates, pl.DataFrame({"user_id": range(3), "degree": degrees}))
    assert np.isnan(found.correlation)


def test_many_users_are_drawn_as_a_sample_but_all_are_counted():
    n = 5_000
    candidates = pl.DataFrame({"user_id": range(n), "score": 1.0, "probability": np.linspace(0, 1, n)})
    found = prepare_confidence_by_degree(candidates, pl.DataFrame({"user_id": range(n), "degree": range(n)}))
    assert len(found.degree) == 2_000
    assert found.n_users == n
    assert_allclose(found.correlation, 1)


@pytest.mark.parametrize(
    ("table", "error", "word"),
    [
        (pl.DataFrame({"user": [1], "degree": [2]}), ColumnError, "user_id"),
        (pl.DataFrame({"user_id": [1, 1], "degree": [2, 3]}), IdError, "one row per user"),
        (pl.DataFrame({"user_id": ["a"], "degree": [2]}), IdError, "String"),
        (pl.DataFrame({"user_id": [7], "degree": [2]}), IdError, "no user"),
    ],
)
def test_degree_tables_that_cannot_be_joined_are_refused(table, error, word):
    candidates = pl.DataFrame({"user_id": [1], "score": [1.0], "probability": [0.5]})
    with pytest.raises(error, match=word):
        prepare_confidence_by_degree(candidates, table)


def test_comparison_puts_the_best_first_and_keeps_groups_in_given_order():
    intervals = {"b": Interval(0.3, 0.2, 0.4), "c": Interval(0.2, 0.1, 0.3), "a": Interval(0.1, 0.0, 0.2)}
    ax = draw_metric_comparison(intervals, groups={"a": "unbiased", "b": "naive", "c": "naive"}, metric="NLL")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "c", "b"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["naive", "unbiased"]
    assert [list(line.get_xdata()) for line in ax.lines] == [[0.2, 0.3], [0.1]]
    assert_allclose(ax.collections[1].get_segments(), [[[0.0, 0], [0.2, 0]]])
    assert ax.get_xlabel() == "NLL with 95% interval"


def test_comparison_needs_methods_and_a_group_for_each():
    with pytest.raises(EmptyError, match="method"):
        draw_metric_comparison({})
    with pytest.raises(SettingError, match="none for a"):
        draw_metric_comparison({"a": Interval(0.1, 0.0, 0.2)}, groups={"b": "naive"})


def test_importing_figures_does_not_load_matplotlib():
    import subprocess
    import sys

    code = "import sys, sureness.report as report; report.draw_fitted_curves; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_curves_take_weights():
    scores = [0.0, 1.0, 2.0, 3.0]
    fitted = PlattCalibrator().fit(scores, [0, 1, 0, 1])
    assert counted(draw_fitted_curves({"platt": fitted}, scores, sample_weight=[1, 2, 3, 4])) == 10
