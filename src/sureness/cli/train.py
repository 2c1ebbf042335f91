"""sureness train: a log of interactions becomes a recommender."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import Progress

from sureness.cli._columns import DomainColumn, ItemColumn, Json, UserColumn
from sureness.cli._console import out, print_json, print_table, progress_bar, steps_of
from sureness.cli._judging import judged_run
from sureness.cli._logs import Protocol, RatingColumn, TimeColumn, named_value, read_data
from sureness.data.recipes import Recipe, prepare
from sureness.data.splitting import Split
from sureness.errors import DataError

Model = Literal["bpr", "ubpr", "neumf", "cml", "lightgcn", "cdae"]


def train(
    data: Annotated[str, typer.Option(help="Name of a data set, or a file: .parquet, .csv or .tsv.")],
    model: Annotated[Model, typer.Option(help="Kind of recommender.")] = "bpr",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model and its split.")] = Path("run"),
    factors: Annotated[int | None, typer.Option(help="Length of the embeddings.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, such as learning_rate=0.005; may repeat.")
    ] = None,
    tune: Annotated[int, typer.Option(min=0, help="Try so many settings on the validation set and keep the best.")] = 0,
    seed: Annotated[int, typer.Option(help="Of training, split and search; the same seed gives the same model.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    checkpoint_seconds: Annotated[float, typer.Option(help="Least time between two checkpoints.")] = 10.0,
    folder: Annotated[Path | None, typer.Option("--from", help="Folder or archive that holds the data set.")] = None,
    protocol: Annotated[Protocol | None, typer.Option(help="How to split, if not in the data set's own way.")] = None,
    positive_above: Annotated[float | None, typer.Option(help="Only pairs rated higher count.")] = None,
    per_user: Annotated[int | None, typer.Option(help="Least interactions of a user.")] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="Option of a data set, such as artefact=true; may repeat.")
    ] = None,
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
        dataset, known = read_data(data, folder, option or [], columns, steps_of(bar))
        threshold = _threshold(positive_above, known)
        split = prepare(dataset, protocol, seed=seed, positive_above=threshold, per_user=per_user)
        about = {
            "data": data, "protocol": protocol or (known.protocol if known else "ratio"), "seed": seed,
            "positive_above": threshold, "options": option or [],
        }  # fmt: skip
        given = _settings(model, factors, setting or [], device, seed)
        check_folder(output)
        result = {"data": about, "notes": [*dict.fromkeys((*dataset.notes, *split.notes, *_unlearned(split)))]}
        settings, trials = _chosen(model, split, given, known, tune, output, bar)
        result |= trials | _trained(model, split, settings, output, about, checkpoint_seconds, bar)
    print_json(result) if json else _print(result)


def _chosen(
    name: str, split: Split, given: dict[str, Any], known: Recipe | None, trials: int, output: Path, bar: Progress
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings to train with: the given ones over those of a search or those known to be good; and the search."""
    from sureness.models.recommended import recommended
    from sureness.models.tuning import SPACES, tune

    good = (recommended(known.name, name) if known else {}) | given
    if not trials:
        return good, {}
    start = {key: value for key, value in good.items() if key in SPACES[name] and key not in given}
    fixed = {key: value for key, value in good.items() if key not in start}
    found = tune(name, split, trials, start=start, record=output / "trials.json", progress=steps_of(bar), **fixed)
    return found.best, {"trials": found.trials.to_dicts()}


def _trained(
    name: str, split: Split, settings: dict[str, Any], output: Path, about: dict[str, Any], seconds: float,
    bar: Progress,
) -> dict[str, Any]:  # fmt: skip
    from sureness.models.catalogue import make_recommender
    from sureness.models.runs import load_run, model_folder, save_split

    recommender = make_recommender(name, **settings)
    checkpoint = output / "checkpoint"
    resumed = checkpoint.exists()
    validation = split.validation if len(split.validation) else None
    recommender.fit(split.train, validation, checkpoint=checkpoint, checkpoint_seconds=seconds, progress=steps_of(bar))
    save_split(split, output, about)
    recommender.save(model_folder(output))
    checkpoint.unlink(missing_ok=True)
    result: dict[str, Any] = {
        "output": str(output), "model": repr(recommender), "parameters": recommender.n_parameters, "resumed": resumed,
        "epochs": recommender.history_.height, "best_epoch": recommender.best_epoch_,
        "seconds": float(recommender.history_["seconds"].sum()),
        "validation": {recommender.settings.metric: recommender.best_metric_},
        "parts": {part: len(log) for part, log in split.parts.items()},
    }  # fmt: skip
    quality = judged_run(load_run(output), None, steps_of(bar)) if len(split.test) else None
    return result | {"test": None if quality is None else {"users": quality.n_users, **quality.means}}


def _settings(name: str, factors: int | None, texts: list[str], device: str, seed: int) -> dict[str, Any]:
    """Settings out of words; each gets the type of its default."""
    from sureness.models.catalogue import RECOMMENDERS

    defaults = {field.name: field.default for field in fields(RECOMMENDERS[name].settings_type)}
    settings: dict[str, Any] = {"seed": seed, "device": device}
    for key, value in map(named_value, texts):
        if key not in defaults:
            raise DataError(f"{name} has no setting {key!r}; it has {', '.join(sorted(defaults))}")
        settings[key] = _typed(key, value, defaults[key])
    return settings | ({} if factors is None else {"n_factors": factors})


def _typed(key: str, value: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[value.lower()]
        if isinstance(default, tuple):
            return tuple(int(part) for part in value.split(","))
        return type(default)(value)
    except (KeyError, ValueError):
        raise DataError(f"{key} must be like {default!r}, got {value!r}") from None


def _unlearned(split: Split) -> list[str]:
    """Notes on users and items of the test that training never meets."""
    degrees = {"users": (split.test.user_degree, split.train.user_degree),
               "items": (split.test.item_degree, split.train.item_degree)}  # fmt: skip
    counts = {name: int(((test > 0) & (train == 0)).sum()) for name, (test, train) in degrees.items()}
    return [f"{n:,} {name} of the test have no training pair; nothing is known of them, but they are judged too"
            for name, n in counts.items() if n]  # fmt: skip


def _threshold(given: float | None, known: Recipe | None) -> float | None:
    return given if given is not None or known is None else known.positive_above


def _print(result: dict[str, Any]) -> None:
    for note in result["notes"]:
        out.print(f"note: {note}", markup=False, soft_wrap=True)
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
    folder = result["output"]
    out.print(f"wrote {folder}; next:\n  sureness fit {folder} -o calibrator.json\n"
              f"  sureness apply calibrator.json {folder} -o top.parquet\n"
              f"  sureness list-size --model {folder} -o lists.parquet", markup=False, soft_wrap=True)  # fmt: skip


COMMAND = train
