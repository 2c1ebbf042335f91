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

# -- models alone -----------------------------------------------------------------------------------------------------

_JUDGED = {"metric": "hit@50", "validate_every": 10, "patience": 4}
_PRINTED = {"start_scale": 0.01, "batch_size": 128}
_LONG = {"epochs": 120, "validate_every": 20, "patience": 2, "validation_users": 2000}
_CDAE = {"popularity": 0.75, "epochs": 100, "validate_every": 10, "patience": 3, "validation_users": 2000}
_SHORT = {"validate_every": 4, "patience": 1}


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

_QUICK: dict[tuple[str, str], list[Settings]] = {
    ("strong", "bpr-teacher"): _grid((0.005,), (0.01, 0.03), popularity=0.75, epochs=60, patience=2),
    ("strong", "bpr-student"): _grid((0.01,), (0.05,), epochs=60, patience=2),
    ("published", "bpr"): _grid((0.002,), (0.001,), **_PRINTED, epochs=20),
    ("", "neumf"): _grid((0.005,), (0.001,), popularity=0.5, epochs=8, **_SHORT, validation_users=500),
    ("", "cdae"): _grid((0.005,), (0.003,), popularity=0.5, epochs=16, **_SHORT),
}
"""The same at quick scale: fewer epochs and fewer settings; other models have the same for both starts."""


def alone(scale: Scale, start: str, model: str, role: str, size: int | None = None) -> list[Settings]:
    """What is tried for a model alone, whole; another size takes over what is tried for its role."""
    tried: list[Settings] = [{}]
    if not is_own(model):
        keys = ((start, f"{model}-{role}"), (start, model), ("", model))
        quick = next(_QUICK[key] for key in keys if key in _QUICK)
        tried = ALONE[start, model][role] if scale == "full" else quick
    n_factors = SIZES[role] if size is None else size
    widths = [10, 5] if n_factors == 5 else [n_factors, max(n_factors // 2, 1)]
    towers = {"layer_widths": widths} if model == "neumf" else {}
    return [{"n_factors": n_factors, **_JUDGED, **each, **towers} for each in tried]


# -- methods ----------------------------------------------------------------------------------------------------------


def _named(names: str, *rows: tuple[Any, ...]) -> list[Settings]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


TRIED: dict[str, list[Settings]] = {
    "bd": _named(
        "weight items temperature to_student__rank_gap_scale to_teacher__rank_gap_scale reuse",
        (0.5, 5, 2.0, 1e-4, 1e-4, False), (1.0, 10, 2.0, 1e-3, 1e-3, False), (0.1, 10, 1.0, 1e-3, 1e-3, False),
        (0.5, 10, 2.0, 1e-4, 1e-4, True), (0.5, 10, 5.0, 1e-3, 1e-3, True), (1.0, 30, 1.0, 1e-3, 1e-3, False)),
    "cd": _named(
        "weight items temperature rank_gap_scale", (0.5, 5, 2.0, 1e-2), (1.0, 10, 2.0, 1e-3), (0.1, 10, 1.0, 1e-3),
        (0.5, 10, 2.0, 1e-3), (1.0, 30, 1.0, 1e-3), (1.0, 30, 1.0, 1e-2)),
    "rd": _named(
        "weight items position_decay", (0.5, 5, 10.0), (1.0, 10, 10.0), (0.1, 10, 100.0), (0.1, 10, 10.0),
        (0.5, 30, 10.0), (0.1, 50, 10.0)),
    "teacher-positives": _named(
        "positives weight student_start", (10, 0.0, "svd"), (20, 0.0, "own"), (20, 0.1, "own"), (40, 0.0, "svd"),
        (10, 0.1, "own"), (40, 0.1, "own")),
}  # fmt: skip
"""Method -> what is tried at full scale; others have one setting. The first of BD is what the dissertation recommends,
and its items and temperature are those of other schemes and of one direction alone."""

_STRONG_ONLY = {"svd": ("bpr",), "teacher-positives": ("bpr",), "combined": ("bpr",), "bd-best": MODELS,
                "continued": MODELS}  # fmt: skip
"""Methods that the dissertation does not have -> the models they are tried with, from a strong start."""


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
    few = 2 if model == "bpr" and method != "teacher-positives" else 1  # of the settings at quick scale
    return {
        "bases": {role: alone(scale, start, model, role) for role in SIZES}, "schedule": schedule(scale, start, model),
        "method": method, "tried": TRIED.get(method, [{}])[: None if scale == "full" else few],
    }  # fmt: skip


def recommended(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The dissertation's setting of BD, with what further axes change; nothing is chosen."""
    found, usual = settings(scale, point), TRIED["bd"][0]
    if point["methods"] != ["bd"]:
        usual = {name: usual[name] for name in ("items", "temperature")}
    changed = {name: value for name, value in point.items() if "__" in name or name == "refresh_every"}
    return found and found | {"tried": [usual | changed]}


def of_sizes(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """Two models of other sizes; fixed partners for the usual sizes only, models alone beside the usual teacher."""
    found, method = recommended(scale, point), point["methods"][0]
    pair = dict(zip(SIZES, map(int, point["sizes"].split(" and ")), strict=True))
    usual = {"alone": pair["teacher"] == SIZES["teacher"], "bd": True}.get(method, pair == SIZES)
    if found is None or not usual:
        return None
    tuned_as = {role: "student" if size == SIZES["student"] else "teacher" for role, size in pair.items()}
    told = (scale, point["start"], point["model"])
    return found | {"bases": {role: alone(*told, tuned_as[role], size) for role, size in pair.items()}}


# -- the authors' public code -----------------------------------------------------------------------------------------

_DENSE = {"adam": "dense", "summed": True, "l2": 0.0}
_PUBLIC_BPR = _DENSE | {"learning_rate": 0.001, "batch_size": 128, "start_scale": 1.0}
_PUBLIC_CDAE = _DENSE | {
    "learning_rate": 0.002, "weight_decay": 1e-3, "epochs": 300, "popularity": 0.0, "history": "sum",
    "batch_size": 128 * 23,  # 128 users, who have 23 pairs on average
}  # fmt: skip
_PUBLIC_ALONE: dict[str, dict[str, Settings]] = {
    "bpr": {
        "teacher": _PUBLIC_BPR | {"n_factors": 50, "epochs": 70, "weight_decay": 1e-3},
        "student": _PUBLIC_BPR | {"n_factors": 5, "epochs": 200},
    },
    "cdae": {"teacher": _PUBLIC_CDAE | {"n_factors": 50}, "student": _PUBLIC_CDAE | {"n_factors": 5}},
}
PUBLIC_METHODS = {"bpr": "bd-public", "cdae": "bd-public-cdae"}
_PUBLIC_EPOCHS = {"bpr": 40, "cdae": 100}  # together

PUBLIC_ROWS: dict[str, Settings] = {
    "bd-public": {},
    "weight 0, uniform negatives": {"weight": 0.0, "reuse": False},
    "weight 0, drawn negatives": {"weight": 0.0, "reuse": True},
    "printed sign": {"ranked_higher_by": "guide"},
    "printed sign, uniform negatives": {"ranked_higher_by": "guide", "reuse": False},
    "weight decay kept": {"keeps_weight_decay": True},
}
"""What differs from the public code in each row, in both directions."""

LONGER = "alone, 5 times as long"
"""A control of another kind; with it the student has the 1,000 epochs of the public code."""


def public_settings(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The public settings of a model; two epochs each at quick scale."""
    (row,), model = point["methods"], point["model"]
    if model not in PUBLIC_METHODS or row not in ("alone", LONGER, *PUBLIC_ROWS):
        return None  # other methods are in the main table
    if row in ("printed sign, uniform negatives", LONGER) and model != "bpr":
        return None  # only BPR takes drawn items as negatives; CDAE would take hours
    times, full = 5 if row == LONGER else 1, scale == "full"
    bases = {role: [each | {"epochs": times * (each["epochs"] if full else 2)}]
             for role, each in _PUBLIC_ALONE[model].items()}  # fmt: skip
    return {
        "start": "public", "bases": bases, "schedule": {"epochs": _PUBLIC_EPOCHS[model] if full else 2},
        "method": PUBLIC_METHODS[model] if row in PUBLIC_ROWS else "alone", "tried": [PUBLIC_ROWS.get(row, {})],
    }  # fmt: skip
