"""The study of list sizes on a small run, and how runs are put together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t as student

import sureness as sn
from sureness.experiments.list_sizes import (
    REFERENCE,
    UTILITIES,
    VARIANTS,
    Variant,
    over_runs,
    study,
    truncation_study,
)
from sureness.models.runs import Run
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
            recommender = sn.ConfidentRecommender(
                run.source, variant.calibrator(), sn.ExpectedUtility("ndcg", max_size=10),
                expected_relevant=variant.expected_relevant,
            ).fit(run.train, run.validation)  # fmt: skip
            mine = recommender.evaluate(run.test)
            found = values.filter(utility="ndcg", policy=variant.name).sort("user")
            assert_allclose(found["value"], mine.values["this"])
            assert found["size"].to_list() == mine.sizes["this"].tolist()

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
        recommender = sn.ConfidentRecommender(
            run.source, sn.PlattCalibrator(), sn.ExpectedUtility(max_size=10), expected_relevant="fitted"
        ).fit(run.train, run.validation)
        seen, taken = recommender.seen_.matrix.toarray() > 0, run.test.matrix.toarray() > 0
        p = recommender.maps_.calibrator.probability(run.source.matrix.ravel()).reshape(seen.shape)
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


class TestOverRuns:
    def tables(self):
        """Two runs of three users, one of whom only the first run knows."""
        columns = ["utility", "policy", "user", "value", "size"]
        first = [("f1", REFERENCE, 0, 0.2, 2), ("f1", REFERENCE, 1, 0.4, 2), ("f1", REFERENCE, 2, 0.3, 2),
                 ("f1", "mine", 0, 0.5, 4), ("f1", "mine", 1, 0.3, 1), ("f1", "mine", 2, 0.6, 1)]  # fmt: skip
        second = [("f1", REFERENCE, 0, 0.1, 3), ("f1", REFERENCE, 1, 0.7, 3), ("f1", "mine", 0, 0.2, 2),
                  ("f1", "mine", 1, 0.7, 2)]  # fmt: skip
        return [pl.DataFrame(rows, schema=columns, orient="row") for rows in (first, second)]

    def test_means_are_over_runs_and_tests_over_users(self):
        table = over_runs(self.tables())
        mine, base = (table.row(by_predicate=pl.col("policy") == name, named=True) for name in ("mine", REFERENCE))
        runs = [(0.5 + 0.3 + 0.6) / 3, (0.2 + 0.7) / 2]
        gains = np.array([(0.3 + 0.1) / 2, (-0.1 + 0.0) / 2, 0.3])
        assert mine["value"] == pytest.approx(np.mean(runs))
        assert mine["deviation"] == pytest.approx(np.std(runs, ddof=1))
        assert mine["mean_size"] == pytest.approx(10 / 5)
        assert mine["gain"] == pytest.approx(gains.mean())
        statistic = gains.mean() / (gains.std(ddof=1) / np.sqrt(3))
        assert mine["p_value"] == pytest.approx(2 * student.sf(abs(statistic), 2))
        assert (base["gain"], base["p_value"]) == (0.0, 1.0)

    def test_one_run_has_no_deviation(self):
        table = over_runs(self.tables()[:1])
        assert table["deviation"].null_count() == 2
        assert table["value"].null_count() == 0

    def test_another_reference_can_be_taken(self):
        mine = over_runs(self.tables(), reference="mine").row(by_predicate=pl.col("policy") == REFERENCE, named=True)
        assert mine["gain"] == pytest.approx(-0.15)

    def test_the_tables_of_studies_go_together(self, studied):
        tables = [studied[0], study(run_of(1), max_size=10)[0]]
        table = over_runs(tables)
        assert table.height == len(UTILITIES) * (len(BASELINES) + len(VARIANTS))
        oracle = table.filter(policy="Oracle")
        assert np.all(oracle["gain"].to_numpy() > 0)
        assert np.all(oracle["p_value"].to_numpy() < 0.01)
        means = [part.filter(utility="f1", policy="PerK")["value"].mean() for part in tables]
        assert table.filter(utility="f1", policy="PerK")["value"][0] == pytest.approx(np.mean(means))
