"""The study of list sizes on a small run."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.pipeline import Run
from sureness.workflows import REFERENCE
from sureness_reproduction.list_size.policy_study import (
    UTILITIES,
    VARIANTS,
    Variant,
    recommender_of,
    study,
    truncation_study,
)
from tests.pipeline.worlds import shop

BASELINES = {"Oracle", "Top-1", "Top-5", "Top-10", "Rand", REFERENCE, "Val-k", "p >= 0.2"}


def run_of(seed):
    world = shop(80, 50, seed=seed)
    return Run(world.source, world.train, world.validation, world.test)


@pytest.fixture(scope="module")
def run():
    return run_of(0)


@pytest.fixture(scope="module")
def studied(run):
    return study(run, max_size=10)


class TestStudy:
    def test_every_policy_is_judged_by_every_utility_for_every_user(self, run, studied):
        values, _ = studied
        judged = np.flatnonzero(run.test.user_degree).tolist()
        assert values.columns == ["utility", "policy", "user", "value", "size"]
        found = values.group_by("utility", "policy").agg(pl.col("user"))
        expected = BASELINES | {variant.name for variant in VARIANTS}
        assert set(zip(found["utility"], found["policy"], strict=True)) == {
            (utility, policy) for utility in UTILITIES for policy in expected
        }
        assert all(users == judged for users in found["user"].to_list())

    def test_lists_are_as_long_as_they_may_be_and_nothing_beats_the_oracle(self, studied):
        values, _ = studied
        assert values["size"].is_between(1, 10).all()
        oracle = values.filter(policy="Oracle").select("utility", "user", best="value")
        assert values.join(oracle, on=["utility", "user"]).filter(pl.col("value") > pl.col("best") + 1e-12).height == 0

    def test_a_variant_is_its_recommender(self, run, studied):
        values, _ = studied
        for variant in (VARIANTS[0], VARIANTS[2]):
            recommender = recommender_of(run, variant, 10)
            mine = recommender.evaluate(
                run.test, utility="ndcg", policies={"own": sn.ExpectedUtility("ndcg", max_size=10)}
            )
            found = values.filter(utility="ndcg", policy=variant.name).sort("user")
            assert_allclose(found["value"], mine.values["own"])
            assert found["size"].to_list() == mine.sizes["own"].tolist()

    def test_one_map_for_all_is_fitted_on_all_candidates_as_published(self, run):
        published = sn.PlattCalibrator().fit_source(run.source, run.validation, seen=run.train)
        found = recommender_of(run, VARIANTS[2], 10).map_
        assert_allclose(found.probability([0.1, 1.0]), published.probability([0.1, 1.0]))

    def test_policies_that_learn_have_never_seen_the_test_items(self, run, studied):
        values, _ = studied
        recommender = sn.ConfidentRecommender(run.source, policy=sn.ExpectedUtility(max_size=10))
        before = recommender.fit(run.train, run.validation).validation_lists(run.train, run.validation)
        judged = recommender.lists(labels=run.test).take(np.flatnonzero(run.test.user_degree))
        for name, kind in ((REFERENCE, sn.BestFixedSize), ("Val-k", sn.ValidationBest)):
            sizes = kind("tp", max_size=10).fit(before).sizes(judged)
            assert values.filter(utility="tp", policy=name).sort("user")["size"].to_list() == sizes.tolist()
        val, best = (values.filter(policy=name)["value"].mean() for name in ("Val-k", "Oracle"))
        assert val < 0.9 * best

    def test_calibration_errors_are_those_of_all_candidates_and_of_the_longest_lists(self, run, studied):
        _, errors = studied
        assert errors["variant"].to_list() == [variant.name for variant in VARIANTS]
        recommender = recommender_of(run, VARIANTS[2], 10)
        seen, taken = recommender.seen_.matrix.toarray() > 0, run.test.matrix.toarray() > 0
        p = recommender.map_.probability(run.source.matrix.ravel()).reshape(seen.shape)
        row = errors.row(2, named=True)
        assert row["ece"] == pytest.approx(sn.expected_calibration_error(taken[~seen].astype(int), p[~seen], n_bins=15))
        lists = recommender.lists(labels=run.test)
        known = np.arange(10) < lists.lengths[:, None]
        shown = sn.expected_calibration_error(lists.hits[known].astype(int), lists.probabilities[known])
        assert row["ece_top"] == pytest.approx(shown)
        uncalibrated = errors.row(3, named=True)
        assert uncalibrated["ece"] > 3 * row["ece"]

    def test_learned_policies_can_be_added(self, run):
        asked = []

        def learned(utility, before):
            asked.append((utility, before.hits.sum()))
            return {"my four": sn.FixedSize(4)}

        variants = [Variant("mine", sn.PlattCalibrator)]
        values, errors = study(run, max_size=10, utilities=["f1", "tp"], variants=variants, learned=learned)
        assert set(values["policy"]) == BASELINES | {"mine", "my four"}
        assert [utility for utility, _ in asked] == ["f1", "tp"]
        assert asked[0][1] > 0, "from lists with validation items as hits"
        assert errors["variant"].to_list() == ["mine"]

    def test_progress_is_told_for_every_variant(self, run):
        told = []
        variants = [Variant("mine", sn.PlattCalibrator), Variant("yours", sn.PlattCalibrator, "fitted")]
        study(run, max_size=5, utilities=["f1"], variants=variants, progress=lambda *step: told.append(step))
        assert told == [("mine", 0, 2), ("yours", 1, 2)]

    def test_a_run_without_its_split_is_refused(self, run):
        with pytest.raises(sn.DataError, match="needs a run with train, validation and test parts"):
            study(Run(run.source, run.train, run.validation))


def test_the_more_terms_of_the_text_the_nearer_to_all_of_them(run):
    table = truncation_study(run, terms=(1, 3, 1_000), utilities=("f1",), max_size=10)
    assert table["policy"].to_list() == ["M = 1", "M = 3", "M = 1,000", "exact"]
    sizes = dict(zip(table["policy"], table["mean_size"], strict=True))
    gap = [abs(sizes[f"M = {m}"] - sizes["exact"]) for m in ("1", "3", "1,000")]
    assert gap[0] > gap[1] > gap[2]
    assert table.filter(policy="exact")["difference"].to_list() == [0.0]
