from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import sureness as sn
from sureness._settings import written
from sureness.calibration.calibration_set import CalibrationSet
from sureness.errors import SettingError
from tests.conftest import draw_pairs


def drawn(*settings, **named):
    return CalibrationSet.from_pairs(*draw_pairs(*settings, **named))


CANDIDATES = [sn.PlattCalibrator(), sn.GaussianCalibrator(), sn.IsotonicCalibrator()]


def test_the_right_family_wins_when_it_matters():
    choice = sn.choose_calibrator(CANDIDATES, drawn(20_000, bend=0.6))
    assert written(choice.best) != "PlattCalibrator()"
    assert not choice.fell_back
    assert "sure as the best of 2" in choice.reason
    assert choice.best.n_pairs_ == 20_000


def test_the_simple_one_stays_unless_another_is_surely_better():
    stayed = 0
    for seed in range(12):
        choice = sn.choose_calibrator(
            [sn.PlattCalibrator(), sn.GaussianCalibrator()], drawn(400, seed, bend=0.0), seed=seed
        )
        stayed += written(choice.best) == "PlattCalibrator()"
    assert stayed >= 10


def test_falling_back_is_visible():
    for seed in range(40):
        choice = sn.choose_calibrator(CANDIDATES, drawn(300, seed, bend=0.05), seed=seed)
        if choice.fell_back:
            assert "so the simple one stays" in choice.reason
            assert written(choice.best) == "PlattCalibrator()"
            return
    pytest.fail("no fallback in forty tries")


def test_the_table_tells_every_candidate_and_how_sure():
    choice = sn.choose_calibrator(CANDIDATES, drawn(5_000), by="brier")
    assert choice.table.columns == ["calibrator", "brier", "difference", "low", "high", "sure_better", "problem"]
    assert choice.table["calibrator"].to_list() == [repr(c) for c in CANDIDATES]
    row = choice.table.row(1, named=True)
    assert row["low"] <= row["difference"] <= row["high"]


def test_users_are_not_split_between_fit_and_judgement():
    """Each user has a level of their own; memorising users must not look good."""
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(300), 20)
    scores = rng.normal(size=6_000)
    labels = rng.random(6_000) < expit(scores + rng.normal(size=300)[users])
    choice = sn.choose_calibrator(CANDIDATES, CalibrationSet.from_pairs(scores, labels, users=users), by="ece@5")
    assert choice.by == "ece@5"
    with pytest.raises(sn.errors.SettingError, match="users"):
        sn.choose_calibrator(CANDIDATES, CalibrationSet.from_pairs(scores, labels), by="ece@5")


def test_calibrators_that_cannot_be_fitted_are_named_not_hidden():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2_000)
    labels = (scores > 1.2) & (rng.random(2_000) < 0.95)
    data = CalibrationSet.from_pairs(scores, labels, propensity=np.where(labels, 0.2, 1.0))
    choice = sn.choose_calibrator([sn.IsotonicCalibrator(), sn.PlattCalibrator()], data, simple=sn.IsotonicCalibrator())
    assert "no minimum" in choice.table.filter(calibrator="PlattCalibrator()")["problem"].item()
    with pytest.raises(sn.errors.DataError, match="PlattCalibrator"):
        sn.choose_calibrator([sn.PlattCalibrator()], data)


def test_wrong_questions_are_named():
    with pytest.raises(sn.errors.SettingError, match="calibrator"):
        sn.choose_calibrator([], drawn(100))
    with pytest.raises(sn.errors.SettingError, match="auc"):
        sn.choose_calibrator(CANDIDATES, drawn(100), by="auc")
    with pytest.raises(sn.errors.SettingError, match="number"):
        sn.choose_calibrator(CANDIDATES, drawn(100), by="ece@all")
    with pytest.raises(sn.errors.SettingError, match="folds"):
        sn.choose_calibrator(CANDIDATES, CalibrationSet.from_pairs(*draw_pairs(100), users=np.arange(100) % 2))


def test_cross_validation_is_honest_where_the_fit_itself_is_not():
    """A histogram with as many bins as pairs knows its own labels by heart."""
    scores, labels = draw_pairs(400)
    greedy = sn.calibration.HistogramCalibrator(n_bins=4_000)
    in_sample = sn.metrics.brier_score(labels, greedy.fit(scores, labels).probability(scores))
    honest = sn.calibration.cross_validate(greedy, CalibrationSet.from_pairs(scores, labels))
    assert honest["brier"].value > 2 * in_sample
    assert honest["brier"].low < honest["brier"].value < honest["brier"].high


def test_beta_of_probabilities_is_judged_as_it_is_applied():
    rng = np.random.default_rng(0)
    q = rng.random(4_000)
    labels = rng.random(4_000) < q**2
    beta = sn.calibration.BetaCalibrator(scores_are="probabilities")
    direct = sn.metrics.negative_log_likelihood(labels, beta.fit(q, labels).probability(q))
    found = sn.calibration.cross_validate(beta, CalibrationSet.from_pairs(q, labels))["nll"]
    assert found.value == pytest.approx(direct, abs=0.01)


def test_the_brier_score_of_targets_stays_a_brier_score():
    """Targets of labels over propensities are far above 1; the score must estimate that of the preferences."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=40_000)
    liked = rng.random(40_000) < expit(scores)
    labels = liked & (rng.random(40_000) < 0.1)
    data = CalibrationSet.from_pairs(scores, labels, propensity=np.full(40_000, 0.1))
    found = sn.calibration.cross_validate(sn.PlattCalibrator(), data)["brier"].value
    assert found == pytest.approx(sn.metrics.brier_score(liked, expit(scores)), abs=0.02)


def test_what_is_no_calibrator_is_named():
    with pytest.raises(sn.errors.DataError, match="platt"):
        sn.choose_calibrator(["platt"], drawn(100))
    with pytest.raises(sn.errors.SettingError, match="n_folds"):
        sn.choose_calibrator(CANDIDATES, drawn(100), n_folds=1)


def of_queries(n_queries=400, n_candidates=20, seed=0):
    """Queries with a scale of their own."""
    rng = np.random.default_rng(seed)
    queries, place = np.repeat(np.arange(n_queries), n_candidates), rng.normal(size=n_queries * n_candidates)
    labels = rng.random(len(place)) < expit(2 * place - 2)
    return place * (1 + queries % 4), labels, queries


def test_a_map_for_lists_is_compared_with_calibrators_of_pairs():
    scores, labels, queries = of_queries()
    data = CalibrationSet.from_pairs(scores, labels, users=queries)
    choice = sn.choose_calibrator([sn.PlattCalibrator(), sn.ListCalibrator()], data)
    assert written(choice.best) == "ListCalibrator()"
    assert choice.best.n_groups_ == 400
    assert sn.calibration.cross_validate(sn.ListCalibrator(), data)["nll"].value == choice.table["nll"][1]
    fold = queries % 5 == 0
    fitted = sn.ListCalibrator().fit(scores[~fold], labels[~fold], groups=queries[~fold])
    out_of_sample = sn.metrics.negative_log_likelihood(
        labels[fold], fitted.probability(scores[fold], groups=queries[fold])
    )
    np.testing.assert_allclose(choice.table["nll"][1], out_of_sample, rtol=0.05)


def test_a_map_for_lists_without_users_has_a_problem_of_its_own():
    scores, labels, _ = of_queries()
    with pytest.raises(sn.errors.DataError, match="groups"):
        sn.calibration.cross_validate(sn.ListCalibrator(), CalibrationSet.from_pairs(scores, labels))
    choice = sn.choose_calibrator(
        [sn.PlattCalibrator(), sn.ListCalibrator()], CalibrationSet.from_pairs(scores, labels)
    )
    assert written(choice.best) == "PlattCalibrator()"
    assert "groups" in choice.table["problem"][1]


def test_other_maps_are_not_compared():
    with pytest.raises(sn.errors.SettingError, match="expected calibrators to compare"):
        sn.choose_calibrator([sn.calibration.PerUserPlatt()], drawn(300))


def windows_that_differ(n=20_000):
    """Two sets of pairs: the curve of the first bends, that of the second bends the other way."""
    return drawn(n, bend=0.6), drawn(n, seed=1, bend=-0.6)


def test_a_later_window_judges_what_folds_of_one_window_cannot():
    first, second = windows_that_differ()
    folds = sn.choose_calibrator(CANDIDATES, first)
    assert not folds.fell_back
    assert type(folds.best) is not sn.PlattCalibrator
    later = sn.choose_calibrator(CANDIDATES, first, later=second)
    assert type(later.best) is sn.PlattCalibrator
    same = sn.choose_calibrator(CANDIDATES, first, later=first)
    assert "in the later window" in same.reason
    assert not same.fell_back


def test_of_a_set_that_was_cut_by_time_folds_are_sure_of_its_window_alone():
    choice = sn.choose_calibrator(CANDIDATES, replace(drawn(20_000, bend=0.6), period=30.0))
    assert "in the window of the data (judge a later one with later=)" in choice.reason


def test_the_later_window_must_be_of_the_same_kind():
    pairs = drawn(300)
    other = CalibrationSet.from_pairs([0.0, 1.0], [0, 1], propensity=[0.5, 0.5])
    with pytest.raises(SettingError, match="later must have"):
        sn.choose_calibrator(CANDIDATES, pairs, later=other)
