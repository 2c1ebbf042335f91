"""Choosing how list sizes are decided: personal ways win where users differ, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sureness as sn
from sureness._settings import written
from sureness.data import by_time, past_windows
from sureness.data.interactions import union
from sureness.errors import SettingError
from sureness.lists import RandomSize
from sureness.recommender import trained_windows
from sureness.recommender.choosing import SIMPLE, _halves
from tests.recommender.returning import WINDOW, returning_log
from tests.recommender.worlds import shop


def train_svd(log):
    return sn.svd_source(log, n_factors=6)


def ways(source, max_size=15, utility="f1"):
    """Two ways that differ in whether a list depends on who it is for."""
    return [
        sn.ConfidentRecommender(source, calibrator, sn.ExpectedUtility(utility, max_size=max_size))
        for calibrator in (sn.ListCalibrator(), sn.PlattCalibrator())
    ]


@pytest.fixture(scope="module")
def differing():
    """Some users take a dozen items, others hardly any."""
    return shop(250, 60, level=-1.0, spread=2.0, slope=2.0)


@pytest.fixture(scope="module")
def choice(differing):
    return sn.choose_list_sizes(ways(differing.source), differing.train, differing.validation)


@pytest.fixture(scope="module")
def noise():
    """Scores that say nothing, and users who are all alike."""
    return shop(120, 40, level=-2.0, spread=0.0, slope=0.0, seed=3)


class TestWhereUsersDiffer:
    def test_the_personal_way_is_taken_and_fitted_on_everything(self, differing, choice):
        assert not choice.fell_back
        assert isinstance(choice.best.policy_, sn.ExpectedUtility)
        assert "more f1 on held-out halves than the best fixed size" in choice.reason
        assert "sure as the best of 2" in choice.reason
        winner = choice.table.sort("f1")["way"][-1]
        assert written(choice.best.map_) in winner
        assert len(choice.best.seen_) == len(union([differing.train, differing.validation]))

    def test_it_is_better_later_too(self, differing, choice):
        fixed = sn.lists.BestFixedSize(max_size=15)
        fixed.fit(choice.best.validation_lists(differing.train, differing.validation))
        compared = choice.best.evaluate(differing.test, policies={"fixed": fixed})
        assert compared.difference("this", "fixed")[0] > 0.01

    def test_the_table_says_how_sure_that_is(self, choice):
        assert choice.table.columns == ["way", "f1", "difference", "low", "high", "sure_better"]
        assert choice.table["way"][0] == SIMPLE
        simple, *others = choice.table.rows(named=True)
        assert (simple["difference"], simple["sure_better"]) == (0.0, 0.0)
        for row in others:
            assert row["difference"] == pytest.approx(row["f1"] - simple["f1"])
            assert row["low"] < row["difference"] < row["high"]
        assert max(row["sure_better"] for row in others) > 0.95

    def test_a_seed_gives_the_same_choice_and_another_other_halves(self, differing, choice):
        again = sn.choose_list_sizes(ways(differing.source), differing.train, differing.validation)
        assert again.table.equals(choice.table)
        assert again.best.recommend().equals(choice.best.recommend())
        other = sn.choose_list_sizes(ways(differing.source), differing.train, differing.validation, seed=1)
        assert not other.table.equals(choice.table)

    def test_the_candidates_are_left_as_they_were(self, differing):
        candidates = ways(differing.source)
        sn.choose_list_sizes(candidates, differing.train, differing.validation)
        assert not any(hasattr(candidate, "map_") for candidate in candidates)
        assert not hasattr(candidates[0].calibrator, "coef_")


class TestFallingBack:
    def test_where_labels_are_noise_the_best_fixed_size_stays_and_says_why(self, noise):
        choice = sn.choose_list_sizes(ways(noise.source, max_size=30), noise.train, noise.validation)
        assert choice.fell_back
        assert choice.table["difference"].max() > 0
        assert choice.table["sure_better"].max() < 0.9
        assert "sure as the best of 2 (90% are needed), so the best fixed size stays" in choice.reason
        assert repr(choice.best.policy_) == "BestFixedSize(max_size=30)"
        assert written(choice.best.map_) == "ListCalibrator()", "with the probabilities of the first candidate"
        assert choice.best.recommend()["list_size"].n_unique() == 1

    def test_more_certainty_can_be_asked_for_than_there_is(self, differing, choice):
        found = choice.table["sure_better"].max()
        small = shop(40, 60, level=-1.0, spread=2.0, slope=2.0, seed=2)
        unsure = sn.choose_list_sizes(ways(small.source), small.train, small.validation, sure=1.01)
        assert unsure.fell_back
        assert isinstance(unsure.best.policy_, sn.lists.BestFixedSize)
        assert "has more f1, but that is only" in unsure.reason
        assert "(101% are needed), so the best fixed size stays" in unsure.reason
        assert found <= 1

    def test_a_way_that_is_worse_than_any_fixed_size_is_no_reason_to_leave_it(self, differing):
        bad = [sn.ConfidentRecommender(differing.source, sn.PlattCalibrator(), RandomSize(max_size=15))]
        choice = sn.choose_list_sizes(bad, differing.train, differing.validation)
        assert not choice.fell_back
        assert choice.reason == "nothing has more f1 on held-out halves than the best fixed size"
        assert repr(choice.best.policy_) == "BestFixedSize(max_size=15)"
        assert choice.table["sure_better"][1] < 0.1


class TestJudging:
    def test_the_utility_is_that_of_the_first_candidate_unless_another_is_asked_for(self, differing):
        few = ways(differing.source, utility="ndcg")[1:]
        assert sn.choose_list_sizes(few, differing.train, differing.validation).by == "ndcg"
        chosen = sn.choose_list_sizes(few, differing.train, differing.validation, by="tp")
        assert chosen.by == "tp"
        assert "tp" in chosen.table.columns

    def test_halves_share_out_each_users_items_and_lose_none(self, differing):
        first, second = _halves(differing.validation, seed=0)
        assert len(first) + len(second) == len(differing.validation)
        assert np.all(np.abs(first.user_degree - second.user_degree) <= 1)
        joined = union([first, second])
        assert np.array_equal(joined.user_rows, differing.validation.user_rows)
        assert np.array_equal(joined.item_rows, differing.validation.item_rows)
        odd = differing.validation.user_degree % 2 == 1
        assert 0.3 < np.mean(first.user_degree[odd] > second.user_degree[odd]) < 0.7, "neither half gets the odd ones"
        again, _ = _halves(differing.validation, seed=0)
        other, _ = _halves(differing.validation, seed=1)
        assert np.array_equal(first.item_rows, again.item_rows)
        assert not np.array_equal(first.item_rows, other.item_rows)

    def test_values_are_those_of_fits_on_one_half_judged_on_the_other(self, differing, choice):
        halves = _halves(differing.validation, seed=0)
        totals, times = np.zeros((3, 250)), np.zeros(250)
        for known, later in (halves, halves[::-1]):
            personal, overall = (way.fit(differing.train, known) for way in ways(differing.source))
            fixed = sn.lists.BestFixedSize(max_size=15).fit(personal.validation_lists(differing.train, known))
            compared = personal.evaluate(later, policies={"fixed": fixed})
            totals[0, compared.users] += compared.values["fixed"]
            totals[1, compared.users] += compared.values["this"]
            totals[2, compared.users] += overall.evaluate(later).values["this"]
            times[compared.users] += 1
        assert set(times) == {0, 1, 2}, "users with one item are judged once"
        means = (totals[:, times > 0] / times[times > 0]).mean(axis=1)
        assert choice.table["f1"].to_list() == pytest.approx(means.tolist())

    def test_progress_is_told_for_every_fit(self, noise):
        told = []
        sn.choose_list_sizes(
            ways(noise.source), noise.train, noise.validation, progress=lambda *step: told.append(step)
        )
        assert [(done, total) for _, done, total in told] == [(0, 4), (1, 4), (2, 4), (3, 4)]

    def test_a_training_log_is_not_needed(self, noise):
        choice = sn.choose_list_sizes(ways(noise.source)[1:], None, noise.validation)
        assert len(choice.best.seen_) == len(noise.validation)


class TestUsualWays:
    def test_the_usual_ways_are_all_different(self, noise):
        usual = sn.recommender.ways_to_decide(noise.source, "ndcg", max_size=7)
        assert len({repr(way.calibrator) for way in usual}) == len(usual) == 3
        assert {repr(way.policy) for way in usual} == {"ExpectedUtility(utility='ndcg', max_size=7)"}
        assert all(way.source is noise.source for way in usual)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda world: [], "choose_list_sizes needs at least one recommender, got none"),
            (lambda world: [*ways(world.source), *ways(shop(120, 40).source)], "must have the same source"),
            (lambda world: ways(world.source) * 2, "two of the recommenders have the same calibrator and policy"),
        ],
        ids=["none", "two sources", "twice"],
    )
    def test_what_cannot_be_compared_is_refused(self, noise, make, message):
        with pytest.raises(sn.errors.DataError, match=message):
            sn.choose_list_sizes(make(noise), noise.train, noise.validation)


@pytest.fixture(scope="module")
def returning():
    """Users who return, and do something else in each window."""
    log = returning_log(n_windows=9)
    split = by_time(log, validation_from=7 * WINDOW, test_from=8 * WINDOW)
    return log, split, sn.svd_source(split.train, n_factors=6)


class TestForwardInTime:
    """What users did in one window is not what they do in the next; halves of one window cannot show that."""

    def test_halves_of_a_window_are_sure_of_a_gain_that_the_next_one_does_not_have(self, returning):
        _, split, source = returning
        at_random = replace(split.validation, period=None)
        choice = sn.choose_list_sizes(ways(source), split.train, at_random)
        assert not choice.fell_back
        assert choice.table["sure_better"].max() > 0.95
        fixed = sn.lists.BestFixedSize(max_size=15)
        fixed.fit(choice.best.validation_lists(split.train, at_random))
        gain, p_value = choice.best.evaluate(split.test, policies={"fixed": fixed}).difference("this", "fixed")
        assert gain < 0.5 * choice.table["difference"].max()
        assert p_value > 0.3

    def test_windows_of_the_validation_part_are_judged_later_and_keep_the_fixed_size(self, returning):
        _, split, source = returning
        choice = sn.choose_list_sizes(ways(source), split.train, split.validation)
        assert choice.fell_back
        assert choice.table["sure_better"].max() < 0.9
        assert isinstance(choice.best.policy_, sn.lists.BestFixedSize)
        assert len(choice.best.seen_) == len(union([split.train, split.validation]))

    def test_past_windows_with_models_trained_again(self, returning):
        log, _, _ = returning
        before, _ = next(past_windows(log, WINDOW))
        windows = trained_windows(before, train_svd, WINDOW, n=4)
        candidates = ways(train_svd(before.compact()))
        choice = sn.choose_list_sizes(candidates, before, windows=windows)
        assert choice.table.height == 3
        assert choice.table["sure_better"].max() < 0.95
        assert choice.best.horizon_.given == "there"
        assert choice.best.source is candidates[0].source
        assert not hasattr(candidates[0], "chances_")
        sure_of_it = sn.choose_list_sizes(candidates, before, windows=windows, sure=0.5)
        assert "in later windows than the best fixed size" in sure_of_it.reason

    def test_a_gain_that_every_window_has_is_believed_but_never_fully(self, differing):
        """The same users as they are at random, with times."""
        rng = np.random.default_rng(0)
        timed = replace(differing.validation, times=rng.random(len(differing.validation)), period=(0.0, 1.0))
        choice = sn.choose_list_sizes(ways(differing.source), differing.train, timed)
        assert "in later windows" in choice.reason or choice.fell_back
        assert 0.5 < choice.table["sure_better"].max() < 1

    def test_windows_need_the_whole_log_and_no_validation_part(self, returning):
        _, split, source = returning
        for arguments in (
            (split.train, split.validation, []),
            (split.train, None, []),
            ("nothing", None, [None, None]),
        ):
            seen, validation, windows = arguments
            with pytest.raises(SettingError, match="two or more windows") as refused:
                sn.choose_list_sizes(ways(source), seen, validation, windows=windows)
            assert "\n" not in str(refused.value)
        with pytest.raises(SettingError, match="validation part, or past windows"):
            sn.choose_list_sizes(ways(source), split.train)
