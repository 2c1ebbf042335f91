"""Every method runs, and its settings are those of its paper."""

from __future__ import annotations

import numpy as np
import pytest

from sureness.distillation.methods import METHODS, distillation_method
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.errors import SettingError
from tests.distillation.worlds import fitted, joined, model, parts, weights

every = pytest.mark.parametrize("name", METHODS)


def both(name):
    made = distillation_method(name)
    return made.to_student, made.to_teacher


@every
def test_every_method_runs_and_changes_only_the_models_that_learn(name):
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


def test_bd_best_labels_like_cd_to_the_student_and_like_bd_to_the_teacher():
    to_student, to_teacher = both("bd-best")
    assert (to_student.scheme, to_student.labels) == ("rank-aware", "sigmoid")
    assert to_teacher == distillation_method("bd").to_teacher
    assert distillation_method("bd-best").teacher_learns
    assert distillation_method("bd-best").guides == "best"


def test_bd_public_is_what_the_authors_code_does():
    """Its settings for BPR and for CDAE; drawn items are reused as negatives for BPR alone."""
    for name, items, temperature, scales, reuse in (
        ("bd-public", 1, 5.0, (1e-2, 1e-4), True), ("bd-public-cdae", 5, 2.0, (1e-4, 1e-4), False),
    ):  # fmt: skip
        made = distillation_method(name)
        assert (made.kept, made.keeps_weight_decay, made.refresh_every) == ("last", False, 10)
        assert [direction.scheme for direction in both(name)] == ["tanh", "exp"]
        for direction, scale in zip(both(name), scales, strict=True):
            assert (direction.ranked_higher_by, direction.tempered) == ("learner", "labels")
            assert (direction.weight, direction.items, direction.temperature) == (0.5, items, temperature)
            assert (direction.rank_gap_scale, direction.reuse) == (scale, reuse)
            assert direction.dropout == (name == "bd-public-cdae")


def test_swapped_exchanges_the_two_sampling_functions():
    assert [direction.scheme for direction in both("swapped")] == ["exp", "tanh"]


@pytest.mark.parametrize(("name", "scheme"), [("mutual", "uniform"), ("rank-aware", "rank-aware"), ("top-n", "top")])
def test_methods_with_one_scheme_in_both_directions(name, scheme):
    assert [direction.scheme for direction in both(name)] == [scheme] * 2
    assert distillation_method(name).teacher_learns


@pytest.mark.parametrize("name", ["rd", "cd", "one-way", "teacher-positives"])
def test_methods_with_a_fixed_teacher(name):
    made = distillation_method(name)
    assert made.student_learns
    assert not made.teacher_learns


def test_to_teacher_has_a_fixed_student():
    made = distillation_method("to-teacher")
    assert made.teacher_learns
    assert not made.student_learns


def test_the_competitors_are_those_of_their_papers():
    """RD labels the teacher's top items with 1, weighted by position; CD draws by the teacher's rank."""
    rd, cd = (distillation_method(name).to_student for name in ("rd", "cd"))
    assert (rd.scheme, rd.labels) == ("top", "one")
    assert rd.position_decay > 0
    assert (cd.scheme, cd.labels) == ("rank-aware", "sigmoid")


def test_the_controls_draw_like_bd():
    for direction in both("constant-labels"):
        assert direction.labels == "constant"
        assert direction.weight > 0
    for direction in both("drawn-negatives"):
        assert direction.reuse
        assert direction.weight == 0
    schemes = [direction.scheme for direction in both("bd")]
    for name in ("constant-labels", "drawn-negatives"):
        assert [direction.scheme for direction in both(name)] == schemes


def test_to_continue_is_to_learn_from_nobody():
    for direction in both("continued"):
        assert direction.weight == 0
        assert not direction.reuse
        assert direction.positives == 0


def test_teacher_positives_starts_from_the_teachers_svd():
    made = distillation_method("teacher-positives")
    assert made.student_start == "svd"
    assert made.to_student.positives > 0
    assert made.to_student == Direction(weight=0.0, positives=made.to_student.positives)


@pytest.mark.parametrize("name", ["BD", "", "kd", None])
def test_an_unknown_method_is_refused_with_the_known_ones(name):
    with pytest.raises(SettingError, match="bd-best"):
        distillation_method(name)
