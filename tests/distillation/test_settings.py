"""Valid settings are kept, invalid ones are refused with one sentence."""

from __future__ import annotations

import json
import re
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sureness.distillation.settings import Direction, DistillationSettings
from sureness.errors import SettingError

NOT_NUMBERS = ["1", None, True, float("nan"), float("inf"), [1.0]]
NOT_WHOLE = ["1", None, True, 1.5, float("nan"), [1]]


def refused(word, make):
    """One sentence, with the name of the setting."""
    with pytest.raises(SettingError, match=word) as caught:
        make()
    assert caught.type is SettingError
    assert "\n" not in str(caught.value)


def bad_values():
    """Every setting of a direction with invalid values."""
    for name, wrong in {
        "weight": [*NOT_NUMBERS, -0.1], "position_decay": [*NOT_NUMBERS, -1.0],
        "rank_gap_scale": [*NOT_NUMBERS, 0.0, -1e-4], "temperature": [*NOT_NUMBERS, 0, -2],
        "items": [*NOT_WHOLE, 0, -1], "positives": [*NOT_WHOLE, -1],
        "labels": ["soft", None, "Sigmoid"], "ranked_higher_by": ["teacher", None],
    }.items():  # fmt: skip
        yield from ((name, value) for value in wrong)


@pytest.mark.parametrize(("name", "value"), list(bad_values()))
def test_a_direction_refuses_invalid_values(name, value):
    refused(rf"^{name} .*got {re.escape(repr(value))}$", lambda: Direction(**{name: value}))
    refused(f"^{name}", lambda: DistillationSettings().changed(**{f"to_student__{name}": value}))


def test_a_direction_refuses_unknown_schemes():
    refused("scheme", lambda: Direction(scheme="sinh"))


def test_top_items_are_those_of_the_guide():
    refused("top", lambda: Direction(scheme="top", ranked_higher_by="learner"))


def test_position_decay_needs_the_scheme_top():
    refused("position_decay", lambda: Direction(position_decay=3.0))
    assert Direction(scheme="top", position_decay=3).position_decay == 3.0


@pytest.mark.parametrize("name", ["epochs", "refresh_every", "validate_every", "patience"])
@pytest.mark.parametrize("value", [*NOT_WHOLE, 0, -1])
def test_counts_must_be_at_least_one(name, value):
    refused(f"^{name}", lambda: DistillationSettings(**{name: value}))


@pytest.mark.parametrize("name", ["warm_up", "seed"])
@pytest.mark.parametrize("value", [*NOT_WHOLE, -1])
def test_counts_that_may_be_zero(name, value):
    refused(f"^{name}", lambda: DistillationSettings(**{name: value}))
    assert getattr(DistillationSettings(**{name: 0}), name) == 0


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "fast", None, True])
def test_the_rate_of_a_fitted_model_must_be_above_zero(value):
    refused("^fitted_rate", lambda: DistillationSettings(fitted_rate=value))
    assert DistillationSettings(fitted_rate=1).fitted_rate == 1.0


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "slow", None, True])
def test_the_last_rate_is_a_share_of_the_first(value):
    refused("^end_rate", lambda: DistillationSettings(end_rate=value))
    assert DistillationSettings(end_rate=0).end_rate == 0.0


@pytest.mark.parametrize(
    ("name", "known"),
    [("student_start", "own, svd"), ("guides", "current, best")],
)  # fmt: skip
def test_unknown_choices_are_refused_with_the_known_ones(name, known):
    for value in ("other", None, 3):
        refused(f"^{name} .*{known}", lambda: DistillationSettings(**{name: value}))  # noqa: B023


def test_teacher_and_student_cannot_both_be_fixed():
    refused("both fixed", lambda: DistillationSettings(teacher_learns=False, student_learns=False))


@pytest.mark.parametrize("value", [None, "strong", 0.5])
def test_a_direction_must_be_a_direction(value):
    refused("to_teacher", lambda: DistillationSettings(to_teacher=value))


def test_a_direction_may_be_given_as_a_dictionary():
    made = DistillationSettings(to_student={"weight": 0.2, "scheme": "top"})
    assert made.to_student == Direction(weight=0.2, scheme="top")
    both_levels = made.changed(to_student={"items": 3}, to_student__weight=0.4)
    assert both_levels.to_student == Direction(items=3, weight=0.4)
    refused("weight", lambda: DistillationSettings(to_student={"weight": -1}))


@pytest.mark.parametrize(
    "changes",
    [
        {"to_student": {"weigth": 0.2}}, {"epochs__weight": 3}, {"teacher_learns": "no"}, {"student_learns": None},
        {"to_student__labels": "calibrated", "to_student__calibrator": "plat"},
    ],
    ids=str,
)  # fmt: skip
def test_other_mistakes_are_refused(changes):
    refused(".", lambda: DistillationSettings().changed(**changes))


# --- defaults --------------------------------------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_dissertation():
    """A weight of 0.5 in both directions, tanh to the student, exp to the teacher, a refresh every ten epochs."""
    made = DistillationSettings()
    assert (made.to_student.scheme, made.to_teacher.scheme) == ("tanh", "exp")
    assert {made.to_student.weight, made.to_teacher.weight} == {0.5}
    assert made.refresh_every == 10
    assert made.teacher_learns
    assert made.student_learns


def test_numpy_numbers_become_plain_numbers():
    made = DistillationSettings(epochs=np.int64(7), to_student=Direction(weight=np.float32(0.25), items=np.int32(4)))
    assert [type(value) for value in (made.epochs, made.to_student.weight, made.to_student.items)] == [int, float, int]
    json.dumps(made.plain())


@pytest.mark.parametrize(
    ("direction", "draws"),
    [(Direction(), True), (Direction(weight=0.0), False),
     (Direction(weight=0.0, positives=5), False)],
)  # fmt: skip
def test_a_direction_draws_only_if_its_items_are_used(direction, draws):
    assert direction.draws == draws


# --- changes ---------------------------------------------------------------------------------------------------------


def test_changes_reach_settings_and_directions_and_leave_the_rest():
    before = DistillationSettings(seed=3, to_student=Direction(items=4))
    after = before.changed(epochs=5, to_student__weight=1.0, to_teacher__scheme="uniform")
    assert (after.epochs, after.seed) == (5, 3)
    assert after.to_student == Direction(weight=1.0, items=4)
    assert after.to_teacher == Direction(scheme="uniform")
    assert before.to_student.weight == 0.5
    assert before.changed() == before


def test_a_whole_direction_and_one_of_its_settings_can_be_changed_together():
    after = DistillationSettings().changed(to_student=Direction(items=7), to_student__weight=0.1)
    assert after.to_student == Direction(items=7, weight=0.1)


@pytest.mark.parametrize("name", ["epoch", "to_student__weigth", "student__weight", "__weight", "epochs__x"])
def test_unknown_names_are_refused_with_the_known_ones(name):
    refused(f"'{name}'.*epochs.*to_student__weight", lambda: DistillationSettings().changed(**{name: 1}))


def test_a_change_is_checked_like_a_new_setting():
    refused("temperature", lambda: DistillationSettings().changed(to_teacher__temperature=0))
    refused("epochs", lambda: DistillationSettings().changed(epochs=0))


def test_settings_are_frozen():
    for made, name in ((DistillationSettings(), "epochs"), (Direction(), "weight")):
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, 3)


CHANGES = {
    "epochs": st.integers(1, 500), "seed": st.integers(0, 2**40),
    "to_student__weight": st.floats(0, 10), "to_teacher__labels": st.sampled_from(["one", "calibrated"]),
    "teacher_learns": st.booleans(),
}  # fmt: skip


@given(st.fixed_dictionaries({}, optional=CHANGES))
def test_plain_settings_go_through_json_and_back(changes):
    made = DistillationSettings().changed(**changes)
    plain = json.loads(json.dumps(made.plain()))
    assert set(plain) == {field.name for field in fields(made)}
    assert DistillationSettings(**plain) == made
