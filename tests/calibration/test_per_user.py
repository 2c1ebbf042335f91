"""A map for each user: against general solvers, in worlds whose truth is known, and for every odd user."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest
import sklearn.base
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import sureness as sn
from sureness._settings import clone
from sureness.calibration import candidates
from sureness.calibration.maps import Who
from sureness.errors import SettingError
from sureness.evaluation import ranking
from sureness.numerics.shrinkage import shrunk_counts

PER_USER = {
    "learned": sn.PerUserCalibrator,
    "platt": sn.PerUserPlatt,
    "gaussian": sn.PerUserGaussian,
    "gamma": sn.PerUserGamma,
}
KINDS = pytest.mark.parametrize("kind", PER_USER.values(), ids=PER_USER)
FORMS = pytest.mark.parametrize("unlabelled", [False, True], ids=["plain", "unlabelled"])
WITHIN = {False: 5e-6, True: 2e-5}  # of another solver, in probabilities; the unlabelled form ends in smaller steps
LEARNED = ("location_", "scale_", "intercept_", "coef_", "n_positive_", "expected_relevant_", "beyond_")


def draw(n_users, n_items, *, level=-2.5, slope=1.2, spread=(0.8, 0.3), unlabelled=False, seed=0, decimals=3):
    """Scores, and which items are relevant: users differ in level and slope, drawn from a Gaussian.

    With `unlabelled` a relevant item is held out with the chance p / (1 + p), and as many again are still to come.
    """
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, n_items)).round(decimals)
    levels = rng.normal(level, spread[0], size=(n_users, 1))
    slopes = np.maximum(rng.normal(slope, spread[1], size=(n_users, 1)), 0)
    chance = expit(levels + slopes * scores)
    return scores, rng.random(scores.shape) < (chance / (1 + chance) if unlabelled else chance), chance


def fit(calibrator, scores, held_out, seen=None):
    """Fit on dense matrices."""
    log = None if seen is None else sn.Interactions.from_matrix(np.asarray(seen))
    source = sn.MatrixSource(np.asarray(scores, dtype=float))
    return calibrator.fit(source, sn.Interactions.from_matrix(np.asarray(held_out)), seen=log)


def bins_of(n_items):
    """As many bins as there can be, if so many items are to be binned at all."""
    return (n_items - 1) // candidates._POINTS_PER_BIN


def probabilities(calibrator, scores):
    """Of a matrix with one row for each user that was fitted."""
    return calibrator.probability_of(np.asarray(scores, dtype=float), everyone(len(scores)))


def everyone(n_users):
    return Who(n_users, np.arange(n_users))


def standardised(scores):
    return (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)


def least_risk(features, positives, *, unlabelled, mean, width):
    """The parameters that minimise the penalised risk, by a general solver."""

    def risk(theta):
        z, known = features @ theta, positives @ theta
        away = (theta - mean) / width
        p = expit(z)
        if unlabelled:
            value = np.sum(np.log1p(p)) + np.sum(np.logaddexp(0, -known))
            slope = features.T @ (p * (1 - p) / (1 + p)) - positives.T @ expit(-known)
        else:
            value, slope = np.sum(np.logaddexp(0, z)) - np.sum(known), features.T @ p - positives.sum(axis=0)
        return value + 0.5 * away @ away, slope + away / width

    tight = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10_000}
    return minimize(risk, mean, jac=True, method="L-BFGS-B", bounds=[(None, None), (0, None)], options=tight).x


@pytest.fixture(scope="module")
def small():
    """Users with few and with many held-out items, the last two with none; items in the order of their scores."""
    scores, held_out, _ = draw(40, 60)
    held_out[-2:] = False
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(held_out, order, axis=1)


class TestAgainstOtherSolvers:
    @FORMS
    @pytest.mark.parametrize("width", [0.3, 2.0])
    @pytest.mark.parametrize("top", [25, None])
    def test_every_map_minimises_the_penalised_risk_of_its_user(self, small, unlabelled, width, top):
        scores, held_out = small
        fitted = fit(sn.PerUserPlatt(top=top, unlabelled_positives=unlabelled, prior_width=width), scores, held_out)
        best, labels = scores[:, :top], held_out[:, :top]
        z = standardised(best)
        learners = held_out.any(axis=1)
        centre, unit = z[learners].mean(), z[learners].std()
        features = np.stack([np.ones_like(z), (z - centre) / unit], axis=-1)
        pooled = features[learners].reshape(-1, 2)
        overall = least_risk(pooled, features[labels], unlabelled=unlabelled, mean=np.zeros(2), width=100.0)
        found = probabilities(fitted, best)
        assert_allclose(
            fitted.global_.probability(z.ravel()), expit(features @ overall).ravel(), atol=WITHIN[unlabelled]
        )
        for user in np.flatnonzero(learners):
            theta = least_risk(
                features[user], features[user][labels[user]], unlabelled=unlabelled, mean=overall, width=width
            )
            assert_allclose(found[user], expit(features[user] @ theta), atol=WITHIN[unlabelled])

    def test_an_infinite_width_leaves_every_user_to_its_own_logistic_regression(self, monkeypatch):
        monkeypatch.setattr(candidates, "_UNGROUPED", 300)
        scores, held_out, _ = draw(15, 300, level=-1.5)
        fitted = fit(sn.PerUserPlatt(top=300, unlabelled_positives=False, prior_width=np.inf), scores, held_out)
        found = probabilities(fitted, scores)
        for user in range(15):
            alone = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000).fit(scores[user][:, None], held_out[user])
            assert_allclose(found[user], alone.predict_proba(scores[user][:, None])[:, 1], atol=1e-4)

    def test_a_width_of_zero_gives_everyone_the_logistic_regression_of_all(self, small):
        scores, held_out = small[0][:-2], small[1][:-2]
        fitted = fit(sn.PerUserPlatt(top=60, unlabelled_positives=False, prior_width=0.0), scores, held_out)
        z = standardised(scores)
        together = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000).fit(z.reshape(-1, 1), held_out.ravel())
        expected = together.predict_proba(z.reshape(-1, 1))[:, 1].reshape(z.shape)
        assert_allclose(probabilities(fitted, scores), expected, atol=1e-5)
        assert_array_equal(fitted.intercept_, np.full(38, fitted.global_.intercept_))

    @pytest.mark.parametrize(
        ("kind", "plain"), [(sn.PerUserGaussian, sn.GaussianCalibrator), (sn.PerUserGamma, sn.GammaCalibrator)]
    )
    def test_the_map_of_all_is_that_of_the_plain_calibrator_of_its_family(self, small, kind, plain):
        scores, held_out = small[0][:-2], small[1][:-2]
        fitted = fit(kind(top=60, unlabelled_positives=False, prior_width=0.0), scores, held_out)
        z = standardised(scores)
        expected = plain().fit(z.ravel(), held_out.ravel().astype(int)).probability(z.ravel())
        assert_allclose(fitted.global_.probability(z.ravel()), expected, atol=1e-4)
        assert_allclose(probabilities(fitted, scores).ravel(), expected, atol=1e-4)


class TestShrinking:
    @FORMS
    def test_the_narrower_the_prior_the_nearer_everyone_is_to_the_map_of_all(self, small, unlabelled):
        scores, held_out = small
        rows = np.arange(38)  # the others have the global map anyway
        overall = fit(sn.PerUserPlatt(top=60, unlabelled_positives=unlabelled, prior_width=0.0), scores, held_out)
        middle = overall.log_odds_of(scores, everyone(40))[rows]
        distances = []
        for width in (3.0, 1.0, 0.3, 0.1):
            fitted = fit(sn.PerUserPlatt(top=60, unlabelled_positives=unlabelled, prior_width=width), scores, held_out)
            distances.append(np.abs(fitted.log_odds_of(scores, everyone(40))[rows] - middle).mean(axis=1))
        assert np.all(np.diff(np.mean(distances, axis=1)) < 0)
        assert np.mean(np.diff(distances, axis=0) < 0) > 0.95
        assert np.max(distances[-1]) < 0.25

    def test_users_who_tell_little_are_shrunk_more(self):
        scores, held_out, _ = draw(600, 200, spread=(0.0, 0.0), seed=1)
        rng = np.random.default_rng(2)
        held_out[:200] = rng.random((200, 200)) < expit(-1.0 + 1.2 * scores[:200])  # 1.5 more likely than the others'
        seen = np.zeros_like(held_out)
        seen[:100, 20:] = True  # these have a tenth of the candidates
        fitted = fit(
            sn.PerUserPlatt(top=None, unlabelled_positives=False, prior_width=0.5), scores, held_out & ~seen, seen
        )
        levels = fitted.log_odds_of(np.zeros((600, 1)), everyone(600))[:, 0]
        excess = levels - fitted.log_odds_of(np.zeros((1, 1)), Who(1, np.array([-1])))[0, 0]
        few, many = excess[:100].mean(), excess[100:200].mean()
        assert 0.1 < few < 0.75 * many

    @FORMS
    def test_users_without_held_out_items_get_exactly_the_map_of_all(self, small, unlabelled):
        scores, held_out = small
        fitted = fit(sn.PerUserPlatt(top=20, unlabelled_positives=unlabelled), scores, held_out)
        assert fitted.intercept_[-2:].tolist() == [fitted.global_.intercept_] * 2
        assert fitted.coef_[-2:, 0].tolist() == [fitted.global_.coef_[0]] * 2
        assert fitted.n_positive_[-2:].tolist() == [0, 0]
        assert len(set(fitted.intercept_[:-2].tolist())) > 30, "the others have their own"

    @FORMS
    def test_the_width_of_the_prior_is_found_where_it_is_known(self, unlabelled):
        scores, held_out, _ = draw(700, 150, spread=(0.8, 0.35), unlabelled=unlabelled, seed=3)
        fitted = fit(sn.PerUserPlatt(top=150, unlabelled_positives=unlabelled), scores, held_out)
        known = np.log(shrunk_counts(held_out.sum(axis=1)))
        explained = fitted.prior_.trend[0] ** 2 * known.var()  # by how many held-out items a user has
        level, slope = np.sqrt(np.diag(fitted.prior_.covariance) + explained)
        assert level == pytest.approx(0.8, rel=0.2)
        assert slope == pytest.approx(0.35, rel=0.3)

    def test_users_who_do_not_differ_get_nearly_one_map_and_differing_ones_their_own(self):
        errors = {}
        for spread in ((0.0, 0.0), (1.0, 0.4)):
            scores, held_out, chance = draw(300, 120, spread=spread, seed=4)
            for width in ("auto", 0.0, np.inf):
                fitted = fit(sn.PerUserPlatt(top=120, unlabelled_positives=False, prior_width=width), scores, held_out)
                errors[spread[0], width] = np.sqrt(np.mean((probabilities(fitted, scores) - chance) ** 2))
        assert errors[0.0, "auto"] < 0.5 * errors[0.0, np.inf]
        assert errors[1.0, "auto"] < 0.6 * errors[1.0, 0.0]
        assert errors[1.0, "auto"] < errors[1.0, np.inf]


@pytest.fixture(scope="module")
def split():
    """Relevant items split at random into those held out and those of the next period."""
    rng = np.random.default_rng(5)
    scores, _, chance = draw(500, 120, level=-1.5, spread=(0.7, 0.3), seed=5)
    relevant = rng.random(scores.shape) < 2 * chance / (1 + chance)
    held_out = relevant & (rng.random(scores.shape) < 0.5)
    return scores, held_out, relevant & ~held_out, chance


@pytest.fixture(scope="module")
def remaining(split):
    """Probabilities and next-period labels of all pairs that are not held out, for both forms."""
    scores, held_out, later, _ = split
    found = {}
    for unlabelled in (True, False):
        fitted = fit(sn.PerUserPlatt(top=120, unlabelled_positives=unlabelled), scores, held_out)
        found[unlabelled] = probabilities(fitted, scores)[~held_out]
    return found, later[~held_out]


def bent(scores):
    """Log-odds that are flat at first and steep at the top."""
    return np.logaddexp(0.0, 3.0 * (scores - 1.0))


class TestShapes:
    def test_a_bent_shape_is_learned_and_beats_the_line(self):
        rng = np.random.default_rng(0)
        scores, levels = rng.normal(size=(600, 150)), rng.normal(-3.0, 0.5, size=(600, 1))
        chance = expit(levels + bent(scores))
        held_out = rng.random(scores.shape) < chance
        error = {}
        for shape in ("learned", "line"):
            fitted = fit(
                sn.PerUserCalibrator(shape=shape, top=150, unlabelled_positives=False, prior_width=0.5),
                scores,
                held_out,
            )
            error[shape] = np.abs(probabilities(fitted, scores) - chance).mean()
        assert error["learned"] < 0.6 * error["line"]

    @pytest.mark.parametrize("name", ["line", "gaussian", "gamma"])
    def test_the_named_calibrators_are_shapes(self, small, name):
        named = {"line": sn.PerUserPlatt, "gaussian": sn.PerUserGaussian, "gamma": sn.PerUserGamma}[name]
        found, expected = fit(sn.PerUserCalibrator(shape=name, top=25), *small), fit(named(top=25), *small)
        assert_array_equal(found.coef_, expected.coef_)

    def test_a_learned_shape_with_few_positives_is_the_line(self, small):
        scores, held_out = small[0][:3], small[1][:3]
        learned, line = (
            fit(sn.PerUserCalibrator(shape=s, prior_width=0.5), scores, held_out) for s in ("learned", "line")
        )
        assert_allclose(probabilities(learned, scores), probabilities(line, scores), atol=1e-6)

    def test_one_user_is_enough(self, small):
        fitted = fit(sn.PerUserCalibrator(), small[0][:1], small[1][:1])
        assert np.all(np.diff(probabilities(fitted, small[0][:1])[0]) <= 0)

    def test_all_scores_equal_are_refused(self, small):
        with pytest.raises(sn.DataError):
            fit(sn.PerUserCalibrator(), np.ones_like(small[0]), small[1])

    def test_an_unknown_shape_is_refused(self, small):
        with pytest.raises(SettingError):
            fit(sn.PerUserCalibrator(shape="cubic"), *small)

    def test_users_with_more_to_expect_are_shrunk_to_a_higher_level(self):
        """Half of the users have three times as many relevant items; their levels follow the number, not the mean."""
        rng = np.random.default_rng(1)
        scores = rng.normal(size=(800, 150))
        many = np.arange(800) % 2 == 1
        chance = expit(np.where(many, -2.5, -4.0)[:, None] + scores)
        relevant = rng.random(scores.shape) < 2 * chance / (1 + chance)
        held_out = relevant & (rng.random(scores.shape) < 0.5)
        p = probabilities(fit(sn.PerUserCalibrator(top=150), scores, held_out), scores)
        for group in (many, ~many):
            left = ~held_out[group]
            assert (relevant & ~held_out)[group].sum() == pytest.approx(p[group][left].sum(), rel=0.08)


class TestHiddenItems:
    @pytest.mark.parametrize("top", [120, None])
    def test_their_number_is_right_where_one_map_serves_all(self, top):
        rng = np.random.default_rng(12)
        scores, _, chance = draw(400, 120, level=-1.5, spread=(0.0, 0.0), seed=12)
        relevant = rng.random(scores.shape) < 2 * chance / (1 + chance)
        held_out = relevant & (rng.random(scores.shape) < 0.5)
        total = {}
        for unlabelled in (True, False):
            fitted = fit(sn.PerUserPlatt(top=top, unlabelled_positives=unlabelled, prior_width=0.0), scores, held_out)
            total[unlabelled] = probabilities(fitted, scores)[~held_out].sum()
        later = (relevant & ~held_out).sum()
        assert total[True] == pytest.approx(later, abs=3 * np.sqrt(later))
        assert total[False] < 0.8 * later

    def test_their_number_is_about_right_for_personal_maps_too(self, remaining):
        found, later = remaining
        assert found[True].sum() == pytest.approx(later.sum(), rel=0.08)  # maps know their own labels a bit too well
        assert found[False].sum() < 0.8 * later.sum()

    def test_they_are_calibrated_at_every_level(self, remaining):
        found, later = remaining
        bins = np.searchsorted([0.05, 0.1, 0.2, 0.3, 0.4, 0.5], found[True])
        for place in range(7):
            inside = bins == place
            p = found[True][inside]
            noise = np.sqrt(np.sum(p * (1 - p)))
            assert noise > 1
            assert later[inside].sum() == pytest.approx(p.sum(), abs=4 * noise + 0.02 * p.sum())
        sure = found[False] > 0.3  # where it matters, the plain form is far too low
        assert later[sure].mean() > 1.2 * found[False][sure].mean()

    def test_they_are_near_the_truth(self, split, remaining):
        _, held_out, _, chance = split
        found, _ = remaining
        error = {unlabelled: np.abs(p - chance[~held_out]).mean() for unlabelled, p in found.items()}
        assert error[True] < 0.7 * error[False]

    def test_the_plain_form_is_right_about_the_held_out_items_themselves(self, split):
        scores, held_out, _, _ = split
        fitted = fit(sn.PerUserPlatt(top=120, unlabelled_positives=False), scores, held_out)
        total = probabilities(fitted, scores).sum()
        assert total == pytest.approx(held_out.sum(), rel=0.02)


class TestRangeOfTheFit:
    @KINDS
    @FORMS
    def test_the_best_candidates_are_all_that_counts(self, kind, unlabelled):
        scores, held_out, _ = draw(50, 80, level=-1.0, seed=6)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :30]
        top_scores, top_labels = (np.take_along_axis(values, best, 1) for values in (scores, held_out))
        assert np.all(top_labels.any(axis=1)), "the same users teach the global map"
        whole = fit(kind(top=30, unlabelled_positives=unlabelled, prior_width=0.7), scores, held_out)
        cut = fit(kind(top=30, unlabelled_positives=unlabelled, prior_width=0.7), top_scores, top_labels)
        for name in ("location_", "scale_", "intercept_", "coef_", "n_positive_"):
            assert_allclose(getattr(whole, name), getattr(cut, name), rtol=1e-9)
        assert_array_equal(whole.n_positive_, top_labels.sum(axis=1))
        assert np.all(whole.beyond_ > cut.beyond_ - 1e-9)

    @KINDS
    @FORMS
    def test_bins_are_nearly_as_good_as_every_candidate(self, kind, unlabelled, monkeypatch):
        monkeypatch.setattr(candidates, "_UNGROUPED", 2_100)
        scores, held_out, _ = draw(20, 2_100, level=-4.0, seed=7, decimals=6)
        every = fit(kind(top=2_100, unlabelled_positives=unlabelled, prior_width=0.7), scores, held_out)
        binned = fit(kind(top=None, unlabelled_positives=unlabelled, prior_width=0.7), scores, held_out)
        assert_allclose(probabilities(binned, scores), probabilities(every, scores), atol=5e-4)
        coarse = fit(kind(top=None, unlabelled_positives=unlabelled, prior_width=0.7, n_bins=8), scores, held_out)
        assert np.abs(probabilities(coarse, scores) - probabilities(every, scores)).max() > 1e-3
        assert np.all(binned.location_ != every.location_)

    @KINDS
    @FORMS
    def test_groups_of_later_ranks_are_as_good_as_every_candidate(self, kind, unlabelled, monkeypatch):
        scores, held_out, _ = draw(60, 500, level=-3.0, seed=7, decimals=6)
        grouped = fit(kind(unlabelled_positives=unlabelled, prior_width=0.7), scores, held_out)
        monkeypatch.setattr(candidates, "_UNGROUPED", 200)
        every = fit(kind(unlabelled_positives=unlabelled, prior_width=0.7), scores, held_out)
        best = -np.sort(-scores, axis=1)[:, :200]
        assert np.abs(probabilities(grouped, best) - probabilities(every, best)).mean() < 0.01
        assert np.any(grouped.coef_ != every.coef_)

    def test_few_items_need_no_bins(self, small):
        every, n_bins = fit(sn.PerUserPlatt(top=60), *small), bins_of(60)
        unbinned, binned = (fit(sn.PerUserPlatt(top=None, n_bins=n), *small) for n in (n_bins + 1, n_bins))
        assert_array_equal(unbinned.coef_, every.coef_)
        assert np.all(binned.location_ != every.location_)

    @pytest.mark.parametrize(
        ("top", "n_bins", "within"), [(200, 512, 1e-12), (None, 512, 1e-12), (None, bins_of(200), 0.02)]
    )
    def test_training_pairs_are_no_candidates_and_no_positives(self, top, n_bins, within):
        scores, held_out, _ = draw(30, 200, level=-2.0, seed=8)
        seen = np.random.default_rng(8).random(scores.shape) < 0.3
        settings_ = {"top": top, "prior_width": 0.7, "n_bins": n_bins}
        clean = fit(sn.PerUserPlatt(**settings_), scores, held_out & ~seen, seen)
        assert np.all((held_out & ~seen).any(axis=1)), "all users teach the global map in both cases"
        with pytest.warns(sn.SurenessWarning, match="also in training"):
            found = fit(sn.PerUserPlatt(**settings_), np.where(seen, 9.0, scores), held_out, seen)
        assert_array_equal(found.n_positive_, (held_out & ~seen).sum(axis=1))
        assert_allclose(probabilities(found, scores), probabilities(clean, scores), atol=within)

    def test_what_lies_behind_the_fitted_candidates_is_what_they_do_not_account_for(self):
        scores, held_out, _ = draw(300, 200, level=-3.0, unlabelled=True, seed=9)
        fitted = fit(sn.PerUserPlatt(top=40), scores, held_out)
        best = np.argsort(-scores.astype(np.float32), axis=1, kind="stable")[:, :40]
        p = probabilities(fitted, np.take_along_axis(scores, best, 1))
        within = np.sum(p / (1 + p), axis=1)
        assert_allclose(fitted.expected_relevant_, shrunk_counts(held_out.sum(axis=1)))
        assert_allclose(fitted.beyond_, np.maximum(fitted.expected_relevant_ - within, 0), atol=1e-9)
        true_beyond = held_out.sum() - np.take_along_axis(held_out, best, 1).sum()
        assert fitted.beyond_.sum() == pytest.approx(true_beyond, rel=0.1)
        plain = fit(sn.PerUserPlatt(top=40, unlabelled_positives=False), scores, held_out)
        within = probabilities(plain, np.take_along_axis(scores, best, 1)).sum(axis=1)
        assert_allclose(plain.beyond_, np.maximum(plain.expected_relevant_ - within, 0), atol=1e-9)

    def test_one_map_for_all_leaves_everyone_the_share_behind_that_all_have(self):
        scores, held_out, _ = draw(200, 150, level=-3.0, unlabelled=True, seed=9)
        fitted = fit(sn.PerUserPlatt(top=40, prior_width=0.0), scores, held_out)
        best = np.argsort(-scores.astype(np.float32), axis=1, kind="stable")[:, :40]
        p = probabilities(fitted, np.take_along_axis(scores, best, 1))
        within = np.sum(p / (1 + p), axis=1)
        assert_allclose(fitted.beyond_ / within, fitted.expected_relevant_.sum() / within.sum() - 1, rtol=1e-6)

    @pytest.mark.parametrize("top", [None, 60, 200])
    def test_nothing_lies_behind_all_candidates(self, small, top):
        assert fit(sn.PerUserPlatt(top=top), *small).beyond_.tolist() == [0.0] * 40
        seen = np.zeros_like(small[1])
        seen[:20, 30:] = ~small[1][:20, 30:]
        fitted = fit(sn.PerUserPlatt(top=50), *small, seen)
        assert np.all(fitted.beyond_[:20][seen[:20].sum(axis=1) >= 10] == 0)
        assert np.any(fitted.beyond_[20:] > 0)


class TestBlocks:
    @KINDS
    @pytest.mark.parametrize("top", [25, None])
    def test_the_size_of_a_block_does_not_matter(self, kind, top, small, monkeypatch):
        calibrator = kind(top=top, n_bins=bins_of(60))
        whole = fit(clone(calibrator), *small)
        monkeypatch.setattr(candidates, "_BLOCK_POINTS", 7 * (top or bins_of(60)))
        by_sevens = fit(clone(calibrator), *small)
        monkeypatch.setattr(ranking, "BLOCK_SCORES", 60)  # one user at a time
        by_ones = fit(clone(calibrator), *small)
        for name in LEARNED:
            assert_array_equal(getattr(by_sevens, name), getattr(whole, name))
            assert_array_equal(getattr(by_ones, name), getattr(whole, name))

    def test_the_prior_is_learned_from_a_sample_that_the_seed_decides(self, small):
        def sampled(seed, n):
            return fit(sn.PerUserPlatt(top=25, prior_users=n, seed=seed), *small)

        assert sampled(1, 10).global_.intercept_ == sampled(1, 10).global_.intercept_
        assert sampled(1, 10).global_.intercept_ != sampled(2, 10).global_.intercept_
        assert sampled(1, 38).global_.intercept_ == sampled(2, 38).global_.intercept_, "all learners are taken"
        assert np.all(sampled(1, 10).intercept_[:-2] != sampled(1, 10).global_.intercept_), "all have their own map"

    def test_progress_is_told(self, small, monkeypatch):
        monkeypatch.setattr(candidates, "_BLOCK_POINTS", 25 * 15)
        told = []
        source, log = sn.MatrixSource(small[0]), sn.Interactions.from_matrix(small[1])
        sn.PerUserPlatt(top=25).fit(source, log, progress=lambda *step: told.append(step))
        assert [(done, total) for _, done, total in told] == [(15, 40), (30, 40), (38, 40), (40, 40)]

    @pytest.mark.parametrize("prior_users", [10, 5_000])
    def test_every_user_is_scored_once(self, prior_users, small, monkeypatch):
        monkeypatch.setattr(candidates, "_BLOCK_POINTS", 25 * 7)
        asked = []

        def scores_of(users):
            asked.extend(users.tolist())
            return small[0][users]

        source = sn.FunctionSource(scores_of, 40, 60)
        sn.PerUserPlatt(top=25, prior_users=prior_users).fit(source, sn.Interactions.from_matrix(small[1]))
        assert sorted(asked) == list(range(40))


@pytest.fixture(scope="module")
def tables():
    """The same scores as a matrix and as a table of each user's 30 best, with names."""
    scores, held_out, _ = draw(60, 90, unlabelled=True, seed=10)
    scores = scores.astype(np.float32)
    users = np.array([f"u{number:02d}" for number in range(60)])
    items = np.array([f"i{number:02d}" for number in range(90)])
    best = np.argsort(-scores, axis=1, kind="stable")[:, :30]
    table = pl.DataFrame(
        {"user_id": np.repeat(users, 30), "item_id": items[best].ravel(),
         "score": np.take_along_axis(scores, best, 1).ravel()}
    )  # fmt: skip
    ids = {"users": sn.IdMap.of(users), "items": sn.IdMap.of(items)}
    log = sn.Interactions.from_matrix(held_out, **ids)
    candidates = sn.CandidateSource.from_table(table.sample(fraction=1.0, shuffle=True, seed=0), **ids)
    return sn.MatrixSource(scores, **ids), candidates, log


class TestTopTables:
    @pytest.mark.parametrize(
        ("top", "n_bins", "within"), [(30, 512, 0), (200, 512, 1e-9), (None, 512, 1e-9), (None, bins_of(90), 0.3)]
    )
    def test_a_table_of_the_best_is_as_good_as_all_scores(self, tables, top, n_bins, within):
        matrix, candidates, log = tables
        expected = sn.PerUserPlatt(top=30).fit(matrix, log)
        found = sn.PerUserPlatt(top=top, n_bins=n_bins).fit(candidates, log)
        assert_array_equal(found.n_positive_, expected.n_positive_)
        for name in LEARNED:
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=within, atol=within)

    def test_held_out_items_that_the_table_lacks_are_expected_behind_it(self, tables):
        _, candidates, log = tables
        fitted = sn.PerUserPlatt(top=None).fit(candidates, log)
        lacking = log.user_degree - fitted.n_positive_
        assert lacking.sum() > 50
        assert fitted.beyond_.sum() == pytest.approx(lacking.sum(), rel=0.15)

    def test_a_user_the_table_does_not_have_gets_the_map_of_all(self, tables):
        _, candidates, log = tables
        users = sn.IdMap.of([*log.users.ids, "zoe"])
        table = pl.DataFrame(
            {"user_id": candidates.users.at(np.repeat(np.arange(60), 30)),
             "item_id": candidates.items.at(candidates.item_rows), "score": candidates.scores}
        )  # fmt: skip
        wider = sn.CandidateSource.from_table(table, users=users, items=log.items)
        fitted = sn.PerUserPlatt(top=30).fit(wider, log)
        assert fitted.intercept_[-1] == fitted.global_.intercept_
        assert (fitted.location_[-1], fitted.scale_[-1]) == (0.0, 1.0)


class TestIds:
    def test_maps_are_found_by_the_names_of_users(self, small):
        scores, held_out = small
        names = sn.IdMap.of([f"user {number:02d}" for number in range(40)])
        source = sn.MatrixSource(scores, users=names)
        log = sn.Interactions.from_matrix(held_out, users=names)
        fitted = sn.PerUserPlatt(top=25).fit(source, log)
        plain = fit(sn.PerUserPlatt(top=25), scores, held_out)
        found = fitted.probability([0.1, 2.0, 0.1], users=["user 07", "user 33", "user 07"])
        assert_array_equal(found, plain.probability([0.1, 2.0, 0.1], users=[7, 33, 7]))
        assert found[0] == found[2]

    def test_the_held_out_log_may_name_its_rows_in_any_order(self, small):
        scores, held_out = small
        names = np.array([f"user {number:02d}" for number in range(40)])
        source = sn.MatrixSource(scores, users=sn.IdMap.of(names), items=sn.IdMap.counting(60))
        users, items = np.nonzero(held_out)
        shuffled = np.random.default_rng(0).permutation(len(users))
        log = sn.Interactions.of(names[users][shuffled], items[shuffled])
        fitted = sn.PerUserPlatt(top=25).fit(source, log)
        plain = fit(sn.PerUserPlatt(top=25), scores, held_out)
        assert_array_equal(fitted.coef_, plain.coef_)

    def test_users_never_seen_get_the_map_of_all(self, small):
        fitted = fit(sn.PerUserPlatt(top=25), *small)
        score = 1.3
        z = (score - fitted.location_.mean()) / fitted.scale_.mean()
        found = fitted.probability([score, score], users=[1_000, 0])
        assert found[0] == pytest.approx(fitted.global_.probability([z])[0])
        assert found[1] != found[0]

    def test_where_there_is_no_candidate_there_is_no_chance(self, small):
        fitted = fit(sn.PerUserPlatt(top=25), *small)
        found = fitted.probability_of(np.array([[1.0, -np.inf]]), Who(1, np.array([3])))
        assert found[0, 0] > 0
        assert found[0, 1] == 0
        assert fitted.log_odds_of(np.array([[1.0, -np.inf]]), Who(1, np.array([3])))[0, 1] == -np.inf

    def test_one_id_is_needed_for_each_score(self, small):
        fitted = fit(sn.PerUserPlatt(top=25), *small)
        assert fitted.probability([], users=[]).shape == (0,)
        with pytest.raises(sn.errors.IdError, match="scores"):
            fitted.probability([0.1, 0.2], users=[3])


class TestOddUsers:
    @pytest.mark.filterwarnings("ignore:.*did not converge")
    def test_a_prior_that_runs_away_ends_in_finite_maps(self):
        scores = np.zeros((3, 17), dtype=np.float32)
        scores[0, [5, 6, 9, 10, 11, 12, 13, 14, 16]] = [
            999994,
            32259,
            32259,
            38540,
            52850,
            762099,
            -999994,
            32258,
            32739,
        ]
        scores[1, [14, 16]] = [39445, 2294]
        labels = np.zeros((3, 17), dtype=bool)
        labels[0, [10, 11, 12, 16]] = labels[1, [10, 11, 12, 14, 16]] = labels[2, [0, 2, 3, 4, 5, 13, 14, 15, 16]] = (
            True
        )
        fitted = fit(sn.PerUserGaussian(top=None, unlabelled_positives=False, n_bins=2), scores, labels)
        assert np.isfinite(fitted.coef_).all()

    @KINDS
    @FORMS
    @settings(max_examples=25)
    @given(data=st.data())
    @pytest.mark.filterwarnings("ignore:.*also in training", "ignore:.*taken for masks", "ignore:.*did not converge")
    def test_no_map_is_ever_infinite_or_decreasing(self, kind, unlabelled, data):
        n_users, n_items = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 20))
        row = st.one_of(
            st.lists(st.floats(-1e6, 1e6, width=32), min_size=n_items, max_size=n_items),
            st.sampled_from([0.0, 0.1, 1e6, -3.5]).map(lambda value: [value] * n_items),  # constant
            st.permutations([float(number) for number in range(n_items)]),
        )
        scores = np.array(data.draw(st.lists(row, min_size=n_users, max_size=n_users)), dtype=np.float32)
        shape = {"min_size": n_users * n_items, "max_size": n_users * n_items}
        labels = np.reshape(data.draw(st.lists(st.booleans(), **shape)), scores.shape)
        seen = np.reshape(data.draw(st.lists(st.integers(0, 3).map(lambda v: v == 3), **shape)), scores.shape)
        calibrator = kind(
            top=data.draw(st.sampled_from([None, 2, 200])), unlabelled_positives=unlabelled,
            n_bins=data.draw(st.sampled_from([2, 512])),
            prior_width=data.draw(st.sampled_from(["auto", 0.0, 0.5, np.inf])),
        )  # fmt: skip
        try:
            fitted = fit(calibrator, scores, labels, seen)
        except sn.DataError as error:  # nothing to learn from
            reasons = ("at least one positive", "nothing to fit", "the same score", "also in training")
            assert any(reason in str(error) for reason in reasons)
            return
        for name in LEARNED:
            assert np.isfinite(getattr(fitted, name)).all(), name
        assert np.all(fitted.coef_ >= 0)
        assert np.all(fitted.scale_ > 0)
        assert np.all(fitted.beyond_ >= 0)
        low, high = scores.min() - 1, scores.max() + 1
        grid = np.tile(np.linspace(low, high, 50), (n_users, 1))
        odds = fitted.log_odds_of(grid, everyone(n_users))
        assert np.isfinite(odds).all()
        assert np.all(np.diff(odds, axis=1) >= -1e-9 * np.abs(odds).max())

    @KINDS
    @FORMS
    @pytest.mark.parametrize("width", ["auto", 0.0, np.inf])
    @pytest.mark.parametrize(
        "how", ["all held out", "one held out", "separable", "the worst held out", "one candidate", "huge", "far away"]
    )
    def test_users_of_one_kind_only(self, kind, unlabelled, width, how):
        scores, held_out, _ = draw(6, 12, level=-0.5, seed=11)
        seen = np.zeros_like(held_out)
        if how == "all held out":
            held_out[:] = True
        elif how == "one held out":
            held_out[:] = np.arange(72).reshape(6, 12) == 5
        elif how == "separable":
            held_out = scores > 0.5
        elif how == "the worst held out":
            held_out = scores < -0.5
        elif how == "one candidate":
            seen[:3, 1:] = True
            held_out &= ~seen
        else:
            scores = scores * 1e6 if how == "huge" else scores + 1e4
        fitted = fit(kind(top=12, unlabelled_positives=unlabelled, prior_width=width), scores, held_out, seen)
        p = probabilities(fitted, np.sort(scores, axis=1))
        assert np.all(np.isfinite(fitted.coef_))
        assert np.all((p >= 0) & (p <= 1))
        assert np.all(np.diff(p, axis=1) >= -1e-12)


class TestCounts:
    @settings(max_examples=100)
    @given(counts=st.lists(st.integers(0, 60), min_size=1, max_size=30).map(np.array))
    @example(counts=np.array([0, 0, 0]))
    @example(counts=np.array([5]))
    @example(counts=np.array([0, 60]))
    def test_shrunk_counts_keep_mean_and_order_and_come_together(self, counts):
        shrunk = shrunk_counts(counts)
        assert np.isfinite(shrunk).all()
        assert shrunk.mean() == pytest.approx(counts.mean())
        order = np.argsort(counts)
        assert np.all(np.diff(shrunk[order]) >= -1e-12)
        assert np.all(np.abs(shrunk - counts.mean()) <= np.abs(counts - counts.mean()) + 1e-9)

    def test_they_are_the_best_guess_of_the_next_period(self):
        rng = np.random.default_rng(0)
        means = rng.gamma(2.0, 2.0, 40_000)
        counts, later = rng.poisson(means), rng.poisson(means)
        shrunk = shrunk_counts(counts)
        for number in range(8):
            same = counts == number
            assert shrunk[same][0] == pytest.approx(later[same].mean(), rel=0.05)
            assert shrunk[same][0] == pytest.approx((number + 2.0) / (1 + 1 / 2.0), rel=0.05)

    def test_numbers_that_scatter_as_chance_does_become_one(self):
        counts = np.random.default_rng(1).binomial(20, 0.3, 500)
        assert len(set(shrunk_counts(counts).tolist())) == 1


class TestManners:
    @KINDS
    def test_settings_can_be_read_cloned_and_printed(self, kind, small):
        calibrator = kind(top=25, prior_width=0.5, unlabelled_positives=False)
        assert repr(calibrator) == f"{kind.__name__}(top=25, unlabelled_positives=False, prior_width=0.5)"
        assert fit(calibrator, *small) is calibrator
        for copied in (clone(calibrator), sklearn.base.clone(calibrator)):
            assert copied.get_params() == calibrator.get_params()
            assert not hasattr(copied, "coef_")
        assert fit(clone(calibrator), *small).coef_.tolist() == calibrator.coef_.tolist()

    def test_what_is_estimated_is_said(self, small):
        fitted = fit(sn.PerUserPlatt(top=25), *small)
        assert fitted.estimand_ == fitted.global_.estimand_ == "interaction"

    @KINDS
    def test_before_fitting_there_is_nothing_to_use(self, kind, tmp_path):
        for use in (
            lambda: kind().probability([0.1], users=[0]),
            lambda: kind().probability_of(np.ones((1, 1)), Who(1, np.array([0]))),
            lambda: kind().table(),
            lambda: kind().save(tmp_path / "maps.sureness"),
        ):
            with pytest.raises(sn.NotFittedError, match="fitted"):
                use()

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"top": 1}, "top must be a whole number of at least 2, got 1"),
            ({"top": 2.5}, "top must be a whole number"),
            ({"top": True}, "top must be a whole number"),
            ({"prior_users": 0}, "prior_users must be a whole number of at least 1"),
            ({"n_bins": 1}, "n_bins must be a whole number of at least 2"),
            ({"prior_width": -1.0}, "prior_width must be 0 or more, or 'auto', got -1.0"),
            ({"prior_width": np.nan}, "prior_width must be 0 or more"),
            ({"prior_width": "wide"}, "prior_width must be 0 or more, or 'auto', got 'wide'"),
        ],
    )
    def test_settings_that_cannot_be_are_refused(self, wrong, message, small):
        with pytest.raises(sn.DataError, match=message):
            fit(sn.PerUserPlatt(**wrong), *small)

    def test_data_without_anything_to_learn_is_refused_with_the_reason(self, small):
        scores, held_out = small
        with pytest.raises(sn.errors.EmptyError, match="held_out"):
            fit(sn.PerUserPlatt(), scores, np.zeros_like(held_out))
        last = np.arange(60) == 59 + np.zeros((40, 1))
        with pytest.raises(sn.errors.EmptyError, match="candidates"):
            fit(sn.PerUserPlatt(top=5), scores, last)
        with pytest.raises(sn.errors.EmptyError, match="candidates"):
            fit(sn.PerUserPlatt(), np.ones_like(scores), held_out)
        with pytest.raises(sn.errors.IdError, match="held_out"):
            fit(sn.PerUserPlatt(), scores[:, :5], held_out)

    def test_the_table_has_everything_that_was_learned(self, small):
        fitted = fit(sn.PerUserGaussian(top=25), *small)
        table = fitted.table()
        assert table.columns == ["user_id", "location", "scale", "intercept", "n_positive", "n_held_out",
                                 "expected_relevant", "expected_beyond", "last", "coef_0", "coef_1"]  # fmt: skip
        assert_array_equal(table["coef_1"].to_numpy(), fitted.coef_[:, 1])
        assert_array_equal(table["expected_beyond"].to_numpy(), fitted.beyond_)


def sparse_world(seed, n_users=400, n_items=1_500, *, unlabelled=True):
    """Scores, held-out items and those to come: few for each user, and ever fewer behind the first hundred."""
    rng = np.random.default_rng(seed)
    scores = -np.sort(-rng.gumbel(size=(n_users, n_items)), axis=1) * rng.lognormal(0.0, 0.3, size=(n_users, 1))
    rank = np.arange(n_items)
    falling = np.interp(rank, [0, 100, 300, n_items], [0.0, -1.5, -4.0, -5.0])
    chance = expit(-1.8 + rng.normal(0.0, 0.5, size=(n_users, 1)) + rng.normal(1.0, 0.2, size=(n_users, 1)) * falling)
    held_out = rng.random(chance.shape) < (chance / (1 + chance) if unlabelled else chance)
    coming = (rng.random(chance.shape) < chance) & ~held_out
    return scores, held_out, coming


class TestPromises:
    """What was promised to users comes, although their levels and slopes are uncertain."""

    def test_at_the_top_and_behind_it(self):
        promised, came = np.zeros(3), np.zeros(3)
        for seed in range(3):
            scores, held_out, coming = sparse_world(seed)
            p = np.where(held_out, 0.0, probabilities(fit(sn.PerUserCalibrator(top=100), scores, held_out), scores))
            for part, ranks in enumerate((slice(0, 10), slice(100, 400), slice(400, None))):
                promised[part] += p[:, ranks].sum()
                came[part] += coming[:, ranks].sum()
        assert_allclose(came / promised, 1.0, atol=0.1)

    def test_without_another_curve_too_much_was_promised_behind(self):
        scores, held_out, coming = sparse_world(0)
        fitted = fit(sn.PerUserCalibrator(top=100), scores, held_out)
        straight = copy.copy(fitted)
        straight.behind_ = None
        assert coming[:, 100:].sum() < 0.8 * np.where(held_out, 0, probabilities(straight, scores))[:, 100:].sum()
        assert_array_equal(probabilities(straight, scores)[:, :50], probabilities(fitted, scores)[:, :50])

    def test_more_is_promised_than_by_the_most_likely_level_and_slope(self):
        scores, held_out, _ = sparse_world(0)
        expected = fit(sn.PerUserPlatt(top=100), scores, held_out)
        width = float(np.sqrt(np.linalg.eigvalsh(expected.prior_.covariance).max()))
        likely = fit(sn.PerUserPlatt(top=100, prior_width=width), scores, held_out)
        assert probabilities(expected, scores)[:, :10].sum() > 1.01 * probabilities(likely, scores)[:, :10].sum()

    def test_users_whose_scores_are_further_apart_have_steeper_maps(self):
        rng = np.random.default_rng(0)
        spread = rng.lognormal(0.0, 0.6, size=(400, 1))
        scores = rng.normal(size=(400, 120)) * spread
        held_out = rng.random(scores.shape) < expit(-3.0 + scores)
        fitted = fit(sn.PerUserPlatt(top=None, unlabelled_positives=False), scores, held_out)
        few = held_out.sum(axis=1) <= np.median(held_out.sum(axis=1))  # whose own labels tell little
        steepness = np.log(np.maximum(fitted.coef_[:, 0] / fitted.basis_.fitted.width, 1e-3))
        assert np.corrcoef(steepness[few], np.log(spread[few, 0]))[0, 1] > 0.7

    def test_order_is_kept_across_the_last_fitted_candidate(self):
        scores, held_out, _ = sparse_world(1)
        fitted = fit(sn.PerUserCalibrator(top=100), scores, held_out)
        assert fitted.behind_ is not None
        assert np.all(np.diff(fitted.log_odds_of(scores, everyone(len(scores))), axis=1) <= 1e-12)


class TestSaving:
    @KINDS
    @pytest.mark.parametrize("width", ["auto", np.inf])
    def test_what_is_read_back_is_the_same_to_the_last_bit(self, kind, width, small, tmp_path):
        names = sn.IdMap.of([f"user {number:02d}" for number in range(40)])
        source, log = sn.MatrixSource(small[0], users=names), sn.Interactions.from_matrix(small[1], users=names)
        fitted = kind(top=25, prior_width=width).fit(source, log)
        fitted.save(tmp_path / "maps.sureness")
        loaded = sn.load(tmp_path / "maps.sureness")
        assert type(loaded) is kind
        assert loaded.get_params() == fitted.get_params()
        assert loaded.estimand_ == fitted.estimand_
        for name in LEARNED:
            assert_array_equal(getattr(loaded, name), getattr(fitted, name))
        asked = ([0.3, -1.0, 0.3], ["user 05", "user 39", "somebody else"])
        assert_array_equal(loaded.probability(asked[0], users=asked[1]), fitted.probability(asked[0], users=asked[1]))
        assert loaded.table().equals(fitted.table())

    def test_maps_can_be_saved_over_older_ones(self, small, tmp_path):
        fit(sn.PerUserPlatt(top=25), *small).save(tmp_path / "maps.sureness")
        newer = fit(sn.PerUserGaussian(top=20), *small)
        newer.save(tmp_path / "maps.sureness")
        assert_array_equal(sn.load(tmp_path / "maps.sureness").coef_, newer.coef_)


def test_a_fit_that_is_stopped_leaves_what_was_learned():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 30))
    held_out = sn.Interactions.from_matrix(rng.random((40, 30)) < 1 / (1 + np.exp(1 - scores)))
    maps = sn.PerUserPlatt(top=None).fit(sn.MatrixSource(scores), held_out)
    before = maps.probability(np.zeros(40), users=np.arange(40))

    def stop(*step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        maps.fit(sn.MatrixSource(scores[::-1] * 9 + 4), held_out, progress=stop)
    np.testing.assert_array_equal(maps.probability(np.zeros(40), users=np.arange(40)), before)
