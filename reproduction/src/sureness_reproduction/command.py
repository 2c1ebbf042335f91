"""sureness reproduce: every table and figure of the dissertation, our numbers beside the published ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from sureness.cli import Json, print_json, print_table, say, shown_progress
from sureness.errors import DataError
from sureness.workflows import check_outputs
from sureness_reproduction.cells import CellStore
from sureness_reproduction.claims import claims_table, computed
from sureness_reproduction.own import is_own, load_own
from sureness_reproduction.pages import Page, blocks, claims_shown, run_studies
from sureness_reproduction.study import Asked, Study, find_studies, studies
from sureness_reproduction.workbench import DataShelf

_NAMES = typer.Argument(
    metavar="NAME...",
    help="Studies (see --list), numbers such as table-2.3 or table-2, or all; or claims: what full runs say about each "
    "claim of the dissertation, from finished cells and committed results.",
)
_QUICK = typer.Option("--quick", help="Minutes: small real data, few seeds. The default.")
_FULL = typer.Option("--full", help="Hours: the published setting, on the data that are here.")
_SEEDS = typer.Option(min=1, max=1_000, help="Seeds, instead of each study's own number.")
_DATA = typer.Option(help="Only these data sets, or logs of your own (files); may repeat.")
_MODEL = typer.Option(help="Only these models, or your own (module:object, file.py:object).")
_METHOD = typer.Option(help="Only these methods of a study, or your own beside the others; may repeat.")
_FOLDER = typer.Option(help="Folder that holds the data sets; by default SURENESS_DATA.")
_CELLS = typer.Option(help="Where finished cells are kept; by default `cells` in the output.")
_JOBS = typer.Option(min=0, max=1_024, help="Cells computed at a time, one thread each; 0: one per core.")


def reproduce_command(
    names: Annotated[list[str] | None, _NAMES] = None,
    show: Annotated[bool, typer.Option("--list", help="List the studies and leave.")] = False,
    quick: Annotated[bool, _QUICK] = False,
    full: Annotated[bool, _FULL] = False,
    seeds: Annotated[int | None, _SEEDS] = None,
    data: Annotated[list[str] | None, _DATA] = None,
    model: Annotated[list[str] | None, _MODEL] = None,
    method: Annotated[list[str] | None, _METHOD] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for tables and figures.")] = Path("reproduced"),
    data_folder: Annotated[Path | None, _FOLDER] = None,
    cells: Annotated[Path | None, _CELLS] = None,
    jobs: Annotated[int, _JOBS] = 0,
    json: Json = False,
) -> None:
    """Run studies of the dissertation and set our numbers beside the published ones; finished cells are kept."""
    if show:
        _list(json)
        return
    if quick and full:
        raise typer.BadParameter("--quick and --full exclude each other; give one of them")
    if not names:
        raise typer.BadParameter("give the names of studies, or all; --list shows them")
    if data_folder is not None and not data_folder.is_dir():
        raise DataError(f"there is no folder {data_folder}; give the folder that holds the data sets")
    kept = cells or output / "cells"
    store = CellStore(kept, DataShelf(data_folder))
    if names == ["claims"]:
        _claims(store, json)
        return
    wanted = find_studies(names)
    asked = Asked("full" if full else "quick", seeds, tuple(data or ()), tuple(model or ()), tuple(method or ()))
    _check(asked, wanted)
    check_outputs([(output, "folder"), (kept, "folder")], [data_folder])
    with shown_progress(json) as progress:
        pages = run_studies(wanted, asked, store, output, jobs=jobs or os.cpu_count() or 1, progress=progress)
    if json:
        print_json({"studies": [_as_dict(page) for page in pages]})
        return
    for page in pages:
        _print(page)
    say(f"\nTables, CSV files and figures: {output}")


def _check(asked: Asked, wanted: list[Study]) -> None:
    """Refuse what no study knows and what cannot be imported before anything is computed."""
    for axis, given in (("data", asked.data), ("model", asked.model)):
        known = dict.fromkeys(name for each in wanted if axis in each.grid for name in each.known(axis))
        if unknown := [name for name in given if name not in known and not is_own(name)]:
            raise DataError(f"no study of these has the {axis} {unknown[0]!r}, and it is no file or module:object; "
                            f"they have {', '.join(known)}")  # fmt: skip
    for name in (*asked.model, *asked.method):
        if ":" in name:
            load_own(name)


def _list(json: bool) -> None:
    rows = [(each.name, each.number or "-", each.title, ", ".join(map(str, each.known("data")))) for each in studies()]
    if json:
        print_json({"studies": [dict(zip(("name", "number", "title", "data"), row, strict=True)) for row in rows]})
        return
    print_table("Studies", ["name", "number", "shows", "data"], rows,
                "`sureness reproduce NAME --quick` takes minutes, `--full` hours; `all` runs every one.")  # fmt: skip


def _claims(store: CellStore, json: bool) -> None:
    """The claims of the dissertation, from finished cells and committed results; nothing is computed."""
    table = claims_table(computed(store))
    if json:
        print_json({"claims": table.to_dicts()})
    else:
        _table("What the dissertation claims, what we found, why", table)


def _print(page: Page) -> None:
    results, title = page.results, page.results.study.title
    for about, frame in blocks(results.study, results.summary):
        _table(f"{title}, {about}" if about else title, frame)
    if results.contrasts.height:
        _table(f"{title}: contrasts", claims_shown(results.contrasts, decided=page.decided))
    for sentence in page.lacking:
        say(sentence)


def _table(title: str, frame: pl.DataFrame) -> None:
    print_table(title, frame.columns, frame.rows())


def _as_dict(page: Page) -> dict[str, object]:
    results = page.results
    return {
        "name": results.study.name, "number": results.study.number, "command": page.command,
        "missing": results.missing, "absent": results.absent, "numbers": results.summary.to_dicts(),
        "claims": results.contrasts.to_dicts(),
    }  # fmt: skip


COMMAND = reproduce_command
