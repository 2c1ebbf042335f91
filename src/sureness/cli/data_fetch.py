"""sureness data fetch: the files of a data set, here to stay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sureness.cli._columns import Json
from sureness.cli._console import out, print_json, progress_bar, steps_of
from sureness.data.recipes.catalogue import recipe
from sureness.data.recipes.loading import copy_dataset, fetch_dataset, pinned_checksums, whereabouts


def fetch_data(
    name: Annotated[str, typer.Argument(help="Name of a data set, see `sureness data list`.")],
    folder: Annotated[
        Path | None, typer.Option("--from", help="Copy from this folder or zip archive instead of downloading.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for the files; the cache if none is given.")] = None,
    json: Json = False,
) -> None:
    """Download the files of a data set, or copy them from a folder; a broken download is resumed."""
    wanted = recipe(name)
    if folder is not None:
        place = copy_dataset(name, folder, to)
    elif to is None and (found := whereabouts(name))[1] != "download":
        place = found[0]
    else:
        with progress_bar(json) as bar:
            place = fetch_dataset(name, to, progress=steps_of(bar))
    notes = pinned_checksums(name) if folder is None else ()
    if json:
        print_json({"name": name, "place": str(place), "licence": wanted.licence, "notes": list(notes)})
        return
    out.print(f"{name} is in {place}\nterms: {wanted.licence}", markup=False, soft_wrap=True)
    for note in notes:
        out.print(f"note: {note}", markup=False, soft_wrap=True)


COMMAND = fetch_data
