"""Exported factors give the scores of the model with plain numpy, and carry nothing of its log."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sureness as sn
from sureness.jobs import export
from sureness.recommender.run import DistilledRuns, Run

LOG = sn.Interactions.of(["zoë", "ann", "ann", "bob", "bob", "zoë"], ["film", "film", "song", "song", "book", "book"])
EPOCHS = {"epochs": 2, "n_factors": 3}


def read_scores(folder):
    """All scores as a program without sureness computes them."""
    arrays = np.load(folder / "factors.npz")
    scores = arrays["user_factors"] @ arrays["item_factors"].T + arrays["item_bias"] + arrays["user_bias"][:, None]
    ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
    return ids["users"], ids["items"], scores


def assert_exported(source, folder):
    users, items, scores = read_scores(folder)
    assert users == source.users.ids.to_list()
    assert items == source.items.ids.to_list()
    np.testing.assert_allclose(scores, source.score_block(np.arange(source.n_users)), rtol=1e-6, atol=1e-7)


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.normal(size=3), rng.normal(size=3)
    return sn.FactorSource(*tables, users=LOG.users, items=LOG.items)


@pytest.mark.parametrize("model", ["bpr", "ubpr", "cml", "lightgcn"])
def test_every_model_of_factors_gives_its_scores_fitted_or_opened(model, tmp_path):
    fitted = sn.models.make_recommender(model, **EPOCHS).fit(LOG)
    export(fitted, tmp_path / "fitted")
    assert_exported(fitted, tmp_path / "fitted")
    Run(fitted, train=LOG).save(tmp_path / "run.sureness")
    export(tmp_path / "run.sureness", tmp_path / "opened")
    assert_exported(fitted, tmp_path / "opened")


def test_biases_and_the_precision_of_the_factors_are_kept(factors, tmp_path):
    result = export(factors, tmp_path)
    assert_exported(factors, tmp_path)
    arrays = np.load(tmp_path / "factors.npz")
    assert {name: arrays[name].tolist() for name in arrays} == {
        name: getattr(factors, name).tolist() for name in factors.ARRAYS
    }
    assert result["bytes"] == sum(file.stat().st_size for file in tmp_path.iterdir())


def test_a_source_without_ids_is_exported_with_row_numbers(tmp_path):
    export(sn.FactorSource(np.ones((2, 1)), np.ones((3, 1))), tmp_path)
    users, items, _ = read_scores(tmp_path)
    assert (users, items) == ([0, 1], [0, 1, 2])


def test_a_student_is_exported_without_the_log_in_its_file(factors, tmp_path):
    run, path = Run(factors, train=LOG, test=LOG), tmp_path / "distilled.sureness"
    DistilledRuns(run, run).save(path)
    export(path / "student", tmp_path / "phone")
    assert_exported(factors, tmp_path / "phone")
    assert sorted(file.name for file in (tmp_path / "phone").iterdir()) == ["factors.npz", "ids.json"]
    assert set(np.load(tmp_path / "phone" / "factors.npz")) == set(factors.ARRAYS)
    assert set(json.loads((tmp_path / "phone" / "ids.json").read_text("utf-8"))) == {"users", "items"}


def test_an_earlier_export_is_replaced_as_a_whole(factors, tmp_path):
    export(sn.FactorSource(np.ones((9, 4)), np.ones((8, 4))), tmp_path)
    export(factors, tmp_path)
    assert_exported(factors, tmp_path)


def test_a_failure_while_writing_leaves_the_earlier_export(factors, tmp_path, monkeypatch):
    export(factors, tmp_path)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sureness.jobs.exporting.json.dumps", full)
    with pytest.raises(sn.errors.FileError) as raised:
        export(sn.FactorSource(np.ones((9, 4)), np.ones((8, 4))), tmp_path)
    assert raised.value.code == "output"
    assert_exported(factors, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "source",
    [sn.MatrixSource(np.zeros((3, 3))), sn.sources.FunctionSource(lambda users: np.zeros((len(users), 3)), 3, 3)],
    ids=["matrix", "function"],
)
def test_scores_that_are_no_products_are_refused(source, tmp_path):
    with pytest.raises(sn.errors.DataError, match=type(source).__name__) as raised:
        export(source, tmp_path / "phone")
    assert raised.value.code == "data"
    assert not (tmp_path / "phone").exists()


@pytest.mark.parametrize("model", ["neumf", "cdae"])
def test_networks_without_factors_are_refused_by_their_own_name(model, tmp_path):
    fitted = sn.models.make_recommender(model, **EPOCHS).fit(LOG)
    with pytest.raises(sn.errors.DataError, match=type(fitted).__name__):
        export(fitted, tmp_path / "phone")


def test_a_distillation_is_refused_with_its_parts_and_its_file_is_no_folder(factors, tmp_path):
    path = tmp_path / "distilled.sureness"
    DistilledRuns(Run(factors), Run(factors)).save(path)
    with pytest.raises(sn.errors.SurenessError, match="student") as raised:
        export(path, tmp_path / "phone")
    assert raised.value.code == "kind"
    with pytest.raises(sn.errors.SurenessError) as raised:
        export(path / "student", path)
    assert raised.value.code == "output"


@pytest.mark.parametrize("name", ["factors.npz", "ids.json"])
def test_a_run_with_the_name_of_an_output_is_not_replaced(name, factors, tmp_path):
    Run(factors).save(tmp_path / "run.sureness")
    (tmp_path / "run.sureness").rename(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(sn.errors.SurenessError) as raised:
        export(tmp_path / name, tmp_path)
    assert raised.value.code == "output"
    assert (tmp_path / name).read_bytes() == before
