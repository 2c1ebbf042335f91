"""Distillation in a simulated world, as the demo shows it."""

from __future__ import annotations

import numpy as np
import pytest

import sureness as sn
from sureness.demo.distillation_study import (
    BOTH,
    WORLD_NOTE,
    WORLD_SEED,
    distillation_world,
    distilled_log,
    distilled_world,
    study_distillation,
    study_log_distillation,
)
from sureness.demo.list_study import logged
from sureness.demo.tables import distillation_rows
from sureness.errors import EmptyError

STUDENTS = ["Student", "RD", "CD", "BD-Student", "SVD + first items"]


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def study(told):
    return study_distillation(distillation_world(400, 120), progress=lambda *step: told.append(step))


@pytest.fixture(scope="module")
def judged(study):
    return study.judged(n_points=100)


def test_every_method_is_there(study):
    assert list(study.teachers) == ["Teacher", "BD-Teacher"]
    assert list(study.students) == STUDENTS
    assert set(study.about) == {*study.teachers, *study.students}
    assert set(study.history["model"]) == {"teacher", "student"}
    ratios = {model.n_parameters / study.teachers["Teacher"].n_parameters for model in study.students.values()}
    assert ratios == {0.1}


def test_nothing_is_learned_from_the_test_items(study):
    split = study.split
    for part in (split.train, split.validation):
        assert part.matrix.multiply(split.test.matrix).nnz == 0
    assert split.test.user_degree.max() == 1


def test_a_student_is_never_worse_on_validation_than_it_starts(study):
    first = study.history.filter(model="student", epoch=0)["metric"][0]
    assert study.students["BD-Student"].best_metric_ >= first


def test_the_main_student_is_chosen_by_the_validation_items(study):
    by_validation = {name: model.best_metric_ for name, model in study.students.items() if name != "Student"}
    assert by_validation[study.main] == max(by_validation.values())


def test_a_log_is_studied_like_a_world():
    found = study_log_distillation(logged(distillation_world(150, 80)), teacher=10, student=2)
    assert list(found.students) == STUDENTS
    assert found.students["Student"].n_parameters * 5 == found.teachers["Teacher"].n_parameters


def test_a_log_of_single_interactions_is_refused():
    with pytest.raises(EmptyError, match="at least three"):
        study_log_distillation(sn.Interactions.of([1, 2, 3], [1, 2, 3]))


def test_judged_models_are_ready_for_a_page(judged):
    assert [row.name for row in judged.rows] == ["Teacher", "BD-Teacher", *STUDENTS]
    assert judged.metrics == ("H@50", "N@50", "H@10", "N@10")
    assert judged.after_names == BOTH
    assert judged.main in STUDENTS[1:]
    assert judged.training is not None
    teacher, student = (judged.row(name).measures["N@10"].value.value for name in ("Teacher", "Student"))
    assert teacher > student


def test_progress_names_the_model_in_training(study, told):
    names = list(dict.fromkeys(text.split(":")[0] for text, _, _ in told))
    assert names == ["Teacher", *STUDENTS]
    begun = {text.split(":")[0]: done / total for text, done, total in reversed(told)}  # where each began
    assert [begun[name] for name in names] == sorted(begun.values())
    assert max(done / total for _, done, total in told) <= 1


def test_the_world_has_about_ten_interactions_per_user():
    for n_users, n_items in ((1_000, 600), (300, 80)):
        world = distillation_world(n_users, n_items)
        assert 5 < (world.train.nnz + world.held_out.nnz) / n_users < 25


def test_the_same_seed_gives_the_same_models():
    worlds = [distillation_world(120, 60) for _ in range(2)]
    first, second = (study_distillation(world, teacher=8, student=2).students["BD-Student"] for world in worlds)
    np.testing.assert_array_equal(first.score_block(np.arange(120)), second.score_block(np.arange(120)))


def test_without_torch_distillation_is_skipped_with_a_warning(monkeypatch):
    monkeypatch.setattr("sureness.demo.distillation_study.find_spec", lambda name: None)
    with pytest.warns(sn.errors.SurenessWarning, match="torch"):
        assert distilled_world(10, 10, lambda *_: None) is None
    with pytest.warns(sn.errors.SurenessWarning, match="torch"):
        assert distilled_log(sn.Interactions.of([1], [1]), lambda *_: None) is None
    assert distillation_rows(None) == []


def test_rows_for_machines_hold_every_metric(judged):
    row = distillation_rows(judged)[-1]
    assert row["model"] == "SVD + first items"
    assert {"H@50", "p of H@50", "parameters", "role"} <= set(row)


def test_the_world_is_not_one_that_settings_were_chosen_in():
    assert WORLD_SEED not in (0, 101, 102)
    assert "worlds with other seeds" in WORLD_NOTE
