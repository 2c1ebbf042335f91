"""Every way of distilling by its name: the text's method, its competitors, its ablations and the controls.

All are settings of one framework; what differs is which items are drawn, what is said of them, and who learns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sureness.distillation.settings import Direction, DistillationSettings
from sureness.errors import DataError


def bidirectional(**changes: Any) -> DistillationSettings:
    """BD: items by rank discrepancy, tanh to the student and exp to the teacher."""
    return DistillationSettings().changed(**changes)


def swapped(**changes: Any) -> DistillationSettings:
    """BD with the two sampling functions exchanged."""
    return DistillationSettings(to_teacher=Direction(scheme="tanh"), to_student=Direction(scheme="exp")).changed(
        **changes
    )


def _both(**settings: Any) -> Callable[..., DistillationSettings]:
    """BD with one kind of sampling both ways."""

    def make(**changes: Any) -> DistillationSettings:
        return DistillationSettings(to_teacher=Direction(**settings), to_student=Direction(**settings)).changed(
            **changes
        )

    return make


rank_aware = _both(scheme="rank-aware", rank_gap_scale=1e-2)
top_items = _both(scheme="top")
mutual = _both(scheme="uniform")


def ranking_distillation(**changes: Any) -> DistillationSettings:
    """RD (Tang and Wang, 2018): the fixed teacher's first items count as liked, the first ones and missed ones more."""
    to_student = Direction(
        weight=0.5, scheme="top", labels="one", items=10, temperature=1.0, position_decay=10.0, rank_gap_scale=0.1
    )
    return DistillationSettings(to_student=to_student, teacher_learns=False).changed(**changes)


def collaborative_distillation(**changes: Any) -> DistillationSettings:
    """CD (Lee et al., 2019): the fixed teacher's labels on items drawn by its ranks, the first ones more often."""
    to_student = Direction(weight=0.5, scheme="rank-aware", rank_gap_scale=1e-2, items=10, temperature=1.0)
    return DistillationSettings(to_student=to_student, teacher_learns=False).changed(**changes)


def one_way(**changes: Any) -> DistillationSettings:
    """BD from a fixed teacher."""
    return DistillationSettings(teacher_learns=False).changed(**changes)


def to_teacher(**changes: Any) -> DistillationSettings:
    """BD from a fixed student."""
    return DistillationSettings(student_learns=False).changed(**changes)


def constant_labels(**changes: Any) -> DistillationSettings:
    """Control: the labels keep their level, but no item differs from another; what is left is regularisation."""
    return DistillationSettings(
        to_teacher=Direction(scheme="exp", labels="constant"), to_student=Direction(labels="constant")
    ).changed(**changes)


def calibrated_labels(**changes: Any) -> DistillationSettings:
    """BD with labels that a calibrator, fitted on validation at each refresh, makes of the scores."""
    return DistillationSettings(
        to_teacher=Direction(scheme="exp", labels="calibrated"), to_student=Direction(labels="calibrated")
    ).changed(**changes)


def drawn_negatives(**changes: Any) -> DistillationSettings:
    """Control: the drawn items are negatives of each model's own loss, and nothing else is said of them."""
    return DistillationSettings(
        to_teacher=Direction(scheme="exp", weight=0.0, reuse=True), to_student=Direction(weight=0.0, reuse=True)
    ).changed(**changes)


def teacher_positives(**changes: Any) -> DistillationSettings:
    """The fixed teacher's first items count as seen by the student, which starts from the teacher's SVD."""
    return DistillationSettings(
        to_student=Direction(weight=0.0, positives=20), teacher_learns=False, student_start="svd"
    ).changed(**changes)


def combined(**changes: Any) -> DistillationSettings:
    """What made the best small student: its teacher's SVD, first items as positives, and labels on high ranks."""
    to_student = Direction(
        weight=1.0, scheme="rank-aware", rank_gap_scale=1e-3, items=30, temperature=1.0, positives=20
    )
    return DistillationSettings(to_student=to_student, teacher_learns=False, student_start="svd").changed(**changes)


def best_bidirectional(**changes: Any) -> DistillationSettings:
    """BD whose student hears what its teacher, at its best, ranks high: tanh speaks of half the catalogue."""
    to_student = Direction(weight=1.0, scheme="rank-aware", rank_gap_scale=1e-3, items=30, temperature=2.0)
    return DistillationSettings(to_student=to_student, guides="best").changed(**changes)


METHODS: dict[str, Callable[..., DistillationSettings]] = {
    "bd": bidirectional,
    "bd-best": best_bidirectional,
    "rd": ranking_distillation,
    "cd": collaborative_distillation,
    "one-way": one_way,
    "to-teacher": to_teacher,
    "mutual": mutual,
    "rank-aware": rank_aware,
    "top-n": top_items,
    "swapped": swapped,
    "calibrated": calibrated_labels,
    "constant-labels": constant_labels,
    "drawn-negatives": drawn_negatives,
    "teacher-positives": teacher_positives,
    "combined": combined,
}


def distillation_method(name: str, **changes: Any) -> DistillationSettings:
    """Settings by the name of a method.

    Examples
    --------
    >>> distillation_method("rd", to_student__items=20).teacher_learns
    False
    """
    if name not in METHODS:
        raise DataError(f"there is no method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name](**changes)
