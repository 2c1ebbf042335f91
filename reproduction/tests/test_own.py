"""A log, a model, a calibrator, a policy and a method of one's own beside all others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from reproduction.tests.small import SmallShelf, make_small, small_log
from sureness.errors import DataError
from sureness_reproduction.calibration.maps import AS_LOGGED, WITH_ANCHOR
from sureness_reproduction.cells import CellStore
from sureness_reproduction.list_size.utility import GROUPS
from sureness_reproduction.own import digest_of_own, is_own, load_own
from sureness_reproduction.pages import run_studies
from sureness_reproduction.study import Asked, find_studies

OWN = f"{Path(__file__).parent / 'own_things.py'}:"
FEW = {"pairs": [AS_LOGGED, WITH_ANCHOR], "test": ["left_out"], "methods": [["isotonic", "platt"]]}
SIZED, ALONE = {"methods": GROUPS[:1]}, {"methods": [["alone"]], "start": ["strong"]}


@pytest.fixture(scope="module")
def store(tmp_path_factory, data_folder):
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        yield CellStore(tmp_path_factory.mktemp("cells"), SmallShelf(data_folder))


@pytest.fixture
def numbers(store, tmp_path):
    def called(name, axes, **asked):
        (study,) = find_studies([name])
        small = replace(study, grid={**study.grid, **axes})
        return run_studies([small], Asked(seeds=1, **asked), store, tmp_path)[0].summary

    return called


@pytest.mark.parametrize(("name", "axes"), [("ece", FEW), ("desiderata", {"methods": FEW["methods"]})])
def test_a_calibrator_stands_beside_all_others(numbers, name, axes):
    mine = OWN + "Steep"
    found = numbers(name, axes, model=("bpr",), method=(mine, "shape"))  # also one of the package that is not declared
    assert set(found["method"]) == {"isotonic", "platt", mine, "shape"}
    platt, own = (found.filter(method=method)["value"].to_list() for method in ("platt", mine))
    assert own == platt  # the same map under another name


@pytest.mark.parametrize("model", ["Popular", "popular"])
def test_a_model_is_calibrated(numbers, model):
    found = numbers("nll", FEW, model=(OWN + model,))
    assert set(found["model"]) == {OWN + model}
    assert found.filter(method="platt", risk="naive")["value"].max() < 1


def test_a_policy_and_a_map_choose_list_sizes(numbers, store):
    mine, its_map = OWN + "AlwaysThree", "sureness.calibration:PerUserGamma"
    found = numbers("list-size-bpr", SIZED, data=("ml-100k",), method=(mine, its_map))
    assert {"Oracle", "Top-5", mine, its_map} <= set(found["method"])
    samples = pl.concat([pl.read_parquet(file) for file in store.folder.glob("utilities-*/samples.parquet")])
    assert set(samples.filter(method=mine, metric="items, f1")["value"]) == {3.0}


def test_a_log_of_ones_own_is_split_and_studied(numbers, tmp_path):
    pairs, log = small_log(n_users=60, n_items=50, preference_rate=0.3, exposure_rate=0.9), str(tmp_path / "log.csv")
    pl.DataFrame({"user_id": pairs.user_rows, "item_id": pairs.item_rows}).write_csv(log)
    calibrated = numbers("ece", FEW, data=(log,), model=("bpr",))
    assert set(calibrated["data"]) == {log}
    assert set(calibrated["pairs"]) == {WITH_ANCHOR}  # a log without low ratings has no ratio of its own
    assert numbers("list-size-bpr", SIZED, data=(log,)).filter(method="Oracle", metric="f1")["value"].item() > 0
    distilled = numbers("distillation", ALONE | {"methods": [["alone"], ["bd"]]}, data=(log,), model=("bpr",))
    assert set(distilled["method"]) == {"alone", "bd"}


def test_a_method_of_ones_own_is_distilled(numbers):
    found = numbers("distillation", ALONE, model=("bpr",), method=(OWN + "untouched",))
    assert set(found["method"]) == {"alone", OWN + "untouched"}
    same = found.group_by("role", "metric").agg(pl.col("value").n_unique())
    assert same["value"].to_list() == [1] * 8  # models that learn nothing stay as they are


@pytest.mark.parametrize("name", ["nowhere:Thing", "nowhere.py:Thing", "sys:nothing"])
def test_what_cannot_be_imported_is_refused(name):
    assert is_own(name)
    with pytest.raises(DataError, match="file.py:object"):
        load_own(name)
    with pytest.raises(DataError, match="file.py:object"):
        digest_of_own(name)


def test_a_method_is_added_where_it_belongs():
    added = (OWN + "Steep", OWN + "AlwaysThree", OWN + "untouched", "bd-public", "shape")
    chapters = [find_studies([name])[0] for name in ("ece", "distillation", "list-size-bpr")]
    found = [[each.name for each in chapters if [one] in each.axes(Asked(method=(one,)))["methods"]] for one in added]
    maps = ["ece", "list-size-bpr"]
    assert found == [maps, ["list-size-bpr"], ["distillation"], ["distillation"], maps]
