"""sureness data: data sets that have a recipe, what a log holds, and simulated worlds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Annotated, Any

import typer

from sureness.cli._console import present, print_notes, print_table, say, shown_progress
from sureness.cli._logs import Data, OfLogs, WholeLog
from sureness.cli._options import Json, Spread, spread
from sureness.jobs.datasets import Description, WorldOptions, describe, fetch, list_datasets, write_world


def list_data(json: Json = False) -> None:
    """List the data sets that can be named, how large they are, and where they would be taken from."""
    present({"datasets": list_datasets()}, json, _show_list)


def _show_list(found: Mapping[str, Any]) -> None:
    terms = dict(zip(dict.fromkeys(each["licence"] for each in found["datasets"]), ascii_lowercase, strict=False))
    shown = ("name", "users", "items", "interactions", "found")
    rows = [(*(each[name] for name in shown), terms[each["licence"]]) for each in found["datasets"]]
    print_table("Data sets", ["name", "users", "items", "interactions", "found in", "terms"], rows)
    say(*(f"terms {letter}: {licence}" for licence, letter in terms.items()))
    say(
        "folder: below the folder that SURENESS_DATA names. download: `sureness data fetch NAME` gets it. "
        "by hand: `sureness data fetch NAME` says how."
    )


def fetch_data(
    name: Annotated[str, typer.Argument(help="Name of a data set, see `sureness data list`.")],
    folder: Annotated[
        Path | None, typer.Option("--from", help="Copy from this folder or zip archive instead of downloading.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for the files; the cache if none is given.")] = None,
    json: Json = False,
) -> None:
    """Download the files of a data set, or copy them from a folder."""
    with shown_progress(json) as progress:
        result = fetch(name, source=folder, to=to, progress=progress)
    present(result, json, _show_fetched)


def _show_fetched(result: Mapping[str, Any]) -> None:
    say(f"{result['name']} is in {result['place']}", f"terms: {result['licence']}")


@spread
def describe_data(*, data: Data, options: WholeLog, columns: OfLogs, json: Json = False) -> None:
    """Show statistics, the sizes of the split, what was dropped, and what to mind."""
    with shown_progress(json) as progress:
        result = describe(data, options, columns=columns, progress=progress)
    present(result, json, _show_description)


def _show_description(found: Description) -> None:
    header = ["", *(name.replace("_", " ") for name in found.statistics)]
    rows = [("all", *_shown(found.statistics))]
    rows += [(f"given {name}", *_shown(part)) for name, part in found.parts.items()]
    print_table(found.recipe.title if found.recipe else found.name, header, rows)
    if found.split is not None:
        title = f"Split by the protocol {found.protocol}, seed {found.seed}"
        print_table(title, ["part", "users", "items", "interactions"], found.split.rows())
    print_notes(found.notes)
    if found.recipe is not None:
        sentences = {"mind": found.recipe.trap, "terms": found.recipe.licence}
        say(*(f"{word}: {text}" for word, text in sentences.items() if text))


def _shown(statistics: Mapping[str, float]) -> list[object]:
    """Medians are whole or end in a half, and need no more places."""
    return [f"{value:,g}" if name.startswith("median") else value for name, value in statistics.items()]


@spread
def simulate_data(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the tables.")] = Path("simulated"),
    options: Annotated[WorldOptions, Spread()],
    json: Json = False,
) -> None:
    """Write a simulated world: log, candidates with scores, uniformly exposed test, items.

    `candidates` has what `sureness fit` needs, `test` what `sureness report` needs.
    """
    with shown_progress(json) as progress:
        result = write_world(output, options, progress=progress)
    present(result, json, _show_world)


def _show_world(written: Mapping[str, Any]) -> None:
    files, share = written["files"], written["held_out_share"]
    print_table("Simulated world", ["table", "rows"], [(each["path"], each["rows"]) for each in files.values()])
    say(
        f"held-out share {share}; next:",
        f"  sureness fit {files['candidates']['path']} --held-out-share {share} --training-pairs left_out "
        "-o calibrator.json",
    )
