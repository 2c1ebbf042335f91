"""The declared settings of chapter 3: what is tried for each model alone and for each method, as plain values.

At full scale each model alone and each of RD, CD and BD has six settings, over the same weights, numbers of items,
temperatures and smoothness as far as a method has them. Every choice is made on validation with seed 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from sureness_reproduction.own import is_own
from sureness_reproduction.study import Scale

Settings = dict[str, Any]

MODELS = ("neumf", "cdae", "bpr")
SIZES = {"teacher": 50, "student": 5}
DATA: dict[Scale, Sequence[str]] = {
    "quick": ("amazon-music",),
    "full": ("citeulike-bd", "foursquare-tky-filtered", "amazon-music", "yelp"),
}

# -- models alone -----------------------------------------------------------------------------------------------------

_JUDGED = {"metric": "hit@50", "validate_every": 10, "patience": 4}
_PRINTED = {"start_scale": 0.01, "batch_size": 128}
_LONG = {"epochs": 120, "validate_every": 20, "patience": 2, "validation_users": 2000}
_CDAE = {"popularity": 0.75, "epochs": 100, "validate_every": 10, "patience": 3, "validation_users": 2000}


def _rated(same: Settings, *pairs: tuple[float, float]) -> list[Settings]:
    return [{"learning_rate": rate, "l2": l2, **same} for rate, l2 in pairs]


def _grid(rates: Sequence[float], pulls: Sequence[float], **same: Any) -> list[Settings]:
    return _rated(same, *product(rates, pulls))


def _published(pulls: Sequence[float], **same: Any) -> dict[str, list[Settings]]:
    return dict.fromkeys(SIZES, _grid((0.0005, 0.001, 0.002), pulls, **same))


ALONE: dict[tuple[str, str], dict[str, list[Settings]]] = {
    ("strong", "bpr"): dict.fromkeys(SIZES, _grid((0.005, 0.01), (0.02, 0.03, 0.05), popularity=0.75, epochs=300)),
    ("strong", "neumf"): {
        "teacher": _rated(_LONG | {"popularity": 0.5}, (0.005, 0.01), (0.005, 0.03), (0.005, 0.05), (0.002, 0.03),
                          (0.01, 0.03), (0.01, 0.05)),
        "student": _rated(_LONG, (0.01, 0.03), (0.01, 0.05), (0.02, 0.03))
        + _rated(_LONG | {"negatives": 4}, (0.01, 0.03), (0.005, 0.03), (0.01, 0.05)),
    },
    ("strong", "cdae"): {
        "teacher": _grid((0.005, 0.01), (0.001, 0.003, 0.01), **_CDAE),
        "student": _grid((0.005, 0.01), (0.0, 0.001, 0.003), start_scale=0.1, **_CDAE),
    },
    ("published", "bpr"): _published((0.001, 0.01), **_PRINTED, epochs=80),
    ("published", "neumf"): _published((1e-4, 1e-3), **_PRINTED, epochs=40, validation_users=2000, patience=3),
    ("published", "cdae"): _published((1e-4, 1e-3), batch_size=128 * 20, epochs=60, patience=3),  # about 128 users
}  # fmt: skip
"""Start and model -> what is tried for teacher and student alone at full scale."""

_SHORT = {"validate_every": 4, "patience": 1}
_QUICK: dict[tuple[str, str], list[Settings]] = {
    ("strong", "bpr-teacher"): _grid((0.005,), (0.01, 0.03), popularity=0.75, epochs=60, patience=2),
    ("strong", "bpr-student"): _grid((0.01,), (0.05,), epochs=60, patience=2),
    ("published", "bpr"): _grid((0.002,), (0.001,), **_PRINTED, epochs=20),
    ("", "neumf"): _grid((0.005,), (0.001,), popularity=0.5, epochs=8, **_SHORT, validation_users=500),
    ("", "cdae"): _grid((0.005,), (0.003,), popularity=0.5, epochs=16, **_SHORT),
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
        tried = ALONE[start, model][role]
    else:
        keys = ((start, f"{model}-{role}"), (start, model), ("", model))
        tried = next(_QUICK[key] for key in keys if key in _QUICK)
    n_factors = SIZES[role] if size is None else size
    widths = [10, 5] if n_factors == 5 else [n_factors, max(n_factors // 2, 1)]
    towers = {"layer_widths": widths} if model == "neumf" else {}
    return [{"n_factors": n_factors, **_JUDGED, **each, **towers} for each in tried]


# -- methods ----------------------------------------------------------------------------------------------------------


_TRIED: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "bd": ("weight items temperature to_student__rank_gap_scale to_teacher__rank_gap_scale reuse", [
        (0.5, 5, 2.0, 1e-4, 1e-4, False), (1.0, 10, 2.0, 1e-3, 1e-3, False), (0.1, 10, 1.0, 1e-3, 1e-3, False),
        (0.5, 10, 2.0, 1e-4, 1e-4, True), (0.5, 10, 5.0, 1e-3, 1e-3, True), (1.0, 30, 1.0, 1e-3, 1e-3, False),
    ]),
    "cd": ("weight items temperature rank_gap_scale", [
        (0.5, 5, 2.0, 1e-2), (1.0, 10, 2.0, 1e-3), (0.1, 10, 1.0, 1e-3), (0.5, 10, 2.0, 1e-3), (1.0, 30, 1.0, 1e-3),
        (1.0, 30, 1.0, 1e-2),
    ]),
    "rd": ("weight items position_decay", [
        (0.5, 5, 10.0), (1.0, 10, 10.0), (0.1, 10, 100.0), (0.1, 10, 10.0), (0.5, 30, 10.0), (0.1, 50, 10.0),
    ]),
    "teacher-positives": ("positives weight student_start", [
        (10, 0.0, "svd"), (20, 0.0, "own"), (20, 0.1, "own"), (40, 0.0, "svd"), (10, 0.1, "own"), (40, 0.1, "own"),
    ]),
}  # fmt: skip
TRIED: dict[str, list[Settings]] = {
    method: [dict(zip(names.split(), values, strict=True)) for values in rows]
    for method, (names, rows) in _TRIED.items()
}
"""Method -> what is tried at full scale; others have one setting."""

RECOMMENDED = TRIED["bd"][0]
"""BD as the dissertation recommends it."""

KEPT = {name: RECOMMENDED[name] for name in ("items", "temperature")}
"""The same for the other schemes and for one direction alone; their other settings are those of the dissertation."""

_STRONG_ONLY = {"svd": ("bpr",), "teacher-positives": ("bpr",), "combined": ("bpr",), "bd-best": MODELS,
                "continued": MODELS}  # fmt: skip
"""Methods that the dissertation does not have -> the models they are tried with, from a strong start."""


def tried(scale: Scale, model: str, method: str) -> list[Settings]:
    """What is tried for a method; at quick scale the first two for BPR, the first for the slower models."""
    if method not in TRIED:
        return [{}]
    if scale == "full":
        return TRIED[method]
    return TRIED[method][: 2 if model == "bpr" and method != "teacher-positives" else 1]


def schedule(scale: Scale, start: str, model: str) -> Settings:
    """How long two models learn together."""
    if scale == "full":
        epochs = 40 if model != "bpr" else 100 if start == "strong" else 60
        return {"epochs": epochs, "validate_every": 10, "patience": 3 if model == "bpr" else 2, "warm_up": 20}
    if model == "bpr" or is_own(model):
        return {"epochs": 12, "validate_every": 4, "patience": 2, "warm_up": 8}
    half = 4 if model == "neumf" else 8  # of the epochs alone
    return {"epochs": half, "validate_every": half // 2, "patience": 2, "warm_up": half}


def settings(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """Everything declared for a point of a grid, None where it is left out."""
    start, model, method = point["start"], point["model"], point["methods"][0]
    if (start != "strong" and method in _STRONG_ONLY) or model not in _STRONG_ONLY.get(method, (model,)):
        return None
    if start == "published" and scale == "full" and point["data"] != "citeulike-bd":
        return None  # the dissertation's artefact is that of CiteULike
    return {
        "bases": {role: alone(scale, start, model, role) for role in SIZES},
        "schedule": schedule(scale, start, model), "method": method, "tried": tried(scale, model, method),
    }  # fmt: skip


def recommended(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The dissertation's setting of BD, with what further axes change; nothing is chosen."""
    found = settings(scale, point)
    usual = RECOMMENDED if point["methods"] == ["bd"] else KEPT
    changed = {name: value for name, value in point.items() if "__" in name or name == "refresh_every"}
    return found and found | {"tried": [usual | changed]}
