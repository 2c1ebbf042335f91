"""sureness train: a log of interactions becomes a recommender."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import Progress

from sureness.cli._columns import DomainColumn, ItemColumn, Json, UserColumn
from sureness.cli._console import out, print_json, print_table, progress_bar, steps_of
from sureness.cli._judging import judged_run
from sureness.cli._logs import RatingColumn, TimeColumn
from sureness.cli._training import (
    CheckpointSeconds,
    Data,
    DataFolder,
    DataOption,
    Device,
    PerUser,
    PositiveAbove,
    Prepared,
    SplitProtocol,
    model_settings,
    prepared,
    print_next,
    print_notes,
)

Model = Literal["bpr", "ubpr", "neumf", "cml", "lightgcn", "cdae"]


def train(
    data: Data,
    model: Annotated[Model, typer.Option(help="Kind of recommender.")] = "bpr",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model and its split.")] = Path("run"),
    factors: Annotated[int | None, typer.Option(help="Length of the embeddings.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, such as learning_rate=0.005; may repeat.")
    ] = None,
    tune: Annotated[int, typer.Option(min=0, help="Try so many settings on the validation set and keep the best.")] = 0,
    seed: Annotated[int, typer.Option(help="Of training, split and search; the same seed gives the same model.")] = 0,
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
    """Train a recommender and judge it by full ranking.

    A run that was stopped goes on where it was when the same command is given again. Named data sets start from the
    best settings known for them.
    """
    from sureness.models.runs import check_folder

    columns = {
        "user_id": user_column, "item_id": item_column, "rating": rating_column, "time": time_column,
        "domain": domain_column,
    }  # fmt: skip
    with progress_bar(json) as bar:
        log = prepared(
            data, folder, option or [], columns, steps_of(bar), protocol=protocol, seed=seed,
            positive_above=positive_above, per_user=per_user,
        )  # fmt: skip
        given = model_settings(model, factors, setting or [], device, seed)
        check_folder(output)
        result = {"data": log.about, "notes": log.notes}
        settings, trials = _chosen(model, log, given, tune, output, bar)
        result |= trials | _trained(model, log, settings, output, checkpoint_seconds, bar)
    print_json(result) if json else _print(result)


def _chosen(
    name: str, log: Prepared, given: dict[str, Any], trials: int, output: Path, bar: Progress
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings to train with: the given ones over those of a search or those known to be good; and the search."""
    from sureness.models.catalogue import model_type
    from sureness.models.tuning import tune

    good = log.good_settings(name, given)
    if not trials:
        return good, {}
    start = {key: value for key, value in good.items() if key in model_type(name).search_space and key not in given}
    fixed = {key: value for key, value in good.items() if key not in start}
    found = tune(name, log.split, trials, start=start, record=output / "trials.json", progress=steps_of(bar), **fixed)
    return found.best, {"trials": found.trials.to_dicts()}


def _trained(
    name: str, log: Prepared, settings: dict[str, Any], output: Path, seconds: float, bar: Progress
) -> dict[str, Any]:
    from sureness.models.catalogue import make_recommender
    from sureness.models.runs import load_run, model_file, save_split

    recommender = make_recommender(name, **settings)
    checkpoint = output / "checkpoint"
    resumed = checkpoint.exists()
    recommender.fit(
        log.split.train, log.validation, checkpoint=checkpoint, checkpoint_seconds=seconds, progress=steps_of(bar)
    )
    save_split(log.split, output, log.about)
    recommender.save(model_file(output))
    checkpoint.unlink(missing_ok=True)
    result: dict[str, Any] = {
        "output": str(output), "model": repr(recommender), "parameters": recommender.n_parameters, "resumed": resumed,
        "epochs": recommender.history_.height, "best_epoch": recommender.best_epoch_,
        "seconds": float(recommender.history_["seconds"].sum()),
        "validation": {recommender.settings.metric: recommender.best_metric_},
        "parts": {part: len(pairs) for part, pairs in log.split.parts.items()},
    }  # fmt: skip
    quality = judged_run(load_run(output), None, steps_of(bar)) if len(log.split.test) else None
    return result | {"test": None if quality is None else {"users": quality.n_users, **quality.means}}


def _print(result: dict[str, Any]) -> None:
    print_notes(result["notes"])
    for trial in result.get("trials", []):
        out.print(
            f"trial {trial['trial']}: {trial['metric']:.4f} with {trial['settings']}", markup=False, soft_wrap=True
        )
    rows: list[tuple[str, object]] = [
        ("model", result["model"]),
        ("parameters", result["parameters"]),
        ("train, validation, test", ", ".join(f"{n:,}" for n in result["parts"].values())),
        ("epochs", f"{result['epochs']} in {result['seconds']:.1f} s, best {result['best_epoch']}"),
    ]
    rows += [(f"validation {name}", value) for name, value in result["validation"].items()]
    rows += [(f"test {name}", value) for name, value in (result["test"] or {}).items()]
    print_table("Trained", ["what", "value"], rows)
    print_next(result["output"], result["output"])


COMMAND = train
