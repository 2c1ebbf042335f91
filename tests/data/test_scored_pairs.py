"""Pairs are checked once, then taken apart and put together."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sureness.data.scored_pairs import ScoredPairs, concatenate
from sureness.errors import DataError, EmptyError


def some_pairs(n_pairs=6, seed=0):
    rng = np.random.default_rng(seed)
    return ScoredPairs.of(
        rng.normal(size=n_pairs),
        rng.integers(0, 2, n_pairs),
        users=rng.choice(["ann", "bob", "雪"], n_pairs),
        items=rng.integers(0, 9, n_pairs),
        sample_weight=rng.random(n_pairs) + 0.1,
        propensity=rng.random(n_pairs) + 1e-3,
    )


def assert_same(found, expected):
    for field in fields(ScoredPairs):
        assert_array_equal(getattr(found, field.name), getattr(expected, field.name))


def test_pairs_put_together_are_the_pairs_taken_apart():
    pairs = some_pairs()
    parts = [pairs.take(np.arange(2)), pairs.take(np.array([False, False, True, True, True, True]))]
    assert_same(concatenate(parts), pairs)
    assert concatenate([pairs]) is pairs


def test_columns_that_are_not_given_stay_away():
    pairs = ScoredPairs.of([1.0, 2.0], [0, 1])
    taken = concatenate([pairs.take(np.array([1])), pairs])
    assert taken.users is taken.items is taken.weight is taken.propensity is None
    assert (len(taken), taken.n_positive) == (3, 2)


def test_other_weights_leave_the_rest():
    pairs = some_pairs()
    assert_array_equal(pairs.with_weight(np.arange(6.0)).weight, np.arange(6.0))
    with pytest.raises(DataError, match="sample_weight"):
        pairs.with_weight(np.ones(5))


def test_pairs_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        some_pairs().scores = np.zeros(6)


def test_parts_with_different_columns_are_refused():
    with pytest.raises(DataError, match="users"):
        concatenate([ScoredPairs.of([1.0], [0], users=["a"]), ScoredPairs.of([1.0], [0])])


def test_no_parts_are_refused():
    with pytest.raises(EmptyError, match="pair"):
        concatenate([])


@pytest.mark.parametrize(
    ("column", "word"),
    [
        ({"labels": [0]}, "labels"),
        ({"users": ["a"]}, "user_id"),
        ({"items": ["a", None]}, "item_id"),
        ({"sample_weight": [1.0, -1.0]}, "sample_weight"),
        ({"propensity": [0.0, 1.0]}, "propensities"),
        ({"scores": [np.inf, 0.0]}, "scores"),
    ],
)
def test_a_column_that_does_not_fit_is_named(column, word):
    with pytest.raises(DataError, match=word):
        ScoredPairs.of(**({"scores": [1.0, 2.0], "labels": [0, 1]} | column))
