"""Algorithms of Surprise against their own `predict`; run by `make test-adapters`, where it is installed."""

from __future__ import annotations

import pytest

import sureness as sn
from sureness.sources import from_surprise
from tests.sources.adapters.shop import ITEMS, TRIPLES, USERS, assert_same_scores

surprise = pytest.importorskip("surprise", reason="Surprise is not installed; make test-adapters has it")

FACTOR_MODELS = {
    "SVD": lambda: surprise.SVD(n_factors=4, n_epochs=5, random_state=1),
    "SVD without biases": lambda: surprise.SVD(n_factors=4, n_epochs=5, biased=False, random_state=1),
    "SVD++": lambda: surprise.SVDpp(n_factors=4, n_epochs=3, random_state=1),
    "NMF": lambda: surprise.NMF(n_factors=4, n_epochs=5, random_state=1),
    "NMF with biases": lambda: surprise.NMF(n_factors=4, n_epochs=5, biased=True, random_state=1),
    "BaselineOnly": lambda: surprise.BaselineOnly(verbose=False),
}
OTHER_MODELS = {
    "KNNBasic": lambda: surprise.KNNBasic(k=3, min_k=3, verbose=False),  # often impossible: the mean instead
    "KNNBaseline": lambda: surprise.KNNBaseline(k=3, verbose=False),
    "SlopeOne": lambda: surprise.SlopeOne(),
    "CoClustering": lambda: surprise.CoClustering(random_state=1),
}


def trainset(triples=TRIPLES):
    import pandas as pd

    table = pd.DataFrame(triples, columns=["user", "item", "rating"])
    return surprise.Dataset.load_from_df(table, surprise.Reader(rating_scale=(2, 4))).build_full_trainset()


def own_scores(algo):
    return [[algo.predict(user, item, clip=False).est for item in ITEMS] for user in USERS]


@pytest.mark.parametrize("make", FACTOR_MODELS.values(), ids=FACTOR_MODELS.keys())
def test_factor_models_become_factors(make):
    algo = make().fit(trainset())
    source = from_surprise(algo)
    assert isinstance(source, sn.FactorSource)
    assert_same_scores(source, own_scores(algo))


@pytest.mark.parametrize("make", OTHER_MODELS.values(), ids=OTHER_MODELS.keys())
def test_other_models_are_asked_pair_by_pair(make):
    algo = make().fit(trainset())
    source = sn.source_of(algo)
    assert isinstance(source, sn.sources.FunctionSource)
    assert_same_scores(source, own_scores(algo))


def test_an_algorithm_with_an_estimate_of_its_own_is_asked():
    class Louder(surprise.SVD):
        def estimate(self, u, i):
            return 10 * super().estimate(u, i)

    algo = Louder(n_factors=4, n_epochs=5, random_state=1).fit(trainset())
    assert_same_scores(sn.source_of(algo), own_scores(algo))


def test_text_ids_of_files_can_become_numbers():
    algo = FACTOR_MODELS["SVD"]().fit(trainset([("10", "4", 2.0), ("7", "30", 3.0)]))
    assert from_surprise(algo, id_type=int).users.ids.to_list() == [7, 10]


def test_an_algorithm_that_is_not_fitted_is_refused():
    with pytest.raises(sn.errors.NotFittedError, match="SVD is not fitted yet"):
        from_surprise(surprise.SVD())
