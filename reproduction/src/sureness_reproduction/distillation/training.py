"""The trainings behind chapter 3: models alone, settings tried on validation, and the final models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack

import polars as pl

from sureness.data import Interactions, Split
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.distillation.declared import Settings
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.workbench import Finished, Workbench

METRICS = ("hit@50", "hit@100", "ndcg@50", "ndcg@100")
ROLES = ("teacher", "student")
_TO_STUDENT = ("rd", "cd", "one-way", "teacher-positives", "combined")
_GENERAL = (
    "student_start",
    "epochs",
    "refresh_every",
    "warm_up",
    "fitted_rate",
    "guides",
    "ranks",
    "keeps_weight_decay",
)
_TWIN = 1_000  # what is added to the student's seed where both models would be the same one


class Told(TypedDict):
    """What every cell of two models is told: which models, from where, and by which method they learn together."""

    data: str
    start: str
    model: str
    bases: dict[str, list[Settings]]  # role -> what is tried for the model alone
    schedule: Settings
    method: str


def split_options(data: str, start: str) -> dict[str, Any]:
    """How a data set is prepared: the dissertation's CiteULike has counts that were read as items, a strong start not.

    Examples
    --------
    >>> split_options("citeulike-bd", "published"), split_options("ml-100k", "strong")
    ({'artefact': True}, {'protocol': 'leave-one-out', 'positive_above': None})
    """
    if data == "citeulike-bd":
        return {} if start == "strong" else {"artefact": True}
    return {"protocol": "leave-one-out", "positive_above": None} if data == "ml-100k" or is_own(data) else {}


def split_of(bench: Workbench, data: str, start: str) -> Split:
    """The data of two models as a cell may see them."""
    return bench.split(data, **split_options(data, start))


def _learned_from(split: Split, start: str) -> tuple[Interactions, Interactions | None]:
    """What models are fitted on; the public code runs all epochs and looks at no validation data."""
    return split.train, None if start == "public" else split.validation


def make(model: str, **settings: Any) -> Any:
    """A recommender by name, or of one's own class, which takes the same settings."""
    from sureness.models import make_recommender

    return load_own(model)(**settings) if is_own(model) else make_recommender(model, **settings)


# -- models alone -----------------------------------------------------------------------------------------------------


def _tried_alone(*, settings: Sequence[Settings], seed: int = 0, **about: Any) -> list[Cell]:
    return [alone.cell(**about, settings=[each], seed=0) for each in settings] if len(settings) > 1 else []


@work(needs=_tried_alone, cost=0.1)
def picked(bench: Workbench, *, settings: list[Settings], **about: Any) -> Tables:
    """The best of the settings of a model alone, on validation with seed 0; the best comes first."""
    cells = _tried_alone(settings=settings, **about)
    values = [bench.found(cell).table("about")["validation"][0] for cell in cells] or [None]
    order = sorted(range(len(settings)), key=lambda place: -(values[place] or 0.0))
    found = {"settings": [json.dumps(settings[place]) for place in order], "value": [values[place] for place in order]}
    return {"trials": pl.DataFrame(found, schema={"settings": pl.String, "value": pl.Float64})}


def _picked_first(*, settings: list[Settings], seed: int, **about: Any) -> Iterable[Cell]:
    if len(settings) > 1:
        yield picked.cell(settings=settings, **about)
        yield from _tried_alone(settings=settings, **about) if seed == 0 else ()


@work(needs=_picked_first, cost=20)
def alone(bench: Workbench, *, data: str, start: str, model: str, settings: list[Settings], seed: int) -> Tables:
    """A model trained alone with the best of its settings; what was trained to find them is not trained again."""
    about = {"data": data, "start": start, "model": model}
    chosen = dict(settings[0])
    if len(settings) > 1:
        best = bench.found(picked.cell(settings=settings, **about))
        chosen = json.loads(best.table("trials")["settings"][0])
    if len(settings) > 1 and seed == 0:
        fitted: Any = bench.found(alone.cell(**about, settings=[chosen], seed=0)).model
    else:
        fitted = make(model, **(chosen | {"seed": seed})).fit(*_learned_from(split_of(bench, data, start), start))
    bench.save(fitted)
    found = {"settings": [json.dumps(chosen)], "validation": [fitted.best_metric_]}
    return {"about": pl.DataFrame(found, schema={"settings": pl.String, "validation": pl.Float64})}


# -- two models together ----------------------------------------------------------------------------------------------


def alone_cell(role: str, seed: int, *, data: str, start: str, model: str, bases: Settings, **_: Any) -> Cell:
    """The cell of one of the two models, alone; a student that is its teacher's twin gets another seed."""
    twins = bases["teacher"] == bases["student"]
    own = seed + _TWIN if twins and role == "student" else seed
    return alone.cell(data=data, start=start, model=model, settings=bases[role], seed=own)


def _start_of(role: str, seed: int, *, method: str, **about: Any) -> Cell | None:
    """What one of the two models needs before it is distilled: itself, its settings, or nothing."""
    if about["start"] != "published" or is_own(method) or _is_fixed(role, method):
        return alone_cell(role, seed, **about)
    if len(about["bases"][role]) > 1:
        known = {name: about[name] for name in ("data", "start", "model")}
        return picked.cell(**known, settings=about["bases"][role])
    return None


def _is_fixed(role: str, method: str) -> bool:
    from sureness.distillation import distillation_method

    settings = distillation_method(method)
    return not (settings.teacher_learns if role == "teacher" else settings.student_learns)


def _starts(*, seed: int, **about: Any) -> Iterable[Cell]:
    return (cell for role in ROLES if (cell := _start_of(role, seed, **about)) is not None)


def _together(bench: Workbench, seed: int, changes: Settings, **about: Any) -> tuple[dict[str, Any], pl.DataFrame]:
    """The models that learned in a method, by role, and how they fared; a method of one's own is a function."""
    from sureness.distillation import BidirectionalDistillation, distillation_method

    method, split = about["method"], split_of(bench, about["data"], about["start"])
    if is_own(method):
        pair = [bench.found(alone_cell(role, seed, **about)).model for role in ROLES]
        return dict(load_own(method)(*pair, split, seed)), pl.DataFrame()
    settings = distillation_method(method, seed=seed, **about["schedule"], **spread_over(method, changes))
    pair = [_beginning(bench, role, seed, settings.student_start, **about) for role in ROLES]
    both = BidirectionalDistillation.from_settings(pair[0], pair[1], settings)
    both.fit(*_learned_from(split, about["start"]))
    learns = {"teacher": both.settings.teacher_learns, "student": both.settings.student_learns}
    return {role: getattr(both, f"{role}_") for role in ROLES if learns[role]}, both.history_


def _beginning(bench: Workbench, role: str, seed: int, student_start: str, **about: Any) -> Any:
    """A model as it goes into the distillation: fitted where it starts warm or stays fixed, new otherwise."""
    cell = _start_of(role, seed, **about)
    if cell is not None and cell.work == alone.name:
        fitted = bench.found(cell).model
        from_svd = role == "student" and student_start == "svd"
        return make(about["model"], **fitted.settings.plain()) if from_svd else fitted
    chosen = about["bases"][role][0] if cell is None else json.loads(bench.found(cell).table("trials")["settings"][0])
    return make(about["model"], **(dict(chosen) | {"seed": alone_cell(role, seed, **about)["seed"]}))


def spread_over(method: str, changes: Settings) -> Settings:
    """Settings of a direction without its name go to every direction that learns.

    Examples
    --------
    >>> spread_over("cd", {"items": 5}), spread_over("bd", {"to_teacher__weight": 1.0, "epochs": 3})
    ({'to_student__items': 5}, {'to_teacher__weight': 1.0, 'epochs': 3})
    """
    sides = ("to_student",) if method in _TO_STUDENT else ("to_student", "to_teacher")
    spread: Settings = {}
    for name, value in changes.items():
        plain = "__" in name or name in _GENERAL
        spread |= {name: value} if plain else {f"{side}__{name}": value for side in sides}
    return spread


def learned(found: Finished) -> dict[str, Any]:
    """The models that learned in a distillation, by their role."""
    from sureness.artefacts import load

    files = {role: found.folder / f"{role}.sureness" for role in ROLES}
    return {role: load(file) for role, file in files.items() if file.exists()}


def _first_models(*, changes: Settings, **about: Any) -> Iterable[Cell]:
    yield distilled.cell(**about, tried=[changes], seed=0)
    yield from (alone_cell(role, 0, **about) for role in ROLES)


@work(needs=_first_models, cost=2)
def validated(bench: Workbench, *, changes: Settings, **about: Unpack[Told]) -> Tables:
    """What one setting of a method reaches on validation, with seed 0; a model that does not learn stays as it is."""
    from sureness.evaluation import evaluate_ranking

    models = {role: bench.found(alone_cell(role, 0, **about)).model for role in ROLES}
    models |= learned(bench.found(distilled.cell(**about, tried=[changes], seed=0)))
    split = split_of(bench, about["data"], about["start"])
    values = [
        evaluate_ranking(models[role], split.validation, seen=split.train, metrics=METRICS)["hit@50"] for role in ROLES
    ]
    return {"validation": pl.DataFrame({"role": ROLES, "value": values})}


def _every_try(*, tried: list[Settings], **about: Any) -> Iterable[Cell]:
    yield from (alone_cell(role, 0, **about) for role in ROLES)
    yield from (validated.cell(**about, changes=changes) for changes in tried)


@work(needs=_every_try, cost=0.1)
def chosen(bench: Workbench, *, tried: list[Settings], **about: Unpack[Told]) -> Tables:
    """The settings of a method by what they reach on validation, the best first.

    What counts is the student's value in units of the student alone; for BD, where both learn, that of both.
    """
    units = {role: bench.found(alone_cell(role, 0, **about)).table("about")["validation"][0] or 1.0 for role in ROLES}
    rows = []
    for changes in tried:
        found = dict(bench.found(validated.cell(**about, changes=changes)).table("validation").iter_rows())
        value = sum(found[role] / units[role] for role in (ROLES if about["method"] == "bd" else ROLES[1:]))
        rows.append({"changes": json.dumps(changes), **found, "value": value})
    return {"trials": pl.DataFrame(rows).sort("value", descending=True, maintain_order=True)}


def _choice_and_starts(*, tried: list[Settings], seed: int, **about: Any) -> Iterable[Cell]:
    if len(tried) > 1:
        yield chosen.cell(**about, tried=tried)
        if seed == 0:
            yield from (distilled.cell(**about, tried=[changes], seed=0) for changes in tried)
    yield from _starts(seed=seed, **about)


@work(needs=_choice_and_starts, cost=60)
def distilled(bench: Workbench, *, tried: list[Settings], seed: int, **about: Unpack[Told]) -> Tables:
    """Both models after a method with the best of its settings; those that learned are kept, by their role.

    What was trained to find the settings is not trained again.
    """
    changes = tried[0]
    if len(tried) > 1:
        changes = json.loads(bench.found(chosen.cell(**about, tried=tried)).table("trials")["changes"][0])
    if len(tried) > 1 and seed == 0:
        best = bench.found(distilled.cell(**about, tried=[changes], seed=0))
        models, history = learned(best), best.table("history")
    else:
        models, history = _together(bench, seed, changes, **about)
    for role, fitted in models.items():
        fitted.save(bench.place / f"{role}.sureness")
    return {"history": history, "about": pl.DataFrame({"changes": [json.dumps(changes)]})}
