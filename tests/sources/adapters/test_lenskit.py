"""Pipelines and scorers of LensKit against their own scores."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.errors import SettingError
from sureness.sources import from_lenskit
from tests.sources.adapters.shop import ITEMS, LOG, TRIPLES, USERS, assert_same_scores

lenskit = pytest.importorskip("lenskit", reason="LensKit is not installed")
import pandas as pd  # noqa: E402
from lenskit.als import BiasedMFScorer, ImplicitMFScorer  # noqa: E402
from lenskit.basic import BiasScorer, PopScorer  # noqa: E402
from lenskit.data import ItemList, from_interactions_df  # noqa: E402
from lenskit.flexmf import FlexMFImplicitScorer  # noqa: E402
from lenskit.knn import EASEScorer, ItemKNNScorer, UserKNNScorer  # noqa: E402
from lenskit.pipeline import predict_pipeline, topn_pipeline  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning"),
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning"),
]

SCORERS = {
    "BiasedMF": lambda: BiasedMFScorer(features=3, epochs=3),
    "ImplicitMF": lambda: ImplicitMFScorer(features=3, epochs=3),
    "ImplicitMF, trained factors": lambda: ImplicitMFScorer(features=3, epochs=3, user_embeddings="prefer"),
    "ItemKNN": lambda: ItemKNNScorer(max_nbrs=3, min_nbrs=2),
    "ItemKNN implicit": lambda: ItemKNNScorer(max_nbrs=3, feedback="implicit"),
    "UserKNN": lambda: UserKNNScorer(max_nbrs=3),
    "EASE": lambda: EASEScorer(),
    "FlexMF implicit": lambda: FlexMFImplicitScorer(embedding_size=3, epochs=2),
    "Bias": lambda: BiasScorer(),
    "Popular": lambda: PopScorer(),
}


@pytest.fixture(scope="module")
def data():
    return from_interactions_df(pd.DataFrame(TRIPLES, columns=["user_id", "item_id", "rating"]))


def trained(scorer, data, build=topn_pipeline):
    pipeline = build(scorer)
    pipeline.train(data)
    return pipeline


@pytest.mark.parametrize("make", SCORERS.values(), ids=SCORERS.keys())
def test_pipelines_score_as_lenskit_does(make, data):
    pipeline = trained(make(), data)
    own = [lenskit.score(pipeline, user, ITEMS).scores() for user in USERS]
    assert_same_scores(from_lenskit(pipeline), own)


@pytest.mark.parametrize("name", ["BiasedMF", "ImplicitMF", "FlexMF implicit", "UserKNN"])
def test_scorers_by_themselves_use_what_they_learned(name, data):
    scorer = trained(SCORERS[name](), data).component("scorer")
    own = [scorer(query=user, items=ItemList(ITEMS)).scores() for user in USERS]
    source = sn.source_of(scorer)
    assert_same_scores(source, own)
    assert isinstance(source, sn.FactorSource) == (name in ("BiasedMF", "ImplicitMF"))


def test_items_without_neighbours_are_unknown_and_left_out_of_the_calibration_set(data):
    source = from_lenskit(trained(SCORERS["ItemKNN"](), data))
    known = source.known_block(np.arange(source.n_users))
    assert 0 < len(known.scores) < source.n_users * source.n_items
    pairs = sn.CalibrationSet.from_source(source, LOG, seen="nothing").gather()
    assert len(pairs) == len(known.scores)


def test_another_part_of_the_pipeline_can_be_asked(data):
    pipeline = trained(SCORERS["ItemKNN"](), data, predict_pipeline)
    own = [lenskit.predict(pipeline, user, ITEMS).scores() for user in USERS]
    assert np.isfinite(own).all()  # it falls back to the biases
    assert_same_scores(from_lenskit(pipeline, component="rating-predictor"), own)
    with pytest.raises(SettingError, match="component"):
        from_lenskit(pipeline, component="oracle")


def test_a_scorer_that_needs_histories_is_refused_without_its_pipeline(data):
    scorer = trained(SCORERS["ItemKNN"](), data).component("scorer")
    with pytest.raises(sn.errors.DataError, match="ItemKNNScorer"):
        from_lenskit(scorer)


@pytest.mark.parametrize("make", [SCORERS["ImplicitMF"], lambda: topn_pipeline(SCORERS["ImplicitMF"]())])
def test_what_is_not_trained_is_refused(make):
    with pytest.raises(sn.errors.DataError, match="trained"):
        from_lenskit(make())
