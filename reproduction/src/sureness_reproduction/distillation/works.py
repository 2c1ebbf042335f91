"""The trainings behind chapter 3: models alone, settings tried on validation, and the final models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack

import polars as pl

from sureness.data import Split
from sureness_reproduction.cells import Cell, Tables, work
from sureness_reproduction.workbench import Finished, Workbench

METRICS = ("hit@50", "hit@100", "ndcg@50", "ndcg@100")
ROLES = ("teacher", "student")
_TO_STUDENT = ("rd", "cd", "one-way", "teacher-positives", "combined")
_GENERAL = ("student_start", "epochs", "refresh_every", "warm_up", "fitted_rate", "guides", "ranks")
_TWIN = 1_000  # what is added to the student's seed where both models would be the same one

Settings = dict[str, Any]


class Told(TypedDict):
    """What every cell of two models is told: which models, from where, and by which method they learn together."""

    data: str
    start: str
    model: str
    bases: dict[str, list[Settings]]  # role -> what is tried for the model alone
    schedule: Settings
    method: str


def keeps_counts(data: str, start: str) -> bool:
    """Whether the data hold the counts that were read as items: the published start of the dissertation's CiteULike."""
    return data == "citeulike-bd" and start == "published"


def split_options(data: str, counts: bool) -> dict[str, Any]:
    """How a data set is prepared.

    Examples
    --------
    >>> split_options("citeulike-bd", True), split_options("ml-100k", False)
    ({'artefact': True}, {'protocol': 'leave-one-out', 'positive_above': None})
    """
    if data == "citeulike-bd":
        return {"artefact": True} if counts else {}
    return {"protocol": "leave-one-out", "positive_above": None} if data == "ml-100k" else {}


def split_of(bench: Workbench, data: str, start: str) -> Split:
    """The data of two models as a cell may see them."""
    return bench.split(data, **split_options(data, keeps_counts(data, start)))


# -- models alone -----------------------------------------------------------------------------------------------------


def _tried_alone(*, data: str, counts: bool, model: str, settings: Sequence[Settings], **_: Any) -> Iterable[Cell]:
    if len(settings) > 1:
        for each in settings:
            yield alone.cell(data=data, counts=counts, model=model, settings=[each], seed=0)


@work(needs=_tried_alone, cost=0.1)
def picked(bench: Workbench, *, data: str, counts: bool, model: str, settings: list[Settings]) -> Tables:
    """The best of the settings of a model alone, on validation with seed 0; the best comes first."""
    cells = list(_tried_alone(data=data, counts=counts, model=model, settings=settings))
    values = [bench.found(cell).table("about")["validation"][0] for cell in cells] or [None]
    order = sorted(range(len(settings)), key=lambda place: -(values[place] or 0.0))
    found = {"settings": [json.dumps(settings[place]) for place in order], "value": [values[place] for place in order]}
    return {"trials": pl.DataFrame(found, schema={"settings": pl.String, "value": pl.Float64})}


def _picked_first(*, data: str, counts: bool, model: str, settings: list[Settings], seed: int) -> Iterable[Cell]:
    if len(settings) > 1:
        yield picked.cell(data=data, counts=counts, model=model, settings=settings)
        if seed == 0:
            yield from _tried_alone(data=data, counts=counts, model=model, settings=settings)


@work(needs=_picked_first, cost=20)
def alone(bench: Workbench, *, data: str, counts: bool, model: str, settings: list[Settings], seed: int) -> Tables:
    """A model trained alone with the best of its settings; what was trained to find them is not trained again."""
    from sureness.models import make_recommender

    chosen = dict(settings[0])
    if len(settings) > 1:
        best = bench.found(picked.cell(data=data, counts=counts, model=model, settings=settings))
        chosen = json.loads(best.table("trials")["settings"][0])
    if len(settings) > 1 and seed == 0:
        fitted = bench.found(alone.cell(data=data, counts=counts, model=model, settings=[chosen], seed=0)).model
    else:
        split = bench.split(data, **split_options(data, counts))
        fitted = make_recommender(model, **(chosen | {"seed": seed})).fit(split.train, split.validation)
    bench.save(fitted)
    about = {"settings": [json.dumps(chosen)], "validation": [fitted.best_metric_], "epoch": [fitted.best_epoch_]}
    return {"about": pl.DataFrame(about)}


# -- two models together ----------------------------------------------------------------------------------------------


def alone_cell(role: str, seed: int, *, data: str, start: str, model: str, bases: Settings, **_: Any) -> Cell:
    """The cell of one of the two models, alone; a student that is its teacher's twin gets another seed."""
    twins = bases["teacher"] == bases["student"]
    own = seed + _TWIN if twins and role == "student" else seed
    return alone.cell(data=data, counts=keeps_counts(data, start), model=model, settings=bases[role], seed=own)


def _start_of(role: str, seed: int, *, method: str, **about: Any) -> Cell | None:
    """What one of the two models needs before it is distilled: itself, its settings, or nothing."""
    from sureness.distillation import distillation_method

    settings = distillation_method(method)
    fixed = not (settings.teacher_learns if role == "teacher" else settings.student_learns)
    if fixed or about["start"] == "strong":
        return alone_cell(role, seed, **about)
    if len(about["bases"][role]) > 1:
        counts = keeps_counts(about["data"], about["start"])
        return picked.cell(data=about["data"], counts=counts, model=about["model"], settings=about["bases"][role])
    return None


def _starts(*, seed: int, **about: Any) -> Iterable[Cell]:
    return (cell for role in ROLES if (cell := _start_of(role, seed, **about)) is not None)


def _trained(bench: Workbench, seed: int, changes: Settings, **about: Any) -> Any:
    """Both models after a method; from the models alone where the start is strong."""
    from sureness.distillation import BidirectionalDistillation, distillation_method

    method = about["method"]
    settings = distillation_method(method, seed=seed, **about["schedule"], **spread_over(method, changes))
    pair = [_beginning(bench, role, seed, settings.student_start, **about) for role in ROLES]
    split = split_of(bench, about["data"], about["start"])
    return BidirectionalDistillation.from_settings(pair[0], pair[1], settings).fit(split.train, split.validation)


def _beginning(bench: Workbench, role: str, seed: int, student_start: str, **about: Any) -> Any:
    """A model as it goes into the distillation: fitted where it starts warm or stays fixed, new otherwise."""
    from sureness.models import make_recommender

    cell = _start_of(role, seed, **about)
    if cell is not None and cell.work == alone.name:
        fitted = bench.found(cell).model
        from_svd = role == "student" and student_start == "svd"
        return make_recommender(about["model"], **fitted.settings.plain()) if from_svd else fitted
    chosen = about["bases"][role][0] if cell is None else json.loads(bench.found(cell).table("trials")["settings"][0])
    own = alone_cell(role, seed, **about)["seed"]
    return make_recommender(about["model"], **(dict(chosen) | {"seed": own}))


def spread_over(method: str, changes: Settings) -> dict[str, Any]:
    """Settings of a direction without its name go to every direction that learns.

    Examples
    --------
    >>> spread_over("cd", {"items": 5}), spread_over("bd", {"to_teacher__weight": 1.0, "epochs": 3})
    ({'to_student__items': 5}, {'to_teacher__weight': 1.0, 'epochs': 3})
    """
    sides = ("to_student",) if method in _TO_STUDENT else ("to_student", "to_teacher")
    spread: dict[str, Any] = {}
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
    yield distilled.cell(**about, grid=[changes], seed=0)
    for role in ROLES:
        yield alone_cell(role, 0, **about)


@work(needs=_first_models, cost=2)
def tried(bench: Workbench, *, changes: Settings, **about: Unpack[Told]) -> Tables:
    """What one setting of a method reaches on validation, with seed 0; a model that does not learn stays as it is."""
    from sureness.evaluation import evaluate_ranking

    models = {role: bench.found(alone_cell(role, 0, **about)).model for role in ROLES}
    models |= learned(bench.found(distilled.cell(**about, grid=[changes], seed=0)))
    split = split_of(bench, about["data"], about["start"])
    values = [
        evaluate_ranking(models[role], split.validation, seen=split.train, metrics=METRICS)["hit@50"] for role in ROLES
    ]
    return {"validation": pl.DataFrame({"role": ROLES, "value": values})}


def _every_try(*, grid: list[Settings], **about: Any) -> Iterable[Cell]:
    for role in ROLES:
        yield alone_cell(role, 0, **about)
    for changes in grid:
        yield tried.cell(**about, changes=changes)


@work(needs=_every_try, cost=0.1)
def chosen(bench: Workbench, *, grid: list[Settings], **about: Unpack[Told]) -> Tables:
    """The settings of a method by what they reach on validation, the best first.

    What counts is the student's value in units of the student alone; for BD, where both learn, that of both.
    """
    units = {role: bench.found(alone_cell(role, 0, **about)).table("about")["validation"][0] or 1.0 for role in ROLES}
    rows = []
    for changes in grid:
        found = dict(bench.found(tried.cell(**about, changes=changes)).table("validation").iter_rows())
        value = sum(found[role] / units[role] for role in (ROLES if about["method"] == "bd" else ROLES[1:]))
        rows.append({"changes": json.dumps(changes), **found, "value": value})
    return {"trials": pl.DataFrame(rows).sort("value", descending=True, maintain_order=True)}


def _choice_and_starts(*, grid: list[Settings], seed: int, **about: Any) -> Iterable[Cell]:
    if len(grid) > 1:
        yield chosen.cell(**about, grid=grid)
        if seed == 0:
            yield from (distilled.cell(**about, grid=[changes], seed=0) for changes in grid)
    yield from _starts(seed=seed, **about)


@work(needs=_choice_and_starts, cost=60)
def distilled(bench: Workbench, *, grid: list[Settings], seed: int, **about: Unpack[Told]) -> Tables:
    """Both models after a method with the best of its settings; those that learned are kept, by their role.

    What was trained to find the settings is not trained again.
    """
    from sureness.models import Recommender

    changes = grid[0]
    if len(grid) > 1:
        changes = json.loads(bench.found(chosen.cell(**about, grid=grid)).table("trials")["changes"][0])
    if len(grid) > 1 and seed == 0:
        best = bench.found(distilled.cell(**about, grid=[changes], seed=0))
        history, models = best.table("history"), learned(best)
    else:
        both = _trained(bench, seed, changes, **about)
        learns = {"teacher": both.settings.teacher_learns, "student": both.settings.student_learns}
        history = both.history_
        models = {role: getattr(both, f"{role}_") for role in ROLES if learns[role]}
    for role, fitted in models.items():
        if isinstance(fitted, Recommender):
            fitted.save(bench.place / f"{role}.sureness")
    return {"history": history, "about": pl.DataFrame({"changes": [json.dumps(changes)]})}
