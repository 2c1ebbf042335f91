"""sureness reproduce: every table and figure of the dissertation, our numbers beside the published ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from sureness.cli import Json, out, print_json, print_table, say, shown_progress
from sureness.errors import DataError
from sureness.workflows import check_outputs
from sureness_reproduction.catalogue import experiment, experiments
from sureness_reproduction.experiment import Experiment, Scale
from sureness_reproduction.store import CellStore
from sureness_reproduction.whole import reproduce
from sureness_reproduction.workbench import DataShelf
from sureness_reproduction.writing import Written

_ALL = "all"


def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Experiments (see --list), or all.", show_default=False),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the experiments and leave.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Minutes: small real data, few seeds. The default.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Hours: the published setting, on the data that are here.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Seeds, instead of each experiment's own number.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Only these data sets; may repeat.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for tables, figures and pages.")] = Path(
        "reproduced"
    ),
    data_folder: Annotated[
        Path | None, typer.Option(help="Folder that holds the data sets; by default SURENESS_DATA.", show_default=False)
    ] = None,
    cells: Annotated[
        Path | None,
        typer.Option(help="Where finished cells are kept; by default `cells` in the output.", show_default=False),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=0, max=1_024, help="Cells computed at a time, one thread each; 0: one per core.")
    ] = 0,
    json: Json = False,
) -> None:
    """Run experiments of the dissertation and set our numbers beside the published ones; finished cells are kept."""
    if show:
        _list(json)
        return
    if quick and full:
        raise typer.BadParameter("--quick and --full exclude each other; give one of them")
    wanted = _wanted(names or [])
    scale: Scale = "full" if full else "quick"
    if data_folder is not None and not data_folder.is_dir():
        raise DataError(f"there is no folder {data_folder}; give the folder that holds the data sets")
    kept = cells or output / "cells"
    check_outputs([(output, "folder"), (kept, "folder")], [data_folder])
    store = CellStore(kept, DataShelf(data_folder))
    with shown_progress(json) as progress:
        written = reproduce(
            wanted,
            store,
            output,
            scale=scale,
            seeds=seeds,
            only=_known(data or [], wanted, scale),
            jobs=jobs or os.cpu_count() or 1,
            progress=progress,
        )
    if json:
        print_json({"page": str(output / "index.html"), "experiments": [_as_dict(one) for one in written]})
        return
    for one in written:
        _print(one)
    for each in wanted:
        if all(one.experiment.name != each.name for one in written):
            say(f"\nnot run: {each.name}, {why_not_run(each, scale, data or [])}")
    say(f"\nThe page to look at: {output / 'index.html'}")


def _wanted(names: list[str]) -> list[Experiment]:
    if not names:
        raise typer.BadParameter("give the names of experiments, or all; --list shows them")
    return list(experiments().values()) if _ALL in names else [experiment(name) for name in dict.fromkeys(names)]


def _known(data: list[str], wanted: list[Experiment], scale: Scale) -> list[str]:
    there = dict.fromkeys(name for each in wanted for name in each.data[scale])
    if unknown := [name for name in data if name not in there]:
        raise DataError(f"no experiment of these has the data set {unknown[0]!r} with --{scale}; they have "
                        f"{', '.join(there)}")  # fmt: skip
    return data


def why_not_run(each: Experiment, scale: Scale, asked: list[str]) -> str:
    """Why an experiment that was asked for did not run."""
    if asked and not set(asked) & set(each.data[scale]):
        return f"which has none of the data sets asked for; it has {', '.join(each.data[scale])}"
    return "none of its data sets is here"


def _list(json: bool) -> None:
    every = experiments().values()
    if json:
        print_json({"experiments": [{"name": e.name, "chapter": e.chapter, "title": e.title, "shows": e.shows,
                                     "data": {scale: list(names) for scale, names in e.data.items()}}
                                    for e in every]})  # fmt: skip
        return
    rows = [(e.name, str(e.chapter or "-"), e.title, ", ".join(e.data["full"])) for e in every]
    print_table("Experiments", ["name", "chapter", "shows", "data of --full"], rows,
                "`sureness reproduce NAME --quick` takes minutes, `--full` hours; `all` runs every one.")  # fmt: skip


def _print(one: Written) -> None:
    out.print(f"\n{one.experiment.title}", style="bold", markup=False)
    for sentence in one.outcome.findings:
        say(f"- {sentence}")
    if one.plan.absent:
        out.print(f"  not here, so not run: {', '.join(one.plan.absent)}", markup=False, soft_wrap=True, style="dim")
    out.print(f"  {one.folder / 'README.md'}", markup=False, soft_wrap=True, style="dim")


def _as_dict(one: Written) -> dict[str, Any]:
    tables = {table.name: str(one.folder / f"{table.name}.parquet") for table in one.outcome.tables}
    return {"name": one.experiment.name, "page": str(one.page), "findings": list(one.outcome.findings),
            "tables": tables, "notes": one.told}  # fmt: skip


COMMAND = reproduce_command
