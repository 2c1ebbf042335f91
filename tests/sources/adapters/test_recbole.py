"""RecBole against its own full ranking; run by `make test-adapters`, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.sources import from_recbole
from tests.sources.adapters.shop import ITEMS, TRIPLES, USERS, assert_same_scores

pytestmark = pytest.mark.filterwarnings("ignore:.*:Warning")  # an old library on new ones

recbole = pytest.importorskip("recbole", reason="RecBole is not installed; make test-adapters has it")

TOKENS = [str(item) for item in ITEMS]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with the log as RecBole reads it."""
    folder = tmp_path_factory.mktemp("recbole") / "shop"
    folder.mkdir()
    lines = [f"{user}\t{item}\t{rating}\t{time}" for time, (user, item, rating) in enumerate(TRIPLES)]
    header = "user_id:token\titem_id:token\trating:float\ttimestamp:float"
    (folder / "shop.inter").write_text("\n".join([header, *lines]), encoding="utf-8")
    return folder.parent


def trained(name, folder, monkeypatch):
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.utils import get_model, get_trainer, init_seed

    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["recbole"])
    settings = {
        "data_path": str(folder), "epochs": 1, "use_gpu": False, "show_progress": False, "state": "ERROR",
        "embedding_size": 4, "checkpoint_dir": str(folder / "saved"), "eval_args": {"split": {"RS": [0.8, 0.1, 0.1]}},
    }  # fmt: skip
    settings |= {"train_neg_sample_args": None} if name == "MultiVAE" else {}
    config = Config(model=name, dataset="shop", config_dict=settings)
    init_seed(1, True)
    dataset = create_dataset(config)
    train, *_, test = data_preparation(config, dataset)
    model = get_model(name)(config, train.dataset)
    get_trainer(config["MODEL_TYPE"], name)(config, model).fit(train, saved=False, show_progress=False)
    return model, dataset, test


def own_scores(model, dataset, test):
    """Its own full ranking, where the items of the history are hidden."""
    from recbole.utils.case_study import full_sort_scores

    rows = dataset.token2id(dataset.uid_field, USERS)
    scores = full_sort_scores(rows, model, test).numpy()[:, dataset.token2id(dataset.iid_field, TOKENS)]
    return scores, np.isfinite(scores)


@pytest.mark.parametrize("name", ["BPR", "LightGCN", "NeuMF", "MultiVAE", "ItemKNN", "Pop"])
def test_models_score_as_in_the_full_ranking(name, shop, monkeypatch):
    model, dataset, test = trained(name, shop, monkeypatch)
    source = sn.source_of(model, dataset)
    expected, shown = own_scores(model, dataset, test)
    assert shown.any()
    rows, columns = source.users.rows(USERS), source.items.rows(TOKENS)
    found = source.score_block(np.arange(source.n_users))[np.ix_(rows, columns)]
    assert_same_scores(source, np.where(shown, expected, found), items=TOKENS)


def test_text_ids_can_become_numbers(shop, monkeypatch):
    model, dataset, _ = trained("BPR", shop, monkeypatch)
    with pytest.raises(sn.errors.DataError, match="id_type=int needs ids that are whole numbers"):
        from_recbole(model, dataset, id_type=int)
    monkeypatch.setitem(dataset.field2id_token, dataset.uid_field, ["[PAD]", *range(len(USERS))])
    assert from_recbole(model, dataset, id_type=int).items.ids.to_list() == sorted(ITEMS)


def test_the_model_is_left_as_it_was(shop, monkeypatch):
    model, dataset, _ = trained("BPR", shop, monkeypatch)
    model.train()
    from_recbole(model, dataset).score_block(np.array([0]))
    assert model.training


def test_sequential_models_are_refused():
    from recbole.model.sequential_recommender import GRU4Rec

    with pytest.raises(sn.errors.DataError, match="GRU4Rec"):
        from_recbole(GRU4Rec.__new__(GRU4Rec), None)
