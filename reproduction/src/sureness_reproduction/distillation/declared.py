"""The declared grid of chapter 3: what is tried for each model and each method, as plain values.

RD, CD and BD have the same number of settings, over the same weights, numbers of items, temperatures and smoothness as
far as a method has them. Every choice is made on the validation part with seed 0.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from sureness_reproduction.distillation.pairs import Pair
from sureness_reproduction.experiment import Scale

STARTS = ("published", "strong")
SIZES = {"teacher": 50, "student": 5}
DATA: dict[Scale, tuple[str, ...]] = {"quick": ("amazon-music",), "full": ("citeulike-bd",)}

# -- models alone -----------------------------------------------------------------------------------------------------

_JUDGED = {"metric": "hit@50", "validate_every": 10, "patience": 4}
_PRINTED = {"start_scale": 0.01, "batch_size": 128}
_WIDTHS = {"teacher": [50, 25], "student": [10, 5]}
_NEUMF = {"popularity": 0.5, "validation_users": 2000, "patience": 3}
_CDAE = {"popularity": 0.75, "patience": 3}

BASES: dict[tuple[str, str, str], list[dict[str, Any]]] = {
    ("strong", "bpr", "teacher"): [
        {"learning_rate": rate, "l2": l2, "popularity": 0.75, "epochs": 300}
        for rate, l2 in ((0.005, 0.03), (0.005, 0.05), (0.01, 0.03))
    ],
    ("strong", "bpr", "student"): [{"learning_rate": 0.01, "l2": 0.05, "epochs": 300}],
    ("strong", "neumf", "teacher"): [{"learning_rate": 0.002, "l2": 0.003, "epochs": 60, **_NEUMF}],
    ("strong", "neumf", "student"): [
        {"learning_rate": 0.005, "l2": l2, "epochs": 80, **_NEUMF} for l2 in (0.003, 0.01)
    ],
    ("strong", "cdae", "teacher"): [
        {"learning_rate": rate, "l2": l2, "epochs": epochs, **_CDAE, **more}
        for rate, l2, epochs, more in (
            (0.005, 0.003, 100, {}), (0.005, 0.01, 100, {}), (0.005, 0.03, 100, {}), (0.005, 0.1, 150, {}),
            (0.01, 0.03, 150, {}), (0.01, 0.1, 150, {}), (0.005, 0.01, 100, {"dropout": 0.2}),
            (0.005, 0.01, 100, {"dropout": 0.8}),
        )
    ],
    ("strong", "cdae", "student"): [
        {"learning_rate": rate, "l2": l2, "epochs": 100, **_CDAE, "popularity": popularity}
        for rate, l2, popularity in ((0.005, 0.001, 0.5), (0.01, 0.003, 0.5), (0.005, 0.001, 0.75), (0.005, 0.003, 0.5))
    ],
}  # fmt: skip
"""Start, model and role -> what is tried for a model alone at full scale; sizes are added below."""

for _role in SIZES:
    BASES["published", "bpr", _role] = [
        {"learning_rate": rate, "l2": l2, **_PRINTED, "epochs": 80}
        for rate, l2 in product((0.001, 0.002), (0.001, 0.01))
    ]
    BASES["published", "neumf", _role] = [
        {"learning_rate": 0.001, "l2": 1e-4, **_PRINTED, "epochs": 40, "validation_users": 2000, "patience": 3}
    ]
    BASES["published", "cdae", _role] = [
        {"learning_rate": 0.001, "l2": 1e-4, "batch_size": 128 * 20, "epochs": 60, "patience": 3}  # about 128 users
    ]

QUICK_BASES: dict[tuple[str, str, str], list[dict[str, Any]]] = {
    ("strong", "bpr", "teacher"): [
        {"learning_rate": 0.005, "l2": l2, "popularity": 0.75, "epochs": 60, "patience": 2} for l2 in (0.01, 0.03)
    ],
    ("strong", "bpr", "student"): [{"learning_rate": 0.01, "l2": 0.05, "epochs": 60, "patience": 2}],
}
"""The same at quick scale: fewer epochs and fewer settings."""

for _role in SIZES:
    QUICK_BASES["published", "bpr", _role] = [{"learning_rate": 0.002, "l2": 0.001, **_PRINTED, "epochs": 20}]
    for _start in STARTS:
        QUICK_BASES[_start, "neumf", _role] = [
            {
                "learning_rate": 0.005,
                "l2": 0.001,
                "popularity": 0.5,
                "epochs": 8,
                "validate_every": 4,
                "patience": 1,
                "validation_users": 500,
            }
        ]
        QUICK_BASES[_start, "cdae", _role] = [
            {"learning_rate": 0.005, "l2": 0.003, "popularity": 0.5, "epochs": 16, "validate_every": 4, "patience": 1}
        ]

VERSUS_CD_BASES = [
    {"learning_rate": rate, "l2": l2, "popularity": popularity, "epochs": 100, "patience": 3}
    for rate, l2, popularity in ((0.005, 0.01, 0.75), (0.005, 0.001, 0.5), (0.002, 0.001, 0.0), (0.01, 0.003, 0.5))
]
"""What is tried for CDAE on the two small data sets, teacher and student alike."""


def bases(scale: Scale, start: str, model: str, role: str, size: int | None = None) -> list[dict[str, Any]]:
    """What is tried for a model alone, whole; another size takes over what is tried for its role.

    Examples
    --------
    >>> [each["n_factors"] for each in bases("full", "strong", "bpr", "teacher")]
    [50, 50, 50]
    """
    tried = (BASES if scale == "full" else QUICK_BASES)[start, model, role]
    factors = SIZES[role] if size is None else size
    return [whole(model, each, factors) for each in tried]


def whole(model: str, settings: dict[str, Any], size: int) -> dict[str, Any]:
    """Settings with the size of the model, and how it is judged on validation."""
    widths = {50: _WIDTHS["teacher"], 5: _WIDTHS["student"]}.get(size, [size, max(size // 2, 1)])
    return {"n_factors": size, **_JUDGED, **settings} | ({"layer_widths": widths} if model == "neumf" else {})


# -- methods ----------------------------------------------------------------------------------------------------------


def _bd(weight: float, items: int, temperature: float, tanh: float, exp: float, reuse: bool = False) -> dict[str, Any]:
    return {
        "weight": weight, "items": items, "temperature": temperature, "to_student__rank_gap_scale": tanh,
        "to_teacher__rank_gap_scale": exp, "reuse": reuse,
    }  # fmt: skip


def _cd(weight: float, items: int, temperature: float, scale: float) -> dict[str, Any]:
    return {"weight": weight, "items": items, "temperature": temperature, "rank_gap_scale": scale}


def _rd(weight: float, items: int, decay: float) -> dict[str, Any]:
    return {"weight": weight, "items": items, "position_decay": decay}


def _positives(positives: int, weight: float, start: str) -> dict[str, Any]:
    return {"positives": positives, "weight": weight, "student_start": start}


TEXT = _bd(0.5, 5, 2.0, 1e-4, 1e-4)
"""BD as the dissertation recommends it."""

KEPT = {name: TEXT[name] for name in ("items", "temperature")}
"""The same for the other schemes and for one direction alone; their other settings are those of the dissertation."""

GRIDS: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {
    ("strong", "bpr"): {
        "bd": [
            TEXT, _bd(0.5, 10, 2.0, 1e-4, 1e-4, True), _bd(0.5, 10, 5.0, 1e-3, 1e-3, True),
            _bd(0.5, 10, 2.0, 1e-3, 1e-4, True), _bd(0.5, 5, 5.0, 1e-4, 1e-4, True), _bd(1.0, 30, 1.0, 1e-3, 1e-3),
            _bd(1.0, 10, 2.0, 1e-3, 1e-3), _bd(0.1, 30, 1.0, 1e-3, 1e-3), _bd(1.0, 30, 1.0, 1e-4, 1e-4),
            _bd(0.5, 10, 2.0, 1e-3, 1e-3), _bd(1.0, 30, 1.0, 1e-2, 1e-3),
        ],
        "cd": [
            _cd(0.1, 10, 1.0, 1e-2), _cd(1.0, 10, 2.0, 1e-3), _cd(0.1, 30, 1.0, 1e-3), _cd(1.0, 30, 1.0, 1e-3),
            _cd(0.5, 10, 2.0, 1e-3), _cd(1.0, 30, 2.0, 1e-3), _cd(0.5, 30, 1.0, 1e-3), _cd(0.5, 30, 1.0, 1e-2),
            _cd(1.0, 10, 1.0, 1e-2), _cd(0.1, 30, 2.0, 1e-3), _cd(1.0, 30, 1.0, 1e-2),
        ],
        "rd": [
            _rd(0.1, 10, 10.0), _rd(0.1, 30, 100.0), _rd(0.5, 50, 100.0), _rd(0.1, 50, 10.0), _rd(1.0, 10, 10.0),
            _rd(0.1, 10, 100.0), _rd(0.1, 50, 100.0), _rd(0.5, 30, 10.0), _rd(1.0, 30, 10.0), _rd(0.5, 10, 10.0),
            _rd(1.0, 50, 100.0),
        ],
        "teacher-positives": [
            _positives(10, 0.0, "svd"), _positives(20, 0.0, "own"), _positives(20, 0.1, "own"),
            _positives(40, 0.0, "svd"), _positives(10, 0.1, "own"),
        ],
    },
    ("published", "bpr"): {
        "bd": [
            TEXT, _bd(0.5, 10, 2.0, 1e-4, 1e-4, True), _bd(0.5, 10, 5.0, 1e-3, 1e-3, True),
            _bd(1.0, 10, 2.0, 1e-3, 1e-3), _bd(1.0, 30, 1.0, 1e-3, 1e-3), _bd(0.1, 30, 1.0, 1e-3, 1e-3),
        ],
        "cd": [
            _cd(0.1, 10, 1.0, 1e-2), _cd(1.0, 10, 2.0, 1e-3), _cd(0.1, 30, 1.0, 1e-3), _cd(1.0, 30, 1.0, 1e-3),
            _cd(0.5, 10, 2.0, 1e-3), _cd(0.5, 30, 1.0, 1e-2),
        ],
        "rd": [
            _rd(0.1, 10, 10.0), _rd(0.1, 30, 100.0), _rd(0.5, 50, 100.0), _rd(1.0, 10, 10.0), _rd(0.5, 10, 10.0),
            _rd(0.1, 50, 10.0),
        ],
    },
}  # fmt: skip
"""Start and model -> method -> what is tried at full scale."""

_SHORT: dict[str, list[dict[str, Any]]] = {
    "bd": [TEXT, _bd(1.0, 10, 2.0, 1e-3, 1e-3), _bd(0.1, 10, 1.0, 1e-3, 1e-3)],
    "cd": [_cd(0.5, 5, 2.0, 1e-2), _cd(1.0, 10, 2.0, 1e-3), _cd(0.1, 10, 1.0, 1e-3)],
    "rd": [_rd(0.5, 5, 10.0), _rd(1.0, 10, 10.0), _rd(0.1, 10, 100.0)],
}
for _start in STARTS:
    for _model in ("neumf", "cdae"):
        GRIDS[_start, _model] = _SHORT  # a training takes minutes, so fewer

COMPARED = ("bd", "cd", "rd")
EXTRAS: dict[str, tuple[str, ...]] = {
    "bpr": ("svd", "teacher-positives", "combined", "bd-best"), "neumf": ("bd-best",), "cdae": ("bd-best",),
}  # fmt: skip
"""What the dissertation does not have, from a strong start."""


def grids(scale: Scale, start: str, model: str) -> dict[str, list[dict[str, Any]]]:
    """What is tried for every method; at quick scale the first two for BPR, the first for the slower models."""
    if scale == "full":
        return GRIDS[start, model]
    if model == "bpr":
        return {method: tried[:2] for method, tried in _SHORT.items()} | {
            "teacher-positives": [_positives(10, 0.0, "svd")]
        }
    return {method: tried[:1] for method, tried in _SHORT.items()}


def schedule(scale: Scale, start: str, model: str) -> dict[str, Any]:
    """How long two models learn together."""
    if scale == "quick":
        if model == "bpr":
            return {"epochs": 12, "validate_every": 4, "patience": 2, "warm_up": 8}
        half = 4 if model == "neumf" else 8  # of the epochs alone
        return {"epochs": half, "validate_every": half // 2, "patience": 2, "warm_up": half}
    if model != "bpr":
        return {"epochs": 40, "validate_every": 10, "patience": 2, "warm_up": 20}
    return {"epochs": 100 if start == "strong" else 60, "validate_every": 10, "patience": 3, "warm_up": 20}


def pair(scale: Scale, start: str, model: str) -> Pair:
    """The teacher and the student of a table."""
    return Pair(
        DATA[scale][0], start, model, bases(scale, start, model, "teacher"),
        bases(scale, start, model, "student"), schedule(scale, start, model), grids(scale, start, model),
    )  # fmt: skip


def sized_pair(scale: Scale, start: str, model: str, teacher: int, student: int) -> Pair:
    """A pair of other sizes, with BD as the dissertation recommends it."""
    sized = {
        role: bases(scale, start, model, "student" if size == SIZES["student"] else "teacher", size)
        for role, size in (("teacher", teacher), ("student", student))
    }
    methods = {"bd": [TEXT], "one-way": [KEPT], "to-teacher": [KEPT]}
    return Pair(
        DATA[scale][0], start, model, sized["teacher"], sized["student"], schedule(scale, start, model), methods
    )  # fmt: skip


def versus_cd_pair(scale: Scale, data: str) -> Pair:
    """CDAE on one of the small data sets, from the best models alone."""
    sides = {
        role: [whole("cdae", each, size) for each in VERSUS_CD_BASES]
        if scale == "full"
        else bases("quick", "strong", "cdae", role)
        for role, size in SIZES.items()
    }
    methods = {name: tried for name, tried in grids(scale, "strong", "cdae").items() if name != "rd"}
    plan = schedule(scale, "strong", "cdae")
    return Pair(data, "strong", "cdae", sides["teacher"], sides["student"], plan, methods)
