"""A log, a model, a calibrator, a policy and a method of one's own beside all others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from reproduction.tests.small import SmallShelf, make_small
from sureness.data import SimulatorSettings, simulate
from sureness.errors import DataError
from sureness_reproduction.calibration.maps import AS_LOGGED, WITH_ANCHOR
from sureness_reproduction.cells import CellStore, key_of
from sureness_reproduction.list_size.utility import GROUPS
from sureness_reproduction.own import digest_of_own, is_own, load_own
from sureness_reproduction.pages import run_studies
from sureness_reproduction.study import Asked, find_studies

OWN = f"{Path(__file__).parent / 'own_things.py'}:"


@pytest.fixture(scope="module")
def store(tmp_path_factory, data_folder):
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        yield CellStore(tmp_path_factory.mktemp("cells"), SmallShelf(data_folder))


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    world = simulate(SimulatorSettings(n_users=60, n_items=50, preference_rate=0.3, exposure_rate=0.9))
    pairs = (world.train + world.held_out).tocoo()
    path = tmp_path_factory.mktemp("log") / "log.csv"
    pl.DataFrame({"user_id": pairs.row, "item_id": pairs.col}).write_csv(path)
    return str(path)


def numbers(store, tmp_path, name, axes=None, **asked):
    (study,) = find_studies([name])
    small = replace(study, grid={**study.grid, **(axes or {})})
    (page,) = run_studies([small], Asked(seeds=1, **asked), store, tmp_path)
    return page.results.summary


FEW = {"pairs": [AS_LOGGED, WITH_ANCHOR], "test": ["left_out"], "methods": [["isotonic", "platt"]]}


@pytest.mark.parametrize(("name", "axes"), [("ece", FEW), ("desiderata", {"methods": FEW["methods"]})])
def test_a_calibrator_stands_beside_all_others(store, tmp_path, name, axes):
    mine = OWN + "Steep"
    found = numbers(store, tmp_path, name, axes, model=("bpr",), method=(mine,))
    assert set(found["method"]) == {"isotonic", "platt", mine}
    platt, own = (found.filter(method=method)["value"].to_list() for method in ("platt", mine))
    assert own == platt  # the same map under another name


@pytest.mark.parametrize("model", ["Popular", "popular"])
def test_a_model_is_calibrated(store, tmp_path, model):
    found = numbers(store, tmp_path, "nll", FEW, model=(OWN + model,))
    assert set(found["model"]) == {OWN + model}
    assert found.filter(method="platt", risk="naive")["value"].max() < 1


def test_a_policy_and_a_map_choose_list_sizes(store, tmp_path):
    mine, its_map = OWN + "AlwaysThree", "sureness.calibration:PerUserGamma"
    plain = {"methods": GROUPS[:1]}
    found = numbers(store, tmp_path, "list-size-bpr", plain, data=("ml-100k",), method=(mine, its_map))
    assert {"Oracle", "Top-5", mine, its_map} <= set(found["method"])
    samples = store.folder.glob("utilities-*/samples.parquet")
    three = pl.concat([pl.read_parquet(file) for file in samples]).filter(method=mine, metric="items, f1")
    assert set(three["value"]) == {3.0}


def test_a_log_of_ones_own_is_split_and_studied(store, tmp_path, log):
    calibrated = numbers(store, tmp_path, "ece", FEW, data=(log,), model=("bpr",))
    assert set(calibrated["data"]) == {log}
    assert set(calibrated["pairs"]) == {WITH_ANCHOR}  # a log without low ratings has no ratio of its own
    sized = numbers(store, tmp_path, "list-size-bpr", {"methods": GROUPS[:1]}, data=(log,))
    assert sized.filter(method="Oracle", metric="f1")["value"].item() > 0
    two = {"methods": [["alone"], ["bd"]], "start": ["strong"]}
    distilled = numbers(store, tmp_path, "distillation", two, data=(log,), model=("bpr",))
    assert set(distilled["method"]) == {"alone", "bd"}


def test_a_method_of_ones_own_is_distilled(store, tmp_path):
    mine = OWN + "untouched"
    alone = {"methods": [["alone"]], "start": ["strong"]}
    found = numbers(store, tmp_path, "distillation", alone, model=("bpr",), method=(mine,))
    same = (
        found.filter(pl.col("method").is_in(["alone", mine])).group_by("role", "metric").agg(pl.col("value").n_unique())
    )
    assert same["value"].to_list() == [1] * 8  # models that learn nothing stay as they are


def test_other_code_is_another_cell(tmp_path):
    from sureness_reproduction.base_models import trained

    file = tmp_path / "mine.py"
    file.write_text("class Mine: pass\n", encoding="utf-8")
    cell = trained.cell(data="coat", protocol="ratio", model=f"{file}:Mine", seed=0, trials=1)
    before = key_of(cell, lambda data: "")
    file.write_text("class Mine: a = 1\n", encoding="utf-8")
    assert key_of(cell, lambda data: "") != before


@pytest.mark.parametrize("name", ["nowhere:Thing", "nowhere.py:Thing", "math:nothing"])
def test_what_cannot_be_imported_is_refused(name):
    assert is_own(name)
    with pytest.raises(DataError, match="file.py:object"):
        load_own(name)


def test_a_log_that_is_gone_is_refused():
    with pytest.raises(DataError, match="cannot find"):
        digest_of_own("gone.py:Thing")


def test_a_method_is_added_where_it_belongs():
    added = (OWN + "Steep", OWN + "AlwaysThree", OWN + "untouched", "bd-public", "shape")
    studies = [study for name in ("ece", "distillation", "list-size-bpr") for study in find_studies([name])]
    found = [[each.name for each in studies if [one] in each.axes(Asked(method=(one,)))["methods"]] for one in added]
    maps = ["ece", "list-size-bpr"]
    assert found == [maps, ["list-size-bpr"], ["distillation"], ["distillation"], maps]


def test_a_calibrator_of_the_package_is_added_by_name(store, tmp_path):
    found = numbers(store, tmp_path, "ece", FEW, model=("bpr",), method=("shape",))
    assert found.filter(method="shape", risk="naive")["value"].max() < 0.5
