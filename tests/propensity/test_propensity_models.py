"""Propensities against formulas by hand and against worlds whose truth is known."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from sureness._settings import clone
from sureness.errors import DataError, EmptyError, IdError, NotFittedError, SettingError, SurenessWarning
from sureness.propensity import (
    GivenPropensity,
    LogisticPropensity,
    NaiveBayesPropensity,
    PopularityPropensity,
    PropensityModel,
    RandomPropensity,
    UniformPropensity,
    check_effective_sample_size,
    effective_sample_size,
)

FEATURES = {"user_features": np.eye(4), "item_features": np.eye(3)}
MODELS = [
    PopularityPropensity().fit(items=[0, 0, 1, 2]),
    RandomPropensity().fit(items=[0, 1, 2]),
    UniformPropensity(value=0.3).fit(),
    LogisticPropensity().fit([0, 1, 2, 2], [0, 1, 2, 0], **FEATURES),
    GivenPropensity(np.linspace(0.1, 1, 12).reshape(4, 3)),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


# --- what holds for all --------------------------------------------------------------------------------------------


@every_model
def test_every_model_gives_one_chance_in_range_for_each_pair(model):
    assert isinstance(model, PropensityModel)
    users, items = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    found = model.propensity(users, items)
    assert found.shape == (12,)
    assert 0 < found.min() <= found.max() <= 1
    order = np.random.default_rng(0).permutation(12)
    assert_array_equal(model.propensity(users[order], items[order]), found[order])


@every_model
def test_no_pairs_have_no_propensities(model):
    """A calibration set without positives asks for none."""
    nobody = np.empty(0, dtype=np.int64)
    assert len(model.propensity(nobody, nobody)) == 0


@every_model
def test_users_and_items_of_different_pairs_are_refused(model):
    with pytest.raises(DataError, match="value"):
        model.propensity([0, 1, 2], [0, 1])


@every_model
def test_models_can_be_cloned_without_what_they_learned(model):
    assert repr(clone(model)) == repr(model)


@pytest.mark.parametrize("model", [PopularityPropensity(), RandomPropensity(), LogisticPropensity()], ids=repr)
def test_a_model_must_be_fitted_first(model):
    with pytest.raises(NotFittedError, match=f"{type(model).__name__} is not fitted yet; call fit first"):
        model.propensity([0], [0])


def test_ratings_must_be_learned_first():
    with pytest.raises(NotFittedError, match="fitted"):
        NaiveBayesPropensity().of_ratings([5])


@pytest.mark.parametrize("clip", [0.0, -0.1, 1.5])
@pytest.mark.parametrize(
    ("model", "data"),
    [
        (PopularityPropensity, {"items": [1, 2]}),
        (RandomPropensity, {"items": [1, 2]}),
        (NaiveBayesPropensity, {"ratings": [1], "uniform_ratings": [1], "n_pairs": 5}),
        (LogisticPropensity, {"users": [0, 1], "items": [1, 2], **FEATURES}),
    ],
)
def test_a_clip_outside_its_range_is_refused(model, data, clip):
    with pytest.raises(SettingError, match="clip"):
        model(clip=clip).fit(**data)


# --- popularity ----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.one_of(st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=60),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    st.sampled_from([0.01, 0.1, 1.0]),
    st.booleans(),
)
def test_popularity_is_the_clipped_power_of_the_share_of_the_largest_count(items, power, clip, as_text):
    name = (lambda item: f"ü{item}") if as_text else (lambda item: item)
    model = PopularityPropensity(power=power, clip=clip).fit(items=[name(item) for item in items])
    largest = max(items.count(item) for item in items)
    asked = [0, 5, 3, 99]
    expected = [max(clip, (items.count(i) / largest) ** power) if i in items else clip for i in asked]
    assert_allclose(model.propensity(None, [name(item) for item in asked]), expected)


def test_popularity_does_not_need_users_but_does_need_items():
    with_users = PopularityPropensity().fit(["u", "v", "w"], ["a", "a", "b"])
    assert_allclose(with_users.propensity(["x", "x"], ["a", "b"]), [1, np.sqrt(0.5)])
    with pytest.raises(SettingError, match="popularity"):
        PopularityPropensity().fit(["u"])
    with pytest.raises(EmptyError, match="items"):
        PopularityPropensity().fit(items=[])


def test_a_negative_power_is_refused_because_propensities_would_exceed_one():
    with pytest.raises(SettingError, match="power"):
        PopularityPropensity(power=-1.0).fit(items=[1, 1, 2])


def test_ids_of_another_kind_than_those_learned_are_refused_or_understood_but_never_taken_as_rare():
    model = PopularityPropensity().fit(items=[2, 2, 10])
    try:
        found = model.propensity(None, ["2", "10"])
    except DataError:
        return
    assert_allclose(found, [1.0, np.sqrt(0.5)])


@pytest.mark.parametrize("model", [PopularityPropensity, RandomPropensity])
def test_relative_models_say_so(model):
    assert model.relative


# --- uniform and random --------------------------------------------------------------------------------------------


def test_a_uniform_chance_is_the_same_for_everyone():
    assert_array_equal(UniformPropensity(value=0.25).propensity(["u", "v"], ["a", "b"]), [0.25, 0.25])
    assert_array_equal(UniformPropensity().propensity(None, ["a"]), [1.0])


@pytest.mark.parametrize("value", [0.0, 1.1])
def test_a_uniform_chance_outside_its_range_is_refused(value):
    with pytest.raises(SettingError, match="value"):
        UniformPropensity(value=value).fit()
    with pytest.raises(SettingError, match="value"):
        UniformPropensity(value=value).propensity(None, ["a"])


def test_random_chances_belong_to_items_and_to_the_seed():
    items = np.arange(2_000)
    first, again, other = (RandomPropensity(seed=s).fit(items=items).propensity(None, items) for s in (1, 1, 2))
    assert_array_equal(first, again)
    assert (first != other).any()
    assert_allclose([first.min(), first.max()], [0.1, 1.0], atol=0.01)
    assert_allclose(first.mean(), 0.1 * 0.1 + 0.9 * 0.55, atol=0.03)
    assert RandomPropensity().fit(items=items).propensity(None, [5_000]) == 0.1
    with pytest.raises(SettingError, match="drawn"):
        RandomPropensity().fit()


# --- naive Bayes ---------------------------------------------------------------------------------------------------


def test_naive_bayes_finds_how_often_each_rating_is_seen():
    rng = np.random.default_rng(0)
    truth = np.array([0.02, 0.03, 0.05, 0.1, 0.2])
    ratings = rng.choice(5, size=400_000, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    seen = ratings[rng.random(400_000) < truth[ratings]]
    uniform = rng.choice(ratings, 40_000)
    model = NaiveBayesPropensity().fit(seen + 1, uniform + 1, n_pairs=400_000)
    assert_allclose(model.of_ratings([1, 2, 3, 4, 5]), truth, rtol=0.1)


def test_naive_bayes_by_hand():
    # P(seen | 5) = (3/4)(4/40) / (1/4) = 0.3; P(seen | 1) = (1/4)(4/40) / (3/4) = 1/30
    model = NaiveBayesPropensity().fit([5, 5, 5, 1], [5, 1, 1, 1], n_pairs=40)
    assert_allclose(model.of_ratings([1, 5, 5]), [1 / 30, 0.3, 0.3])
    assert_array_equal(
        NaiveBayesPropensity(clip=0.1).fit([5, 5, 5, 1], [5, 1, 1, 1], n_pairs=40).of_ratings([1]), [0.1]
    )


def test_ratings_that_were_never_logged_still_count_among_the_uniform_ones():
    """Of all ratings a quarter are 5, so two logged ones of ten are P(seen | 5) = 2/40 / (1/4)."""
    model = NaiveBayesPropensity().fit([5, 5], [5, 1, 1, 1], n_pairs=40)
    assert_allclose(model.of_ratings([5]), [0.2])


def test_a_rating_that_the_uniform_sample_lacks_has_a_finite_propensity():
    model = NaiveBayesPropensity().fit([5, 4], [4, 4], n_pairs=100)
    assert ((model.of_ratings([4, 5]) > 0) & (model.of_ratings([4, 5]) <= 1)).all()


def test_naive_bayes_says_what_it_does_not_know():
    model = NaiveBayesPropensity().fit([5, 1], [5, 1], n_pairs=10)
    with pytest.raises(DataError, match="ratings"):
        model.of_ratings([5, 3])
    with pytest.raises(DataError, match="of_ratings"):
        model.propensity([0], [0])


@pytest.mark.parametrize("n_pairs", [0, 1, -5])
def test_fewer_pairs_than_ratings_are_refused(n_pairs):
    with pytest.raises(SettingError, match="n_pairs"):
        NaiveBayesPropensity().fit([5, 1], [5, 1], n_pairs=n_pairs)


# --- logistic ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seen_by_features():
    """A log in which features of users and items decide what is seen, about 4% of the pairs."""
    rng = np.random.default_rng(0)
    user_features, item_features = rng.normal(size=(500, 2)), rng.normal(size=(300, 2))
    truth = expit(-4 + (user_features @ [0.8, -0.4])[:, None] + item_features @ [1.0, 0.3])
    users, items = np.nonzero(rng.random(truth.shape) < truth)
    return users, items, {"user_features": user_features, "item_features": item_features}, truth


@pytest.mark.parametrize("negatives_per_positive", [1, 5, 1_000])
def test_logistic_regression_finds_the_true_chances_however_few_negatives_are_drawn(
    seen_by_features, negatives_per_positive
):
    users, items, features, truth = seen_by_features
    model = LogisticPropensity(negatives_per_positive=negatives_per_positive, clip=1e-6).fit(users, items, **features)
    everyone = np.indices(truth.shape).reshape(2, -1)
    found = model.propensity(*everyone).reshape(truth.shape)
    assert_allclose(found.mean(), truth.mean(), rtol=0.03)
    assert_allclose(np.log(found / truth).std(), 0, atol=0.12)


def test_logged_twice_is_logged(seen_by_features):
    users, items, features, _ = seen_by_features
    once, twice = (
        LogisticPropensity().fit(np.tile(users, n), np.tile(items, n), **features).propensity([0, 1], [2, 3])
        for n in (1, 2)
    )
    assert_array_equal(once, twice)


def test_logistic_propensities_are_deterministic_for_a_seed_and_clipped(seen_by_features):
    users, items, features, _ = seen_by_features
    first, again, other = (
        LogisticPropensity(seed=seed, clip=0.05, negatives_per_positive=1)
        .fit(users, items, **features)
        .propensity(np.arange(50), np.arange(50))
        for seed in (1, 1, 2)
    )
    assert_array_equal(first, again)
    assert (first != other).any()
    assert first.min() == 0.05


@pytest.mark.parametrize(
    ("users", "items", "word"),
    [
        ([4], [0], "users"),
        ([-1], [0], "users"),
        ([0], [3], "items"),
        ([0.5], [0], "users"),
        (["ann"], [0], "users"),
    ],
    ids=str,
)
def test_ids_that_are_no_rows_of_the_features_are_refused(users, items, word):
    with pytest.raises(IdError, match=word):
        LogisticPropensity().fit(users, items, **FEATURES)
    with pytest.raises(IdError, match=word):
        MODELS[3].propensity(users, items)


@pytest.mark.parametrize(
    ("users", "items", "features", "word"),
    [
        ([0, 1], [0], FEATURES, "value"),
        ([0, 1], [0, 1], FEATURES | {"user_features": [1.0, 2.0]}, "matrix"),
        ([0, 1], [0, 1], FEATURES | {"item_features": [[np.nan]] * 3}, "features"),
        (np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4), FEATURES, "pair"),
    ],
    ids=["lengths", "no matrix", "not finite", "nothing unseen"],
)
def test_a_log_that_does_not_fit_its_features_is_refused(users, items, features, word):
    with pytest.raises(DataError, match=word):
        LogisticPropensity().fit(users, items, **features)


@pytest.mark.parametrize("number", [0, -1])
def test_logistic_regression_needs_negatives(number):
    with pytest.raises(SettingError, match="negatives_per_positive"):
        LogisticPropensity(negatives_per_positive=number).fit([0, 1], [0, 1], **FEATURES)


# --- given ---------------------------------------------------------------------------------------------------------


def test_given_propensities_are_looked_up():
    assert_array_equal(GivenPropensity([[0.5, 0.1], [0.3, 1.0]]).propensity([1, 0], [0, 1]), [0.3, 0.1])
    assert_array_equal(GivenPropensity([0.5, 0.1]).propensity([7, 7], [1, 0]), [0.1, 0.5])


@pytest.mark.parametrize(
    ("users", "items"), [([2], [0]), ([0], [2]), ([-1], [0]), ([0], [-1]), ([0.0], [0.0]), (["ann"], ["song"])], ids=str
)
def test_pairs_outside_given_propensities_are_refused(users, items):
    with pytest.raises(IdError, match="inside"):
        GivenPropensity([[0.5, 0.1], [0.3, 1.0]]).propensity(users, items)


@pytest.mark.parametrize("values", [[0.0, 0.5], [0.5, 1.5], [np.nan, 0.5]])
def test_given_values_that_are_no_chances_are_refused(values):
    with pytest.raises(DataError, match="propensit"):
        GivenPropensity(values).propensity([0, 0], [0, 1])


# --- effective sample size -----------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=50))
def test_the_effective_sample_is_at_most_the_sample_and_ignores_scale(weight):
    found = effective_sample_size(weight)
    assert 1 - 1e-9 <= found <= len(weight) + 1e-9
    assert_allclose(effective_sample_size(np.array(weight) * 8), found)


def test_the_effective_sample_by_hand():
    assert effective_sample_size([3, 3, 3, 3, 3]) == 5
    assert_allclose(effective_sample_size([1, 2]), 9 / 5)
    assert effective_sample_size([0.0, 0.0]) == 0
    assert effective_sample_size(np.full(1_000_000, 0.1, dtype=np.float32)) == pytest.approx(1e6)


@pytest.mark.parametrize(("effective", "n_positive"), [(49, 60), (300, 3_001), (1, 1)])
def test_a_small_effective_sample_is_warned_of(effective, n_positive):
    with pytest.warns(SurenessWarning, match=f"effective sample of {effective:,} from {n_positive:,} positives"):
        check_effective_sample_size(effective, n_positive)


@pytest.mark.parametrize(("effective", "n_positive"), [(50, 60), (301, 3_000), (0, 0)])
def test_a_sufficient_effective_sample_is_silent(effective, n_positive):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_effective_sample_size(effective, n_positive)


@pytest.mark.parametrize("values", [0.5, np.zeros((2, 2, 2)), "half", np.ma.array([0.5, 0.1], mask=[0, 1])])
def test_given_propensities_are_a_matrix_or_one_value_for_each_item(values):
    with pytest.raises(DataError):
        GivenPropensity(values).propensity([0], [0])
