"""The baselines that personal list sizes are compared with."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.jobs.listing import PERSONAL, REFERENCE, compare_with_baselines
from tests.recommender.worlds import shop


@pytest.fixture(scope="module")
def world():
    return shop(80, 50, seed=0)


def compared(world, policy):
    recommender = sn.ConfidentRecommender(world.source, policy=policy).fit(world.train, world.validation)
    return compare_with_baselines(recommender, seen=world.train, validation=world.validation, test=world.test)


def test_fixed_sizes_longer_than_the_longest_list_are_not_compared(world):
    found = compared(world, sn.ExpectedUtility("f1", max_size=10))
    assert list(found.values) == [
        PERSONAL, "Oracle", "Top-1", "Top-5", "Top-10", "Rand", REFERENCE, "Val-k", "p >= 0.2",
    ]  # fmt: skip
    assert found.reference == REFERENCE


def test_a_policy_of_another_kind_is_not_called_personal(world):
    found = compared(world, sn.FixedSize(5))
    assert PERSONAL not in found.values
    assert_allclose(found.values["this policy"], found.values["Top-5"])
