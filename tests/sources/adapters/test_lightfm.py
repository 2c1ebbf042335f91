"""LightFM, in either of its forks, against its own `predict`; run by `make test-adapters`, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack, identity

import sureness as sn
from sureness.sources import from_lightfm
from tests.sources.adapters.shop import ITEMS, MATRIX, N_ITEMS, N_USERS, USERS, assert_same_scores

lightfm = pytest.importorskip("lightfm", reason="LightFM is not installed; make test-adapters has it")

LOSSES = ["logistic", "bpr", "warp", "warp-kos"]
GENRES = hstack([identity(N_ITEMS), csr_matrix(np.arange(N_ITEMS)[:, None] % 3 == np.arange(3))]).tocsr()


def fitted(loss, **features):
    model = lightfm.LightFM(no_components=4, loss=loss, random_state=1)
    return model.fit(MATRIX.tocoo(), epochs=4, num_threads=1, **features)


def own_scores(model, **features):
    users, items = (grid.ravel() for grid in np.indices((N_USERS, N_ITEMS)))
    return model.predict(users, items, num_threads=1, **features).reshape(N_USERS, N_ITEMS)


@pytest.mark.parametrize("loss", LOSSES)
def test_scores_are_those_of_predict(loss):
    model = fitted(loss)
    assert_same_scores(sn.source_of(model, users=USERS, items=ITEMS), own_scores(model))


def test_features_are_part_of_the_scores():
    model = fitted("warp", item_features=GENRES)
    source = from_lightfm(model, users=USERS, items=ITEMS, item_features=GENRES)
    assert_same_scores(source, own_scores(model, item_features=GENRES))


def test_the_mappings_of_its_dataset_are_ids():
    dataset = pytest.importorskip("lightfm.data").Dataset()
    dataset.fit(USERS, ITEMS)
    users, _, items, _ = dataset.mapping()
    model = fitted("bpr")
    assert_same_scores(from_lightfm(model, users=users, items=items), own_scores(model))


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(sn.errors.NotFittedError, match="LightFM is not fitted yet"):
        from_lightfm(lightfm.LightFM())
