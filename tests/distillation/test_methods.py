"""Every method by its name is what the text says it is, and runs."""

from __future__ import annotations

import numpy as np
import pytest

from sureness.distillation.methods import METHODS, distillation_method
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.errors import DataError
from tests.distillation.worlds import fitted, joined, model, parts, weights

every = pytest.mark.parametrize("name", METHODS)


def both(name):
    made = distillation_method(name)
    return made.to_student, made.to_teacher


@every
def test_every_method_runs_and_only_who_should_learn_does(name):
    settings = distillation_method(name, warm_up=1, epochs=3, refresh_every=2, validate_every=1)
    teacher, student = fitted(), fitted(n_factors=2) if name == "to-teacher" else model(n_factors=2)
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


def test_bd_is_the_default():
    assert distillation_method("bd") == DistillationSettings()


def test_bd_at_its_best_tells_the_student_what_cd_tells_it_and_the_teacher_what_bd_does():
    to_student, to_teacher = both("bd-best")
    assert (to_student.scheme, to_student.labels) == ("rank-aware", "sigmoid")
    assert to_teacher == distillation_method("bd").to_teacher
    assert distillation_method("bd-best").teacher_learns
    assert distillation_method("bd-best").guides == "best"


def test_swapped_exchanges_the_two_functions():
    assert [direction.scheme for direction in both("swapped")] == ["exp", "tanh"]


@pytest.mark.parametrize(("name", "scheme"), [("mutual", "uniform"), ("rank-aware", "rank-aware"), ("top-n", "top")])
def test_one_kind_of_sampling_both_ways(name, scheme):
    assert [direction.scheme for direction in both(name)] == [scheme] * 2
    assert distillation_method(name).teacher_learns


@pytest.mark.parametrize("name", ["rd", "cd", "one-way", "teacher-positives"])
def test_these_have_a_fixed_teacher(name):
    made = distillation_method(name)
    assert made.student_learns
    assert not made.teacher_learns


def test_to_teacher_has_a_fixed_student():
    made = distillation_method("to-teacher")
    assert made.teacher_learns
    assert not made.student_learns


def test_the_competitors_of_the_text():
    """RD takes the first items as liked, by position; CD draws by the teacher's rank and gives its labels."""
    rd, cd = (distillation_method(name).to_student for name in ("rd", "cd"))
    assert (rd.scheme, rd.labels) == ("top", "one")
    assert rd.position_decay > 0
    assert (cd.scheme, cd.labels) == ("rank-aware", "sigmoid")


def test_the_controls():
    for direction in both("constant-labels"):
        assert direction.labels == "constant"
        assert direction.weight > 0
    for direction in both("drawn-negatives"):
        assert direction.reuse
        assert direction.weight == 0
    schemes = [direction.scheme for direction in both("bd")]
    for name in ("constant-labels", "drawn-negatives"):
        assert [direction.scheme for direction in both(name)] == schemes  # the items are those of BD


def test_teacher_positives_start_from_the_teachers_svd():
    made = distillation_method("teacher-positives")
    assert made.student_start == "svd"
    assert made.to_student.positives > 0
    assert made.to_student == Direction(weight=0.0, positives=made.to_student.positives)


@pytest.mark.parametrize("name", ["BD", "", "kd", None])
def test_other_methods_are_refused_with_the_known_ones(name):
    with pytest.raises(DataError, match=f"there is no method {name!r}; there are bd, bd-best, rd, cd, one-way"):
        distillation_method(name)
