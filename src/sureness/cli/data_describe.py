"""sureness data describe: what a data set or a file of interactions holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from sureness.cli._console import present, print_notes, print_table, say, shown_progress
from sureness.cli._logs import CUTS, OfLogs
from sureness.cli._options import Json, Spread, spread
from sureness.jobs.datasets import Description, describe
from sureness.jobs.logs import LogOptions

_OPTIONS = Spread(("folder", "protocol", *CUTS, "seed", "option"), named={"folder": "--from"})


@spread
def describe_data(
    *,
    data: Annotated[str, typer.Argument(help="Name of a data set, or a log: a file, a folder or a pattern.")],
    options: Annotated[LogOptions, _OPTIONS],
    columns: OfLogs,
    json: Json = False,
) -> None:
    """Show statistics, the sizes of the split, what was dropped, and what to mind."""
    with shown_progress(json) as progress:
        result = describe(data, options, columns=columns, progress=progress)
    present(result, json, _show)


def _show(found: Description) -> None:
    header = ["", *(name.replace("_", " ") for name in found.statistics)]
    rows = [("all", *_shown(found.statistics))]
    rows += [(f"given {name}", *_shown(part)) for name, part in found.parts.items()]
    print_table(found.recipe.title if found.recipe else found.name, header, rows)
    if found.split is not None:
        title = f"Split by the protocol {found.protocol}, seed {found.seed}"
        print_table(title, ["part", "users", "items", "interactions"], found.split.rows())
    print_notes(found.notes)
    if found.recipe is not None:
        told = {"mind": found.recipe.trap, "terms": found.recipe.licence}
        say(*(f"{word}: {text}" for word, text in told.items() if text))


def _shown(statistics: Mapping[str, float]) -> list[object]:
    """Medians are whole or end in a half, and need no more places."""
    return [f"{value:,g}" if name.startswith("median") else value for name, value in statistics.items()]


COMMAND = describe_data
