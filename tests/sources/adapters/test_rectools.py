"""RecTools against its own `recommend`; run by `make test-adapters`, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.sources import from_rectools
from tests.sources.adapters.shop import BOUGHT, ITEMS, N_ITEMS, N_USERS, TRIPLES, USERS, assert_same_scores

rectools = pytest.importorskip("rectools", reason="RecTools is not installed; make test-adapters has it")
import pandas as pd  # noqa: E402
from implicit.als import AlternatingLeastSquares  # noqa: E402
from implicit.bpr import BayesianPersonalizedRanking  # noqa: E402
from implicit.nearest_neighbours import CosineRecommender  # noqa: E402
from lightfm import LightFM  # noqa: E402
from rectools import models  # noqa: E402
from rectools.dataset import Dataset  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:OpenBLAS is configured:RuntimeWarning")

MODELS = {
    "ALS": lambda: models.ImplicitALSWrapperModel(AlternatingLeastSquares(factors=3, random_state=1, num_threads=1)),
    "BPR": lambda: models.ImplicitBPRWrapperModel(
        BayesianPersonalizedRanking(factors=3, random_state=1, num_threads=1)
    ),
    "PureSVD": lambda: models.PureSVDModel(factors=3),
    "LightFM": lambda: models.LightFMWrapperModel(LightFM(no_components=3, random_state=1), epochs=3),
    "EASE": lambda: models.EASEModel(),
    "item neighbours": lambda: models.ImplicitItemKNNWrapperModel(CosineRecommender(K=4)),
    "popular": lambda: models.PopularModel(),
}
FACTORS = ("ALS", "BPR", "PureSVD", "LightFM")


def table():
    frame = pd.DataFrame(TRIPLES, columns=["user_id", "item_id", "weight"])
    return frame.assign(datetime=pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(len(frame)), unit="h"))


@pytest.fixture(scope="module")
def dataset():
    return Dataset.construct(table())


def own_scores(model, dataset, users=USERS):
    """Scores as RecTools lists them; NaN where it lists none."""
    listed = model.recommend(users, dataset, k=N_ITEMS, filter_viewed=False)
    wide = listed.pivot(index="user_id", columns="item_id", values="score").reindex(index=users, columns=ITEMS)
    return wide.to_numpy()


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_recommend(name, dataset):
    model = MODELS[name]().fit(dataset)
    source = sn.source_of(model, dataset)
    assert_same_scores(source, own_scores(model, dataset), rtol=1e-4)
    assert isinstance(source, sn.FactorSource) == (name in FACTORS)
    assert source.trained_pairs == BOUGHT.sum()


def test_users_may_come_in_any_order_and_twice(dataset):
    source = from_rectools(MODELS["EASE"]().fit(dataset), dataset)
    block = source.score_block(np.array([5, 0, 5]))
    np.testing.assert_array_equal(block, source.score_block(np.arange(N_USERS))[[5, 0, 5]])


def test_a_subclass_that_scores_in_its_own_way_is_asked(dataset):
    class Reversed(models.PureSVDModel):
        def _recommend_u2i(self, *details, **more):
            users, items, scores = super()._recommend_u2i(*details, **more)
            return users, items, -np.asarray(scores)

    model = Reversed(factors=3).fit(dataset)
    assert_same_scores(from_rectools(model, dataset), own_scores(model, dataset), rtol=1e-4)


@pytest.mark.parametrize("name", ["LightFM", "EASE"])
def test_ids_that_have_features_but_no_interactions_are_left_out(name):
    features = pd.DataFrame({"id": [*USERS, "nobody"], "feature": "age", "value": [*range(N_USERS), 3]})
    dataset = Dataset.construct(table(), user_features_df=features, make_dense_user_features=False,
                                cat_user_features=["age"])  # fmt: skip
    model = MODELS[name]().fit(dataset)
    assert_same_scores(from_rectools(model, dataset), own_scores(model, dataset), rtol=1e-4)


def test_pairs_that_are_not_listed_are_left_out_of_the_calibration_set(dataset):
    source = from_rectools(MODELS["item neighbours"]().fit(dataset), dataset)
    known = source.known_block(np.arange(source.n_users))
    held_out = sn.Interactions.of(USERS, [ITEMS[row % N_ITEMS] for row in range(N_USERS)])
    pairs = sn.CalibrationSet.from_source(source, held_out, seen="nothing").gather()
    assert len(pairs) == len(known.scores)


def test_a_model_that_is_not_fitted_is_refused(dataset):
    with pytest.raises(sn.errors.NotFittedError, match="PureSVDModel"):
        from_rectools(models.PureSVDModel(), dataset)


def test_a_model_that_needs_the_context_of_a_request_is_refused(dataset):
    class InContext(models.PopularModel):
        require_recommend_context = True

    with pytest.raises(sn.errors.DataError, match="InContext") as raised:
        from_rectools(InContext().fit(dataset), dataset)
    assert raised.value.code == "data"
