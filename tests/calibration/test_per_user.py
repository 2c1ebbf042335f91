"""A map for each user: against other solvers, between the global map and the user alone, and for every odd user."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import sklearn.base
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import sureness as sn
from sureness._settings import clone
from sureness.calibration import per_user
from sureness.calibration.maps import Who

PER_USER = {
    "platt": sn.calibration.PerUserPlatt,
    "gaussian": sn.calibration.PerUserGaussian,
    "gamma": sn.calibration.PerUserGamma,
}
KINDS = pytest.mark.parametrize("kind", PER_USER.values(), ids=PER_USER)
LEARNED = ("location_", "scale_", "intercept_", "coef_", "n_held_out_")


def draw(n_users, n_items, *, level=-2.5, slope=1.2, spread=(0.8, 0.3), seed=0, decimals=3):
    """Scores, and which items are held out: users differ in level and slope, drawn from a Gaussian."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, n_items)).round(decimals)
    levels = rng.normal(level, spread[0], size=(n_users, 1))
    slopes = np.maximum(rng.normal(slope, spread[1], size=(n_users, 1)), 0)
    return scores, rng.random(scores.shape) < expit(levels + slopes * scores)


def fit(calibrator, scores, held_out, seen=None):
    """Fit on dense matrices."""
    log = None if seen is None else sn.Interactions.from_matrix(np.asarray(seen))
    source = sn.MatrixSource(np.asarray(scores, dtype=float))
    return calibrator.fit(source, sn.Interactions.from_matrix(np.asarray(held_out)), seen=log)


def everyone(n_users):
    return Who(n_users, np.arange(n_users))


def probabilities(calibrator, scores):
    """Of a matrix with one row for each user that was fitted."""
    return calibrator.probability_of(np.asarray(scores, dtype=float), everyone(len(scores)))


def standardised(scores):
    return (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def small():
    """Users with few and with many held-out items, the last two with none; items in the order of their scores."""
    scores, held_out = draw(40, 60)
    held_out[-2:] = False
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(held_out, order, axis=1)


def least_risk(features, labels, mean, width):
    """The line that minimises the penalised risk, by a general solver."""

    def risk(theta):
        z, away = features @ theta, (theta - mean) / width
        return np.logaddexp(0, z).sum() - z[labels].sum() + 0.5 * away @ away, (
            features.T @ (expit(z) - labels) + away / width
        )

    tight = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10_000}
    return minimize(risk, mean, jac=True, method="L-BFGS-B", bounds=[(None, None), (0, None)], options=tight).x


class TestAgainstOtherSolvers:
    @pytest.mark.parametrize("width", [0.3, 2.0])
    @pytest.mark.parametrize("top", [25, None])
    def test_every_map_minimises_the_penalised_risk_of_its_user(self, small, width, top):
        scores, held_out = small
        fitted = fit(sn.calibration.PerUserPlatt(top=top, prior_width=width), scores, held_out)
        best, labels = scores[:, :top], held_out[:, :top]
        z = standardised(best)
        features = np.stack([np.ones_like(z), (z - z.mean()) / z.std()], axis=-1)
        overall = least_risk(features.reshape(-1, 2), labels.ravel(), np.zeros(2), 100.0)
        assert_allclose(fitted.global_.probability(z.ravel()), expit(features @ overall).ravel(), atol=5e-6)
        found = probabilities(fitted, best)
        for user in range(38):
            theta = least_risk(features[user], labels[user], overall, width)
            assert_allclose(found[user], expit(features[user] @ theta), atol=5e-6)

    @pytest.mark.parametrize(("n_bins", "within"), [(300, 2e-4), (256, 1e-3)], ids=["every candidate", "bins"])
    def test_an_infinite_width_leaves_every_user_to_its_own_logistic_regression(self, n_bins, within):
        scores, held_out = draw(15, 300, level=-1.5)
        found = probabilities(
            fit(sn.calibration.PerUserPlatt(prior_width=np.inf, n_bins=n_bins), scores, held_out), scores
        )
        for user in range(15):
            alone = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000).fit(scores[user][:, None], held_out[user])
            assert_allclose(found[user], alone.predict_proba(scores[user][:, None])[:, 1], atol=within)

    @KINDS
    def test_a_width_of_zero_gives_everyone_the_plain_calibrator_of_all_users(self, kind, small):
        scores, held_out = small
        fitted = fit(kind(prior_width=0.0), scores, held_out)
        z = standardised(scores)
        expected = kind.kind().fit(z.ravel(), held_out.ravel().astype(int)).probability(z.ravel())
        assert_allclose(fitted.global_.probability(z.ravel()), expected, atol=1e-4)
        assert_allclose(probabilities(fitted, scores).ravel(), expected, atol=1e-4)

    @KINDS
    def test_bins_are_nearly_as_good_as_every_candidate(self, kind):
        scores, held_out = draw(20, 2_100, level=-4.0, seed=7, decimals=6)
        every = fit(kind(n_bins=2_100), scores, held_out)
        binned, coarse = (fit(kind(n_bins=n_bins), scores, held_out) for n_bins in (256, 8))
        assert_allclose(probabilities(binned, scores), probabilities(every, scores), atol=5e-4)
        assert np.abs(probabilities(coarse, scores) - probabilities(every, scores)).max() > 1e-3

    def test_many_points_are_pooled_in_bins_without_a_difference(self, small, monkeypatch):
        every = fit(sn.calibration.PerUserGamma(), *small)
        monkeypatch.setattr(per_user, "_POOLED_POINTS", 1_000)
        pooled = fit(sn.calibration.PerUserGamma(), *small)
        assert pooled.global_.intercept_ != every.global_.intercept_
        assert_allclose(probabilities(pooled, small[0]), probabilities(every, small[0]), atol=1e-3)


class TestShrinking:
    def test_the_narrower_the_prior_the_nearer_everyone_is_to_the_map_of_all(self, small):
        scores, held_out = small
        middle = fit(sn.calibration.PerUserPlatt(prior_width=0.0), scores, held_out).log_odds_of(scores, everyone(40))
        distances = []
        for width in (3.0, 1.0, 0.3, 0.1):
            fitted = fit(sn.calibration.PerUserPlatt(prior_width=width), scores, held_out)
            distances.append(np.abs(fitted.log_odds_of(scores, everyone(40)) - middle)[:38].mean(axis=1))
        assert np.all(np.diff(np.mean(distances, axis=1)) < 0)
        assert np.mean(np.diff(distances, axis=0) < 0) > 0.95
        assert np.max(distances[-1]) < 0.25

    def test_users_who_tell_little_are_shrunk_more(self):
        scores, held_out = draw(600, 200, spread=(0.0, 0.0), seed=1)
        rng = np.random.default_rng(2)
        held_out[:200] = rng.random((200, 200)) < expit(-1.0 + 1.2 * scores[:200])  # 1.5 more likely than the others'
        seen = np.zeros_like(held_out)
        seen[:100, 20:] = True  # these have a tenth of the candidates
        fitted = fit(sn.calibration.PerUserPlatt(prior_width=0.5), scores, held_out & ~seen, seen)
        levels = fitted.log_odds_of(np.zeros((600, 1)), everyone(600))[:, 0]
        excess = levels - fitted.log_odds_of(np.zeros((1, 1)), Who(1, np.array([-1])))[0, 0]
        few, many = excess[:100].mean(), excess[100:200].mean()
        assert 0.1 < few < 0.75 * many

    def test_users_without_held_out_items_get_exactly_the_map_of_all(self, small):
        fitted = fit(sn.calibration.PerUserPlatt(top=20), *small)
        assert fitted.intercept_[-2:].tolist() == [fitted.global_.intercept_] * 2
        assert fitted.coef_[-2:, 0].tolist() == [fitted.global_.coef_[0]] * 2
        assert len(set(fitted.intercept_[:-2].tolist())) > 30, "the others have their own"

    def test_probabilities_add_up_to_the_held_out_items(self, small):
        scores, held_out = small
        assert probabilities(fit(sn.calibration.PerUserPlatt(), scores, held_out), scores)[:38].sum() == pytest.approx(
            held_out.sum(), rel=0.1
        )


class TestCandidates:
    @KINDS
    def test_only_the_best_candidates_count(self, kind):
        scores, held_out = draw(50, 80, level=-1.0, seed=6)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :30]
        whole = fit(kind(top=30), scores, held_out)
        cut = fit(kind(top=30), *(np.take_along_axis(values, best, 1) for values in (scores, held_out)))
        for name in LEARNED[:-1]:
            assert_allclose(getattr(whole, name), getattr(cut, name), rtol=1e-6)
        assert_array_equal(whole.n_held_out_, held_out.sum(axis=1))

    @pytest.mark.parametrize(("n_bins", "within"), [(256, 1e-9), (40, 0.02)])
    def test_training_pairs_are_neither_candidates_nor_positives(self, n_bins, within):
        scores, held_out = draw(30, 200, level=-2.0, seed=8)
        seen = np.random.default_rng(8).random(scores.shape) < 0.3
        clean = fit(sn.calibration.PerUserPlatt(n_bins=n_bins), scores, held_out & ~seen, seen)
        with pytest.warns(sn.errors.SurenessWarning, match="also in training"):
            found = fit(sn.calibration.PerUserPlatt(n_bins=n_bins), np.where(seen, 9.0, scores), held_out, seen)
        assert_array_equal(found.n_held_out_, (held_out & ~seen).sum(axis=1))
        assert_allclose(probabilities(found, scores), probabilities(clean, scores), atol=within)

    @KINDS
    @pytest.mark.parametrize("top", [25, None])
    def test_the_size_of_a_block_does_not_matter(self, kind, top, small, monkeypatch):
        calibrator = kind(top=top, n_bins=50)
        whole = fit(clone(calibrator), *small)
        monkeypatch.setattr(per_user, "_BLOCK_POINTS", 7 * (top or 50))
        by_sevens = fit(clone(calibrator), *small)
        monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 60)  # one user at a time
        by_ones = fit(clone(calibrator), *small)
        for name in LEARNED:
            assert_allclose(getattr(by_sevens, name), getattr(whole, name), rtol=1e-9)
            assert_allclose(getattr(by_ones, name), getattr(whole, name), rtol=1e-9)

    def test_every_user_is_scored_once(self, small):
        asked = []

        def scores_of(users):
            asked.extend(users.tolist())
            return small[0][users]

        sn.calibration.PerUserPlatt().fit(
            sn.sources.FunctionSource(scores_of, 40, 60), sn.Interactions.from_matrix(small[1])
        )
        assert sorted(asked) == list(range(40))

    def test_a_table_of_the_best_is_as_good_as_all_scores(self, small):
        scores, held_out = small
        users, items = (np.repeat(np.arange(40), 30), np.tile(np.arange(30), 40))
        table = pl.DataFrame({"user_id": users, "item_id": items, "score": scores[:, :30].ravel()})
        ids = {"users": sn.IdMap.counting(40), "items": sn.IdMap.counting(60)}
        log = sn.Interactions.from_matrix(held_out, **ids)
        expected = sn.calibration.PerUserPlatt(top=30).fit(sn.MatrixSource(scores, **ids), log)
        found = sn.calibration.PerUserPlatt().fit(sn.CandidateSource.from_table(table, **ids), log)
        for name in LEARNED:
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)


class TestUsing:
    def test_maps_are_found_by_the_names_of_users(self, small):
        scores, held_out = small
        names = np.array([f"user {number:02d}" for number in range(40)])
        source = sn.MatrixSource(scores, users=sn.IdMap.of(names), items=sn.IdMap.counting(60))
        users, items = np.nonzero(held_out)
        shuffled = np.random.default_rng(0).permutation(len(users))
        fitted = sn.calibration.PerUserPlatt().fit(source, sn.Interactions.of(names[users][shuffled], items[shuffled]))
        found = fitted.probability([0.1, 2.0, 0.1], users=["user 07", "user 33", "user 07"])
        plain = fit(sn.calibration.PerUserPlatt(), scores, held_out)
        assert_array_equal(found, plain.probability([0.1, 2.0, 0.1], users=[7, 33, 7]))

    def test_users_never_seen_get_the_map_of_all(self, small):
        fitted = fit(sn.calibration.PerUserPlatt(), *small)
        z = (1.3 - fitted.location_.mean()) / fitted.scale_.mean()
        found = fitted.probability([1.3, 1.3], users=[1_000, 0])
        assert found[0] == pytest.approx(fitted.global_.probability([z])[0])
        assert found[1] != found[0]

    def test_where_there_is_no_candidate_there_is_no_chance(self, small):
        fitted, asked = fit(sn.calibration.PerUserPlatt(), *small), (np.array([[1.0, -np.inf]]), Who(1, np.array([3])))
        assert fitted.probability_of(*asked)[0, 0] > 0 == fitted.probability_of(*asked)[0, 1]
        assert fitted.log_odds_of(*asked)[0, 1] == -np.inf

    def test_one_id_is_needed_for_each_score(self, small):
        fitted = fit(sn.calibration.PerUserPlatt(), *small)
        assert fitted.probability([], users=[]).shape == (0,)
        with pytest.raises(sn.errors.IdError, match="scores"):
            fitted.probability([0.1, 0.2], users=[3])
        with pytest.raises(sn.errors.SettingError, match="users="):
            fitted.probability([0.1])


class TestOddUsers:
    @KINDS
    @settings(max_examples=25)
    @given(data=st.data())
    @pytest.mark.filterwarnings("ignore:.*also in training", "ignore:.*taken for masks")
    def test_no_map_is_ever_infinite_or_falling(self, kind, data):
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
            top=data.draw(st.sampled_from([None, 2, 200])), n_bins=data.draw(st.sampled_from([2, 512])),
            prior_width=data.draw(st.sampled_from([0.0, 0.5, np.inf])),
        )  # fmt: skip
        try:
            fitted = fit(calibrator, scores, labels, seen)
        except sn.errors.DataError as error:  # nothing to learn from
            reasons = ("at least one positive", "nothing to fit", "the same score", "also in training")
            assert any(reason in str(error) for reason in reasons)
            return
        for name in LEARNED:
            assert np.isfinite(getattr(fitted, name)).all(), name
        assert np.all(fitted.coef_ >= 0)
        assert np.all(fitted.scale_ > 0)
        grid = np.tile(np.linspace(scores.min() - 1, scores.max() + 1, 50), (n_users, 1))
        odds = fitted.log_odds_of(grid, everyone(n_users))
        assert np.isfinite(odds).all()
        assert np.all(np.diff(odds, axis=1) >= -1e-9 * np.abs(odds).max())

    @KINDS
    @pytest.mark.parametrize("width", [0.0, 1.0, np.inf])
    @pytest.mark.parametrize(
        "how", ["all held out", "one held out", "separable", "the worst held out", "one candidate", "huge", "far away"]
    )
    def test_users_of_one_kind_only(self, kind, width, how):
        scores, held_out = draw(6, 12, level=-0.5, seed=11)
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
        fitted = fit(kind(prior_width=width), scores, held_out, seen)
        p = probabilities(fitted, np.sort(scores, axis=1))
        assert np.all(np.isfinite(fitted.coef_))
        assert np.all((p >= 0) & (p <= 1))
        assert np.all(np.diff(p, axis=1) >= -1e-12)


class TestManners:
    @KINDS
    def test_settings_can_be_read_cloned_and_printed(self, kind, small):
        calibrator = kind(top=25, prior_width=0.5)
        assert repr(calibrator) == f"{kind.__name__}(top=25, prior_width=0.5)"
        assert fit(calibrator, *small) is calibrator
        for copied in (clone(calibrator), sklearn.base.clone(calibrator)):
            assert copied.get_params() == calibrator.get_params()
            assert not hasattr(copied, "coef_")

    def test_probabilities_are_about_the_labelled_period(self, small):
        fitted = fit(sn.calibration.PerUserPlatt(), *small)
        assert fitted.estimand_ == fitted.global_.estimand_ == "interaction"
        assert fitted.horizon_.which == "labelled"

    def test_before_fitting_there_is_nothing_to_use(self, tmp_path):
        for use in (
            lambda: sn.calibration.PerUserPlatt().probability([0.1], users=[0]),
            lambda: sn.calibration.PerUserPlatt().probability_of(np.ones((1, 1)), Who(1, np.array([0]))),
            lambda: sn.calibration.PerUserPlatt().save(tmp_path / "maps.sureness"),
        ):
            with pytest.raises(sn.errors.NotFittedError, match="fitted"):
                use()

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"top": 1}, "top must be a whole number of at least 2, got 1"),
            ({"top": 2.5}, "top must be a whole number"),
            ({"top": True}, "top must be a whole number"),
            ({"n_bins": 1}, "n_bins must be a whole number of at least 2"),
            ({"prior_width": -1.0}, "prior_width must be a number of 0 or more, got -1.0"),
            ({"prior_width": np.nan}, "prior_width must be a number of 0 or more"),
            ({"prior_width": "auto"}, "prior_width must be a number of 0 or more, got 'auto'"),
        ],
    )
    def test_settings_that_cannot_be_are_refused(self, wrong, message, small):
        with pytest.raises(sn.errors.SettingError, match=message):
            fit(sn.calibration.PerUserPlatt(**wrong), *small)

    def test_data_without_anything_to_learn_is_refused_with_the_reason(self, small):
        scores, held_out = small
        with pytest.raises(sn.errors.EmptyError, match="held_out"):
            fit(sn.calibration.PerUserPlatt(), scores, np.zeros_like(held_out))
        with pytest.raises(sn.errors.EmptyError, match="top 5 candidates"):
            fit(sn.calibration.PerUserPlatt(top=5), scores, np.arange(60) == 59 + np.zeros((40, 1)))
        with pytest.raises(sn.errors.EmptyError, match="the same score"):
            fit(sn.calibration.PerUserPlatt(), np.ones_like(scores), held_out)
        with pytest.raises(sn.errors.IdError, match="held_out"):
            fit(sn.calibration.PerUserPlatt(), scores[:, :5], held_out)

    def test_progress_is_reported_for_scoring_and_for_fitting(self, small, monkeypatch):
        monkeypatch.setattr(per_user, "_BLOCK_POINTS", 25 * 15)
        reported = []
        source, log = sn.MatrixSource(small[0]), sn.Interactions.from_matrix(small[1])
        sn.calibration.PerUserPlatt(top=25).fit(source, log, progress=lambda *step: reported.append(step))
        steps = ["scoring candidates"] * 3 + ["fitting a map for each user"] * 4
        assert reported == list(zip(steps, (15, 30, 40, 15, 30, 38, 40), [40] * 7, strict=True))

    def test_a_fit_that_is_stopped_leaves_what_was_learned(self, small):
        fitted = fit(sn.calibration.PerUserPlatt(), *small)
        before = probabilities(fitted, small[0])

        def stop(*step):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fitted.fit(sn.MatrixSource(small[0] * 9 + 4), sn.Interactions.from_matrix(small[1]), progress=stop)
        assert_array_equal(probabilities(fitted, small[0]), before)

    @KINDS
    @pytest.mark.parametrize("width", [1.0, np.inf])
    def test_what_is_read_back_is_the_same_to_the_last_bit(self, kind, width, small, tmp_path):
        names = sn.IdMap.of([f"user {number:02d}" for number in range(40)])
        source, log = sn.MatrixSource(small[0], users=names), sn.Interactions.from_matrix(small[1], users=names)
        fitted = kind(top=25, prior_width=width).fit(source, log)
        fitted.save(tmp_path / "maps.sureness")
        loaded = sn.load(tmp_path / "maps.sureness")
        assert type(loaded) is kind
        assert loaded.get_params() == fitted.get_params()
        assert (loaded.estimand_, loaded.horizon_) == (fitted.estimand_, fitted.horizon_)
        asked = {"scores": [0.3, -1.0, 0.3], "users": ["user 05", "user 39", "somebody else"]}
        assert_array_equal(loaded.probability(**asked), fitted.probability(**asked))
        assert all(np.array_equal(getattr(loaded, name), getattr(fitted, name)) for name in loaded.LEARNED)
