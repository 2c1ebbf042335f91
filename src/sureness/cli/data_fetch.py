"""sureness data fetch: get the files of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness.cli._console import present, print_notes, say, shown_progress
from sureness.cli._options import Json
from sureness.jobs.datasets import FetchResult, fetch


def fetch_data(
    name: Annotated[str, typer.Argument(help="Name of a data set, see `sureness data list`.")],
    folder: Annotated[
        Path | None, typer.Option("--from", help="Copy from this folder or zip archive instead of downloading.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for the files; the cache if none is given.")] = None,
    json: Json = False,
) -> None:
    """Download the files of a data set, or copy them from a folder; a broken download is resumed."""
    with shown_progress(json) as progress:
        result = fetch(name, source=folder, to=to, progress=progress)
    present(result, json, _show)


def _show(result: FetchResult) -> None:
    say(f"{result.name} is in {result.place}", f"terms: {result.licence}")
    print_notes(result.notes)


COMMAND = fetch_data
