"""Every study, from its grid to its page, with tiny models on small data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reproduction.tests.small import SmallShelf, make_small
from sureness.distillation import distillation_method
from sureness.errors import DataError
from sureness.models import make_recommender
from sureness_reproduction.cells import CellStore, in_order
from sureness_reproduction.distillation.declared import ALONE, TRIED, alone, settings
from sureness_reproduction.distillation.training import spread_over
from sureness_reproduction.pages import blocks, command_of, published, run_studies
from sureness_reproduction.results import read_csv
from sureness_reproduction.study import Asked, find_studies, studies

SLOW = {"teacher-student", "rank-difference", "distillation", "distillation-published", "model-sizes",
        "distillation-weights", "sampling-schemes"}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory, data_folder):
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        yield CellStore(tmp_path_factory.mktemp("cells"), SmallShelf(data_folder, absent=("amazon-crossdomain",)))


@pytest.mark.filterwarnings("ignore:PlattCalibrator gives every score")  # so small a model ranks nothing
@pytest.mark.parametrize("name", [each.name for each in studies()])
def test_a_study_comes_to_its_table(store, tmp_path, name):
    (study,) = find_studies([name])
    axes = {"data", "pairs", "model"} & set(study.grid)
    few = {axis: ["bpr"] if axis == "model" and name in SLOW else study.known(axis)[:2] for axis in axes}
    (results,) = run_studies([replace(study, grid={**study.grid, **few})], Asked(seeds=1), store, tmp_path)
    if study.published:  # otherwise ours and theirs would never meet
        assert set(published(study.published).columns) - {"value"} <= set(results.summary.columns)
    assert len(results.finished) == len(results.points) > 0
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


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_what_chooses_never_judges(scale):
    """No cell that a choice rests on, directly or not, may look at test labels."""
    for study in studies():
        for cell in in_order(cell for _, cell in study.points(Asked(scale, seeds=1))):
            assert cell.declared.judges or not any(need.declared.judges for need in cell.needs), cell.label


def test_names_and_numbers_lead_to_studies():
    assert [each.name for each in find_studies(["table-2.3"])] == ["ece"]
    assert sorted(each.number for each in find_studies(["table-2"])) == [f"table-2.{number}" for number in range(1, 6)]
    assert find_studies(["all", "ece"]) == studies()
    every = {each.number for each in studies()}
    assert every >= {f"table-{chapter}.{number}" for chapter in (3, 4) for number in range(1, 7)}
    with pytest.raises(DataError, match="no study 'table-9'"):
        find_studies(["table-9"])


def test_single_cases_stay_single():
    (cases,) = find_studies(["calibration-case-study"])
    assert list(cases.axes(Asked(seeds=3))["seed"]) == [0]


@pytest.mark.parametrize("model", ["bpr", "neumf", "cdae"])
@pytest.mark.parametrize("start", ["published", "strong"])
def test_everything_is_tuned_equally_at_full_scale(start, model):
    for method in ("bd", "cd", "rd"):
        found = settings("full", {"data": "citeulike-bd", "start": start, "model": model, "methods": [method]})
        assert len(found["tried"]) == len(TRIED[method]) == 6
        assert {role: len(each) for role, each in found["bases"].items()} == {"teacher": 6, "student": 6}


def test_all_declared_settings_are_valid():
    for start, model in ALONE:
        for scale, role in (("quick", "teacher"), ("full", "teacher"), ("quick", "student"), ("full", "student")):
            assert [make_recommender(model, **each) for each in alone(scale, start, model, role)]
    for method, tried in TRIED.items():
        assert [distillation_method(method, **spread_over(method, each)) for each in tried]


def test_chapter_three_runs_the_artefact_on_citeulike_only():
    point = {"data": "amazon-music", "start": "published", "model": "bpr", "methods": ["bd"]}
    runs = [("full", {}), ("full", {"start": "strong"}), ("quick", {})]
    assert [settings(scale, point | changed) is None for scale, changed in runs] == [True, False, False]
