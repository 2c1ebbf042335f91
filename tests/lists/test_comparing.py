"""Policies compared on the same users: values, sizes, paired differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t as student

from sureness._registry import names
from sureness.errors import DataError
from sureness.lists.comparing import compare_policies
from sureness.lists.lists import Lists
from sureness.lists.policies import (
    BestFixedSize,
    ExpectedUtility,
    FixedSize,
    Oracle,
    RandomSize,
    Threshold,
    ValidationBest,
)
from sureness.metrics.utility import Utility, utility_at_every_size


def drawn(n=40, width=10, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, width + 1, n)
    known = np.arange(width) < lengths[:, None]
    probabilities = np.where(known, -np.sort(-rng.beta(1, 2, (n, width))), 0.0)
    hits = rng.random((n, width)) < probabilities
    return Lists.of(
        users=np.arange(100, 100 + n), lengths=lengths, probabilities=probabilities, hits=hits,
        n_relevant=hits.sum(axis=1) + rng.integers(0, 2, n),
    )  # fmt: skip


def test_values_and_sizes_are_those_of_each_users_list():
    lists = drawn()
    compared = compare_policies({"three": FixedSize(3), "likely": Threshold(0.4, max_size=10)}, lists, "ndcg")
    judged = np.flatnonzero(lists.n_relevant > 0)
    assert 0 < len(judged) < lists.n_users
    assert_array_equal(compared.users, lists.users[judged])
    every = utility_at_every_size(lists.hits, lists.n_relevant, "ndcg")
    for name, policy in (("three", FixedSize(3)), ("likely", Threshold(0.4, max_size=10))):
        sizes = policy.sizes(lists)[judged]
        assert_array_equal(compared.sizes[name], sizes)
        expected = [every[user, size - 1] if size else 0.0 for user, size in zip(judged, sizes, strict=True)]
        assert_allclose(compared.values[name], expected)


def test_the_table_has_means_and_paired_differences():
    lists = drawn()
    compared = compare_policies({"one": FixedSize(1), "three": FixedSize(3)}, lists, "f1", reference="one")
    gain = compared.values["three"] - compared.values["one"]
    statistic = gain.mean() / (gain.std(ddof=1) / np.sqrt(len(gain)))
    p_value = 2 * student.sf(abs(statistic), len(gain) - 1)
    first, second = compared.table.rows(named=True)
    assert (first["policy"], first["difference"], first["p_value"]) == ("one", 0.0, 1.0)
    assert second["f1"] == pytest.approx(compared.values["three"].mean())
    assert second["mean_size"] == pytest.approx(compared.sizes["three"].mean())
    assert second["difference"] == pytest.approx(gain.mean())
    assert second["p_value"] == pytest.approx(p_value)
    assert 0 < p_value < 1


def test_without_a_reference_there_are_no_differences():
    table = compare_policies({"one": FixedSize(1)}, drawn(), "tp").table
    assert table.columns == ["policy", "tp", "mean_size"]


def test_policies_that_never_differ_and_a_single_user_have_a_p_value_of_one():
    same = compare_policies({"a": FixedSize(2), "b": FixedSize(2)}, drawn(), "f1", reference="a")
    assert same.difference("b", "a") == (0.0, 1.0)
    single = compare_policies({"a": FixedSize(1), "b": FixedSize(2)}, Lists.of(hits=[[True, False]]), "f1")
    difference, p_value = single.difference("b", "a")
    assert (difference, p_value) == (pytest.approx(2 / 3 - 1), 1.0)


@pytest.mark.parametrize(
    "utility", [*names("utility"), Utility("own", discount=lambda rank: 1 / rank, loss=0.5)], ids=str
)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_nothing_beats_the_oracle(utility, seed):
    lists, before = drawn(seed=seed), drawn(seed=seed + 1)
    bounds = {"max_size": 8}
    policies = {
        "oracle": Oracle(utility, **bounds), "fixed": FixedSize(5), "random": RandomSize(**bounds),
        "best fixed": BestFixedSize(utility, **bounds).fit(before), "threshold": Threshold(0.3, **bounds),
        "validation": ValidationBest(utility, **bounds).fit(before), "expected": ExpectedUtility(utility, **bounds),
        "hindsight": ValidationBest(utility, **bounds).fit(lists),
    }  # fmt: skip
    compared = compare_policies(policies, lists, utility)
    for name in policies:
        assert np.all(compared.values[name] <= compared.values["oracle"] + 1e-12), name
    assert_allclose(compared.values["hindsight"], compared.values["oracle"], atol=1e-12)


@pytest.mark.parametrize(
    ("lists", "reference", "word"),
    [
        (drawn(), "third", "reference"),
        (Lists.of(probabilities=[[0.5]]), None, "n_relevant"),
        (Lists.of(probabilities=[[0.5]], n_relevant=[1]), None, "hits"),
        (Lists.of(hits=[[False, False]]), None, "user"),
        (Lists.of(hits=[[True]], n_relevant=[1], lengths=[9]), None, "lists"),
    ],
)
def test_what_cannot_be_compared_is_refused(lists, reference, word):
    with pytest.raises(DataError, match=word):
        compare_policies({"first": FixedSize(1), "second": FixedSize(2)}, lists, "f1", reference=reference)
