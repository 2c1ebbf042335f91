"""The trainings, on a small real data set with tiny models; all but the judgement run with the test sealed."""

from __future__ import annotations

import json

import polars as pl
import pytest

from sureness.artefacts import load
from sureness_reproduction.distillation.comparisons import compared, measured
from sureness_reproduction.distillation.judging import judged
from sureness_reproduction.distillation.pairs import Pair
from sureness_reproduction.distillation.works import (
    METRICS,
    alone,
    chosen,
    distilled,
    keeps_counts,
    picked,
    split_options,
    spread_over,
    tried,
)
from sureness_reproduction.running import run_cells
from sureness_reproduction.store import CellStore
from sureness_reproduction.workbench import DataShelf, Finished

COMMON = {"metric": "hit@50", "validate_every": 2, "epochs": 2, "validation_users": 100}
TEACHER = [{"n_factors": 8, "learning_rate": rate, **COMMON} for rate in (0.01, 0.001)]
STUDENT = [{"n_factors": 2, "learning_rate": 0.01, **COMMON}]
SCHEDULE = {"epochs": 2, "validate_every": 2, "patience": 1, "warm_up": 1}
TRIED = [{"weight": 0.5, "items": 2}, {"weight": 0.1, "items": 1}]


def tiny(start="strong"):
    grids = {"bd": TRIED, "cd": TRIED[:1], "one-way": TRIED[:1]}
    return Pair("ml-100k", start, "bpr", TEACHER, STUDENT, SCHEDULE, grids)


@pytest.fixture(scope="module")
def store(tmp_path_factory, data_folder):
    return CellStore(tmp_path_factory.mktemp("cells"), DataShelf(data_folder))


def test_only_judgements_may_see_the_test():
    assert [work.judges for work in (alone, picked, tried, chosen, distilled, measured)] == [False] * 6
    assert judged.judges
    assert compared.judges


def test_the_best_settings_of_a_model_alone_are_taken_and_not_trained_again(store):
    cell = tiny().alone("teacher", 0)
    run_cells([cell], store)
    singles = [store.find(alone.cell(**(cell.parameters | {"settings": [each]}))) for each in TEACHER]
    values = [single.table("about")["validation"][0] for single in singles]
    best = singles[values.index(max(values))]
    assert store.find(cell).table("about").drop("settings").equals(best.table("about").drop("settings"))
    assert json.loads(store.find(cell).table("about")["settings"][0]) == TEACHER[values.index(max(values))]
    first, second = (each.model.network_.state_dict() for each in (store.find(cell), best))
    assert all((first[name] == second[name]).all() for name in first)


@pytest.mark.parametrize("start", ["strong", "published"])
def test_from_the_first_try_to_the_judgement(store, start):
    pair = tiny(start)
    wanted = [pair.judged("bd", 1), pair.judged("alone", 1), pair.chosen("bd"), pair.judged("cd", 1)]
    run_cells(wanted, store)
    trials = store.find(pair.chosen("bd")).table("trials")
    assert trials["value"].is_sorted(descending=True)
    assert sorted(trials["changes"]) == sorted(json.dumps(each, sort_keys=True) for each in TRIED)
    used = store.find(pair.distilled("bd", 1)).table("about")["changes"][0]
    assert used == trials["changes"][0]
    quality = pair.quality(["alone", "bd", "cd"], [1], store.find)
    assert quality.height == 5 * len(METRICS)
    assert quality["method"].unique(maintain_order=True).to_list() == [
        "Teacher", "Student", "BD-Teacher", "BD-Student", "CD",
    ]  # fmt: skip
    users = pair.users("bd", "student", [1], store.find)
    shown = quality.filter(method="BD-Student", metric="hit@50")["value"].item()
    assert users["hit@50"].mean() == pytest.approx(shown)


def test_what_was_tried_is_not_trained_again(store, monkeypatch):
    """The models of seed 0 are those of the try that was chosen, weight for weight."""
    pair = tiny()
    run_cells([pair.chosen("bd")], store)
    monkeypatch.setattr("sureness_reproduction.distillation.works._trained", None)  # training again fails
    run_cells([pair.distilled("bd", 0)], store)
    best = json.loads(store.find(pair.chosen("bd")).table("trials")["changes"][0])
    single = store.find(Pair(*_without_grids(pair), {"bd": [best]}).distilled("bd", 0))
    final = store.find(pair.distilled("bd", 0))
    assert final.table("history").equals(single.table("history"))
    for role in ("teacher", "student"):
        first, second = (load(found.folder / f"{role}.sureness").network_.state_dict() for found in (final, single))
        assert all((first[name] == second[name]).all() for name in first)


def _without_grids(pair):
    return pair.data, pair.start, pair.model, pair.teacher, pair.student, pair.schedule


def test_a_fixed_model_is_not_kept_twice(store):
    pair = tiny("published")
    run_cells([pair.distilled("one-way", 0)], store)
    folder = store.find(pair.distilled("one-way", 0)).folder
    assert (folder / "student.sureness").exists()
    assert not (folder / "teacher.sureness").exists()


def test_a_cold_start_needs_only_the_choice_of_settings():
    cold = distilled.needed_by(tiny("published").distilled("cd", 3))
    assert [cell.work.split(":")[1] for cell in cold] == ["alone"]  # the fixed teacher; the student is new
    both = distilled.needed_by(tiny("published").distilled("bd", 3))
    assert [cell.work.split(":")[1] for cell in both] == ["chosen", "picked"]
    warm = distilled.needed_by(tiny("strong").distilled("bd", 3))
    assert [cell.work.split(":")[1] for cell in warm] == ["chosen", "alone", "alone"]


def test_ranks_are_compared_and_sizes_measured(store):
    pair = tiny()
    run_cells([pair.compared("alone", 0), pair.measured(), pair.judged("svd", 0)], store)
    summary = store.find(pair.compared("alone", 0)).table("summary")
    ranks = store.find(pair.compared("alone", 0)).table("ranks")
    assert summary["student_better"][0] == pytest.approx((ranks["teacher_rank"] > ranks["student_rank"]).mean())
    sizes = store.find(pair.measured()).table("sizes")
    assert sizes["parameters"].to_list() == [8 * (943 + 1682), 2 * (943 + 1682)]
    assert store.find(pair.judged("svd", 0)).table("quality")["role"].unique().to_list() == ["student"]


def test_the_choice_is_by_the_models_that_learn(tmp_path):
    """BD counts both models in units of the models alone, CD the student only."""
    pair = Pair("ml-100k", "strong", "bpr", TEACHER[:1], STUDENT, SCHEDULE, {"bd": TRIED, "cd": TRIED})
    values = {TRIED[0]["items"]: (0.9, 0.1), TRIED[1]["items"]: (0.1, 0.2)}

    def found(self, cell):
        if cell.work.endswith(":alone"):
            return _finished(
                tmp_path, cell, {"about": pl.DataFrame({"validation": [1.0 if "8" in cell.text else 0.5]})}
            )
        teacher, student = values[cell["changes"]["items"]]
        table = pl.DataFrame({"role": ["teacher", "student"], "value": [teacher, student]})
        return _finished(tmp_path, cell, {"validation": table})

    bench = type("Bench", (), {"found": found})()
    first = {name: chosen.run(bench, pair.chosen(name))["trials"] for name in ("bd", "cd")}
    assert json.loads(first["bd"]["changes"][0]) == TRIED[0]  # 0.9 + 0.2 against 0.1 + 0.4
    assert json.loads(first["cd"]["changes"][0]) == TRIED[1]


def _finished(folder, cell, tables):
    place = folder / str(abs(hash(cell)))
    place.mkdir(exist_ok=True)
    for name, table in tables.items():
        table.write_parquet(place / f"{name}.parquet")
    return Finished(place, {})


def test_settings_go_to_the_directions_that_learn():
    assert spread_over("rd", {"items": 3, "student_start": "svd"}) == {"to_student__items": 3, "student_start": "svd"}
    assert spread_over("bd", {"items": 3}) == {"to_student__items": 3, "to_teacher__items": 3}


def test_only_the_published_start_keeps_the_counts():
    assert [keeps_counts("citeulike-bd", start) for start in ("published", "strong")] == [True, False]
    assert not keeps_counts("ml-100k", "published")
    assert split_options("citeulike-bd", True) == {"artefact": True}
    assert split_options("citeulike-bd", False) == {}
    assert tiny("published").alone("teacher", 1) == tiny("strong").alone("teacher", 1)  # trained once
