"""Lists as long as they are good: what is shown, how sizes come from probabilities, and what is expected."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import sureness as sn
from sureness._settings import clone, written
from sureness.calibration import SigmoidCalibrator
from sureness.lists import Oracle, RandomSize
from sureness.lists.expectation import expected_utility
from sureness.lists.policies import best_sizes
from sureness.recommender import candidates
from sureness.sources import aligned
from tests.recommender.worlds import shop

CALIBRATORS = {
    "per user, all": sn.calibration.PerUserPlatt(top=None), "per user, top": sn.calibration.PerUserPlatt(top=15),
    "one for all": sn.PlattCalibrator(), "isotonic": sn.IsotonicCalibrator(), "for lists": sn.ListCalibrator(),
}  # fmt: skip
EVERY = pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)
COLUMNS = ["user_id", "rank", "item_id", "score", "probability", "list_size", "expected_utility", "unsure"]


@pytest.fixture(scope="module")
def small():
    return shop(names=True)


def fitted(world, calibrator=None, policy=None, **settings):
    calibrator = clone(calibrator) if calibrator is not None else sn.ListCalibrator()
    policy = policy if policy is not None else sn.ExpectedUtility(max_size=10)
    return sn.ConfidentRecommender(world.source, calibrator, policy, **settings).fit(world.train, world.validation)


def of_the_labels():
    """A map that was fitted elsewhere is about the period of its labels, which is said."""
    return pytest.warns(sn.errors.SurenessWarning, match="period of the labels")


def candidates_of(recommender):
    """Scores of all unseen items, falling, -inf behind them; and how many there are."""
    scores = recommender.source.score_block(np.arange(recommender.source.n_users)).astype(np.float64)
    scores[recommender.seen_.user_rows, recommender.seen_.item_rows] = -np.inf
    return -np.sort(-scores, axis=1), np.isfinite(scores).sum(axis=1)


def every_candidate(recommender):
    """The same recommender with lists of all candidates, whatever is worth showing."""
    longer = replace_policy(recommender, recommender.source.n_items)
    return longer.lists()


def replace_policy(recommender, max_size):
    changed = copy.copy(recommender)
    changed.policy_ = sn.ExpectedUtility(recommender.policy_.utility, max_size=max_size)
    return changed


@pytest.fixture(scope="module")
def table(small):
    return fitted(small).recommend()


class TestLists:
    def test_the_table_has_the_agreed_columns(self, table):
        assert table.columns == COLUMNS
        assert table.schema["user_id"] == pl.String
        assert table.schema["score"] == pl.Float32

    def test_each_list_is_ranked_from_one_to_its_size(self, small, table):
        sizes = dict(fitted(small).sizes().select("user_id", "list_size").iter_rows())
        assert set(table["user_id"]) == {user for user, size in sizes.items() if size}
        for (user,), part in table.group_by("user_id", maintain_order=True):
            assert part["rank"].to_list() == list(range(1, sizes[user] + 1))
            assert part["list_size"].unique().to_list() == [sizes[user]]
            assert part["score"].is_sorted(descending=True)
            assert part["probability"].is_sorted(descending=True)
            assert part["item_id"].n_unique() == part.height

    def test_nobody_sees_again_what_was_seen(self, small, table):
        for log in (small.train, small.validation):
            assert table.join(log.table(), on=["user_id", "item_id"]).height == 0

    def test_the_best_unseen_items_are_shown_with_their_scores(self, small, table):
        recommender = fitted(small)
        best, _ = candidates_of(recommender)
        rows = small.source.users.rows(table["user_id"])
        assert_array_equal(table["score"].to_numpy(), best[rows, table["rank"].to_numpy() - 1].astype(np.float32))
        columns = small.source.items.rows(table["item_id"])
        assert_array_equal(table["score"].to_numpy(), small.source.matrix[rows, columns])

    @EVERY
    def test_sizes_agree_with_lists(self, small, calibrator):
        recommender = fitted(small, calibrator)
        table, sizes = recommender.recommend(), recommender.sizes()
        firsts = table.filter(rank=1).select("user_id", "list_size", "expected_utility", "unsure")
        shown = sizes.filter(pl.col("list_size") > 0)
        assert firsts.equals(shown.select("user_id", "list_size", "expected_utility", "unsure"))

    def test_some_users_can_be_asked_for_in_any_order(self, small):
        recommender = fitted(small)
        asked = ["user 007", "user 002", "user 007"]
        sizes = recommender.sizes(asked)
        assert sizes["user_id"].to_list() == asked
        whole = recommender.recommend()
        expected = pl.concat([whole.filter(user_id=user) for user in asked])
        assert recommender.recommend(asked).equals(expected)

    def test_nobody_may_be_asked_for(self):
        recommender = fitted(shop())
        nobody = recommender.recommend([])
        assert (nobody.height, nobody.columns) == (0, COLUMNS)
        assert recommender.sizes([]).height == 0

    def test_unknown_users_are_named(self, small):
        with pytest.raises(sn.errors.IdError, match="user"):
            fitted(small).recommend(["user 999"])

    def test_the_size_of_a_block_does_not_matter(self, small, monkeypatch):
        whole = fitted(small)
        monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 7 * 40)
        blocks = fitted(small)
        length = 40
        for entries, steps in ((1, [*range(7, 57, 7), 60]), (20 * length, [21, 42, 60]), (10**6, [60])):
            monkeypatch.setattr(candidates, "_ENTRIES", entries)
            assert blocks.recommend().equals(whole.recommend())
            assert blocks.sizes().equals(whole.sizes())
            told = []
            blocks.recommend(progress=lambda *step, told=told: told.append(step))
            assert [done for _, done, _ in told] == steps

    @pytest.mark.parametrize("policy", [sn.ExpectedUtility(max_size=10), sn.FixedSize(3)], ids=repr)
    def test_a_user_who_has_seen_everything_gets_nothing(self, small, policy):
        taken = small.train.matrix.toarray()
        taken[5] = 1
        train = sn.Interactions.from_matrix(taken, small.source.users, small.source.items)
        later = small.validation.keep(small.validation.user_rows != 5)
        recommender = sn.ConfidentRecommender(small.source, policy=policy).fit(train, later)
        sizes = recommender.sizes()
        assert (sizes["list_size"][5], sizes["unsure"][5]) == (0, True)
        assert sizes["unsure"].sum() == 1
        assert recommender.recommend(["user 005"]).height == 0

    def test_an_empty_list_may_be_the_best(self, small):
        recommender = fitted(small, policy=sn.ExpectedUtility("pdcg", min_size=0, max_size=10))
        sizes = recommender.sizes()
        empty = sizes.filter(list_size=0)
        assert 0 < empty.height < 60
        assert empty["unsure"].all()
        assert set(recommender.recommend()["user_id"]) == set(sizes["user_id"]) - set(empty["user_id"])

    @pytest.mark.parametrize(
        "policy",
        [sn.FixedSize(3), sn.lists.BestFixedSize(max_size=10), sn.Threshold(0.3, max_size=10), RandomSize(max_size=10),
         sn.lists.ValidationBest(max_size=10)],
        ids=repr,
    )  # fmt: skip
    def test_other_policies_have_no_expected_utility(self, small, policy):
        recommender = fitted(small, policy=policy)
        assert recommender.recommend()["expected_utility"].null_count() == recommender.recommend().height
        assert recommender.sizes()["expected_utility"].null_count() == 60
        assert_array_equal(recommender.sizes()["list_size"].to_numpy(), recommender.policy_.sizes(recommender.lists()))

    def test_a_policy_that_learns_learns_from_lists_that_still_have_the_validation_items(self, small):
        recommender = fitted(small, policy=sn.lists.BestFixedSize(max_size=10))
        before = recommender.validation_lists(small.train, small.validation)
        found = [set(row[hits]) for row, hits in zip(before.scores, before.hits, strict=True)]
        validation = small.validation
        held_out = [set(small.source.matrix[user, validation.items_of(user)].tolist()) for user in range(60)]
        assert all(some <= all_ for some, all_ in zip(found, held_out, strict=True))
        assert before.hits.sum() > 100
        assert recommender.policy_.size_ == sn.lists.BestFixedSize(max_size=10).fit(before).size_

    def test_the_oracle_cannot_recommend(self, small):
        with pytest.raises(sn.errors.DataError, match="needs"):
            fitted(small, policy=Oracle(max_size=10)).recommend()


class TestSizes:
    @EVERY
    @pytest.mark.parametrize("utility", ["ndcg", "pdcg", "f1", "tp"])
    @pytest.mark.parametrize("target", ["carried", "fitted"])
    def test_sizes_are_those_of_all_candidates_one_by_one(self, small, calibrator, utility, target):
        recommender = fitted(small, calibrator, sn.ExpectedUtility(utility, max_size=5), expected_relevant=target)
        every = every_candidate(recommender)
        p, lengths = every.probabilities, every.lengths
        plain = p[:, 5:].max(axis=1) < 0.5  # otherwise power sums do not suffice
        assert plain.sum() > 45
        expected = expected_utility(p, utility, max_size=5, lengths=lengths)
        assert_allclose(recommender.policy_.expected(recommender.lists())[plain], expected[plain], atol=2e-6)
        sizes = np.minimum(best_sizes(expected, 1), lengths)
        found = recommender.sizes()
        assert_array_equal(found["list_size"].to_numpy()[plain], sizes[plain])
        best = expected[np.arange(60), sizes - 1]
        assert_allclose(found["expected_utility"].to_numpy()[plain], best[plain], atol=2e-6)
        assert_allclose(found["expected_relevant"], p.sum(axis=1))

    def test_lists_longer_than_the_range_of_the_fit_count_nothing_twice(self):
        world = shop(300, 120, level=-2.0, seed=1)
        totals = []
        for max_size in (10, 60):
            policy = sn.ExpectedUtility(max_size=max_size)
            found = fitted(world, sn.ListCalibrator(best=15), policy, expected_relevant="fitted").sizes()
            totals.append(found["expected_relevant"].mean())
        assert totals[1] == pytest.approx(totals[0], rel=0.15)

    @pytest.mark.parametrize("max_size", [3, 10])
    def test_likely_items_below_a_short_list_count_nearly_as_they_should(self, max_size):
        world = shop(level=3.0)
        recommender = fitted(world, policy=sn.ExpectedUtility("f1", max_size=max_size), expected_relevant="fitted")
        every = every_candidate(recommender)
        assert np.mean(every.probabilities[:, max_size] > 0.4) > 0.5
        expected = expected_utility(every.probabilities, "f1", max_size=max_size, lengths=every.lengths)
        assert_allclose(recommender.policy_.expected(recommender.lists()), expected, atol=0.02)
        assert_array_equal(recommender.sizes()["list_size"], np.minimum(best_sizes(expected, 1), every.lengths))


class TestHowManyAreRelevant:
    @pytest.mark.parametrize("calibrator", [sn.ListCalibrator(), sn.PlattCalibrator()], ids=["lists", "one for all"])
    def test_carried_is_as_many_as_in_the_validation_part(self, calibrator):
        world = shop(400, 80, seed=4)
        found = fitted(world, calibrator).sizes()["expected_relevant"]
        assert found.mean() == pytest.approx(world.validation.user_degree.mean(), rel=0.1)

    @EVERY
    def test_carried_is_the_odds_of_what_is_fitted(self, small, calibrator):
        carried = fitted(small, calibrator).lists().probabilities
        as_fitted = fitted(small, calibrator, expected_relevant="fitted").lists().probabilities
        odds = as_fitted / np.maximum(1 - as_fitted, 1e-300)
        assert_allclose(carried, odds / (1 + odds**4) ** 0.25, rtol=1e-9)

    @EVERY
    def test_a_number_or_one_for_each_user_is_met(self, small, calibrator):
        assert_allclose(fitted(small, calibrator, expected_relevant=2.5).sizes()["expected_relevant"], 2.5)
        numbers = np.linspace(0.5, 6.0, 60)
        found = fitted(small, calibrator, expected_relevant=numbers)
        assert_allclose(found.sizes()["expected_relevant"], numbers)
        assert_allclose(found.sizes(["user 050"])["expected_relevant"], numbers[50])

    def test_more_relevant_items_make_longer_lists_and_higher_probabilities(self, small):
        few, many = (fitted(small, expected_relevant=number) for number in (1.0, 6.0))
        assert np.all(many.lists().probabilities >= few.lists().probabilities)
        assert many.sizes()["list_size"].sum() > few.sizes()["list_size"].sum()

    @pytest.mark.parametrize("target", [0.0, -1.0, np.nan, np.inf])
    def test_a_number_that_no_user_can_have_is_refused(self, small, target):
        with pytest.raises(sn.errors.SettingError, match="numbers"):
            fitted(small, expected_relevant=target)

    @pytest.mark.parametrize("target", [40.0, 1e6])
    def test_a_number_that_cannot_be_met_is_refused_with_those_that_can(self, small, target):
        with pytest.raises(sn.errors.SettingError, match="fitted"):  # fmt: skip
            fitted(small, expected_relevant=target)

    def test_users_who_cannot_have_that_many_keep_their_probabilities_and_it_is_said(self, small):
        as_fitted = fitted(small, expected_relevant="fitted")
        n_possible = np.array([as_fitted.source.n_items - len(as_fitted.seen_.items_of(row)) for row in range(60)])
        target = float(np.median(n_possible))
        unmet = n_possible <= target
        assert 0 < unmet.sum() < 60
        with pytest.warns(sn.errors.SurenessWarning, match=f"{unmet.sum()} of 60 users"):
            found = fitted(small, expected_relevant=target)
        met, before = (each.sizes()["expected_relevant"].to_numpy() for each in (found, fitted(small)))
        assert_allclose(met[~unmet], target)
        assert_allclose(met[unmet], before[unmet])

    def test_items_that_are_certain_cannot_become_fewer(self, small):
        scores = np.linspace(-3, 3, 600)
        labels = (scores > 1) | (np.random.default_rng(0).random(600) < 0.1)
        known = {"calibrator": sn.IsotonicCalibrator().fit(scores, labels), "policy": sn.ExpectedUtility(max_size=10)}
        with of_the_labels():
            carried = sn.ConfidentRecommender(small.source, **known).fit(small.train, small.validation, refit=False)
        n_certain = np.sum(every_candidate(carried).probabilities == 1, axis=1)
        assert 0 < np.count_nonzero(n_certain) < 60
        for target in (n_certain, n_certain - 0.5):
            wanted = sn.ConfidentRecommender(small.source, **known, expected_relevant=np.maximum(target, 0.1))
            with of_the_labels(), pytest.warns(sn.errors.SurenessWarning, match="of 60 users"):
                wanted.fit(small.train, small.validation, refit=False)
            stays = n_certain > 0  # the others are asked for a tenth of an item
            assert_allclose(wanted.lists().probabilities[stays], carried.lists().probabilities[stays])

    @pytest.mark.parametrize(
        ("target", "message"),
        [("guessed", "'fitted' or numbers above 0, at most 10,000,000, got 'guessed'"),
         (np.ones(3), "one for each of 60 users, got"), (np.ones((60, 1)), "one for each of 60 users")],
    )  # fmt: skip
    def test_other_wishes_are_refused(self, small, target, message):
        with pytest.raises(sn.errors.DataError, match=message):
            fitted(small, expected_relevant=target)

    def test_held_out_items_were_candidates_and_are_gone_so_fewer_remain_unless_they_are_carried_over(self):
        world = shop(200, 60, seed=2)
        found = {
            target: fitted(world, expected_relevant=target).sizes()["expected_relevant"].mean()
            for target in ("fitted", "carried")
        }
        later = world.test.user_degree.mean()
        assert found["fitted"] < 0.85 * later
        assert found["carried"] == pytest.approx(later, rel=0.1)


class TestMaps:
    def test_a_plain_calibrator_is_fitted_where_lists_are_made(self):
        world = shop(200, 120, level=-2.0, seed=5)
        fitted_there = fitted(world, sn.PlattCalibrator()).map_
        everywhere = sn.PlattCalibrator().fit_source(world.source, world.validation, seen=world.train)
        assert fitted_there.n_pairs_ == 200 * 50
        assert everywhere.n_pairs_ > fitted_there.n_pairs_

    @pytest.mark.parametrize(("longest", "best"), [(10, 50), (70, 70), (500, 200)])
    def test_it_is_fitted_as_far_down_as_lists_reach(self, small, longest, best):
        assert fitted(small, sn.PlattCalibrator(), sn.ExpectedUtility(max_size=longest)).chances_.best == best

    def test_scores_that_are_only_rescaled_stay_as_they_are(self, small):
        shown = fitted(small, SigmoidCalibrator(), expected_relevant="fitted").recommend()
        assert_allclose(shown["probability"], expit(shown["score"].to_numpy()), rtol=1e-6)

    def test_a_kept_map_of_another_period_is_said(self, small):
        scores, labels = np.linspace(-3, 3, 200), np.arange(200) % 2
        kept = sn.ConfidentRecommender(small.source, sn.PlattCalibrator().fit(scores, labels))
        with pytest.warns(sn.errors.SurenessWarning, match="period of the labels"):
            kept.fit(small.train, small.validation, refit=False)
        of_lists = sn.ListCalibrator().fit_source(small.source, small.validation, seen=small.train)
        sn.ConfidentRecommender(small.source, of_lists).fit(small.train, small.validation, refit=False)

    def test_a_fitted_calibrator_can_be_kept(self, small):
        scores = np.linspace(-3, 3, 200)
        calibrator = sn.PlattCalibrator().fit(scores, np.arange(200) % 2)
        before = calibrator.probability([0.5])[0]
        recommender = sn.ConfidentRecommender(small.source, calibrator, sn.ExpectedUtility(max_size=10),
                                              expected_relevant="fitted")  # fmt: skip
        with of_the_labels():
            recommender.fit(small.train, small.validation, refit=False)
        assert calibrator.probability([0.5])[0] == before
        shown = recommender.recommend()
        assert_allclose(shown["probability"], calibrator.probability(shown["score"].to_numpy()))
        recommender.fit(small.train, small.validation)
        assert calibrator.probability([0.5])[0] == before
        assert recommender.map_.probability([0.5])[0] != before

    def test_fitted_map_of_users_can_be_kept(self, small):
        maps = sn.calibration.PerUserPlatt(top=None).fit(small.source, small.test, seen=small.train)
        coef = maps.coef_.copy()
        sn.ConfidentRecommender(small.source, maps).fit(small.train, small.validation, refit=False)
        assert_array_equal(maps.coef_, coef)
        again = sn.ConfidentRecommender(small.source, maps).fit(small.train, small.validation)
        assert_array_equal(maps.coef_, coef)
        assert np.any(again.map_.coef_ != coef)

    def test_a_kept_map_does_not_change_with_the_given_one(self, small):
        maps = sn.calibration.PerUserPlatt(top=None).fit(small.source, small.validation, seen=small.train)
        recommender = sn.ConfidentRecommender(small.source, maps).fit(small.train, small.validation, refit=False)
        before = recommender.recommend()
        maps.fit(small.source, small.test, seen=small.train)
        assert recommender.recommend().equals(before)

    def test_a_fit_that_fails_leaves_what_was_learned(self, small):
        recommender = sn.ConfidentRecommender(small.source).fit(small.train, small.validation)
        before = recommender.recommend()
        recommender.expected_relevant = 1e5  # more than there are items
        with pytest.raises(sn.errors.SettingError):
            recommender.fit(small.train, small.test)
        assert recommender.recommend().equals(before)

    def test_map_of_other_users_cannot_be_kept(self, small):
        other = shop(30, 40)
        maps = sn.calibration.PerUserPlatt().fit(other.source, other.validation)
        with pytest.raises(sn.errors.IdError, match="fitted"):
            sn.ConfidentRecommender(small.source, maps).fit(small.train, small.validation, refit=False)

    @EVERY
    def test_a_map_that_is_not_fitted_cannot_be_kept(self, small, calibrator):
        with pytest.raises(sn.errors.NotFittedError, match=type(calibrator).__name__):
            sn.ConfidentRecommender(small.source, clone(calibrator)).fit(None, small.validation, refit=False)

    def test_what_is_no_map_is_refused(self, small):
        with pytest.raises(sn.errors.SettingError, match="'platt'"):
            sn.ConfidentRecommender(small.source, "platt").fit(small.train, small.validation)

    @EVERY
    def test_fitting_changes_neither_calibrator_nor_policy(self, small, calibrator):
        """Two recommenders that shared a calibrator overwrote each other's maps."""
        shared, policy = clone(calibrator), sn.lists.ValidationBest(max_size=6)
        first = sn.ConfidentRecommender(small.source, shared, policy).fit(small.train, small.validation)
        before = first.recommend()
        other = shop(20, 40, seed=9)
        sn.ConfidentRecommender(other.source, shared, policy).fit(other.train, other.validation)
        assert first.recommend().equals(before)
        assert not hasattr(shared, "estimand_")
        assert not hasattr(policy, "size_")
        assert first.recommend(["user 059"]).height > 0


@pytest.fixture(scope="module")
def best_fifty():
    """A shop of which only each user's 50 best items are known."""
    world = shop(300, 150, level=-3.0, names=True, seed=3)
    matrix = world.source.matrix
    best = np.argsort(-matrix, axis=1, kind="stable")[:, :50]
    table = pl.DataFrame(
        {"user_id": world.source.users.at(np.repeat(np.arange(300), 50)),
         "item_id": world.source.items.at(best.ravel()), "score": np.take_along_axis(matrix, best, 1).ravel()}
    )  # fmt: skip
    source = sn.CandidateSource.from_table(table, users=world.source.users, items=world.source.items)
    return replace(world, source=source), table


class TestTopTables:
    @EVERY
    def test_the_probabilities_of_a_list_add_up_to_what_is_in_it(self, best_fifty, calibrator):
        world, table = best_fifty
        recommender = fitted(world, calibrator, sn.ExpectedUtility(max_size=20))
        lists = recommender.lists(labels=world.test)
        assert lists.probabilities.sum() == pytest.approx(lists.hits.sum(), rel=0.25)
        assert lists.tail[:, 0].sum() > 50
        if "user_id" not in calibrator.reads() or isinstance(
            calibrator, sn.ListCalibrator
        ):  # fitted where lists are made
            found = recommender.sizes()["expected_relevant"].mean()
            assert found == pytest.approx(world.test.user_degree.mean(), rel=0.1)
        known = set(zip(table["user_id"], table["item_id"], strict=True))
        assert known.issuperset(zip(*recommender.recommend().select("user_id", "item_id"), strict=True))


class TestEvaluating:
    def test_lists_are_judged_beside_other_policies(self, small):
        recommender = fitted(small)
        others = {"three": sn.FixedSize(3), "oracle": Oracle(max_size=10)}
        compared = recommender.evaluate(small.test, policies=others)
        assert compared.utility == "f1"
        assert compared.table["policy"].to_list() == ["this", "three", "oracle"]
        judged = small.test.user_degree > 0
        assert_array_equal(compared.users, np.flatnonzero(judged))
        assert_array_equal(compared.sizes["this"], recommender.sizes()["list_size"].to_numpy()[judged])
        shown = recommender.recommend().join(small.test.table(), on=["user_id", "item_id"], how="left", coalesce=False)
        hits = shown.group_by("user_id").agg(found=pl.col("item_id_right").count(), size=pl.col("list_size").first())
        for user, found, size in hits.iter_rows():
            row = small.source.users.rows([user])[0]
            if judged[row]:
                value = compared.values["this"][np.searchsorted(compared.users, row)]
                assert value == pytest.approx(2 * found / (size + small.test.user_degree[row]))

    def test_a_reference_adds_a_paired_test(self, small):
        others = {"three": sn.FixedSize(3)}
        compared = fitted(small).evaluate(small.test, policies=others, reference="three")
        this, three = compared.table.iter_rows(named=True)
        assert (this["difference"], this["p_value"]) == compared.difference("this", "three")
        assert (three["difference"], three["p_value"]) == (0.0, 1.0)
        with pytest.raises(ValueError, match="reference"):
            fitted(small).evaluate(small.test, policies=others, reference="four")

    def test_the_utility_is_that_of_the_policy_unless_another_is_asked_for(self, small):
        recommender = fitted(small, policy=sn.ExpectedUtility("ndcg", max_size=10))
        assert recommender.evaluate(small.test).utility == "ndcg"
        assert recommender.evaluate(small.test, utility="tp").utility == "tp"
        assert fitted(small, policy=sn.FixedSize(3)).evaluate(small.test).utility == "f1"


class TestManners:
    def test_the_promise_is_that_of_the_lists_it_shows(self, small):
        recommender = sn.ConfidentRecommender(small.source).fit(small.train, small.validation)
        table = recommender.promise(small.test)
        assert table["promised"][0] == pytest.approx(recommender.recommend()["probability"].sum())
        assert table["shown"][0] == recommender.sizes()["list_size"].sum()

    def test_the_map_for_lists_is_the_default(self, small):
        recommender = sn.ConfidentRecommender(small.source).fit(small.train, small.validation)
        assert written(recommender.map_) == "ListCalibrator()"
        assert repr(recommender.policy_) == "ExpectedUtility()"
        assert (recommender.calibrator, recommender.policy) == (None, None)

    def test_without_a_training_log_only_validation_items_are_hidden(self, small):
        recommender = sn.ConfidentRecommender(small.source).fit(None, small.validation)
        assert len(recommender.seen_) == len(small.validation)

    def test_logs_are_matched_to_the_source_by_name(self, small):
        users, items = small.validation.table().sample(fraction=1.0, shuffle=True, seed=1)
        shuffled = sn.Interactions.of([*users, "stranger"], [*items, items[0]])
        found = sn.ConfidentRecommender(small.source, sn.ListCalibrator(), sn.ExpectedUtility(max_size=10))
        with pytest.warns(sn.errors.SurenessWarning, match="1 of the"):
            found.fit(small.train, shuffled)
        assert found.recommend().equals(fitted(small).recommend())

    def test_settings_can_be_read_and_cloned(self, small):
        recommender = fitted(small, policy=sn.FixedSize(3))
        copied = clone(recommender)
        assert copied.source is small.source
        assert copied.policy is not recommender.policy
        assert repr(copied.policy) == "FixedSize(size=3)"
        assert recommender.get_params()["policy__size"] == 3
        assert not hasattr(copied, "map_")

    def test_before_fitting_there_is_nothing_to_use(self, small, tmp_path):
        new = sn.ConfidentRecommender(small.source)
        for use in (
            new.recommend, new.sizes, new.lists, lambda: new.evaluate(small.test),
            lambda: new.validation_lists(None, small.validation), lambda: new.save(tmp_path / "x"),
        ):  # fmt: skip
            with pytest.raises(sn.errors.NotFittedError, match="ConfidentRecommender"):
                use()
        assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize(
        ("policy", "message"),
        [("f1", "policy must be a list-size policy such as ExpectedUtility"),
         (sn.ExpectedUtility(max_size=0), "max_size must be a whole number of at least 1"),
         (sn.ExpectedUtility(min_size=9, max_size=3), "max_size=3 is less than min_size=9")],
    )  # fmt: skip
    def test_a_policy_that_cannot_work_is_refused_before_anything_is_fitted(self, small, policy, message):
        maps = sn.calibration.PerUserPlatt()
        with pytest.raises(sn.errors.DataError, match=message):
            sn.ConfidentRecommender(small.source, maps, policy).fit(small.train, small.validation)
        assert not hasattr(maps, "coef_")

    def test_logs_of_another_shape_are_refused(self):
        world, other = shop(30, 40), shop()
        with pytest.raises(sn.errors.IdError, match="validation"):
            sn.ConfidentRecommender(world.source).fit(world.train, other.validation)
        with pytest.raises(sn.errors.IdError, match="source"):
            sn.ConfidentRecommender(world.source).fit(other.train, world.validation)
        with pytest.raises(sn.errors.DataError, match="Interactions"):
            sn.ConfidentRecommender(world.source).fit(world.train, None)


def test_logs_are_matched_to_the_source_once(small, monkeypatch):
    """What is matched again can warn again, and takes as long again."""
    matched, fitted_to = [], aligned.fitted_to
    monkeypatch.setattr(aligned, "fitted_to", lambda *args: matched.append(args[2]) or fitted_to(*args))
    for calibrator in (None, sn.PlattCalibrator(), sn.calibration.PerUserPlatt()):
        sn.ConfidentRecommender(small.source, calibrator).fit(small.train, small.validation)
        assert sorted(matched) == ["seen", "validation"]
        matched.clear()
