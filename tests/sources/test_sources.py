"""Scores of blocks, of single pairs and of all candidates are the same scores."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

from sureness.data.simulator import SimulatorSettings, simulate
from sureness.errors import DataError, EmptyError, IdError, SettingError
from sureness.propensity import GivenPropensity
from sureness.sources.base import FactorSource, MatrixSource, ScoreSource
from sureness.sources.blocks import candidate_table, score_pairs, scores_of
from sureness.sources.svd import svd_source


def random_factors(n_users=7, n_items=5, n_factors=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_users, n_factors)), rng.normal(size=(n_items, n_factors))


def dense(source):
    return source.score_block(np.arange(source.n_users))


USERS, ITEMS = random_factors()
SOURCES = {
    "matrix": MatrixSource(USERS @ ITEMS.T),
    "factors": FactorSource(USERS, ITEMS),
    "biases": FactorSource(USERS, ITEMS, np.arange(7.0), np.arange(5.0)),
    "svd": svd_source(csr_matrix(np.random.default_rng(0).random((7, 5)) < 0.5), n_factors=2),
}
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


# --- what holds for all --------------------------------------------------------------------------------------------


@every_source
def test_every_source_scores_all_items_of_the_asked_users_in_their_order(source):
    assert isinstance(source, ScoreSource)
    assert (source.n_users, source.n_items) == (7, 5)
    whole = dense(source)
    assert whole.shape == (7, 5)
    assert whole.dtype == np.float32
    asked = np.array([3, 0, 3, 6])
    assert_allclose(source.score_block(asked), whole[asked], rtol=1e-6, atol=1e-6)
    assert source.score_block(np.empty(0, dtype=np.int64)).shape == (0, 5)


@every_source
@pytest.mark.parametrize("users", [[7], [-1], [0, 99]])
def test_users_that_do_not_exist_are_refused(source, users):
    with pytest.raises(IdError, match="users"):
        source.score_block(np.array(users))


@every_source
@pytest.mark.parametrize("users", [[0.0], ["ann"], [True, False, True, False, True, False, True]])
def test_users_that_are_no_row_numbers_are_refused(source, users):
    with pytest.raises(IdError, match="users"):
        source.score_block(np.array(users))


@every_source
@settings(max_examples=20)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=60), block=st.integers(1, 8)
)
def test_scores_of_shuffled_pairs_are_the_dense_scores(source, pairs, block):
    users, items = np.array(pairs).T
    assert_allclose(scores_of(source, users, items, block), dense(source)[users, items], rtol=1e-6, atol=1e-6)


@every_source
@pytest.mark.parametrize(("users", "items"), [([0], [5]), ([0], [-1]), ([7], [0])])
def test_single_pairs_outside_the_source_are_refused(source, users, items):
    with pytest.raises(IdError, match="of the source"):
        scores_of(source, np.array(users), np.array(items))


@pytest.mark.parametrize(("users", "items"), [([0], [0, 1]), ([0, 1], [0])])
def test_users_and_items_of_different_pairs_are_refused(users, items):
    with pytest.raises(DataError, match="value"):
        scores_of(SOURCES["matrix"], np.array(users), np.array(items))


def test_no_pairs_have_no_scores():
    assert len(scores_of(SOURCES["matrix"], np.empty(0, int), np.empty(0, int))) == 0


# --- factors and matrices ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user_bias", [None, np.arange(7.0)])
@pytest.mark.parametrize("item_bias", [None, np.arange(5.0) / 3])
def test_factors_multiply_and_biases_add(user_bias, item_bias):
    found = dense(FactorSource(USERS, ITEMS, user_bias, item_bias))
    for user in range(7):
        for item in range(5):
            expected = sum(a * b for a, b in zip(USERS[user], ITEMS[item], strict=True))
            expected += 0 if user_bias is None else user_bias[user]
            expected += 0 if item_bias is None else item_bias[item]
            assert found[user, item] == pytest.approx(expected, abs=1e-5)
    left, right = FactorSource(USERS, ITEMS, user_bias, item_bias).product()
    assert_allclose(left @ right, found, atol=1e-5)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e30])
def test_factors_whose_products_may_not_be_finite_are_not_multiplied_blindly(wrong):
    factors = np.full((2, 3), 1e10)
    factors[1, 2] = wrong
    assert FactorSource(factors, np.full((4, 3), 1e10)).product() is None
    assert FactorSource(np.full((4, 3), 1e10), factors).product() is None


# --- singular vectors ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def interactions():
    return csr_matrix((np.random.default_rng(3).random((40, 30)) < 0.2).astype(np.float32))


def slow_svd(interactions, n_factors, smoothing):
    """The best approximation of that rank, from the full decomposition of the dense matrix."""
    matrix = interactions.toarray().astype(np.float64)
    by_user, by_item = (matrix.sum(axis=axis) + smoothing for axis in (1, 0))
    degrees = np.outer(by_user / by_user.mean(), by_item / by_item.mean())
    left, values, right = np.linalg.svd(matrix / np.sqrt(degrees))
    return (left[:, :n_factors] * values[:n_factors]) @ right[:n_factors]


@pytest.mark.parametrize("n_factors", [1, 5, 29])
@pytest.mark.parametrize("smoothing", [0.5, 1.0, 10.0])
def test_svd_scores_are_the_dense_decomposition_of_the_normalised_matrix(interactions, n_factors, smoothing):
    source = svd_source(interactions, n_factors=n_factors, smoothing=smoothing)
    assert_allclose(dense(source), slow_svd(interactions, n_factors, smoothing), atol=1e-5)


def test_svd_is_deterministic_and_does_not_depend_on_the_seed_beyond_rounding(interactions):
    first, again, other = (dense(svd_source(interactions, seed=seed)) for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert_allclose(first, other, atol=1e-5)


def test_a_negative_seed_is_refused():
    with pytest.raises(SettingError, match="seed must be a whole number of at least 0, got -1"):
        svd_source(csr_matrix(np.eye(4)), n_factors=2, seed=-1)


@pytest.mark.parametrize("kind", [csc_matrix, coo_matrix])
def test_svd_takes_any_sparse_matrix(interactions, kind):
    assert_allclose(dense(svd_source(kind(interactions))), dense(svd_source(interactions)), atol=1e-5)


def test_users_and_items_without_interactions_score_zero():
    matrix = (np.random.default_rng(0).random((12, 10)) < 0.5).astype(float)
    matrix[3], matrix[:, 4] = 0, 0
    scores = dense(svd_source(csr_matrix(matrix), n_factors=3, smoothing=0))
    assert np.isfinite(scores).all()
    assert_allclose(scores[3], 0, atol=1e-6)
    assert_allclose(scores[:, 4], 0, atol=1e-6)


@pytest.mark.parametrize("n_factors", [0, 30, -1])
def test_a_number_of_factors_that_the_matrix_does_not_have_is_refused(interactions, n_factors):
    with pytest.raises(SettingError, match="between"):
        svd_source(interactions, n_factors=n_factors)


def test_a_log_without_interactions_is_refused():
    with pytest.raises(EmptyError, match="interaction"):
        svd_source(csr_matrix((6, 5)), n_factors=2)


# --- tables --------------------------------------------------------------------------------------------------------


def test_a_table_gets_the_score_of_each_of_its_pairs():
    table = pl.DataFrame({"user_id": [6, 0, 6], "item_id": [1, 4, 0], "label": [1, 0, 0]})
    found = score_pairs(SOURCES["biases"], table)
    assert found.columns == ["user_id", "item_id", "label", "score"]
    assert_allclose(found["score"], dense(SOURCES["biases"])[[6, 0, 6], [1, 4, 0]])


@pytest.fixture(scope="module")
def world():
    return simulate(SimulatorSettings(n_users=50, n_items=40, test_items=4, held_out_share=0.3, exposure_rate=0.4))


def test_candidates_are_all_pairs_outside_training_with_their_truth(world):
    source = svd_source(world.train, n_factors=4)
    table = candidate_table(source, world.held_out, world.train, world)
    users, items = table["user_id"].to_numpy(), table["item_id"].to_numpy()
    expected = {(u, i) for u in range(50) for i in range(40)} - set(zip(*world.train.nonzero(), strict=True))
    assert len(table) == len(expected)
    assert set(zip(users, items, strict=True)) == expected
    assert_allclose(table["score"], dense(source)[users, items])
    positive = world.held_out.toarray()[users, items] > 0
    assert_array_equal(table["label"], positive)
    assert table["label"].sum() == world.held_out.nnz
    assert_allclose(table["propensity"].to_numpy()[positive], world.propensity(users[positive], items[positive]))
    assert (table["propensity"].to_numpy()[~positive] == 1).all()


@pytest.mark.parametrize("propensity", ["world", "given"])
def test_nothing_held_out_leaves_candidates_without_positives(world, propensity):
    model = world if propensity == "world" else GivenPropensity(np.full((50, 40), 0.5))
    source = MatrixSource(np.zeros((50, 40)))
    table = candidate_table(source, csr_matrix((50, 40)), world.train, model)
    assert table["label"].sum() == 0
    assert (table["propensity"] == 1).all()
