"""A log and an anchor together are not worse than the better of the two, whichever that is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import sureness as sn
from sureness.calibration.calibration_set import CalibrationSet
from sureness.calibration.level import combine
from sureness.calibration.parametric import KanoulasCalibrator

FAMILIES = [sn.PlattCalibrator, sn.GaussianCalibrator, sn.GammaCalibrator, sn.calibration.BetaCalibrator]
GRID = np.linspace(-2.5, 2.5, 201)
MASS = np.exp(-(GRID**2) / 2) / np.exp(-(GRID**2) / 2).sum()

LOGS = {
    "only the level is wrong": lambda s: -4 + 1.4 * s + 0.1 * s**2,
    "the slope is wrong": lambda s: -4 + 0.5 * s + 0.1 * s**2,
    "the curvature is wrong": lambda s: -4 + 1.4 * s - 0.15 * s**2,
    "it says nothing": lambda s: -3 + 0.02 * s,
}


def truth(s):
    return -2 + 1.4 * s + 0.1 * s**2


def nll(calibrator):
    wanted, promised = expit(truth(GRID)), np.clip(calibrator.probability(GRID), 1e-12, 1 - 1e-12)
    return -MASS @ (wanted * np.log(promised) + (1 - wanted) * np.log1p(-promised))


def drawn(log_odds, n, rng):
    scores = rng.normal(size=n)
    return scores, rng.random(n) < expit(log_odds(scores))


def compared(kind, log, n_anchor, seed):
    """The loss of the log alone, of the anchor alone and of both."""
    rng = np.random.default_rng(seed)
    scores, labels = drawn(LOGS[log], 20_000, rng)
    anchor = sn.data.ScoredPairs.of(*drawn(truth, n_anchor, rng))
    both = CalibrationSet.from_pairs(scores, labels, anchor=anchor, estimand="preference")
    return (
        nll(kind(risk="naive").fit(scores, labels)), nll(kind().fit(anchor.scores, anchor.labels)),
        nll(kind(risk="naive").fit(both)),
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*the same probability:sureness.errors.SurenessWarning")
@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("n_anchor", [150, 1_000])
def test_both_together_are_not_worse_than_the_better_part(kind, log, n_anchor):
    losses = np.array([compared(kind, log, n_anchor, seed) for seed in range(6)])
    of_log, alone, together = losses.mean(axis=0)
    worse = losses[:, 2] - losses[:, :2].min(axis=1)
    noise = worse.std(ddof=1) / np.sqrt(len(worse))
    assert together <= min(of_log, alone) + 2 * noise + 3e-4


def test_a_good_shape_in_the_log_makes_a_small_anchor_go_further():
    losses = np.array([compared(sn.GaussianCalibrator, "only the level is wrong", 150, seed) for seed in range(10)])
    floor = nll_of_truth()
    assert (losses[:, 2] - floor).mean() < 0.6 * (losses[:, 1] - floor).mean()


@pytest.mark.filterwarnings("ignore:.*the same probability:sureness.errors.SurenessWarning")
@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.__name__)
def test_a_shape_that_does_not_hold_for_the_anchor_costs_nothing(kind):
    rng = np.random.default_rng(0)
    scores, labels = drawn(LOGS["only the level is wrong"], 20_000, rng)
    losses = []
    for _ in range(20):
        own = rng.normal(size=150)
        anchor = sn.data.ScoredPairs.of(own, rng.random(150) < 0.15)  # scores say nothing among uniformly exposed pairs
        both = kind(risk="naive").fit(CalibrationSet.from_pairs(scores, labels, anchor=anchor, estimand="preference"))
        maps = (both, kind().fit(anchor.scores, anchor.labels))
        losses.append([flat_loss(one) for one in maps])
    together, alone = np.mean(losses, axis=0)
    assert together < alone


def flat_loss(calibrator):
    promised = np.clip(calibrator.probability(GRID), 1e-12, 1 - 1e-12)
    return -MASS @ (0.15 * np.log(promised) + 0.85 * np.log1p(-promised))


def nll_of_truth():
    wanted = expit(truth(GRID))
    return -MASS @ (wanted * np.log(wanted) + (1 - wanted) * np.log1p(-wanted))


def test_the_curvature_of_a_biased_log_does_not_stay():
    rng = np.random.default_rng(0)
    scores, labels = drawn(LOGS["the curvature is wrong"], 50_000, rng)
    anchor = sn.data.ScoredPairs.of(*drawn(truth, 20_000, rng))
    data = CalibrationSet.from_pairs(scores, labels, anchor=anchor, estimand="preference")
    fitted = sn.GaussianCalibrator(risk="naive").fit(data)
    assert fitted.natural_parameters_["a"] == pytest.approx(0.1, abs=0.05)


class TestCombine:
    @pytest.mark.parametrize(("weight", "margin"), [(1.0, 0.1), (25.0, 0.01)])
    def test_agreement_hardly_changes_anything_but_the_level(self, weight, margin):
        scores = np.linspace(-2, 2, 41)
        features = np.c_[np.ones(41), scores]
        labels = expit(-1 + scores)  # what is expected, without noise
        found = combine(features, np.full(41, weight), labels, np.array([-3.0, 1.0]), np.array([False, True]))
        assert_allclose(found.theta, [-1.0, 1.0], atol=margin)

    def test_a_steep_log_does_not_outweigh_an_anchor_in_which_scores_say_nothing(self):
        features = np.c_[np.ones(100), np.linspace(-2, 2, 100)]
        theta = combine(features, np.ones(100), np.full(100, 0.2), np.array([-3.0, 1.0]), np.array([False, True])).theta
        assert theta[1] < 0.1

    def test_a_log_that_is_sure_of_everything_leaves_the_fit_finite(self):
        rng = np.random.default_rng(0)
        scores = rng.uniform(-0.4, 0.6, size=100)
        features = np.c_[np.ones(100), np.log(expit(scores)), -np.log(expit(-scores))]  # nearly the same column twice
        labels = (rng.random(100) < 0.1) * 1.0
        found = combine(features, np.ones(100), labels, np.array([400.0, 70.0, 0.0]), np.array([False, True, True]))
        assert expit(features @ found.theta).mean() == pytest.approx(labels.mean(), abs=0.02)

    def test_a_pair_of_weight_two_counts_twice(self):
        rng = np.random.default_rng(0)
        scores = rng.normal(size=60)
        labels = (rng.random(60) < expit(scores)) * 1.0
        features, bounded = np.c_[np.ones(60), scores], np.array([False, True])
        twice = combine(np.tile(features, (2, 1)), np.ones(120), np.tile(labels, 2), np.array([-3.0, 2.0]), bounded)
        heavy = combine(features, np.full(60, 2.0), labels, np.array([-3.0, 2.0]), bounded)
        assert_allclose(heavy.theta, twice.theta, rtol=1e-8)
        assert heavy.evidence == pytest.approx(twice.evidence)

    def test_equal_scores_can_only_tell_the_level(self):
        """The slope is what the assumptions expect beforehand, more than half of the log's."""
        features = np.c_[np.ones(50), np.full(50, 0.3)]
        labels = np.r_[np.ones(10), np.zeros(40)]
        theta = combine(features, np.ones(50), labels, np.array([-3.0, 1.5]), np.array([False, True])).theta
        assert theta[1] == pytest.approx(1.5 * (2 * 1.0 + 4 * 0.5) / 7, rel=0.01)
        assert expit(theta @ features[0]) == pytest.approx(0.2)

    def test_bounded_coefficients_stay_above_zero(self):
        rng = np.random.default_rng(0)
        scores = rng.normal(size=200)
        labels = (rng.random(200) < expit(-scores)) * 1.0  # the wrong way round
        theta = combine(
            np.c_[np.ones(200), scores], np.ones(200), labels, np.array([0.0, 1.0]), np.array([0, 1]) > 0
        ).theta
        assert 0 <= theta[1] < 0.2


@pytest.mark.parametrize(
    "kind", [*FAMILIES, sn.calibration.TemperatureCalibrator, KanoulasCalibrator, sn.IsotonicCalibrator]
)
def test_an_anchor_of_few_or_equal_scores_is_enough_for_a_level(kind):
    rng = np.random.default_rng(0)
    scores, labels = drawn(LOGS["only the level is wrong"], 5_000, rng)
    anchor = sn.data.ScoredPairs.of(np.full(40, 0.5), np.r_[np.ones(10), np.zeros(30)])
    fitted = kind(risk="naive").fit(CalibrationSet.from_pairs(scores, labels, anchor=anchor, estimand="preference"))
    assert fitted.probability([0.5])[0] == pytest.approx(0.25, abs=0.01)
    assert np.all(np.diff(fitted.probability(np.linspace(-3, 3, 50))) >= 0)
