"""sureness data describe: what a data set or a file of interactions holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from sureness.cli._columns import DomainColumn, ItemColumn, Json, UserColumn
from sureness.cli._console import out, print_json, print_table, progress_bar, shown, steps_of
from sureness.cli._logs import Protocol, RatingColumn, TimeColumn, read_data
from sureness.data.recipes.base import Dataset
from sureness.data.recipes.preparing import prepare
from sureness.data.splitting import Split
from sureness.errors import DataError


def describe_data(
    data: Annotated[str, typer.Argument(help="Name of a data set, or a file: .parquet, .csv or .tsv.")],
    folder: Annotated[Path | None, typer.Option("--from", help="Folder or archive that holds the data set.")] = None,
    protocol: Annotated[Protocol | None, typer.Option(help="How to split, if not in the data set's own way.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split.")] = 0,
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
    """Show statistics, the sizes of the split, what was dropped, and what to mind."""
    columns = {
        "user_id": user_column, "item_id": item_column, "rating": rating_column, "time": time_column,
        "domain": domain_column,
    }  # fmt: skip
    with progress_bar(json) as bar:
        dataset, known = read_data(data, folder, option or [], columns, steps_of(bar))
    used = protocol or (known.protocol if known else "ratio")
    split, notes = _split(dataset, protocol, seed)
    result: dict[str, Any] = {
        "name": data,
        **({key: getattr(known, key) for key in ("title", "licence", "trap")} if known else {}),
        "statistics": dataset.interactions.statistics(),
        "parts": {name: part.statistics() for name, part in dataset.parts.items()},
        "split": {"protocol": used, "seed": seed, "parts": split.summary().to_dicts() if split else []},
        "notes": list(dict.fromkeys((*dataset.notes, *notes))),
    }
    if json:
        print_json(result)
    else:
        _show(result)


def _split(dataset: Dataset, protocol: Protocol | None, seed: int) -> tuple[Split | None, tuple[str, ...]]:
    """The split and its notes; where none was asked for, a log too small for one is no failure."""
    try:
        split = prepare(dataset, protocol, seed=seed)
    except DataError as error:
        if protocol is not None:
            raise
        return None, (f"not split: {error}",)
    return split, split.notes


def _show(result: dict[str, Any]) -> None:
    statistics = cast("dict[str, float]", result["statistics"])
    header = ["", *(name.replace("_", " ") for name in statistics)]
    rows = [("all", *_shown(statistics))]
    rows += [(f"given {name}", *_shown(part)) for name, part in result["parts"].items()]
    print_table(result.get("title") or result["name"], header, rows)
    split = result["split"]
    if split["parts"]:
        print_table(
            f"Split by the protocol {split['protocol']}, seed {split['seed']}",
            ["part", "users", "items", "interactions"], [tuple(part.values()) for part in split["parts"]],
        )  # fmt: skip
    told = [("note", note) for note in result["notes"]]
    told += [(word, result[key]) for word, key in (("mind", "trap"), ("terms", "licence")) if result.get(key)]
    for word, text in told:
        out.print(f"{word}: {shown(text)}", markup=False, soft_wrap=True)


def _shown(statistics: dict[str, float]) -> list[object]:
    """Medians are whole or end in a half, and need no more places."""
    return [f"{value:,g}" if name.startswith("median") else value for name, value in statistics.items()]


COMMAND = describe_data
