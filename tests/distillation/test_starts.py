"""Truncated factors against numpy's singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sureness.data.ids import IdMap
from sureness.distillation.starts import truncated
from sureness.errors import SettingError
from sureness.sources.base import FactorSource, MatrixSource
from sureness.sources.function import AlignedSource
from tests.distillation.worlds import fitted, log_of


def everyone(source):
    return source.score_block(np.arange(source.n_users)).astype(float)


def best_of_rank(scores, n_factors):
    """The closest matrix of a rank (Eckart and Young), and all singular values."""
    left, values, right = np.linalg.svd(scores, full_matrices=False)
    return (left[:, :n_factors] * values[:n_factors]) @ right[:n_factors], values


def factors(n_users, n_items, n_factors, seed=0, **names):
    rng = np.random.default_rng(seed)
    return FactorSource(rng.normal(size=(n_users, n_factors)), rng.normal(size=(n_items, n_factors)), **names)


@settings(max_examples=50)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 12), st.data())
def test_factors_are_truncated_like_numpy_does(n_users, n_items, n_factors, data):
    """Also with fewer users or items than factors, and with more factors than the teacher has."""
    large = factors(n_users, n_items, n_factors, seed=n_users)
    kept = data.draw(st.integers(1, min(n_users, n_items)))
    small = truncated(large, kept)
    assert small.user_factors.shape == (n_users, kept)
    assert small.item_factors.shape == (n_items, kept)
    assert small.user_factors.dtype == small.item_factors.dtype == np.float32
    scores = everyone(large)
    assert_allclose(everyone(small), best_of_rank(scores, kept)[0], atol=1e-4 * np.abs(scores).max())


def test_users_and_items_share_the_weight_of_each_direction():
    """Columns are orthogonal, with the root of the singular value as length on both sides."""
    large = factors(40, 30, 9)
    small = truncated(large, 5)
    values = best_of_rank(everyone(large), 5)[1][:5]
    for side in (small.user_factors, small.item_factors):
        assert_allclose(side.T @ side, np.diag(values), atol=1e-3 * values[0])


def test_ids_are_kept():
    users, items = IdMap.of(["ann", "bob", "cid"]), IdMap.of([7, 9])
    small = truncated(factors(3, 2, 2, users=users, items=items), 1)
    assert small.users is users
    assert small.items is items


def test_more_factors_than_the_teacher_has_give_the_same_scores():
    large = factors(20, 15, 3)
    same = truncated(large, 8)
    assert same.user_factors.shape == (20, 8)
    assert_allclose(everyone(same), everyone(large), atol=1e-5)
    assert np.all(same.user_factors[:, 3:] == 0)


@pytest.mark.parametrize("kind", ["matrix", "biased", "cml"])
def test_sources_without_plain_factors_are_approximated(kind, monkeypatch):
    """Computed in several blocks, and hardly worse than the best matrix of that rank."""
    monkeypatch.setattr("sureness.sources.blocks.BLOCK_SCORES", 1_000)
    rng = np.random.default_rng(0)
    biases = {"user_bias": rng.normal(size=60), "item_bias": 2 * rng.normal(size=50)}
    source = {
        "matrix": lambda: MatrixSource(everyone(factors(60, 50, 6)) + 0.3 * rng.normal(size=(60, 50))),
        "biased": lambda: FactorSource(rng.normal(size=(60, 6)), rng.normal(size=(50, 6)), **biases),
        "cml": lambda: fitted("cml").source_,
    }[kind]()
    scores = everyone(source)
    for n_factors in (1, 4, 8):
        best, _ = best_of_rank(scores, n_factors)
        off, least = (np.linalg.norm(scores - other) for other in (everyone(truncated(source, n_factors)), best))
        assert off <= 1.02 * least + 1e-4 * np.linalg.norm(scores)


def test_the_seed_determines_the_projection():
    source = MatrixSource(np.random.default_rng(0).normal(size=(40, 30)))
    one, same, other = (truncated(source, 3, seed=seed).user_factors for seed in (1, 1, 2))
    assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_zero_scores_give_zero_factors():
    for source in (MatrixSource(np.zeros((6, 5))), FactorSource(np.zeros((6, 2)), np.zeros((5, 2)))):
        assert_array_equal(everyone(truncated(source, 3)), np.zeros((6, 5)))


@pytest.mark.parametrize("n_factors", [0, -1, 6, 100, 2.5, "3", None])
def test_an_impossible_number_of_factors_is_refused(n_factors):
    with pytest.raises(SettingError, match="n_factors"):
        truncated(factors(8, 5, 3), n_factors)


def test_a_partial_source_is_truncated_from_its_known_scores():
    log = log_of(20, 15)
    known = MatrixSource(np.random.default_rng(0).normal(size=(15, 10)).astype(np.float32))
    small = truncated(AlignedSource.of(known, log), 3)
    assert np.isfinite(small.user_factors).all()
    assert np.isfinite(small.item_factors).all()


def test_biases_are_part_of_the_truncated_factors():
    rng = np.random.default_rng(0)
    source = FactorSource(rng.normal(size=(9, 2)), rng.normal(size=(7, 2)), rng.normal(size=9), rng.normal(size=7))
    assert_allclose(everyone(truncated(source, 4)), everyone(source), atol=1e-5)
