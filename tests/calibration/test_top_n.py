from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit

import sureness as sn


@pytest.fixture(scope="module")
def bent():
    """A relation no straight line can follow, so that a global Platt map is wrong at the top."""
    rng = np.random.default_rng(0)
    users, scores = np.repeat(np.arange(1_500), 40), rng.normal(size=60_000)
    truth = expit(-3 + 2.5 * np.minimum(scores, 0.8))
    return users, scores, rng.random(60_000) < truth


def error_at_the_top(fitted, bent):
    users, scores, labels = bent
    return sn.metrics.top_n_calibration_error(labels, fitted.probability(scores), users, n=3, scores=scores)


def test_it_is_better_where_people_look(bent):
    users, scores, labels = bent
    overall = sn.PlattCalibrator().fit(scores, labels)
    focused = sn.calibration.TopNCalibrator(sn.PlattCalibrator(), n=3).fit(scores, labels, users=users)
    assert error_at_the_top(focused, bent) < 0.6 * error_at_the_top(overall, bent)


def test_the_map_still_never_decreases_and_has_expressions(bent):
    users, scores, labels = bent
    fitted = sn.calibration.TopNCalibrator(n=3).fit(scores, labels, users=users)
    assert np.diff(fitted.probability(np.linspace(-8, 8, 500))).min() >= 0
    assert "EXP" in fitted.expression("duckdb")


def test_saving_and_loading_changes_nothing(bent, tmp_path):
    users, scores, labels = bent
    fitted = sn.calibration.TopNCalibrator(sn.GammaCalibrator(), n=5).fit(scores, labels, users=users)
    fitted.save(tmp_path / "top.json")
    assert_array_equal(sn.load(tmp_path / "top.json").probability(scores), fitted.probability(scores))


def test_it_needs_users():
    with pytest.raises(sn.errors.SettingError, match="needs"):
        sn.calibration.TopNCalibrator().fit([0.0, 1.0, 0.5, 0.2], [0, 1, 1, 0])
    with pytest.raises(sn.errors.SettingError, match="histogram"):
        sn.calibration.TopNCalibrator().fit(sn.ScoreHistogram.of([0.0, 1.0, 0.5], [0, 1, 1]))
    with pytest.raises(sn.errors.SettingError, match="strictly"):
        sn.calibration.TopNCalibrator(n=1, rest=1.0).fit([0.0, 1.0, 0.5], [0, 1, 1], users=["a", "a", "a"])
