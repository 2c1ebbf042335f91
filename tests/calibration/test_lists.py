"""The map for lists: candidates of groups, met or never met, with every kind of score and knowledge."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, minimize
from scipy.special import expit

import sureness as sn
from sureness.calibration import list_terms
from sureness.calibration.list_terms import Groups, Inputs, TermPlan, among_best, learn_terms
from sureness.calibration.maps import Who
from sureness.errors import ColumnError, DataError, EmptyError, SettingError
from sureness.numerics.logistic import bounded_minimum
from sureness.numerics.ramps import Compression


def drawn(n_groups=600, n_candidates=30, seed=0, level=-2.5):
    """Groups whose scores have scales of their own; the truth is a line of the place."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_candidates)
    place = rng.normal(size=len(groups))
    scale = np.exp(rng.normal(size=n_groups))[groups]
    history = rng.integers(1, 50, n_groups)[groups]
    truth = expit(level + 1.5 * place + 0.5 * np.log1p(history) - 1.0)
    return groups, scale * place, rng.random(len(groups)) < truth, history, truth


@pytest.fixture(scope="module")
def fitted():
    groups, scores, labels, history, _ = drawn()
    return sn.ListCalibrator().fit(scores, labels, groups=groups, history=history)


class TestOrder:
    def test_it_rises_strictly_with_the_score(self, fitted):
        scores = np.linspace(-20, 20, 400)
        found = fitted.log_odds(scores, groups=np.zeros(400, int), history=np.full(400, 7))
        assert np.all(np.diff(found) > 0)

    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.integers(0, 500))
    @settings(max_examples=60, deadline=None)
    def test_the_order_of_any_scores_stays_and_ties_have_one_probability(self, fitted, scores, history):
        given_ = np.array(scores)
        with_any = np.full(len(given_), "any")
        found = fitted.log_odds_of(given_, fitted.grouped(given_, with_any, np.full(len(given_), history), None))
        assert np.isfinite(found).all()
        order = np.argsort(given_, kind="stable")
        assert np.all(np.diff(found[order]) >= 0)
        for score in np.unique(given_):
            assert np.ptp(found[given_ == score]) == 0

    def test_the_order_of_rows_does_not_matter(self):
        groups, scores, labels, history, _ = drawn(100)
        shuffled = np.random.default_rng(1).permutation(len(scores))
        plain = sn.ListCalibrator().fit(scores, labels, groups=groups, history=history)
        other = sn.ListCalibrator().fit(
            scores[shuffled], labels[shuffled], groups=groups[shuffled], history=history[shuffled]
        )
        again = other.probability(scores[shuffled], groups=groups[shuffled], history=history[shuffled])
        assert_allclose(again, plain.probability(scores, groups=groups, history=history)[shuffled], rtol=1e-6)


class TestGroups:
    def test_a_group_never_met_is_like_one_that_was(self, fitted):
        groups, scores, _, history, _ = drawn(5)
        known = fitted.probability(scores, groups=groups, history=history)
        new = fitted.probability(scores, groups=[f"query {group}" for group in groups], history=history)
        assert_array_equal(known, new)

    def test_blocks_and_rows_agree(self, fitted):
        groups, scores, _, history, _ = drawn(8, 70)
        block = -np.sort(-scores.reshape(8, 70), axis=1)
        who = Who(8, groups=fitted.groups_of(block[:, :50], history.reshape(8, 70)[:, 0], {}))
        rows = fitted.probability(block.ravel(), groups=groups, history=history)
        assert_allclose(fitted.probability_of(block, who).ravel(), rows, rtol=1e-12)

    def test_candidates_below_the_best_change_nothing(self, fitted):
        best = np.linspace(1.0, 3.0, 50)
        alone = fitted.probability(best, groups=np.zeros(50, int), history=np.full(50, 3))
        more = np.concatenate([best, np.linspace(-9, 0.5, 1_000)])
        together = fitted.probability(more, groups=np.zeros(1_050, int), history=np.full(1_050, 3))
        assert_allclose(together[:50], alone, rtol=1e-12)

    def test_small_groups_use_the_score_alone(self, fitted):
        for others in ([0.1, 0.2], [5.0, 9.0]):
            found = fitted.probability([0.7, *others], groups=["a"] * 3, history=[3] * 3)[0]
            alone = fitted.probability([0.7], groups=["b"], history=[3])[0]
            assert found == pytest.approx(alone, rel=1e-12)

    def test_equal_scores_have_one_probability(self, fitted):
        found = fitted.probability(np.full(40, 0.3), groups=["a"] * 40, history=[3] * 40)
        assert np.ptp(found) == 0
        assert 0 < found[0] < 1

    @given(st.integers(1, 40), st.integers(1, 12))
    @settings(max_examples=30, deadline=None)
    def test_moments_of_rows_are_those_of_blocks(self, n, best):
        block = -np.sort(-np.random.default_rng(n).normal(size=(3, n)), axis=1)
        rows, codes = block.ravel(), np.repeat(np.arange(3), n)
        of_rows = Groups.of_rows(rows, codes, among_best(rows, codes, best))
        of_blocks = Groups.of_blocks(block[:, :best])
        for name in ("count", "mean", "spread"):
            assert_allclose(getattr(of_rows, name), getattr(of_blocks, name), rtol=1e-9, atol=1e-12)


class TestFit:
    def test_it_finds_the_truth(self):
        groups, scores, labels, history, _ = drawn(3_000)
        fitted = sn.ListCalibrator().fit(scores, labels, groups=groups, history=history)
        groups, scores, _, history, truth = drawn(1_000, seed=1)
        found = fitted.probability(scores, groups=groups, history=history)
        assert found.sum() == pytest.approx(truth.sum(), rel=0.02)
        assert np.abs(found - truth).mean() < 0.03  # the mean and spread of 30 scores are noisy

    @pytest.mark.parametrize(
        "change",
        [
            np.exp,
            lambda s: np.exp(3 * s),
            lambda s: np.round(2 * s),
            lambda s: s**3,
            lambda s: -np.exp(-3 * s),
            lambda s: 1e6 + s,
            lambda s: 1e-9 * s,
        ],
        ids=["exponential", "steep exponential", "tied", "two long tails", "a long tail below", "far from 0", "tiny"],
    )
    def test_scores_of_any_shape_are_no_harm(self, change):
        rng = np.random.default_rng(0)
        groups = np.repeat(np.arange(2_000), 30)
        place = rng.normal(size=len(groups))
        truth = expit(-2.5 + 1.5 * place)
        scores, labels = change(place), rng.random(len(groups)) < truth
        found = sn.ListCalibrator().fit(scores, labels, groups=groups).probability(scores, groups=groups)
        known = truth if len(np.unique(scores)) == len(scores) else _mean_by(scores, truth)
        assert np.abs(found - known).mean() < 0.02
        assert found.sum() == pytest.approx(truth.sum(), rel=0.02)

    def test_the_terms_minimise_the_penalised_risk(self):
        rng = np.random.default_rng(0)
        x, activity = rng.normal(size=2_000), rng.random(2_000)
        labels = (rng.random(2_000) < expit(x - 2)).astype(float)
        inputs = Inputs({"score": x}, activity, {"history": 3 * activity})
        plan = TermPlan({"score": 3}, {"history": 2}, by_history=True)
        terms = learn_terms(inputs, plan, labels, np.ones(2_000))
        blocks = list(list_terms._blocks(inputs, plan, labels > 0))
        design = np.stack([np.ones(2_000), *(column for block in blocks for column in block.columns)], axis=1)
        penalty = design.var(axis=0) * (np.arange(design.shape[1]) > 0)

        def risk(theta):
            z = design @ theta
            gradient = design.T @ (expit(z) - labels) + penalty * theta
            return np.logaddexp(0, z).sum() - labels @ z + penalty @ theta**2 / 2, gradient

        bounds = [(None, None)] + [(0 if block.is_rising else None, None) for block in blocks for _ in block.columns]
        best = minimize(
            risk, np.zeros(design.shape[1]), jac=True, bounds=bounds, options={"maxiter": 5_000, "ftol": 1e-15}
        )
        assert_allclose(expit(terms.log_odds(inputs)), expit(design @ best.x), atol=2e-4)

    @given(st.integers(0, 200))
    @settings(max_examples=40, deadline=None)
    def test_the_bounded_minimum_agrees_with_scipy(self, seed):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(1, 9))
        root = rng.normal(size=(k + 3, k))
        lowest = np.where(rng.random(k) < 0.7, -rng.exponential(size=k) * (rng.random(k) < 0.6), -np.inf)
        target = rng.normal(size=k + 3)
        expected = lsq_linear(root, target, bounds=(lowest, np.inf), tol=1e-14).x
        assert_allclose(bounded_minimum(root.T @ root, -root.T @ target, lowest), expected, atol=1e-6)

    def test_few_positives_have_few_terms_and_it_is_printed(self):
        groups, scores, labels, history, _ = drawn(40, level=-3.5)
        assert labels.sum() < 300
        fitted = sn.ListCalibrator().fit(scores, labels, groups=groups, history=history)
        assert "fewer than 300 positives" in repr(fitted)
        assert len(fitted.terms_.rising["place"].light.slopes) == 1
        assert fitted.terms_.rising["place"].heavy is None

    def test_some_groups_suffice_whatever_the_order(self):
        groups, scores, labels, _, _ = drawn(900)
        names = np.array([f"user {group}" for group in groups])
        few = sn.ListCalibrator(n_groups=100)
        first = few.fit(scores, labels, groups=names).terms_
        assert few.n_groups_ == 500  # five times as many, because 10,000 positives are wanted
        again = sn.ListCalibrator(n_groups=100).fit(scores[::-1], labels[::-1], groups=names[::-1]).terms_
        assert first.intercept == pytest.approx(again.intercept, rel=1e-6)

    def test_a_source_and_its_rows_agree(self):
        rng = np.random.default_rng(0)
        matrix = rng.normal(size=(80, 60)).astype(np.float32)
        held_out = rng.random((80, 60)) < expit(matrix - 2)
        seen = (rng.random((80, 60)) < 0.1) & ~held_out
        logs = [sn.Interactions.from_matrix(part) for part in (held_out, seen)]
        of_source = sn.ListCalibrator().fit_source(sn.MatrixSource(matrix), logs[0], seen=logs[1])
        users, items = np.nonzero(~seen)
        history = seen.sum(axis=1)[users]
        of_rows = sn.ListCalibrator().fit(matrix[users, items], held_out[users, items], groups=users, history=history)
        assert_allclose(
            of_source.probability(matrix[users, items], groups=users, history=history),
            of_rows.probability(matrix[users, items], groups=users, history=history), rtol=1e-6,
        )  # fmt: skip


@pytest.fixture(scope="module")
def with_traits():
    rng = np.random.default_rng(0)
    groups, scores, _, history, truth = drawn(1_500)
    market = rng.choice(["de", "fr", "it"], 1_500)[groups]
    price = rng.normal(size=len(groups))
    log_odds = np.log(truth / (1 - truth)) + np.where(market == "de", 1.0, 0.0) - 0.5 * price
    labels = rng.random(len(groups)) < expit(log_odds)
    traits = {"market": market, "price": price}
    return sn.ListCalibrator().fit(scores, labels, groups=groups, history=history, traits=traits)


class TestTraits:
    def ask(self, calibrator, market, price):
        scores = np.linspace(-1, 1, 20)
        return calibrator.log_odds(
            scores, groups=[0] * 20, history=[5] * 20, traits={"market": [market] * 20, "price": [price] * 20}
        )[10]

    def test_categories_and_numbers_move_the_level(self, with_traits):
        assert self.ask(with_traits, "de", 0.0) - self.ask(with_traits, "fr", 0.0) == pytest.approx(1.0, abs=0.2)
        assert self.ask(with_traits, "fr", 1.0) - self.ask(with_traits, "fr", -1.0) == pytest.approx(-1.0, abs=0.2)

    def test_what_was_never_seen_or_is_missing_adds_about_nothing(self, with_traits):
        known = [self.ask(with_traits, market, 0.0) for market in ("de", "fr", "it")]
        assert min(known) - 0.2 < self.ask(with_traits, "mars", 0.0) < max(known)
        assert self.ask(with_traits, None, 0.0) == self.ask(with_traits, "mars", 0.0)
        assert self.ask(with_traits, "fr", None) == pytest.approx(self.ask(with_traits, "fr", 0.0), abs=0.2)

    def test_values_that_do_not_differ_are_shrunk(self):
        rng = np.random.default_rng(0)
        groups, scores, labels, _, _ = drawn(400)
        noise = rng.choice([f"value {n}" for n in range(50)], 400)[groups]
        fitted = sn.ListCalibrator().fit(scores, labels, groups=groups, traits={"noise": noise})
        assert np.abs(list(fitted.terms_.effects["noise"].values())).max() < 0.3

    @pytest.mark.parametrize("unit", [1e-150, 1e-18, 1e90])
    def test_the_unit_of_a_trait_makes_no_difference(self, unit):
        groups, scores, labels, _, _ = drawn(400)
        price = np.exp(np.random.default_rng(0).normal(size=len(groups)))
        ask = {"groups": groups, "traits": {"price": price}}
        plain = sn.ListCalibrator().fit(scores, labels, **ask).probability(scores, **ask)
        ask["traits"] = {"price": price * unit}
        assert_allclose(sn.ListCalibrator().fit(scores, labels, **ask).probability(scores, **ask), plain, rtol=1e-4)

    def test_names_may_come_as_python_objects_with_some_missing(self):
        groups, scores, labels, _, _ = drawn(400)
        names = np.where(groups % 2, "de", "fr")
        fits = [
            sn.ListCalibrator().fit(scores, labels, groups=groups, traits={"market": given})
            for given in (
                pl.Series(names).set(pl.Series(groups < 100), None),
                np.where(groups < 100, None, names.astype(object)),
                np.where(groups < 100, np.nan, names.astype(object)),
            )
        ]
        assert fits[0].terms_.plain() == fits[1].terms_.plain() == fits[2].terms_.plain()

    def test_a_trait_that_is_not_given_is_refused(self, with_traits):
        with pytest.raises(ColumnError, match="market, price|price, market"):
            with_traits.probability([0.1], groups=[1], history=[3])
        with pytest.raises(ColumnError, match="price"):
            with_traits.probability([0.1], groups=[1], history=[3], traits={"market": ["de"]})


class TestPreference:
    def test_propensities_give_preference(self):
        rng = np.random.default_rng(0)
        groups, scores, _, _, truth = drawn(3_000, level=-1.5)
        omega = rng.uniform(0.3, 1.0, len(groups))
        seen_and_liked = (rng.random(len(groups)) < truth) & (rng.random(len(groups)) < omega)
        fitted = sn.ListCalibrator().fit(scores, seen_and_liked, groups=groups, propensity=omega)
        assert fitted.estimand_ == "preference"
        assert fitted.probability(scores, groups=groups).sum() == pytest.approx(truth.sum(), rel=0.03)

    def test_a_base_rate_is_met(self):
        groups, scores, labels, _, _ = drawn(300)
        data = sn.CalibrationSet.from_pairs(scores, labels, users=groups, base_rate=0.05)
        fitted = sn.ListCalibrator().fit(data)
        assert fitted.probability(scores, groups=groups).mean() == pytest.approx(0.05, rel=1e-6)

    def test_an_anchor_fixes_the_level(self):
        rng = np.random.default_rng(1)
        groups, scores, labels, _, _ = drawn(500)
        uniform = rng.normal(size=4_000)
        anchor = sn.data.ScoredPairs.of(uniform, rng.random(4_000) < 0.5)
        plain = sn.ListCalibrator().fit(sn.CalibrationSet.from_pairs(scores, labels, users=groups))
        fitted = sn.ListCalibrator().fit(sn.CalibrationSet.from_pairs(scores, labels, users=groups, anchor=anchor))
        one = np.full(1, 0.0)
        assert abs(fitted.log_odds(one, groups=[0])[0]) < abs(plain.log_odds(one, groups=[0])[0])

    def test_a_weight_counts_labels(self):
        groups, scores, labels, _, _ = drawn(400)
        heavier = sn.ListCalibrator().fit(scores, labels, groups=groups, sample_weight=np.where(labels, 3.0, 1.0))
        odds = np.exp(heavier.log_odds(scores, groups=groups)).mean()
        plain = sn.ListCalibrator().fit(scores, labels, groups=groups)
        assert odds == pytest.approx(3 * np.exp(plain.log_odds(scores, groups=groups)).mean(), rel=0.2)


class TestFiles:
    def test_it_is_a_small_file_that_people_can_read(self, fitted, tmp_path):
        fitted.save(tmp_path / "lists.json")
        assert (tmp_path / "lists.json").stat().st_size < 5_000
        state = json.loads((tmp_path / "lists.json").read_text())
        assert "place" in json.dumps(state)
        opened = sn.load(tmp_path / "lists.json")
        groups, scores, _, history, _ = drawn(5)
        expected = fitted.probability(scores, groups=groups, history=history)
        assert_array_equal(opened.probability(scores, groups=groups, history=history), expected)
        assert opened.reads() == ("score", "user_id", "history")
        assert (opened.estimand_, opened.horizon_) == (fitted.estimand_, fitted.horizon_)

    def test_a_recommender_stores_of_a_user_only_what_was_seen(self, tmp_path):
        rng = np.random.default_rng(0)
        n_users, n_items = 20_000, 30
        factors = sn.FactorSource(np.zeros((n_users, 1), np.float32), rng.normal(size=(n_items, 1)).astype(np.float32))
        held_out = sn.Interactions.of(np.arange(200), np.arange(200) % n_items)
        source = sn.FactorSource(np.ones((n_users, 1), np.float32), factors.item_factors)
        recommender = sn.ConfidentRecommender(source, policy=sn.FixedSize(3)).fit("nothing", held_out)
        recommender.save(tmp_path / "r.sureness")
        stored = sum(np.prod(part.shape) * part.dtype.itemsize for part in (source.user_factors, source.item_factors))
        indices = 8 * (n_users + 1) + 8 * 200
        assert (tmp_path / "r.sureness").stat().st_size < stored + indices + 20_000


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"groups": None}, SettingError, "groups"),
            ({"groups": ["a", None, "a", "b"]}, DataError, "missing"),
            ({"groups": ["a", "b"]}, DataError, "4"),
            ({"labels": [0, 0, 0, 0]}, EmptyError, "no positive"),
            ({"labels": [1, 1, 1, 1]}, EmptyError, "no negative"),
            ({"history": [1, 1, 2]}, DataError, "history"),
            ({"history": [1, 1, -2, 3]}, DataError, "0 or more, got -2"),
            ({"history": ["a", "b", "c", "d"]}, DataError, "numbers of items"),
            ({"history": [np.nan] * 4}, DataError, "missing for every group"),
            ({"history": [1, 2, 1, 4], "groups": ["a", "a", "b", "b"]}, DataError, "one group has 1 and 2"),
            ({"traits": {"price": [1.0, 2.0]}}, DataError, "price"),
            ({"traits": {"tags": [["a"], ["b"], ["a"], ["b"]]}}, DataError, "'tags' must have one number or name"),
            ({"traits": {"price": [1.0, np.inf, 2.0, 3.0]}}, DataError, "'price' must lie within"),
            ({"traits": {"price": [1.0, -1e300, 2.0, 3.0]}}, DataError, "'price' must lie within"),
            ({"traits": {"spread": [1.0, 2.0, 3.0, 4.0]}}, SettingError, "cannot be called 'spread'"),
            ({"traits": {"history": ["a", "b", "a", "b"]}}, SettingError, "cannot be called 'history'"),
        ],
    )
    def test_what_cannot_be_fitted_is_refused_in_a_sentence(self, change, error, message):
        pairs = {"scores": [0.1, 0.2, 0.3, 0.4], "labels": [0, 1, 0, 1], "groups": ["a", "a", "b", "b"]} | change
        with pytest.raises(error, match=message):
            sn.ListCalibrator().fit(pairs.pop("scores"), pairs.pop("labels"), **pairs)

    @pytest.mark.parametrize("setting", [{"best": 1}, {"best": 2.5}, {"n_groups": 0}, {"n_groups": True}])
    def test_settings_out_of_range_are_refused(self, setting):
        with pytest.raises(SettingError, match=next(iter(setting))):
            sn.ListCalibrator(**setting).fit([0.1, 0.2], [0, 1], groups=["a", "a"])

    def test_it_answers_only_after_a_fit_and_with_what_it_was_fitted_on(self, fitted):
        with pytest.raises(sn.errors.NotFittedError):
            sn.ListCalibrator().probability([0.1], groups=["a"])
        with pytest.raises(ColumnError, match="history"):
            fitted.probability([0.1], groups=["a"])
        assert fitted.probability([], groups=[], history=[]).shape == (0,)

    def test_groups_of_one_candidate_can_be_fitted(self):
        rng = np.random.default_rng(0)
        scores = rng.normal(size=3_000)
        labels = rng.random(3_000) < expit(scores - 1)
        fitted = sn.ListCalibrator().fit(scores, labels, groups=np.arange(3_000))
        assert fitted.terms_ is None
        assert np.abs(fitted.probability(scores, groups=np.arange(3_000)) - expit(scores - 1)).mean() < 0.03

    def test_a_missing_history_is_an_ordinary_one(self, fitted):
        scores = np.linspace(-1, 1, 20)
        known = [fitted.probability(scores, groups=[0] * 20, history=[h] * 20)[10] for h in (1, 49)]
        unknown = fitted.probability(scores, groups=[0] * 20, history=[np.nan] * 20)[10]
        assert min(known) < unknown < max(known)


def test_compression_keeps_the_order_of_anything():
    for scores in (np.zeros(5), np.array([0.0, 0.0, 0.0, 1.0]), np.exp(np.linspace(0, 50, 99))):
        compressed = Compression.of(scores).values(scores)
        assert np.isfinite(compressed).all()
        assert_array_equal(np.argsort(compressed, kind="stable"), np.argsort(scores, kind="stable"))


def _mean_by(scores, truth):
    table = pl.DataFrame({"score": scores, "truth": truth})
    return table.select(pl.col("truth").mean().over("score")).to_series().to_numpy()
