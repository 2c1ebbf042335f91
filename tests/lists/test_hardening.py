"""Input that once went through silently or ended in an error of another library."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.errors import DataError, EmptyError, SettingError, SurenessWarning
from sureness.lists import Lists, scale_odds
from sureness.lists.policies import ListSizePolicy
from sureness.numerics.poisson_binomial import power_sums


def logs(shape=(60, 30), seed=0):
    drawn = np.random.default_rng(seed).random(shape)
    bounds = ((0.0, 0.2), (0.2, 0.35), (0.35, 0.55))
    return [sn.Interactions.from_matrix((drawn >= low) & (drawn < high)) for low, high in bounds]


@pytest.fixture(scope="module")
def source():
    return sn.MatrixSource(np.random.default_rng(1).normal(size=(60, 30)).astype(np.float32))


@pytest.fixture(scope="module")
def fitted(source):
    train, validation, _ = logs()
    return sn.ConfidentRecommender(source).fit(train, validation)


def test_nothing_lies_behind_a_list_of_all_candidates(source, fitted):
    train, validation, _ = logs()
    every = sn.ConfidentRecommender(source, policy=sn.ExpectedUtility(max_size=30)).fit(train, validation)
    assert np.all(fitted.lists().tail == 0)
    assert fitted.sizes().equals(every.sizes())


def test_more_relevant_items_than_candidates_are_refused_for_the_first_user(source):
    train, validation, _ = logs()
    with pytest.raises(SettingError, match="met"):
        sn.ConfidentRecommender(source, expected_relevant=29.0).fit(train, validation)


@pytest.mark.parametrize("target", [np.nan, -1.0, 0.0, np.inf, 1e300])
def test_a_target_must_be_a_number_above_zero(source, target):
    train, validation, _ = logs()
    with pytest.raises(SettingError, match="numbers"):
        sn.ConfidentRecommender(source, expected_relevant=target).fit(train, validation)


class TestTails:
    @pytest.mark.parametrize("tail", [[[1.0, 2.0]], [[0.0, 5.0]], [[-1.0]], [[np.nan]], [[np.inf]], "x", [1.0]])
    def test_sums_that_no_probabilities_have_are_refused(self, tail):
        with pytest.raises(DataError, match="tail"):
            sn.expected_utility([[0.5, 0.4]], max_size=2, tail=tail)

    @pytest.mark.parametrize("utility", ["ndcg", "tp"])
    def test_sums_of_certain_items_do_not_converge_and_are_refused(self, utility):
        with pytest.raises(DataError, match="too"):
            sn.expected_utility([[0.5, 0.4]], utility, max_size=2, tail=np.ones((1, 13)))

    @pytest.mark.parametrize("n", [1, 5])
    def test_the_integral_of_f1_takes_certain_items(self, n):
        found = sn.expected_utility([[0.5, 0.4]], "f1", max_size=2, tail=np.full((1, 13), float(n)))
        whole = sn.expected_utility([[0.5, 0.4] + [1.0] * n], "f1", max_size=2)
        np.testing.assert_allclose(found, whole, atol=2e-4)

    def test_sums_of_likely_items_are_fine(self):
        tail = power_sums([[0.4] * 5], 12)
        found = sn.expected_utility([[0.9, 0.5]], "f1", max_size=2, tail=tail)
        whole = sn.expected_utility([[0.9, 0.5] + [0.4] * 5], "f1", max_size=2)
        np.testing.assert_allclose(found, whole, atol=1e-4)

    @pytest.mark.parametrize("tail", [[np.nan], [-1.0], [np.inf], [1.0, 2.0], "a"])
    def test_scaled_odds_check_their_tail(self, tail):
        with pytest.raises(DataError, match="tail"):
            scale_odds([[0.5, 0.4]], 1.2, tail=tail)

    @pytest.mark.parametrize("target", [np.inf, 1e300, 1e12, "x", [1.0, 2.0]])
    def test_an_absurd_number_of_relevant_items_is_refused_at_once(self, target):
        with pytest.raises(DataError, match="expected_relevant"):
            sn.expected_utility([[0.5, 0.4]], expected_relevant=target)


class _Own(ListSizePolicy):
    kind = "own"

    def __init__(self, answer=None):
        self.answer = answer

    def _sizes(self, lists):
        return self.answer


@pytest.mark.parametrize("answer", [[np.nan, np.nan], np.array([[1, 2]]), [1], 3, [1.7, 2.2], None, ["a", "b"]])
def test_a_policy_must_answer_with_whole_numbers(answer):
    with pytest.raises(DataError, match="return"):
        _Own(answer).sizes(Lists.of(probabilities=[[0.5], [0.4]]))


def test_the_recommender_keeps_its_own_row(fitted):
    with pytest.raises(SettingError, match="another"):
        fitted.evaluate(logs()[2], policies={"this": sn.FixedSize(1)})


def test_labels_that_no_list_can_hold_are_refused(fitted):
    with pytest.raises(EmptyError):
        fitted.evaluate(logs()[1])


def test_infinite_scores_are_named():
    scores = np.random.default_rng(2).normal(size=(60, 30)).astype(np.float32)
    scores[0, :2] = np.inf
    train, validation, _ = logs()
    with pytest.raises(DataError, match="finite"):
        sn.ConfidentRecommender(sn.MatrixSource(scores)).fit(train, validation)


@pytest.mark.parametrize(
    "wrong",
    [{"lengths": [1.7]}, {"n_relevant": [2.5]}, {"hits": [[np.nan, 1]]}, {"hits": [[2, -1]]}, {"users": ["a"]}],
    ids=str,
)
def test_lists_are_not_rounded_into_shape(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        Lists.of(**({"probabilities": [[0.5, 0.4]]} | wrong))


@pytest.mark.parametrize("sure", [np.nan, -3.0])
def test_how_sure_is_a_share(source, sure):
    train, validation, _ = logs()
    with pytest.raises(SettingError, match="sure"):
        sn.choose_list_sizes([sn.ConfidentRecommender(source)], train, validation, sure=sure)


@pytest.mark.parametrize(
    "settings",
    [{"gain": 0.0}, {"gain": -1.0}, {"gain": "x"}, {"loss": None}, {"discount": "abc"}, {"discount": (1.0, -1.0)}],
    ids=str,
)
def test_a_normalised_utility_needs_an_ideal_list(settings):
    with pytest.raises(SettingError):
        sn.expected_utility([[0.5, 0.4]], sn.metrics.Utility("mine", **{"normaliser": "ideal", **settings}), max_size=2)


def test_scores_that_span_more_than_single_precision_are_taken_for_masks():
    scores = np.random.default_rng(3).normal(size=(60, 40)).astype(np.float32)
    scores[:, 0], scores[:, 1] = 3e38, -3e38
    train, validation, _ = logs((60, 40))
    with pytest.warns(SurenessWarning, match="taken for masks"):
        fitted = sn.calibration.PerUserPlatt(top=None, n_bins=2).fit(sn.MatrixSource(scores), validation, seen=train)
    assert np.isfinite(fitted.coef_).all()


def test_no_users_get_no_lists_whatever_their_ids_are():
    train, validation, _ = logs()
    users = sn.IdMap.of([f"u{number:02}" for number in range(60)])
    named = sn.MatrixSource(np.random.default_rng(4).normal(size=(60, 30)), users=users)
    aligned = [sn.Interactions.from_matrix(log.matrix, users=users) for log in (train, validation)]
    assert sn.ConfidentRecommender(named).fit(*aligned).recommend([]).height == 0
