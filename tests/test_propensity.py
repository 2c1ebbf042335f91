"""Propensities against formulas by hand and against worlds whose truth is known."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sureness._settings import clone
from sureness.errors import DataError, EmptyError, IdError, NotFittedError, SettingError, SurenessWarning
from sureness.propensity import (
    GivenPropensity,
    PopularityPropensity,
    PropensityModel,
    check_effective_sample_size,
    effective_sample_size,
)

MODELS = [
    PopularityPropensity().fit(items=[0, 0, 1, 2]),
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


def test_a_model_must_be_fitted_first():
    with pytest.raises(NotFittedError, match="PopularityPropensity is not fitted yet; call fit first"):
        PopularityPropensity().propensity([0], [0])


@pytest.mark.parametrize("clip", [0.0, -0.1, 1.5])
def test_a_clip_outside_its_range_is_refused(clip):
    with pytest.raises(SettingError, match="clip"):
        PopularityPropensity(clip=clip).fit(items=[1, 2])


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


def test_popularity_is_known_to_be_relative():
    assert PopularityPropensity.relative


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
