"""Every kind of model of implicit, against its own `recommend`."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.errors import IdError, SettingError
from sureness.sources import from_implicit
from tests.sources.adapters.shop import ITEMS, LOG, MATRIX, N_ITEMS, N_USERS, USERS, assert_same_scores, dense

als = pytest.importorskip("implicit.als", reason="implicit is not installed")
from implicit.bpr import BayesianPersonalizedRanking  # noqa: E402
from implicit.lmf import LogisticMatrixFactorization  # noqa: E402
from implicit.nearest_neighbours import (  # noqa: E402
    BM25Recommender,
    CosineRecommender,
    ItemItemRecommender,
    TFIDFRecommender,
)  # fmt: skip

pytestmark = [
    pytest.mark.filterwarnings("ignore:OpenBLAS is configured:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Method expects CSR input, and was passed coo_matrix"),  # by implicit itself
]

FACTOR_MODELS = {
    "als": lambda: als.AlternatingLeastSquares(factors=4, iterations=4, random_state=1, num_threads=1),
    "bpr": lambda: BayesianPersonalizedRanking(factors=4, iterations=9, random_state=1, num_threads=1),
    "lmf": lambda: LogisticMatrixFactorization(factors=4, iterations=9, random_state=1, num_threads=1),
}
ITEM_MODELS = [CosineRecommender, TFIDFRecommender, BM25Recommender, ItemItemRecommender]


def fitted(model, matrix=MATRIX):
    model.fit(matrix, show_progress=False)
    return model


def own_scores(model, matrix=MATRIX):
    """What the library recommends when it may recommend everything; 0 where an item-item model says nothing."""
    ids, scores = model.recommend(
        np.arange(N_USERS), matrix, N=N_ITEMS, filter_already_liked_items=False
    )  # fmt: skip
    dense_scores = np.zeros((N_USERS, N_ITEMS))
    for row in range(N_USERS):
        said = (ids[row] >= 0) & (np.abs(scores[row]) < 1e30)
        dense_scores[row, ids[row][said]] = scores[row][said]
    return dense_scores


@pytest.mark.parametrize("make", FACTOR_MODELS.values(), ids=FACTOR_MODELS.keys())
def test_factor_models_score_as_they_recommend_with_ids_in_any_order(make):
    model = fitted(make())
    source = from_implicit(model, users=USERS, items=ITEMS)
    assert isinstance(source, sn.FactorSource)
    assert_same_scores(source, own_scores(model))


@pytest.mark.parametrize("make", FACTOR_MODELS.values(), ids=FACTOR_MODELS.keys())
def test_interactions_lend_their_ids(make):
    model = fitted(make(), LOG.matrix)
    expected = own_scores(model, LOG.matrix)
    source = sn.source_of(model, LOG)
    assert_same_scores(source, expected, users=LOG.users.ids.to_list(), items=LOG.items.ids.to_list())
    assert source.users.same_as(LOG.users)


def test_ids_may_be_a_mapping_to_rows():
    model = fitted(FACTOR_MODELS["als"]())
    mapping = {name: row for row, name in reversed(list(enumerate(USERS)))}
    assert_same_scores(from_implicit(model, users=mapping, items=ITEMS), own_scores(model))


def test_without_ids_rows_are_numbers():
    model = fitted(FACTOR_MODELS["bpr"]())
    source = from_implicit(model)
    assert source.users is None
    np.testing.assert_allclose(dense(source), own_scores(model), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ITEM_MODELS)
def test_item_item_models_score_as_they_recommend(kind):
    weighted = MATRIX.multiply(np.linspace(0.5, 2, N_ITEMS)).tocsr()
    model = fitted(kind(K=4, num_threads=1), weighted)
    source = from_implicit(model, weighted, users=USERS, items=ITEMS)
    assert_same_scores(source, own_scores(model, weighted))


def test_the_sentinel_of_item_item_models_is_gone():
    model = fitted(CosineRecommender(K=2, num_threads=1), LOG.matrix)
    _, theirs = model.recommend(0, LOG.matrix[0], items=np.arange(N_ITEMS), filter_already_liked_items=False)
    assert theirs.min() < -1e38
    assert dense(from_implicit(model, LOG)).min() == 0


def test_models_of_the_graphics_card_come_to_the_processor():
    model = fitted(FACTOR_MODELS["als"]())

    class OnCard:
        user_factors = item_factors = "a matrix on the card"

        def to_cpu(self):
            return model

    OnCard.__module__ = "implicit.gpu.als"
    assert_same_scores(sn.source_of(OnCard(), users=USERS, items=ITEMS), own_scores(model))


def test_approximate_search_is_looked_through():
    class Annoy:
        model = fitted(FACTOR_MODELS["als"]())

    Annoy.__module__ = "implicit.ann.annoy"
    assert_same_scores(sn.source_of(Annoy(), users=USERS, items=ITEMS), own_scores(Annoy.model))


@pytest.mark.parametrize("make", [*FACTOR_MODELS.values(), CosineRecommender])
def test_models_that_are_not_fitted_are_refused(make):
    with pytest.raises(sn.errors.NotFittedError, match="fitted"):
        from_implicit(make(), LOG)


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"users": USERS[:-1]}, "users"),
        ({"items": [7] * N_ITEMS}, "items"),
        ({"users": [1.5] * N_USERS}, "ids"),
    ],
)
def test_ids_that_do_not_fit_are_refused(more, word):
    with pytest.raises(IdError, match=word):
        from_implicit(fitted(FACTOR_MODELS["als"]()), **more)


def test_item_item_models_need_the_interactions():
    model = fitted(CosineRecommender(K=4, num_threads=1))
    with pytest.raises(SettingError, match="interactions"):
        from_implicit(model)
    with pytest.raises(IdError, match="interactions"):
        from_implicit(model, MATRIX[:, :14])
