"""sureness distill: a large and a small recommender teach each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness._wording import counted
from sureness.cli._console import present, print_next, print_notes, print_table, shown_progress
from sureness.cli._logs import Data, OfLogs, WholeLog
from sureness.cli._options import Json, Spread, spread
from sureness.jobs.distilling import ROLES, DistillOptions, DistillResult, distill


@spread
def distill_recommenders(
    *,
    data: Data,
    options: Annotated[DistillOptions, Spread(named={"settings": "--set"})],
    output: Annotated[Path, typer.Option("--output", "-o", help="One file for both runs.")] = Path(
        "distilled.sureness"
    ),
    log: WholeLog,
    columns: OfLogs,
    json: Json = False,
) -> None:
    """Let a large and a small recommender teach each other, and judge both by full ranking.

    A saved model is where its role starts from; where the method keeps it fixed, it may be any source of scores. A
    fixed model that is not saved is trained first. Interrupted training resumes when you rerun the command.
    """
    with shown_progress(json) as progress:
        result = distill(data, output, options, log=log, columns=columns, progress=progress)
    present(result, json, _show)


def _show(result: DistillResult) -> None:
    print_notes(result.log.notes)
    learns = {role: getattr(result.settings, f"{role}_learns") for role in ROLES}
    shown = {f"{role} alone": f"{role} alone" for role in ROLES if learns[role]}
    shown |= {role: f"{role}, {'distilled' if learns[role] else 'fixed'}" for role in ROLES}
    models = {name: result.models[key] for key, name in shown.items() if key in result.models}
    rows: list[tuple[object, ...]] = [
        (f"validation {result.metric}", *(each["validation"] for each in models.values()))
    ]
    tests = [each["test"] for each in models.values()]
    rows += [
        (f"test {metric}", *(None if test is None else test[metric] for test in tests))
        for metric in ([] if tests[-1] is None else tests[-1].means)
    ]
    rows.append(("parameters", *(each["parameters"] for each in models.values())))
    title = f"Distilled: {result.method}, {counted(result.epochs, 'epoch')} together"
    print_table(title, ["what", *models], rows, _share(result))
    print_next(f"{result.output} (parts teacher and student)", result.output / "student")


def _share(result: DistillResult) -> str | None:
    """How the student compares with its teacher, in one sentence."""
    teacher, student = (result.models[role] for role in ROLES)
    if not (all(each["parameters"] for each in (teacher, student)) and teacher["validation"]):
        return None
    size, quality = (student[name] / teacher[name] for name in ("parameters", "validation"))
    return f"The student has {size:.1%} of its teacher's parameters and {quality:.1%} of its validation metric."
