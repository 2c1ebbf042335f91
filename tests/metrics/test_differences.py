"""Differences of two means on the same users, against scipy and against what a bootstrap should find."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from sureness.errors import EmptyError
from sureness.metrics import paired_difference


def test_a_paired_difference_agrees_with_scipy():
    first, second = np.random.default_rng(0).normal([[0.3], [0.0]], 1.0, size=(2, 40))
    found, expected = paired_difference(first - second, level=0.9), stats.ttest_rel(first, second)
    assert_allclose(found[:2], [(first - second).mean(), stats.sem(first - second)])
    assert_allclose([found.low, found.high], expected.confidence_interval(0.9))
    assert found.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("gain", "p_value"), [(0.0, 1.0), (0.1, 0.0)])
def test_the_same_difference_for_everybody_is_certain(gain, p_value):
    assert paired_difference(np.full(3, gain)) == (pytest.approx(gain), 0.0, *[pytest.approx(gain)] * 2, p_value)


def test_a_single_user_tells_nothing_about_others_and_none_is_refused():
    found = paired_difference([0.2])
    assert found.value == 0.2
    assert np.isnan(found[1:]).all()
    with pytest.raises(EmptyError):
        paired_difference([])
