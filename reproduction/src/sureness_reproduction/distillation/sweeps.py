"""What the weights, the smoothness and the refresh period of BD do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sureness_reproduction.distillation.comparison import judged
from sureness_reproduction.distillation.declared import DATA, RECOMMENDED, SEEDS, Settings, settings
from sureness_reproduction.study import Axis, Scale, Study

_WEIGHTS: dict[Scale, Sequence[float]] = {"quick": (0.1, 0.5, 1.0), "full": (0.1, 0.3, 0.5, 1.0)}
_SCALES: dict[Scale, Sequence[float]] = {"quick": (1e-5, 1e-4, 1e-3), "full": (1e-5, 1e-4, 1e-3, 1e-2)}
_PERIODS: dict[Scale, Sequence[int]] = {"quick": (2, 10), "full": (1, 5, 10, 20)}
_USUAL = {
    "to_student__weight": 0.5, "to_teacher__weight": 0.5, "to_student__rank_gap_scale": 1e-4,
    "to_teacher__rank_gap_scale": 1e-4, "refresh_every": 10,
}  # fmt: skip
_REST = {name: RECOMMENDED[name] for name in ("items", "temperature", "reuse")}


def _swept(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The dissertation's setting with what the axes change."""
    found = settings(scale, point)
    changes = _REST | _USUAL | {name: point[name] for name in _USUAL if name in point}
    return found and found | {"tried": [changes]}


def _study(name: str, number: str, title: str, rows: Sequence[str], columns: Sequence[str], **axes: Axis) -> Study:
    return Study(
        name=name, number=number, title=title, measure=judged, settings=_swept, metrics=("hit@50",), rows=rows,
        columns=columns,
        grid={"data": {"quick": DATA["quick"], "full": ["citeulike-bd"]}, "start": ["published"],
              "model": {"quick": ["bpr"], "full": ["bpr", "neumf"]}, **axes, "methods": [["bd"]], "seed": SEEDS},
        note="H@50 on the test, looked at after everything else was chosen; what does not vary is as the dissertation "
        "recommends it: weights 0.5, smoothness 1e-4, a refresh every 10 epochs. It prints no numbers.",
    )  # fmt: skip


STUDIES = (
    _study("distillation-weights", "figure-3.7", "Both weights of BD", ("to_student__weight",), ("to_teacher__weight",),
           to_student__weight=_WEIGHTS, to_teacher__weight=_WEIGHTS),
    _study("distillation-tanh", "figure-3.8", "Smoothness to the student", ("to_student__rank_gap_scale",), ("role",),
           to_student__rank_gap_scale=_SCALES),
    _study("distillation-exp", "figure-3.8", "Smoothness to the teacher", ("to_teacher__rank_gap_scale",), ("role",),
           to_teacher__rank_gap_scale=_SCALES),
    _study("distillation-period", "figure-3.9", "Epochs between two looks at the ranks", ("refresh_every",), ("role",),
           refresh_every=_PERIODS),
)  # fmt: skip
