"""What the commands that start from interactions share: reading a data set or a file, and splitting it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sureness.cli._columns import renamed
from sureness.data.columns import Columns
from sureness.data.interactions import Interactions
from sureness.data.recipes.base import Dataset, Recipe
from sureness.data.recipes.catalogue import RECIPES, recipe
from sureness.data.recipes.loading import load_dataset
from sureness.errors import DataError

_FILES = (".csv", ".tsv", ".parquet", ".gz")

Protocol = Literal["preference", "leave-one-out", "ratio", "given"]
RatingColumn = Annotated[str, typer.Option(help="Column with ratings, if any.", rich_help_panel="Columns")]
TimeColumn = Annotated[str, typer.Option(help="Column with times, if any.", rich_help_panel="Columns")]


def read_data(
    data: str, folder: Path | None, options: list[str], columns: dict[str, str], progress: Any
) -> tuple[Dataset, Recipe | None]:
    """A data set by its name, or the interactions of a file."""
    if data not in RECIPES and (data.endswith(_FILES) or Path(data).exists()):
        if options or folder is not None:
            raise DataError(f"--option and --from belong to a data set that is read by name, got the file {data}")
        log = Interactions.read(data, Columns(**renamed(**columns)))
        return Dataset(data, log, notes=log.notes), None
    known = recipe(data)
    return load_dataset(data, folder, progress=progress, **options_of(known, options)), known


def options_of(known: Recipe, texts: list[str]) -> dict[str, Any]:
    """The options of a recipe out of words such as artefact=true."""
    values: dict[str, Any] = {}
    for name, value in map(named_value, texts):
        allowed = {str(each).lower(): each for each in known.options.get(name, ())}
        values[name] = allowed.get(value.lower(), value)  # what is not allowed is refused by load_dataset
    return values


def named_value(text: str) -> tuple[str, str]:
    """Both sides of a word such as artefact=true."""
    name, equals, value = text.partition("=")
    if not equals:
        raise DataError(f"an option must be written as name=value, got {text!r}")
    return name, value
