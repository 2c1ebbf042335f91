"""The fits against independent solvers, on the dissertation's own parameters and constraints."""

from __future__ import annotations

import numpy as np
import pytest
from betacal import BetaCalibration
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

import sureness as sn
from sureness.calibration import KanoulasCalibrator, ManmathaCalibrator
from sureness.errors import SurenessWarning
from tests.conftest import draw_pairs


def risk(z, labels):
    return float(np.mean(np.logaddexp(0, z) - labels * z))


def gaussian_by_slsqp(scores, labels):
    """a, b, c with 2 a s + b >= 0 at both ends, as the dissertation writes it."""
    ends = np.array([scores.min(), scores.max()])
    return slsqp(np.c_[scores**2, scores, np.ones_like(scores)], labels, np.c_[2 * ends, np.ones(2), np.zeros(2)])


def gamma_by_slsqp(scores, labels, shift=0.01):
    """a, b, c with a / v + b >= 0 at both ends."""
    v = scores - scores.min() + shift * np.ptp(scores)
    ends = np.array([v.min(), v.max()])
    return slsqp(np.c_[np.log(v), v, np.ones_like(v)], labels, np.c_[1 / ends, np.ones(2), np.zeros(2)])


def kanoulas_by_slsqp(scores, labels, shift=0.01):
    """a, b, b', c with 2 a v^2 + b v + b' >= 0 at both ends and a <= 0."""
    v = scores - scores.min() + shift * np.ptp(scores)
    ends = np.array([v.min(), v.max()])
    rows = np.c_[2 * ends**2, ends, np.ones(2), np.zeros(2)]
    return slsqp(np.c_[v**2, v, np.log(v), np.ones_like(v)], labels, np.r_[rows, [[-1, 0, 0, 0]]])


def manmatha_by_slsqp(scores, labels):
    ends = np.array([scores.min(), scores.max()])
    rows = np.c_[2 * ends, np.ones(2), np.zeros(2)]
    return slsqp(np.c_[scores**2, scores, np.ones_like(scores)], labels, np.r_[rows, [[-1, 0, 0]]])


def slsqp(design, labels, constraints):
    """The smallest risk a general solver finds; columns are scaled, since it is not robust to their size."""
    scale = np.abs(design).max(axis=0)
    x, rows = design / scale, constraints / scale
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    found = minimize(
        lambda theta: risk(x @ theta, labels),
        np.zeros(x.shape[1]),
        jac=lambda theta: x.T @ (expit(x @ theta) - labels) / len(labels),
        constraints=[{"type": "ineq", "fun": lambda theta: rows @ theta, "jac": lambda theta: rows}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 5_000},
    )
    return found.fun


SOLVERS = {
    sn.GaussianCalibrator: gaussian_by_slsqp,
    sn.GammaCalibrator: gamma_by_slsqp,
    ManmathaCalibrator: manmatha_by_slsqp,
    KanoulasCalibrator: kanoulas_by_slsqp,
}


@pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning")  # some slopes are negative
@pytest.mark.parametrize("kind", SOLVERS)
@given(
    seed=st.integers(0, 10_000), level=st.floats(-3, 1), slope=st.floats(-0.5, 2), bend=st.floats(-0.6, 0.6)
)  # fmt: skip
@hypothesis_settings(max_examples=40)
def test_the_constrained_fit_reaches_the_risk_of_a_general_solver(kind, seed, level, slope, bend):
    scores, labels = draw_pairs(400, seed, level, slope, bend)
    if labels.sum() in (0, len(labels)):
        return
    fitted = kind().fit(scores, labels)
    p = np.clip(fitted.probability(scores), 1e-300, 1 - 1e-16)
    ours = risk(np.log(p) - np.log1p(-p), labels)
    assert ours == pytest.approx(SOLVERS[kind](scores, labels), abs=1e-7)


def test_both_kinds_of_cases_occur_in_that_comparison():
    binding = sn.GaussianCalibrator().fit(*draw_pairs(400, 1, -1, 0.2, -0.5))
    free = sn.GaussianCalibrator().fit(*draw_pairs(4_000, 1, -1, 1.0, 0.02))
    assert binding.coef_.min() == 0
    assert free.coef_.min() > 0


@pytest.mark.parametrize("kind", [sn.GaussianCalibrator, sn.GammaCalibrator, ManmathaCalibrator, sn.PlattCalibrator])
def test_natural_parameters_give_the_map_inside_the_fitted_range(kind):
    scores, labels = draw_pairs(2_000)
    fitted = kind().fit(scores, labels)
    n = fitted.natural_parameters_
    if kind is sn.GammaCalibrator:
        v = scores - scores.min() + 0.01 * np.ptp(scores)
        z = n["a"] * np.log(v) + n["b"] * v + n["c"]
    else:
        z = n.get("a", 0.0) * scores**2 + n["b"] * scores + n["c"]
    assert_allclose(expit(z), fitted.probability(scores), atol=1e-10)


def test_natural_parameters_of_kanoulas():
    scores, labels = draw_pairs(2_000)
    fitted = KanoulasCalibrator().fit(scores, labels)
    n, v = fitted.natural_parameters_, scores - scores.min() + 0.01 * np.ptp(scores)
    z = n["a"] * v**2 + n["b"] * v + n["b_log"] * np.log(v) + n["c"]
    assert_allclose(expit(z), fitted.probability(scores), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_beta_agrees_with_betacal(seed):
    rng = np.random.default_rng(seed)
    q = rng.beta(2, 3, size=2_000)
    labels = rng.random(2_000) < q**1.7
    ours = sn.calibration.BetaCalibrator(scores_are="probabilities").fit(q, labels)
    theirs = BetaCalibration(parameters="abm").fit(q.reshape(-1, 1), labels)
    predicted = theirs.predict(q.reshape(-1, 1))
    assert_allclose(ours.probability(q), predicted, atol=1e-3)  # its solver stops early
    assert sn.metrics.negative_log_likelihood(labels, ours.probability(q)) <= sn.metrics.negative_log_likelihood(
        labels, predicted
    )


def test_exponential_scores_make_platt_right():
    rng = np.random.default_rng(0)
    labels = rng.random(200_000) < 0.3
    scores = rng.exponential(np.where(labels, 2.0, 0.5))
    fitted = sn.PlattCalibrator().fit(scores, labels)
    b = 1 / 0.5 - 1 / 2.0
    c = np.log(0.3 * 0.5 / (0.7 * 2.0))
    assert_allclose([fitted.natural_parameters_["b"], fitted.natural_parameters_["c"]], [b, c], atol=0.05)


def test_gaussian_scores_make_gaussian_right():
    """Formula note 1: the constant of the posterior with its corrected sign."""
    rng = np.random.default_rng(0)
    labels = rng.random(400_000) < 0.1
    scores = np.where(labels, rng.normal(1, 1, 400_000), rng.normal(-1, 1.5, 400_000))
    fitted = sn.GaussianCalibrator(monotone=False).fit(scores, labels)
    assert fitted.probability([0.0])[0] == pytest.approx(0.112, abs=0.005)
    expected = {"a": 1 / (2 * 1.5**2) - 1 / 2, "b": 1 + 1 / 1.5**2}
    for name, value in expected.items():
        assert fitted.natural_parameters_[name] == pytest.approx(value, abs=0.03)


def test_gamma_scores_make_gamma_right():
    rng = np.random.default_rng(0)
    labels = rng.random(400_000) < 0.2
    scores = np.where(labels, rng.gamma(4.0, 1 / 1.5, 400_000), rng.gamma(2.0, 1 / 2.0, 400_000))
    fitted = sn.GammaCalibrator(shift=1e-6, monotone=False).fit(scores, labels)
    assert fitted.natural_parameters_["a"] == pytest.approx(2.0, abs=0.06)
    assert fitted.natural_parameters_["b"] == pytest.approx(0.5, abs=0.06)


def test_outside_the_fitted_range_the_log_odds_follow_the_tangent():
    scores, labels = draw_pairs(5_000)
    for kind in (sn.GaussianCalibrator, sn.GammaCalibrator, KanoulasCalibrator):
        fitted = kind().fit(scores, labels)
        for end, sign in ((scores.min(), -1), (scores.max(), 1)):
            p = fitted.probability(end + sign * np.array([1e-6, 1, 2, 3]))
            z = np.log(p / (1 - p))
            assert_allclose(np.diff(z)[1:], np.diff(z)[-1], atol=1e-6)


def test_without_the_constraint_the_map_may_decrease_and_fits_better():
    scores, labels = draw_pairs(2_000, 3, -1, 0.0, 0.5)
    free = sn.GaussianCalibrator(monotone=False).fit(scores, labels)
    kept = sn.GaussianCalibrator().fit(scores, labels)
    grid = np.linspace(scores.min(), scores.max(), 100)
    assert np.diff(free.probability(grid)).min() < -1e-3
    assert sn.metrics.negative_log_likelihood(labels, free.probability(scores)) < sn.metrics.negative_log_likelihood(
        labels, kept.probability(scores)
    )


def test_perfect_separation_is_refused_with_a_reason():
    with pytest.raises(sn.errors.NoMinimumError, match="positives"):
        sn.PlattCalibrator().fit([-2.0, -1.0, 1.0, 2.0], [0, 0, 1, 1])


def test_too_few_different_scores_are_refused():
    with pytest.raises(sn.errors.EmptyError, match="PlattCalibrator"):
        sn.GaussianCalibrator().fit([0.0, 1.0, 0.0, 1.0], [0, 1, 1, 0])


def test_unbounded_scores_are_no_probabilities():
    with pytest.raises(sn.errors.DataError, match="must"):
        sn.calibration.BetaCalibrator(scores_are="probabilities").fit([-1.0, 0.2, 3.0], [0, 1, 1])


def test_a_shift_of_zero_is_refused():
    with pytest.raises(sn.errors.SettingError, match="positive"):
        sn.GammaCalibrator(shift=0).fit(*draw_pairs(100))


def test_a_decreasing_relation_gives_a_constant_map():
    scores, labels = draw_pairs(3_000)
    with pytest.warns(SurenessWarning, match="wrong way"):
        fitted = sn.PlattCalibrator().fit(-scores, labels)
    assert np.ptp(fitted.probability(scores)) < 1e-12
    assert fitted.probability([0.0])[0] == pytest.approx(labels.mean(), abs=1e-9)


def test_a_fit_that_does_not_converge_is_said(pairs, monkeypatch, tmp_path):
    assert sn.PlattCalibrator().fit(*pairs).converged_
    monkeypatch.setattr("sureness.numerics.logistic._MAX_ITERATIONS", 1)
    with pytest.warns(sn.errors.SurenessWarning, match="did not converge"):
        stopped = sn.PlattCalibrator().fit(*pairs)
    assert not stopped.converged_
    stopped.save(tmp_path / "stopped.json")
    assert not sn.load(tmp_path / "stopped.json").converged_
