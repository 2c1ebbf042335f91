"""sureness distill: a large and a small recommender teach each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sureness.cli._columns import DomainColumn, ItemColumn, Json, UserColumn
from sureness.cli._console import out, print_json, print_table, progress_bar, steps_of
from sureness.cli._distilling import ROLES, Work, asked_model, method_settings
from sureness.cli._logs import RatingColumn, TimeColumn
from sureness.cli._training import (
    CheckpointSeconds,
    Data,
    DataFolder,
    DataOption,
    Device,
    PerUser,
    PositiveAbove,
    SplitProtocol,
    prepared,
    print_next,
    print_notes,
)
from sureness.distillation.methods import METHODS

ModelSetting = Annotated[
    list[str] | None, typer.Option(help="Any setting of that model, such as learning_rate=0.005; may repeat.")
]


def distill(
    data: Data,
    teacher: Annotated[
        str, typer.Option(help="Kind and length of embeddings, such as bpr:50; or a folder: run, model or source.")
    ],
    student: Annotated[str, typer.Option(help="The same for the small one, such as bpr:5.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for both runs.")] = Path("distilled"),
    report: Annotated[Path | None, typer.Option(help="Page about what was learned (.html).")] = None,
    method: Annotated[str, typer.Option(help=f"How to distil: {', '.join(METHODS)}.")] = "bd",
    teacher_set: ModelSetting = None,
    student_set: ModelSetting = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting of the method, such as to_student__weight=1.0; may repeat."),
    ] = None,
    pretrain: Annotated[
        bool, typer.Option(help="Train both alone to their best first, or warm up for a few epochs only.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of split and training; the same seed gives the same models.")] = 0,
    device: Device = "cpu",
    checkpoint_seconds: CheckpointSeconds = 10.0,
    folder: DataFolder = None,
    protocol: SplitProtocol = None,
    positive_above: PositiveAbove = None,
    per_user: PerUser = None,
    option: DataOption = None,
    user_column: UserColumn = "user_id",
    item_column: ItemColumn = "item_id",
    rating_column: RatingColumn = "rating",
    time_column: TimeColumn = "time",
    domain_column: DomainColumn = "domain",
    json: Json = False,
) -> None:
    """Let a large and a small recommender teach each other, and judge both by full ranking.

    A folder is where a model starts from; where the method keeps it fixed, it may be any source of scores. Whoever is
    kept fixed and has no folder is trained first. A command that was stopped goes on when it is given again.
    """
    settings = method_settings(method, setting or [], seed)
    asked = [
        asked_model("teacher", teacher, teacher_set or [], device, seed, output),
        asked_model("student", student, student_set or [], device, seed, output),
    ]
    columns = {
        "user_id": user_column, "item_id": item_column, "rating": rating_column, "time": time_column,
        "domain": domain_column,
    }  # fmt: skip
    with progress_bar(json) as bar:
        log = prepared(
            data, folder, option or [], columns, steps_of(bar), protocol=protocol, seed=seed,
            positive_above=positive_above, per_user=per_user,
        )  # fmt: skip
        work = Work(log, settings, output, pretrain, checkpoint_seconds, bar, report)
        result = work.result(method, asked, device)
    print_json(result) if json else _print(result)


def _print(result: dict[str, Any]) -> None:
    print_notes(result["notes"])
    learns = {role: result["settings"][f"{role}_learns"] for role in ROLES}
    shown = {f"{role} alone": f"{role} alone" for role in ROLES if learns[role]}
    shown |= {role: f"{role}, {'distilled' if learns[role] else 'fixed'}" for role in ROLES}
    models = {name: result["models"][key] for key, name in shown.items() if key in result["models"]}
    metrics = [name for name in result["models"]["student"]["test"] if name != "users"]
    rows = [(f"validation {result['metric']}", *(row.get("validation") for row in models.values()))]
    rows += [(f"test {metric}", *(row["test"][metric] for row in models.values())) for metric in metrics]
    rows.append(("parameters", *(row["parameters"] for row in models.values())))
    title = f"Distilled: {result['method']}, {result['epochs']} epochs together"
    print_table(title, ["what", *models], rows, _share(result))
    if result["report"] is not None:
        out.print(f"{result['headline']}\nreport: {result['report']}", markup=False, soft_wrap=True)
    print_next(f"{result['output']}/teacher and {result['output']}/student", f"{result['output']}/student")


def _share(result: dict[str, Any]) -> str | None:
    """How much of its teacher the student is, in one sentence."""
    teacher, student = (result["models"][role] for role in ROLES)
    if not (teacher["parameters"] and student["parameters"] and teacher.get("validation")):
        return None
    size, quality = student["parameters"] / teacher["parameters"], student["validation"] / teacher["validation"]
    return f"The student has {size:.1%} of its teacher's parameters and {quality:.1%} of its validation metric."


COMMAND = distill
