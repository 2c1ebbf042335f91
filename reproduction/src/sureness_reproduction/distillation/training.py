"""The trainings of chapter 3: a model alone, and two together; each with the best of its settings on validation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

import polars as pl

import sureness as sn
from sureness.data import Interactions, Split, leave_one_out, union
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.distillation.controls import method_settings
from sureness_reproduction.distillation.settings import SIZES, Settings
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.study import Scale
from sureness_reproduction.workbench import SealedSplit, Workbench

ROLES = tuple(SIZES)
_TOLD = ("data", "start", "model", "bases", "schedule", "method")
LAST = ("strong", "none")  # starts from which all epochs are run and the last one is kept; validation only chooses
_TWIN = 1_000  # what is added to the student's seed where both models would be the same one


def split_options(data: str, start: str) -> dict[str, Any]:
    """How data are prepared: the dissertation's CiteULike has counts that were read as items, a strong start not."""
    if data == "citeulike-bd":
        return {} if start in LAST else {"artefact": True}
    return {"protocol": "leave-one-out", "positive_above": None} if data == "ml-100k" or is_own(data) else {}


def preparation(scale: Scale, point: Mapping[str, Any]) -> dict[str, Any]:
    """How the dissertation prepares the data of a point."""
    return {"options": split_options(point["data"], "published")}


def split_of(bench: Workbench, *, data: str, start: str, **_: Any) -> Split:
    """The data of two models as a cell may see them.

    The validation items that came with CiteULike are rarer than its test items: 22% are in no training pair, and 11%
    of the test items. From a strong start, and from none, another random item of each user is held out instead.
    """
    split = bench.split(data, **split_options(data, start))
    if data != "citeulike-bd" or start not in LAST:
        return split
    drawn = leave_one_out(union([split.train, split.validation]), seed=0)
    parts = union([drawn.train, drawn.validation]), drawn.test
    return SealedSplit(*parts) if isinstance(split, SealedSplit) else Split(*parts, split.test)


def _learned_from(bench: Workbench, **about: Any) -> tuple[Interactions, Interactions | None]:
    """What models are fitted on; with the public code and from `LAST` starts all epochs are run."""
    split = split_of(bench, **about)
    return split.train, None if about["start"] in ("public", *LAST) else split.validation


def _validated(bench: Workbench, fitted: Any, **about: Any) -> float:
    """The hits at 50 of a model on validation."""
    split = split_of(bench, **about)
    return sn.evaluate_ranking(fitted, split.validation, seen=split.train, metrics=["hit@50"])["hit@50"]


def _make(model: str, settings: Settings, seed: int) -> Any:
    """A recommender by name, or a user's own class, which takes the same settings."""
    made = settings | {"seed": seed}
    return load_own(model)(**made) if is_own(model) else sn.models.make_recommender(model, **made)


def _trials(name: str, /, **parameters: Any) -> list[Cell]:
    """A training with seed 0 for each of several settings, which the choice among them needs."""
    training, tried = alone if name == "settings" else distilled, parameters[name]
    return [training.cell(**parameters | {name: [each], "seed": 0}) for each in tried] if len(tried) > 1 else []


@work(needs=partial(_trials, "settings"), cost=20)
def alone(bench: Workbench, *, settings: list[Settings], seed: int, **about: Any) -> Tables:
    """A model with the best of its settings; what was trained with seed 0 to find them is not trained again."""
    found = [bench.found(cell) for cell in _trials("settings", settings=settings, seed=seed, **about)]
    best = max(found, key=lambda each: each.table("about")["validation"][0] or 0.0, default=None)
    chosen = settings[0] if best is None else json.loads(best.table("about")["settings"][0])
    if best is not None and seed == 0:
        fitted: Any = best.model
    else:
        fitted = _make(about["model"], chosen, seed).fit(*_learned_from(bench, **about))
    bench.save(fitted)
    validation = _validated(bench, fitted, **about) if about["start"] in LAST else fitted.best_metric_
    told = pl.DataFrame({"settings": json.dumps(chosen), "validation": [validation]})
    return {"about": told.cast({"validation": pl.Float64})}


def _alone_cell(role: str, seed: int, *, data: str, start: str, model: str, bases: Settings, **_: Any) -> Cell:
    """The cell of one of the two models, alone; a student that is its teacher's twin gets another seed."""
    twin = role == "student" and bases["teacher"] == bases["student"]
    start = "strong" if start == "none" else start  # whose settings it has
    return alone.cell(data=data, start=start, model=model, settings=bases[role], seed=seed + _TWIN * twin)


# -- two models together ----------------------------------------------------------------------------------------------


def _learns(method: str, role: str) -> bool:
    return bool(getattr(sn.distillation.distillation_method(method), f"{role}_learns"))


def spread_over(method: str, changes: Settings) -> Settings:
    """Settings of a direction without its name go to every direction that learns."""
    general = {field.name for field in fields(sn.distillation.DistillationSettings)}
    named = {name: value for name, value in changes.items() if "__" in name or name in general}
    sides = [f"to_{role}" for role in ROLES if _learns(method, role)]
    return {f"{side}__{name}": changes[name] for name in changes if name not in named for side in sides} | named


def _needed(*, tried: list[Settings], seed: int, **about: Any) -> Iterable[Cell]:
    yield from _trials("tried", tried=tried, seed=seed, **about)
    seeds = {0, seed} if len(tried) > 1 else {seed}
    yield from (_alone_cell(role, each, **about) for role in ROLES for each in seeds)


@work(needs=_needed, cost=60)
def distilled(bench: Workbench, *, tried: list[Settings], seed: int, **about: Any) -> Tables:
    """The models that learned, after a method with the best of its settings.

    What counts are hits on validation in units of the model alone, of each model that learns. What was trained with
    seed 0 to find the settings is not trained again.
    """
    cells, best = _trials("tried", tried=tried, seed=seed, **about), 0
    if cells:
        units = {role: bench.found(_alone_cell(role, 0, **about)).table("about")["validation"][0] for role in ROLES}
        counted = [role for role in ROLES if _learns(about["method"], role)]
        reached = [dict(bench.found(cell).table("validation").iter_rows()) for cell in cells]
        values = [sum(each[role] / (units[role] or 1.0) for role in counted) for each in reached]
        best = values.index(max(values))
    models = _models(bench, cells[best]) if cells and seed == 0 else _together(bench, seed, tried[best], **about)
    for role, fitted in models.items():
        fitted.save(bench.place / f"{role}.sureness")
    found = {"about": pl.DataFrame({"changes": [json.dumps(tried[best])]})}
    if not cells and about["start"] != "public":
        hits = [_validated(bench, each, **about) for each in models.values()]
        found["validation"] = pl.DataFrame({"role": list(models), "value": hits})
    return found


def _together(bench: Workbench, seed: int, changes: Settings, **about: Any) -> dict[str, Any]:
    """The models that learned in a method, by role; a user's own method is a function."""
    method = about["method"]
    if is_own(method):
        pair = [_beginning(bench, role, seed, **about) for role in ROLES]
        return dict(load_own(method)(*pair, split_of(bench, **about), seed))
    settings = method_settings(method, seed=seed, **(about["schedule"] | spread_over(method, changes)))
    pair = [_beginning(bench, role, seed, settings.student_start, **about) for role in ROLES]
    both = sn.BidirectionalDistillation.from_settings(pair[0], pair[1], settings)
    both.fit(*_learned_from(bench, **about))
    return {role: getattr(both, f"{role}_") for role in ROLES if _learns(method, role)}


def _beginning(bench: Workbench, role: str, seed: int, student_start: str = "own", **about: Any) -> Any:
    """A model as it goes into the distillation: fitted where it starts so or stays fixed, new otherwise."""
    cell, method = _alone_cell(role, seed, **about), about["method"]
    found, from_svd = bench.found(cell), role == "student" and student_start == "svd"
    if not from_svd and (about["start"] not in ("published", "none") or is_own(method) or not _learns(method, role)):
        return found.model
    return _make(about["model"], json.loads(found.table("about")["settings"][0]), cell.parameters["seed"])


def _models(bench: Workbench, cell: Cell) -> dict[str, Any]:
    """The models that a distillation kept, by their role."""
    files = {role: bench.found(cell).folder / f"{role}.sureness" for role in ROLES}
    return {role: sn.load(file) for role, file in files.items() if file.exists()}


# -- what is measured -------------------------------------------------------------------------------------------------


def models_needed(*, tried: list[Settings], seed: int, **parameters: Any) -> list[Cell]:
    """The cells that hold the models of a point; further axes of a grid do not concern them."""
    about = {name: parameters[name] for name in _TOLD}
    if about["method"] in ("alone", "svd"):
        return [_alone_cell(role, seed, **about) for role in ROLES]
    return [distilled.cell(**about, tried=tried, seed=seed)]


def models_of(bench: Workbench, **parameters: Any) -> dict[str, Any]:
    """The models of a point, by their role; "svd" is the best student that needs no training."""
    cells = models_needed(**parameters)
    if len(cells) == 1:
        return _models(bench, cells[0])
    pair = {role: bench.found(cell).model for role, cell in zip(ROLES, cells, strict=True)}
    if parameters["method"] == "alone":
        return pair
    from sureness.distillation import truncated

    return {"student": truncated(pair["teacher"].source_, parameters["bases"]["student"][0]["n_factors"])}
