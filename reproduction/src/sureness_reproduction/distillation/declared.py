"""The declared settings of chapter 3: what is tried for each model alone and for each method, as plain values.

At full scale each model alone and each of RD, CD and BD has at least six settings, over the same weights, numbers of
items, temperatures and smoothness as far as a method has them. Every choice is made on validation with seed 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from sureness_reproduction.own import is_own
from sureness_reproduction.study import Scale

Settings = dict[str, Any]

STARTS = ("published", "strong")
"""As the dissertation trains, as far as it says, or clean data and both models at their best alone."""

MODELS = ("neumf", "cdae", "bpr")
SIZES = {"teacher": 50, "student": 5}
DATA: dict[Scale, Sequence[str]] = {
    "quick": ("amazon-music",),
    "full": ("citeulike-bd", "foursquare-tky-filtered", "amazon-music"),
}
SEEDS: Mapping[Scale, Sequence[int]] = {"quick": range(1), "full": range(2)}

# -- models alone -----------------------------------------------------------------------------------------------------

_JUDGED = {"metric": "hit@50", "validate_every": 10, "patience": 4}
_PRINTED = {"start_scale": 0.01, "batch_size": 128}
_WIDTHS = {50: [50, 25], 5: [10, 5]}


def _six(rates: Sequence[float], pulls: Sequence[float], **same: Any) -> list[Settings]:
    return [{"learning_rate": rate, "l2": l2, **same} for rate, l2 in product(rates, pulls)]


_NEUMF = {"popularity": 0.5, "validation_users": 2000, "patience": 3, "epochs": 80}
_CDAE = {"popularity": 0.75, "patience": 3, "epochs": 150}
ALONE: dict[tuple[str, str], list[Settings]] = {
    ("strong", "bpr"): _six((0.005, 0.01), (0.02, 0.03, 0.05), popularity=0.75, epochs=300),
    ("strong", "neumf"): _six((0.002, 0.005), (0.003, 0.01, 0.03), **_NEUMF),
    ("strong", "cdae"): _six((0.005, 0.01), (0.003, 0.01, 0.03), **_CDAE),
    ("published", "bpr"): _six((0.0005, 0.001, 0.002), (0.001, 0.01), **_PRINTED, epochs=80),
    ("published", "neumf"): _six(
        (0.0005, 0.001, 0.002), (1e-4, 1e-3), **_PRINTED, epochs=40, validation_users=2000, patience=3
    ),
    ("published", "cdae"): _six(
        (0.0005, 0.001, 0.002), (1e-4, 1e-3), batch_size=128 * 20, epochs=60, patience=3
    ),  # about 128 users
}  # fmt: skip
"""Start and model -> what is tried for a model alone at full scale, teacher and student alike."""

_SHORT = {"validate_every": 4, "patience": 1}
_QUICK: dict[tuple[str, str], list[Settings]] = {
    ("strong", "bpr-teacher"): [
        {"learning_rate": 0.005, "l2": l2, "popularity": 0.75, "epochs": 60, "patience": 2} for l2 in (0.01, 0.03)
    ],
    ("strong", "bpr-student"): [{"learning_rate": 0.01, "l2": 0.05, "epochs": 60, "patience": 2}],
    ("published", "bpr"): [{"learning_rate": 0.002, "l2": 0.001, **_PRINTED, "epochs": 20}],
    ("", "neumf"): [
        {"learning_rate": 0.005, "l2": 0.001, "popularity": 0.5, "epochs": 8, **_SHORT, "validation_users": 500}
    ],
    ("", "cdae"): [{"learning_rate": 0.005, "l2": 0.003, "popularity": 0.5, "epochs": 16, **_SHORT}],
}
"""The same at quick scale: fewer epochs and fewer settings; other models have the same for both starts."""


def alone(scale: Scale, start: str, model: str, role: str, size: int | None = None) -> list[Settings]:
    """What is tried for a model alone, whole; another size takes over what is tried for its role.

    Examples
    --------
    >>> [each["n_factors"] for each in alone("full", "strong", "bpr", "teacher")]
    [50, 50, 50, 50, 50, 50]
    """
    if is_own(model):
        tried: list[Settings] = [{}]
    elif scale == "full":
        tried = ALONE[start, model]
    else:
        keys = ((start, f"{model}-{role}"), (start, model), ("", model))
        tried = next(_QUICK[key] for key in keys if key in _QUICK)
    return [_whole(model, each, SIZES[role] if size is None else size) for each in tried]


def _whole(model: str, settings: Settings, size: int) -> Settings:
    """Settings with the size of the model, and how it is judged on validation."""
    widths = _WIDTHS.get(size, [size, max(size // 2, 1)])
    return {"n_factors": size, **_JUDGED, **settings} | ({"layer_widths": widths} if model == "neumf" else {})


# -- methods ----------------------------------------------------------------------------------------------------------


def _bd(weight: float, items: int, temperature: float, tanh: float, exp: float, reuse: bool = False) -> Settings:
    return {
        "weight": weight, "items": items, "temperature": temperature, "to_student__rank_gap_scale": tanh,
        "to_teacher__rank_gap_scale": exp, "reuse": reuse,
    }  # fmt: skip


def _cd(weight: float, items: int, temperature: float, scale: float) -> Settings:
    return {"weight": weight, "items": items, "temperature": temperature, "rank_gap_scale": scale}


def _rd(weight: float, items: int, decay: float) -> Settings:
    return {"weight": weight, "items": items, "position_decay": decay}


def _positives(positives: int, weight: float, start: str) -> Settings:
    return {"positives": positives, "weight": weight, "student_start": start}


RECOMMENDED = _bd(0.5, 5, 2.0, 1e-4, 1e-4)
"""BD as the dissertation recommends it."""

KEPT = {name: RECOMMENDED[name] for name in ("items", "temperature")}
"""The same for the other schemes and for one direction alone; their other settings are those of the dissertation."""

TRIED: dict[str, list[Settings]] = {
    "bd": [
        RECOMMENDED, _bd(1.0, 10, 2.0, 1e-3, 1e-3), _bd(0.1, 10, 1.0, 1e-3, 1e-3),
        _bd(0.5, 10, 2.0, 1e-4, 1e-4, True), _bd(0.5, 10, 5.0, 1e-3, 1e-3, True), _bd(1.0, 30, 1.0, 1e-3, 1e-3),
    ],
    "cd": [
        _cd(0.5, 5, 2.0, 1e-2), _cd(1.0, 10, 2.0, 1e-3), _cd(0.1, 10, 1.0, 1e-3), _cd(0.5, 10, 2.0, 1e-3),
        _cd(1.0, 30, 1.0, 1e-3), _cd(1.0, 30, 1.0, 1e-2),
    ],
    "rd": [
        _rd(0.5, 5, 10.0), _rd(1.0, 10, 10.0), _rd(0.1, 10, 100.0), _rd(0.1, 10, 10.0), _rd(0.5, 30, 10.0),
        _rd(0.1, 50, 10.0),
    ],
    "teacher-positives": [
        _positives(10, 0.0, "svd"), _positives(20, 0.0, "own"), _positives(20, 0.1, "own"), _positives(40, 0.0, "svd"),
        _positives(10, 0.1, "own"), _positives(40, 0.1, "own"),
    ],
}  # fmt: skip
"""Method -> what is tried at full scale; others have one setting."""


def tried(scale: Scale, model: str, method: str) -> list[Settings]:
    """What is tried for a method; at quick scale the first two for BPR, the first for the slower models."""
    if method not in TRIED:
        return [] if method in ("alone", "svd") else [{}]
    if scale == "full":
        return TRIED[method]
    return TRIED[method][: 2 if model == "bpr" and method != "teacher-positives" else 1]


def schedule(scale: Scale, start: str, model: str) -> Settings:
    """How long two models learn together."""
    if scale == "quick":
        if model == "bpr" or is_own(model):
            return {"epochs": 12, "validate_every": 4, "patience": 2, "warm_up": 8}
        half = 4 if model == "neumf" else 8  # of the epochs alone
        return {"epochs": half, "validate_every": half // 2, "patience": 2, "warm_up": half}
    if model != "bpr":
        return {"epochs": 40, "validate_every": 10, "patience": 2, "warm_up": 20}
    return {"epochs": 100 if start == "strong" else 60, "validate_every": 10, "patience": 3, "warm_up": 20}


def settings(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """Everything declared for a point of a grid; what the dissertation does not have is tried from a strong start."""
    start, model, method = point["start"], point["model"], point["methods"][0]
    extra = {"svd": ("bpr",), "teacher-positives": ("bpr",), "combined": ("bpr",), "bd-best": MODELS}
    if method in extra and (start != "strong" or model not in extra[method]):
        return None
    if start == "published" and scale == "full" and point["data"] != "citeulike-bd":
        return None  # the dissertation's artefact is that of CiteULike
    return {
        "bases": {role: alone(scale, start, model, role) for role in SIZES},
        "schedule": schedule(scale, start, model),
        "method": method,
        "tried": tried(scale, model, method),
    }
