"""Every distillation method by name: that of the dissertation, its competitors, its ablations and the controls.

All are settings of one framework. They differ in which items are drawn, which labels they get, and which model learns.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sureness.distillation.settings import Direction, DistillationSettings, SettingValue
from sureness.errors import SettingError


def _fixed_teacher(to_student: Direction) -> DistillationSettings:
    return DistillationSettings(to_student=to_student, teacher_learns=False)


def _both_ways(direction: Direction) -> DistillationSettings:
    return DistillationSettings(to_teacher=direction, to_student=direction)


def _both(**changes: SettingValue) -> dict[str, SettingValue]:
    """The same changes of both directions."""
    return {f"{side}__{name}": value for side in ("to_teacher", "to_student") for name, value in changes.items()}


_PUBLIC = DistillationSettings(keeps_weight_decay=False, kept="last").changed(
    **_both(ranked_higher_by="learner", tempered="labels")
)

METHODS: Mapping[str, DistillationSettings] = MappingProxyType({
    # BD (Kweon, 2024): items by rank discrepancy, tanh to the student and exp to the teacher.
    "bd": DistillationSettings(),
    # BD where each model's best checkpoint supplies soft labels, to the student on the teacher's top items: tanh
    # sampling spreads over half the catalogue.
    "bd-best": DistillationSettings(
        to_student=Direction(weight=1.0, scheme="rank-aware", rank_gap_scale=1e-3, items=30), guides="best"
    ),
    # BD as the authors' public code computes it, with its settings for BPR and for CDAE: a model is labelled on items
    # that it ranks higher itself, only labels are tempered, all epochs are run.
    "bd-public": _PUBLIC.changed(
        to_teacher__rank_gap_scale=1e-4, to_student__rank_gap_scale=1e-2, **_both(items=1, temperature=5.0, reuse=True)
    ),
    "bd-public-cdae": _PUBLIC.changed(**_both(items=5, rank_gap_scale=1e-4, dropout=True)),
    # RD (Tang and Wang, 2018): the fixed teacher's top items count as liked; the first ones weigh more, and so do those
    # that the student misses.
    "rd": _fixed_teacher(
        Direction(scheme="top", labels="one", temperature=1.0, position_decay=10.0, rank_gap_scale=0.1)
    ),
    # CD (Lee et al., 2019): soft labels of a fixed teacher on items drawn by its ranks, the first ones more often.
    "cd": _fixed_teacher(Direction(scheme="rank-aware", rank_gap_scale=1e-2, temperature=1.0)),
    # BD from a fixed teacher, and from a fixed student.
    "one-way": DistillationSettings(teacher_learns=False),
    "to-teacher": DistillationSettings(student_learns=False),
    # BD with one sampling scheme in both directions: uniform (plain mutual learning), that of CD, the items of RD.
    "mutual": _both_ways(Direction(scheme="uniform")),
    "rank-aware": _both_ways(Direction(scheme="rank-aware", rank_gap_scale=1e-2)),
    "top-n": _both_ways(Direction(scheme="top")),
    # BD with the two sampling functions exchanged.
    "swapped": DistillationSettings(to_teacher=Direction(scheme="tanh"), to_student=Direction(scheme="exp")),
    # BD with probabilities as labels, from a calibrator that is fitted on validation pairs at each refresh.
    "calibrated": DistillationSettings(
        to_teacher=Direction(scheme="exp", labels="calibrated"), to_student=Direction(labels="calibrated")
    ),
    # Control: labels keep their level but are the same for all items; what remains is regularisation.
    "constant-labels": DistillationSettings(
        to_teacher=Direction(scheme="exp", labels="constant"), to_student=Direction(labels="constant")
    ),
    # Control: the drawn items are only harder negatives of each model's own loss, without soft labels.
    "drawn-negatives": DistillationSettings(
        to_teacher=Direction(scheme="exp", weight=0.0, reuse=True), to_student=Direction(weight=0.0, reuse=True)
    ),
    # Control: no soft labels and no drawn items; each model goes on alone for as long as with BD.
    "continued": _both_ways(Direction(weight=0.0, scheme="uniform")),
    # The fixed teacher's top items count as seen by the student, which starts from the teacher's SVD.
    "teacher-positives": _fixed_teacher(Direction(weight=0.0, positives=20)).changed(student_start="svd"),
    # What made the best small student: SVD start, top items as positives, and soft labels on the teacher's top items.
    "combined": _fixed_teacher(
        Direction(weight=1.0, scheme="rank-aware", rank_gap_scale=1e-3, items=30, temperature=1.0, positives=20)
    ).changed(student_start="svd"),
})  # fmt: skip


def distillation_method(name: str, **changes: SettingValue) -> DistillationSettings:
    """The settings of a method, for `BidirectionalDistillation.from_settings`.

    Parameters
    ----------
    name : str
        One of `METHODS`, such as "bd", "rd" or "cd".
    **changes
        Single settings that differ from those of the method, such as ``epochs=50`` or ``to_student__weight=1.0``.

    Examples
    --------
    >>> distillation_method("rd", to_student__items=20).teacher_learns
    False
    """
    if name not in METHODS:
        raise SettingError(f"there is no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name].changed(**changes)
