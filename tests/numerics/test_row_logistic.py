"""Many small logistic fits against a general solver, the prior's width against the truth, and every odd row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit

from sureness.errors import SurenessWarning
from sureness.numerics import _logistic_kernels
from sureness.numerics.row_logistic import Prior, Rows, bin_scores, estimate_prior, fit_rows

FORMS = pytest.mark.parametrize("hidden", [False, True], ids=["plain", "hidden"])
WITHIN = {False: 1e-6, True: 5e-6}  # of the probabilities; the hidden form ends in smaller steps


def risk(theta, features, weight, positives, hidden, prior):
    """The penalised risk as the documentation writes it, and its slope."""
    precision = np.linalg.inv(prior.covariance)
    away = theta - prior.mean
    z, known = features @ theta, positives @ theta
    value, slope = 0.5 * away @ precision @ away, precision @ away
    p = expit(z)
    if hidden:  # a point is a known positive with the chance p / (1 + p), and none with 1 / (1 + p)
        value += np.sum(weight * np.log1p(p)) + np.sum(np.logaddexp(0, -known))
        slope = slope + features.T @ (weight * p * (1 - p) / (1 + p)) - positives.T @ expit(-known)
    else:
        value += np.sum(weight * np.logaddexp(0, z)) - np.sum(known)
        slope = slope + features.T @ (weight * p) - positives.sum(axis=0)
    return value, slope


def solved(features, weight, positives, hidden, prior, bounded):
    """The minimum by a general solver."""
    bounds = [(0, None) if low else (None, None) for low in bounded]
    found = minimize(
        risk, prior.mean, (features, weight, positives, hidden, prior), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10_000},
    )  # fmt: skip
    return found.x


def drawn_rows(n, n_points, *, hidden=False, d=2, level=-2.0, slope=1.0, spread=(1.0, 0.5), correlation=0.0, seed=0):
    """Users whose level and slope come from a Gaussian, with labels that follow them."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_points))
    features = np.stack([np.ones_like(scores), scores, scores**3 / 5][:d], axis=-1)
    covariance = np.diag(np.square(spread))
    covariance[0, 1] = covariance[1, 0] = correlation * spread[0] * spread[1]
    truth = rng.multivariate_normal([level, slope], covariance, size=n)
    chance = expit(truth[:, :1] + np.maximum(truth[:, 1:], 0) * scores)
    found = rng.random(scores.shape) < (chance / (1 + chance) if hidden else chance)
    starts = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    return Rows(features, np.ones_like(scores), features[found], starts, hidden)


def one_row(features, weight, positives, hidden=False):
    """A single user."""
    positives = np.reshape(np.asarray(positives, dtype=float), (-1, np.shape(features)[-1]))
    return Rows(np.asarray(features, float)[None], np.asarray(weight, float)[None], positives,
                np.array([0, len(positives)]), hidden)  # fmt: skip


def bounded(d):
    return np.arange(d) > 0


class TestFitting:
    @FORMS
    @pytest.mark.parametrize("d", [2, 3])
    @pytest.mark.parametrize("width", [0.2, 1.0, 30.0])
    def test_it_finds_the_minimum_that_a_general_solver_finds(self, hidden, d, width):
        rows = drawn_rows(12, 150, hidden=hidden, d=d, seed=d)
        prior = Prior(np.array([-2.0, 1.0, 0.1])[:d], width**2 * (np.eye(d) + 0.3))
        theta, _ = fit_rows(rows, prior, bounded(d))
        for row, (first, last) in enumerate(zip(rows.starts[:-1], rows.starts[1:], strict=True)):
            features = rows.features[row]
            expected = solved(features, rows.weight[row], rows.positives[first:last], hidden, prior, bounded(d))
            assert_allclose(expit(features @ theta[row]), expit(features @ expected), atol=WITHIN[hidden])

    @FORMS
    def test_where_better_scores_are_worse_the_slope_stays_at_zero(self, hidden):
        scores = np.linspace(-2, 2, 40)
        features = np.stack([np.ones(40), scores], axis=1)
        prior = Prior(np.array([-1.0, 1.0]), np.eye(2))
        theta, _ = fit_rows(one_row(features, np.ones(40), features[:12], hidden), prior, bounded(2))
        assert theta[0, 1] == 0.0
        expected = solved(features, np.ones(40), features[:12], hidden, prior, bounded(2))
        assert expected[1] == 0.0
        assert theta[0, 0] == pytest.approx(expected[0], abs=1e-5)
        free, _ = fit_rows(one_row(features, np.ones(40), features[:12], hidden), prior, np.zeros(2, dtype=bool))
        assert free[0, 1] < -0.1, "only the bound held it"

    @FORMS
    def test_wherever_the_search_starts_it_ends_at_the_minimum(self, hidden):
        rows, prior = drawn_rows(40, 60, hidden=hidden), Prior(np.array([-2.0, 1.0]), np.diag([1.0, 0.25]))
        bounded = np.array([False, True])
        expected, curvature = fit_rows(rows, prior, bounded)
        start = np.random.default_rng(1).normal(scale=2, size=expected.shape)
        found = fit_rows(rows, prior, bounded, start=start)
        assert_allclose(found[0], expected, atol=1e-5)
        assert_allclose(found[1], curvature, rtol=1e-4)
        assert np.array_equal(start, np.random.default_rng(1).normal(scale=2, size=expected.shape)), "it is kept"

    @FORMS
    def test_users_do_not_touch_each_other(self, hidden):
        rows = drawn_rows(5, 60, hidden=hidden)
        prior = Prior(np.array([-2.0, 1.0]), np.eye(2))
        together, curvature = fit_rows(rows, prior, bounded(2))
        for row in range(5):
            part = rows.positives[rows.starts[row] : rows.starts[row + 1]]
            alone, curved = fit_rows(one_row(rows.features[row], rows.weight[row], part, hidden), prior, bounded(2))
            assert_array_equal(alone[0], together[row])
            assert_array_equal(curved[0], curvature[row])

    @FORMS
    def test_a_weight_of_two_equals_the_point_twice_and_a_weight_of_zero_none(self, hidden):
        rng = np.random.default_rng(0)
        features = np.stack([np.ones(30), rng.normal(size=30)], axis=1)
        prior = Prior(np.array([-1.0, 0.5]), np.eye(2))
        twice = one_row(np.concatenate([features, features]), np.ones(60), features[:4], hidden)
        padded = np.concatenate([features, np.full((5, 2), np.nan)])
        weighted = one_row(padded, np.r_[np.full(30, 2.0), np.zeros(5)], features[:4], hidden)
        assert_allclose(fit_rows(weighted, prior, bounded(2))[0], fit_rows(twice, prior, bounded(2))[0], atol=1e-9)

    @FORMS
    def test_pooled_users_are_fitted_as_one(self, hidden):
        rows = drawn_rows(6, 50, hidden=hidden)
        prior = Prior(np.zeros(2), 100.0 * np.eye(2))
        features = rows.features.reshape(-1, 2)
        expected = solved(features, np.ones(300), rows.positives, hidden, prior, bounded(2))
        theta, _ = fit_rows(rows.pooled(), prior, bounded(2))
        assert theta.shape == (1, 2)
        assert_allclose(expit(features @ theta[0]), expit(features @ expected), atol=WITHIN[hidden])

    def test_the_curvature_is_that_of_the_plain_risk(self):
        rows = drawn_rows(3, 80)
        prior = Prior(np.array([-2.0, 1.0]), np.array([[0.5, 0.1], [0.1, 0.3]]))
        theta, curvature = fit_rows(rows, prior, bounded(2))
        for row in range(3):
            x = rows.features[row]
            p = expit(x @ theta[row])
            expected = (x * (p * (1 - p))[:, None]).T @ x + np.linalg.inv(prior.covariance)
            assert_allclose(curvature[row], expected, rtol=1e-4)

    def test_the_curvature_of_the_hidden_form_is_its_fisher_information(self):
        rows = drawn_rows(3, 80, hidden=True)
        prior = Prior(np.array([-2.0, 1.0]), np.eye(2))
        theta, curvature = fit_rows(rows, prior, bounded(2))
        for row in range(3):
            x = rows.features[row]
            p = expit(x @ theta[row])
            chance, slope = p / (1 + p), p * (1 - p) / (1 + p) ** 2  # of a known positive, and by the log-odds of p
            expected = (x * (slope**2 / (chance * (1 - chance)))[:, None]).T @ x + np.eye(2)
            assert_allclose(curvature[row], expected, rtol=1e-4)

    @FORMS
    def test_the_narrower_the_prior_the_nearer_to_its_mean(self, hidden):
        rows = drawn_rows(20, 100, hidden=hidden, seed=3)
        mean = np.array([-2.0, 1.0])
        distances = []
        for width in (3.0, 1.0, 0.3, 0.1, 0.01):
            theta, _ = fit_rows(rows, Prior(mean, width**2 * np.eye(2)), bounded(2))
            distances.append(np.linalg.norm(theta - mean, axis=1))
        assert np.all(np.diff(distances, axis=0) < 0)
        assert np.all(distances[-1] < 0.01)

    @pytest.mark.filterwarnings("ignore::sureness.errors.SurenessWarning")  # a nearly flat prior may need more steps
    @FORMS
    @settings(max_examples=60, deadline=None)
    @given(
        scores=arrays(float, st.integers(1, 12), elements=st.floats(-1e6, 1e6)),
        labels=st.lists(st.booleans(), min_size=12, max_size=12),
        width=st.sampled_from([1e-3, 1.0, 100.0]),
    )
    @example(scores=np.arange(6.0), labels=[True] * 12, width=100.0)
    @example(scores=np.arange(6.0), labels=[False] * 12, width=100.0)
    @example(scores=np.arange(6.0), labels=[False] * 3 + [True] * 9, width=100.0)
    @example(scores=np.zeros(4), labels=[True, False] * 6, width=1.0)
    @example(scores=np.array([1e6]), labels=[True] * 12, width=100.0)
    @example(scores=np.array([-1e6, 1e6]), labels=[False, True] * 6, width=100.0)
    def test_whatever_the_labels_the_fit_is_finite_rising_and_better_than_the_prior(
        self, hidden, scores, labels, width
    ):
        features = np.stack([np.ones_like(scores), scores], axis=1)
        found = np.array(labels[: len(scores)])
        prior = Prior(np.array([-1.0, 0.5]), width**2 * np.eye(2))
        theta, curvature = fit_rows(one_row(features, np.ones(len(scores)), features[found], hidden), prior, bounded(2))
        assert np.isfinite(theta).all()
        assert np.isfinite(curvature).all()
        assert theta[0, 1] >= 0
        reached, _ = risk(theta[0], features, np.ones(len(scores)), features[found], hidden, prior)
        before, _ = risk(prior.mean, features, np.ones(len(scores)), features[found], hidden, prior)
        assert reached <= before + 1e-9 * max(abs(before), 1.0)


class TestEstimatingThePrior:
    @FORMS
    def test_it_finds_how_far_users_differ_and_how_level_and_slope_go_together(self, hidden):
        rows = drawn_rows(500, 150, hidden=hidden, slope=1.5, spread=(0.8, 0.4), correlation=0.6, seed=1)
        found = estimate_prior(rows, Prior(np.array([-2.0, 1.5]), 0.5 * np.eye(2)), bounded(2))
        deviation = np.sqrt(np.diag(found.covariance))
        assert_allclose(deviation, [0.8, 0.4], rtol=0.15)
        assert found.covariance[0, 1] / deviation.prod() == pytest.approx(0.6, abs=0.15)
        assert_allclose(found.mean, [-2.0, 1.5], atol=0.15)

    @FORMS
    def test_noise_is_not_taken_for_differences(self, hidden):
        rows = drawn_rows(300, 100, hidden=hidden, spread=(0.0, 0.0), seed=2)
        mean = np.array([-2.0, 1.0])
        alone, _ = fit_rows(rows, Prior(mean, 100.0 * np.eye(2)), bounded(2))
        found = estimate_prior(rows, Prior(mean, 0.5 * np.eye(2)), bounded(2))
        deviation = np.sqrt(np.diag(found.covariance))
        assert np.all(deviation < 0.25)
        assert np.all(deviation < 0.6 * alone.std(axis=0)), "users fitted alone scatter much more"

    def test_where_the_search_starts_hardly_matters(self):
        rows = drawn_rows(300, 150, spread=(0.8, 0.4), seed=4)
        mean = np.array([-2.0, 1.0])
        narrow, wide = (estimate_prior(rows, Prior(mean, w**2 * np.eye(2)), bounded(2)) for w in (0.3, 2.0))
        assert_allclose(np.sqrt(np.diag(narrow.covariance)), np.sqrt(np.diag(wide.covariance)), rtol=0.05)

    def test_one_user_is_enough_to_get_an_answer(self):
        found = estimate_prior(drawn_rows(1, 20), Prior(np.array([-2.0, 1.0]), np.eye(2)), bounded(2))
        assert np.isfinite(found.mean).all()
        assert np.all(np.linalg.eigvalsh(found.covariance) > 0)


def binned(block, n_bins, seen=()):
    """`bin_scores` of a block whose rows all leave out the same columns."""
    block = np.array(block, dtype=np.float32)
    columns = np.asarray(seen, dtype=np.int64)
    n = len(block)
    return bin_scores(block, n_bins, rows=np.arange(n), starts=np.arange(n + 1) * len(columns),
                      seen=np.tile(columns, n))  # fmt: skip


class TestBinning:
    @settings(max_examples=60, deadline=None)
    @given(
        scores=arrays(np.float32, st.integers(1, 40), elements=st.floats(-1e6, 1e6, width=32)),
        n_bins=st.integers(2, 20),
    )
    @example(scores=np.zeros(5, dtype=np.float32), n_bins=4)
    @example(scores=np.full(5, 1e6, dtype=np.float32), n_bins=4)
    @example(scores=np.array([0, np.finfo(np.float32).tiny], dtype=np.float32), n_bins=512)
    def test_bins_hold_every_score_once_near_its_value(self, scores, n_bins):
        means, counts = binned([scores], n_bins)
        assert counts.sum() == len(scores)
        width = (float(scores.max()) - float(scores.min())) / n_bins
        ordered, placed = np.sort(scores.astype(np.float64)), np.repeat(means[0], counts[0].astype(int))
        rounding = 1e-6 * float(np.abs(scores).max()) + 1e-30
        assert_allclose(placed, ordered, rtol=0, atol=1.1 * width + rounding)
        assert_allclose(placed.mean(), ordered.mean(), rtol=0, atol=width / 10 + rounding)

    def test_equal_bins_between_the_smallest_and_the_largest(self):
        means, counts = binned([[0.0, 1.0, 3.0, 5.0, 9.0, 10.0]], 5)
        assert counts[0].tolist() == [2, 1, 1, 0, 2]
        assert_allclose(means[0][[0, 1, 2, 4]], [0.5, 3.0, 5.0, 9.5], atol=0.1)

    def test_excluded_and_missing_entries_do_not_count(self):
        means, counts = binned([[8.0, 0.0, 1.0, -np.inf], [1.0, 2.0, 4.0, 3.9]], 20, seen=[0])
        assert counts.sum(axis=1).tolist() == [2, 3]
        for row, expected in zip((0, 1), ([0.0, 1.0], [2.0, 3.95]), strict=True):
            assert_allclose(means[row][counts[row] > 0], expected, atol=0.05)

    def test_a_row_without_candidates_is_empty(self):
        means, counts = binned([[-np.inf, -np.inf]], 3)
        assert counts.tolist() == [[0, 0, 0]]
        assert np.isfinite(means).all()


def test_exponentials_and_logarithms_are_exact_to_rounding():
    z = np.r_[0.0, np.geomspace(1e-300, 690.0, 500), -np.linspace(0, 690, 501)]
    shrunk = np.empty_like(z)
    _logistic_kernels._falling_exponentials(z, np.empty(len(z), dtype=np.int64), shrunk)
    assert_allclose(shrunk, np.exp(-np.abs(z)), rtol=1e-15)
    for value in np.r_[0.0, np.geomspace(1e-300, 1.0, 200)]:
        found = _logistic_kernels._sum_of_logarithms(np.array([value]), np.ones(1))
        assert found == pytest.approx(np.log1p(value), rel=1e-15)


def test_rows_that_do_not_converge_are_said():
    rows = one_row(np.full((3, 2), np.nan), np.ones(3), np.ones((1, 2)), False)
    with pytest.warns(SurenessWarning, match="1 of 1 fit did not converge"):
        fit_rows(rows, Prior(np.zeros(2), np.eye(2)), bounded(2))
