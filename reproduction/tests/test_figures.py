"""What the figures of the dissertation show."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sureness_reproduction.figures import draw_rank_differences


def compared(teacher, student, n_items=100):
    return np.subtract(teacher, student) / n_items


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
