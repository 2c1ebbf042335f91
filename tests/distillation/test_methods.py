"""Every method runs, and its settings are those of its paper."""

from __future__ import annotations

import numpy as np
import pytest

from sureness.distillation.settings import Direction, DistillationSettings, distillation_method, method_names
from sureness.errors import SettingError
from tests.distillation.worlds import fitted, joined, model, parts, weights

METHODS = ("bd", "bd-best", "one-way", "rd", "cd", "teacher-positives", "combined")
every = pytest.mark.parametrize("name", METHODS)


def both(name):
    made = distillation_method(name)
    return made.to_student, made.to_teacher


@every
def test_every_method_runs_and_changes_only_the_models_that_learn(name):
    settings = distillation_method(name, warm_up=1, epochs=3, refresh_every=2, validate_every=1)
    teacher, student = fitted(), model(n_factors=2)
    both_trained = joined(teacher, student, settings).fit(*parts())
    learned = set(both_trained.history_["model"].unique())
    assert ("teacher" in learned) == settings.teacher_learns
    assert ("student" in learned) == settings.student_learns
    assert (both_trained.teacher_ is teacher) == (not settings.teacher_learns)
    assert (both_trained.student_ is student) == (not settings.student_learns)
    losses = both_trained.history_["loss"].drop_nulls().to_numpy()
    assert len(losses)
    assert np.isfinite(losses).all()
    for recommender in (both_trained.teacher_, both_trained.student_):
        assert all(np.isfinite(values).all() for values in weights(recommender).values())


@every
def test_any_setting_of_a_method_can_be_changed(name):
    changed = distillation_method(name, epochs=7, to_student__items=3)
    assert (changed.epochs, changed.to_student.items) == (7, 3)
    assert changed.changed(
        epochs=100, to_student__items=distillation_method(name).to_student.items
    ) == distillation_method(name)


def test_the_methods_are_listed():
    assert method_names()[: len(METHODS)] == METHODS


def test_bd_is_the_default():
    assert distillation_method("bd") == DistillationSettings()


def test_bd_best_labels_like_cd_to_the_student_and_like_bd_to_the_teacher():
    to_student, to_teacher = both("bd-best")
    assert (to_student.scheme, to_student.labels) == ("rank-aware", "sigmoid")
    assert to_teacher == distillation_method("bd").to_teacher
    assert distillation_method("bd-best").teacher_learns
    assert distillation_method("bd-best").guides == "best"


@pytest.mark.parametrize("name", ["rd", "cd", "one-way", "teacher-positives"])
def test_methods_with_a_fixed_teacher(name):
    made = distillation_method(name)
    assert made.student_learns
    assert not made.teacher_learns


def test_the_competitors_are_those_of_their_papers():
    """RD labels the teacher's top items with 1, weighted by position; CD draws by the teacher's rank."""
    rd, cd = (distillation_method(name).to_student for name in ("rd", "cd"))
    assert (rd.scheme, rd.labels) == ("top", "one")
    assert rd.position_decay > 0
    assert (cd.scheme, cd.labels) == ("rank-aware", "sigmoid")


def test_teacher_positives_starts_from_the_teachers_svd():
    made = distillation_method("teacher-positives")
    assert made.student_start == "svd"
    assert made.to_student.positives > 0
    assert made.to_student == Direction(weight=0.0, positives=made.to_student.positives)


@pytest.mark.parametrize("name", ["BD", "", "kd", None])
def test_an_unknown_method_is_refused_with_the_known_ones(name):
    with pytest.raises(SettingError, match="bd-best"):
        distillation_method(name)
