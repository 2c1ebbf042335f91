"""Every study, from its grid to its page, with tiny models on small data."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from reproduction.tests.small import SmallShelf, make_small
from sureness.errors import DataError
from sureness_reproduction.cells import CellStore, in_order, work_of
from sureness_reproduction.distillation.declared import ALONE, TRIED, settings
from sureness_reproduction.pages import blocks, published, published_tables, run_studies
from sureness_reproduction.study import Asked, find_studies, studies, values_of

ONE = Asked(seeds=1)
SLOW = {
    "teacher-student", "rank-difference", "distillation", "distillation-published", "model-sizes",
    "distillation-weights", "sampling-schemes",
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory, data_folder):
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        yield CellStore(tmp_path_factory.mktemp("cells"), SmallShelf(data_folder, absent=["amazon-crossdomain"]))


def narrowed(study):
    """The study with the first values of its longest axes: two models, data sets, sets of pairs."""
    few = {
        name: list(values_of(axis, "quick"))[:2]
        for name, axis in study.grid.items()
        if name in ("data", "pairs") or (name == "model" and study.name not in SLOW)
    }
    return replace(study, grid={**study.grid, **few})


@pytest.mark.filterwarnings("ignore:PlattCalibrator gives every score")  # so small a model ranks nothing
@pytest.mark.parametrize("name", [each.name for each in studies()])
def test_a_study_comes_to_its_table(store, tmp_path, name):
    (study,) = map(narrowed, find_studies([name]))
    asked = Asked(seeds=1, model=("bpr",)) if name in SLOW else ONE
    (page,) = run_studies([study], asked, store, tmp_path)
    if study.published:  # otherwise ours and theirs would never meet
        assert set(published(study.published).columns) - {"value"} <= set(page.results.summary.columns)
    assert len(page.results.finished) == len(page.results.points) > 0
    shown = blocks(study, page.results.summary)
    assert shown
    assert all(block.frame.height and block.frame.width > len(study.rows) for block in shown)
    text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {study.title}")
    assert page.command in text
    assert (tmp_path / f"{name}.png").exists() == (study.draw is not None)
    again = pl.read_csv(tmp_path / f"{name}.csv")
    assert again.height == page.results.summary.height
    assert again["value"].count() > 0


@pytest.mark.parametrize("scale", ["quick", "full"])
def test_what_chooses_never_judges(scale):
    """No cell that a choice rests on, directly or not, may look at test labels."""
    for study in studies():
        for cell in in_order(cell for _, cell in study.points(Asked(scale, seeds=1))):
            if not work_of(cell).judges:
                assert not [need for need in work_of(cell).needed_by(cell) if work_of(need).judges], cell.label


def test_names_and_numbers_lead_to_studies():
    assert [each.name for each in find_studies(["table-2.3"])] == ["ece"]
    tables = [each.number for each in find_studies(["table-2"])]
    assert sorted(tables) == [f"table-2.{number}" for number in range(1, 6)]
    assert find_studies(["all", "ece"]) == studies()
    every = {each.number for each in studies()}
    assert every >= {f"table-3.{number}" for number in range(1, 7)} | {f"table-4.{number}" for number in range(1, 7)}
    with pytest.raises(DataError, match="no study 'table-9'"):
        find_studies(["table-9"])


def test_single_cases_stay_single():
    (cases,) = find_studies(["calibration-case-study"])
    assert list(cases.axes(Asked(seeds=3))["seed"]) == [0]


def test_every_published_table_belongs_to_a_study():
    assert set(published_tables()) == {each.published for each in studies()} - {""}


@pytest.mark.parametrize("model", ["bpr", "neumf", "cdae"])
@pytest.mark.parametrize("start", ["published", "strong"])
def test_everything_is_tuned_equally_at_full_scale(start, model):
    assert {role: len(each) for role, each in ALONE[start, model].items()} == {"teacher": 6, "student": 6}
    assert {len(TRIED[method]) for method in ("bd", "cd", "rd")} == {6}
    for method in ("bd", "cd", "rd"):
        found = settings("full", {"data": "citeulike-bd", "start": start, "model": model, "methods": [method]})
        assert len(found["tried"]) == 6
        assert {role: len(each) for role, each in found["bases"].items()} == {"teacher": 6, "student": 6}


def test_all_declared_settings_are_valid():
    from sureness.distillation import distillation_method
    from sureness.models import make_recommender
    from sureness_reproduction.distillation.declared import alone
    from sureness_reproduction.distillation.training import spread_over

    for scale in ("quick", "full"):
        for start, model in ALONE:
            for role in ("teacher", "student"):
                assert [make_recommender(model, **each) for each in alone(scale, start, model, role)]
    for method, tried in TRIED.items():
        assert [distillation_method(method, **spread_over(method, each)) for each in tried]


def test_chapter_three_runs_the_artefact_on_citeulike_only():
    point = {"data": "amazon-music", "start": "published", "model": "bpr", "methods": ["bd"]}
    assert settings("full", point) is None
    assert settings("full", point | {"start": "strong"}) is not None
    assert settings("quick", point) is not None
