"""Models of Cornac against their own `score`."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.errors import IdError, SettingError
from sureness.sources import from_cornac
from tests.sources.adapters.shop import ITEMS, TRIPLES, USERS, assert_same_scores

cornac = pytest.importorskip("cornac", reason="Cornac is not installed")
models = cornac.models

FACTOR_MODELS = {
    "BPR": lambda: models.BPR(k=4, max_iter=9, seed=1, num_threads=1),
    "WBPR": lambda: models.WBPR(k=4, max_iter=9, seed=1, num_threads=1),
    "MMMF": lambda: models.MMMF(k=4, max_iter=9, seed=1, num_threads=1),
    "MF": lambda: models.MF(k=4, max_iter=9, seed=1, num_threads=1),
    "MF without biases": lambda: models.MF(k=4, max_iter=9, seed=1, use_bias=False, num_threads=1),
    "SVD": lambda: models.SVD(k=4, max_iter=9, seed=1, num_threads=1),
    "PMF": lambda: models.PMF(k=4, max_iter=9, seed=1, variant="linear"),
    "PMF non-linear": lambda: models.PMF(k=4, max_iter=9, seed=1, variant="non_linear"),
    "IBPR": lambda: models.IBPR(k=4, max_iter=2),
}
OTHER_MODELS = {
    "NMF": lambda: models.NMF(k=4, max_iter=9, seed=1, num_threads=1),
    "HPF": lambda: models.HPF(k=4, max_iter=9, seed=1, verbose=False),
    "EASE": lambda: models.EASE(verbose=False),
    "ItemKNN": lambda: models.ItemKNN(k=3, num_threads=1, verbose=False),
    "UserKNN": lambda: models.UserKNN(k=3, num_threads=1, verbose=False),
    "BaselineOnly": lambda: models.BaselineOnly(seed=1, num_threads=1),
    "MostPop": lambda: models.MostPop(),
    "VAECF": lambda: models.VAECF(k=3, n_epochs=2, seed=1),
    "NeuMF": lambda: models.NeuMF(num_factors=2, layers=(4, 2), num_epochs=1, seed=1, backend="pytorch", verbose=False),
}


@pytest.fixture(scope="module")
def train():
    return cornac.data.Dataset.from_uir(TRIPLES, seed=1)


def own_scores(model):
    """What the library scores for all items of each user, in the order of our lists."""
    columns = [model.iid_map[item] for item in ITEMS]
    return [np.ravel(model.score(model.uid_map[user]))[columns] for user in USERS]


@pytest.mark.parametrize("make", FACTOR_MODELS.values(), ids=FACTOR_MODELS.keys())
def test_factor_models_become_factors(make, train):
    model = make().fit(train)
    source = from_cornac(model)
    assert isinstance(source, sn.FactorSource)
    assert_same_scores(source, own_scores(model))


@pytest.mark.parametrize("make", OTHER_MODELS.values(), ids=OTHER_MODELS.keys())
def test_other_models_are_asked_user_by_user(make, train):
    model = make().fit(train)
    source = sn.source_of(model)
    assert isinstance(source, sn.sources.FunctionSource)
    assert_same_scores(source, own_scores(model))


def test_a_model_with_a_score_of_its_own_is_asked(train):
    class Louder(models.MF):
        def score(self, user_idx, item_idx=None):
            return 10 * super().score(user_idx, item_idx)

    model = Louder(k=4, max_iter=9, seed=1, num_threads=1).fit(train)
    source = sn.source_of(model)
    assert isinstance(source, sn.sources.FunctionSource)
    assert_same_scores(source, own_scores(model))


@pytest.mark.parametrize("make", [FACTOR_MODELS["MF"], OTHER_MODELS["ItemKNN"]])
def test_users_and_items_of_the_test_set_alone_are_left_out(make):
    rows = [*TRIPLES, ("a stranger", ITEMS[0], 3.0), (USERS[0], 999, 3.0)]
    split = cornac.eval_methods.BaseMethod.from_splits(rows[:-2], rows[-2:], exclude_unknowns=False)
    model = make().fit(split.train_set)
    assert len(model.uid_map) == len(USERS) + 1
    assert_same_scores(from_cornac(model), own_scores(model))


def test_ids_can_be_converted(train):
    model = FACTOR_MODELS["MF"]().fit(cornac.data.Dataset.from_uir([("7", "30", 1.0), ("10", "4", 2.0)]))
    assert from_cornac(model).users.ids.to_list() == ["10", "7"]
    source = from_cornac(model, id_type=int)
    assert source.users.ids.to_list() == [7, 10]
    assert source.score_block(np.array([0]))[0, 1] == pytest.approx(model.score(model.uid_map["7"])[0], rel=1e-5)
    named = FACTOR_MODELS["MF"]().fit(train)
    with pytest.raises(IdError, match="id_type=int"):
        from_cornac(named, id_type=int)
    with pytest.raises(SettingError, match="id_type"):
        from_cornac(named, id_type=float)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(sn.errors.NotFittedError, match="fitted"):
        from_cornac(models.MF())
