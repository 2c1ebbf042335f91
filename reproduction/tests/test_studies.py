"""Every study, from its grid to its page, with tiny models on small data; and with things of the user beside."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from reproduction.tests.small import small_log
from sureness.errors import DataError
from sureness_reproduction.calibration.maps import AS_LOGGED, WITH_ANCHOR
from sureness_reproduction.declarations import find_studies, read, studies
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.pages import blocks, command_of, published, run_studies
from sureness_reproduction.results import read_csv
from sureness_reproduction.study import Asked

SLOW = {"teacher-student", "rank-difference", "distillation", "distillation-published", "model-sizes",
        "distillation-weights", "sampling-schemes"}  # fmt: skip


@pytest.mark.filterwarnings("ignore:PlattCalibrator gives every score")  # so small a model ranks nothing
@pytest.mark.parametrize("name", [each.name for each in studies()])
def test_a_study_comes_to_its_table(small_store, tmp_path, name):
    (study,) = find_studies([name])
    few = {axis: study.axes(Asked())[axis][:2] for axis in {"data", "pairs", "model"} & set(study.grid)}
    few |= {"model": ["bpr"]} if name in SLOW else {}
    (results,) = run_studies([replace(study, grid={**study.grid, **few})], Asked(seeds=1), small_store, tmp_path)
    if study.published:  # otherwise ours and theirs would never meet
        assert set(published(study.published).columns) - {"value"} <= set(results.summary.columns)
    assert len(results.finished) == len(results.points) > 0
    for claim in study.claims:  # otherwise a misspelt one would say nothing for ever
        assert claim.metric in results.numbers["metric"].to_list(), claim.text
        assert {*claim.first, *claim.per} <= {*results.numbers.columns}, claim.text
    shown = blocks(study, results.summary)
    assert shown
    assert all(frame.height and frame.width > len(study.rows) for _, frame in shown)
    text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {study.title}")
    assert command_of(results) in text
    assert (tmp_path / f"{name}.png").exists() == (study.draw is not None)
    again = read_csv(tmp_path / f"{name}.csv")
    assert again.height == results.summary.height
    assert again["value"].count() > 0


# --- what users bring -------------------------------------------------------------------------------------------------

OWN = f"{Path(__file__).parent / 'own_things.py'}:"
FEW = {"pairs": [AS_LOGGED, WITH_ANCHOR], "test": ["left_out"], "methods": [["isotonic", "platt"]]}
SIZED, ALONE_ONLY = {"methods": [read("list_size")["values"]["plain"]]}, {"methods": [["alone"]], "start": ["strong"]}


@pytest.fixture
def numbers(small_store, tmp_path):
    def called(name, axes, **asked):
        (study,) = find_studies([name])
        small = replace(study, grid={**study.grid, **axes})
        return run_studies([small], Asked(seeds=1, **asked), small_store, tmp_path)[0].summary

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


def test_a_policy_and_a_map_choose_list_sizes(numbers, small_store):
    mine, its_map = OWN + "AlwaysThree", "sureness.calibration:PerUserGamma"
    found = numbers("list-size-bpr", SIZED, data=("ml-100k",), method=(mine, its_map))
    assert {"Oracle", "Top-5", mine, its_map} <= set(found["method"])
    samples = pl.concat([pl.read_parquet(file) for file in small_store.folder.glob("utilities-*/samples.parquet")])
    assert set(samples.filter(method=mine, metric="items, f1")["value"]) == {3.0}


def test_a_log_of_ones_own_is_split_and_studied(numbers, tmp_path):
    pairs, log = small_log(n_users=60, n_items=50, preference_rate=0.3, exposure_rate=0.9), str(tmp_path / "log.csv")
    pl.DataFrame({"user_id": pairs.user_rows, "item_id": pairs.item_rows}).write_csv(log)
    assert numbers("list-size-bpr", SIZED, data=(log,)).filter(method="Oracle", metric="f1")["value"].item() > 0
    distilled = numbers("distillation", ALONE_ONLY | {"methods": [["alone"], ["bd"]]}, data=(log,), model=("bpr",))
    assert set(distilled["method"]) == {"alone", "bd"}


def test_a_method_of_ones_own_is_distilled(numbers):
    found = numbers("distillation", ALONE_ONLY, model=("bpr",), method=(OWN + "untouched",))
    assert set(found["method"]) == {"alone", OWN + "untouched"}
    same = found.group_by("role", "metric").agg(pl.col("value").n_unique())
    assert set(same["value"]) == {1}  # models that learn nothing stay as they are


@pytest.mark.parametrize("name", ["nowhere:Thing", "nowhere.py:Thing", "sys:nothing"])
def test_what_cannot_be_imported_is_refused(name):
    assert is_own(name)
    with pytest.raises(DataError, match="file.py:object"):
        load_own(name)


def test_a_method_is_added_where_it_belongs():
    added = (OWN + "Steep", OWN + "AlwaysThree", OWN + "untouched", "bd-public", "shape")
    chapters = [find_studies([name])[0] for name in ("ece", "distillation", "list-size-bpr")]
    found = [[each.name for each in chapters if [one] in each.axes(Asked(method=(one,)))["methods"]] for one in added]
    maps = ["ece", "list-size-bpr"]
    assert found == [maps, ["list-size-bpr"], ["distillation"], ["distillation"], maps]
