"""What is tried for each model alone and for each method of chapter 3, as declared in studies.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sureness.errors import DataError
from sureness_reproduction.declarations import read
from sureness_reproduction.own import is_own
from sureness_reproduction.study import Scale

Settings = dict[str, Any]

DECLARED = read("distillation")["settings"]
SIZES: dict[str, int] = DECLARED["sizes"]
WITHOUT_LABELS = ("alone", "continued")  # so nothing is drawn either


def rows_of(table: Settings | Sequence[Settings]) -> list[Settings]:
    """The settings of a table, one for each value of its lists; several tables follow each other.

    Examples
    --------
    >>> rows_of({"learning_rate": [0.1, 0.2], "epochs": 3})
    [{'learning_rate': 0.1, 'epochs': 3}, {'learning_rate': 0.2, 'epochs': 3}]
    """
    if not isinstance(table, dict):
        return [row for each in table for row in rows_of(each)]
    length = max((len(column) for column in table.values() if isinstance(column, list)), default=1)
    columns = [column if isinstance(column, list) else [column] * length for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def _declared_for(tree: Any, *path: str) -> Any:
    """What is declared along a path, down to where it is not told apart any more."""
    for step in path:
        if isinstance(tree, list) or not any(isinstance(part, dict) for part in tree.values()):
            break
        if step not in tree:
            raise DataError(f"no settings are declared for {step!r}; there are some for {', '.join(tree)}")
        tree = tree[step]
    return tree


def tried_for(method: str) -> list[Settings]:
    """What is tried for a method at full scale."""
    return rows_of(DECLARED["tried"].get(method, {})) or [{}]


def alone(scale: Scale, start: str, model: str, role: str, size: int | None = None) -> list[Settings]:
    """What is tried for a model alone, whole; another size takes over what is tried for its role."""
    tried = [Settings()] if is_own(model) else rows_of(_declared_for(DECLARED["alone"][scale], model, start, role))
    n_factors = SIZES[role] if size is None else size
    return [{"n_factors": n_factors, **DECLARED["usual"], **each} for each in tried]


def chosen(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """Everything declared for a point of a grid, None where it is left out."""
    start, model, method = point["start"], point["model"], point["methods"][0]
    strong_only = DECLARED["strong_only"]
    if (start == "published" and method in strong_only) or model not in strong_only.get(method, (model,)):
        return None
    if start != "published" and method in DECLARED["published_only"]["methods"]:
        return None
    if start == "published" and scale == "full" and point["data"] != "citeulike-bd":
        return None  # the dissertation's artefact is that of CiteULike
    few = 2 if model == "bpr" and method != "teacher-positives" else 1  # of the settings at quick scale
    if scale == "full":
        few = 6 if start == "published" else 3
    return {
        "bases": {role: alone(scale, "strong" if start == "none" else start, model, role) for role in SIZES},
        "schedule": _declared_for(DECLARED["schedule"][scale], "own" if is_own(model) else model, start),
        "method": method, "tried": tried_for(method)[:few],
    }  # fmt: skip


def recommended(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The dissertation's setting of BD, with what further axes change; nothing is chosen."""
    found, usual, (method,) = chosen(scale, point), tried_for("bd")[0], point["methods"]
    if method != "bd":
        usual = {} if method in WITHOUT_LABELS else {name: usual[name] for name in ("items", "temperature")}
    changed = {name: value for name, value in point.items() if "__" in name or name == "refresh_every"}
    return found and found | {"tried": [usual | changed]}


def axes(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The dissertation's setting of BD by the rate of the joint phase, the sign of the labels and the start."""
    rows, (row,), rate = DECLARED["axes"], point["methods"], point["rate"]
    found = chosen(scale, {**point, "methods": [row if row in WITHOUT_LABELS else "bd"]})
    if found is None or (point["start"] == "none" and (rate != 1 or row == "alone")):
        return None  # without a start there is neither a model alone nor a share of its rate
    tried = [{**tried_for("bd")[0], **rows[row]}] if row in rows else [{}]
    return found | {"schedule": {**found["schedule"], "fitted_rate": rate}, "tried": tried}


def one_epoch(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The usual settings with one epoch: neither the size of a model nor the time of its lists depends on more."""
    found = chosen(scale, point)
    return found and found | {"bases": {role: [{**first, "epochs": 1}] for role, (first, *_) in found["bases"].items()}}


def of_sizes(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """Two models of other sizes; fixed partners for the usual sizes only, models alone beside the usual teacher."""
    found, method = recommended(scale, point), point["methods"][0]
    pair = dict(zip(SIZES, map(int, point["sizes"].split(" and ")), strict=True))
    usual = pair["teacher"] == SIZES["teacher"] if method in WITHOUT_LABELS else pair == SIZES
    if found is None or not (usual or method == "bd"):
        return None
    tuned_as = {role: "student" if size == SIZES["student"] else "teacher" for role, size in pair.items()}
    told = (scale, point["start"], point["model"])
    return found | {"bases": {role: alone(*told, tuned_as[role], size) for role, size in pair.items()}}


def public(scale: Scale, point: Mapping[str, Any]) -> Settings | None:
    """The settings of the authors' public code for a model; two epochs each at quick scale."""
    code, (row,), model = DECLARED["public"], point["methods"], point["model"]
    if model not in code["methods"] or row not in ("alone", *code["rows"]):
        return None  # other methods are in the main table
    if model != "bpr" and row in code["bpr-only"]:
        return None
    full = scale == "full"
    bases = {role: [code["dense"] | each | {"epochs": each["epochs"] if full else 2}]
             for role, each in code["alone"][model].items()}  # fmt: skip
    return {
        "start": "public", "bases": bases, "schedule": {"epochs": code["epochs"][model] if full else 2},
        "method": row if row in ("alone", "cd", "rd") else code["methods"][model], "tried": [code["rows"].get(row, {})],
    }  # fmt: skip
