"""sureness reproduce: every table and figure of the dissertation, our numbers beside the published ones."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated, get_args

import polars as pl
from typer import Argument, BadParameter, Option

from sureness.cli import Json, print_json, print_table, say, shown_progress
from sureness.errors import DataError
from sureness.jobs import check_outputs
from sureness_reproduction.cells import CellStore
from sureness_reproduction.claims import claims_table, computed
from sureness_reproduction.declarations import find_studies, studies
from sureness_reproduction.own import is_own, kind_of, load_own
from sureness_reproduction.pages import blocks, claims_shown, command_of, lacking, merge_results, run_studies
from sureness_reproduction.results import Results
from sureness_reproduction.study import Asked, Scale, Study, values_of
from sureness_reproduction.workbench import DataShelf

_NAMES = Argument(
    metavar="NAME...",
    help="""Studies (see --list), numbers such as table-2.3 or table-2, or all; or
    claims: what full runs say about each claim of the dissertation, from finished cells and committed results.""",
)
_SEEDS = Option(min=1, max=1_000, help="Seeds, instead of each study's own number.")
_MODEL = Option(help="Only these models, or your own (module:object, file.py:object).")
_JOBS = Option(min=0, max=1_024, help="Cells computed at a time, one thread each; 0: one per core.")
_MERGE = Option(
    help="""Folder with results of full runs: the rows of this one replace those with the same keys, others
    stay, and p-values are corrected for all of them. So runs of single models or of more seeds add up."""
)


def reproduce_command(
    names: Annotated[list[str] | None, _NAMES] = None,
    show: Annotated[bool, Option("--list", help="List the studies and leave.")] = False,
    quick: Annotated[bool, Option("--quick", help="Minutes: small real data, few seeds. The default.")] = False,
    full: Annotated[bool, Option("--full", help="Hours: the published setting, on the data that are here.")] = False,
    seeds: Annotated[int | None, _SEEDS] = None,
    data: Annotated[list[str] | None, Option(help="Only these data sets, or logs of your own; may repeat.")] = None,
    model: Annotated[list[str] | None, _MODEL] = None,
    method: Annotated[list[str] | None, Option(help="Only these methods, or your own beside the others.")] = None,
    output: Annotated[Path, Option("--output", "-o", help="Folder for tables and figures.")] = Path("reproduced"),
    merge: Annotated[Path | None, _MERGE] = None,
    data_folder: Annotated[Path | None, Option(help="Folder of the data sets; by default SURENESS_DATA.")] = None,
    cells: Annotated[Path | None, Option(help="Where cells are kept; by default `cells` in the output.")] = None,
    jobs: Annotated[int, _JOBS] = 0,
    json: Json = False,
) -> None:
    """Run studies of the dissertation and set our numbers beside the published ones; finished cells are kept."""
    if show:
        about = [{"name": each.name, "number": each.number or "-", "title": each.title,
                  "data": ", ".join(map(str, each.known("data")))} for each in studies()]  # fmt: skip
        note = "`sureness reproduce NAME --quick` takes minutes, `--full` hours; `all` runs every one."
        _show("studies", "Studies", pl.DataFrame(about), json, note)
        return
    if quick and full:
        raise BadParameter("--quick and --full exclude each other; give one of them")
    if merge and not full:
        raise BadParameter("--merge is for results of full runs; give --full")
    if not names:
        raise BadParameter("give the names of studies, or all; --list shows them")
    if data_folder is not None and not data_folder.is_dir():
        raise DataError(f"there is no folder {data_folder}; give the folder that holds the data sets")
    store = CellStore(cells or output / "cells", DataShelf(data_folder))
    if names == ["claims"]:  # nothing is computed
        title = "What the dissertation claims, what we found, why"
        _show("claims", title, claims_table(partial(computed, store)), json)
        return
    wanted = find_studies(names)
    asked = Asked("full" if full else "quick", seeds, tuple(data or ()), tuple(model or ()), tuple(method or ()))
    _check(asked, wanted)
    check_outputs([(output, "folder"), (store.folder, "folder"), (merge, "folder")], [data_folder])
    with shown_progress(json) as progress:
        found = run_studies(wanted, asked, store, output, jobs or os.cpu_count() or 1, progress)
    for results in found:
        if merge is not None:
            merge_results(results, output, merge)
    if json:
        print_json({"studies": [_as_dict(results) for results in found]})
        return
    for results in found:
        title, tables = results.study.title, blocks(results.study, results.summary)
        if results.contrasts.height:
            tables.append(("contrasts", claims_shown(results.contrasts, full)))
        for part, table in tables:
            print_table(f"{title}, {part}" if part else title, table.columns, table.rows())
        say(*lacking(results))
    say(f"\nTables, CSV files and figures: {output}")


def _check(asked: Asked, wanted: list[Study]) -> None:
    """Refuse what no study knows and what cannot be imported before anything is computed."""
    for axis, given in (("data", asked.data), ("model", asked.model)):
        known = dict.fromkeys(name for each in wanted if axis in each.grid for name in each.known(axis))
        if unknown := [name for name in given if name not in known and not is_own(name)]:
            raise DataError(f"no study of these has the {axis} {unknown[0]!r}, and it is no file or module:object; "
                            f"they have {', '.join(known)}")  # fmt: skip
    own = [name for name in asked.data if is_own(name)]
    if own and (unfit := [each.name for each in wanted if each.uniform_test]):
        raise DataError(
            f"{unfit[0]} compares risks on a test in which all pairs were shown with the same chance, and the log "
            f"{own[0]} has none; give a data set such as coat, or a study of lists or distillation"
        )
    for name in asked.model:
        if ":" in name:
            load_own(name)
    judged = [each for each in wanted if "methods" in each.grid]
    groups = [group for each in judged for scale in get_args(Scale) for group in values_of(each.grid["methods"], scale)]
    known = dict.fromkeys(name for group in groups for name in group)
    takes = dict.fromkeys(kind for each in judged for kind in each.takes)
    for name in asked.method:
        if name not in known and kind_of(name) not in takes:
            raise DataError(f"no study of these takes the method {name!r}; they have {', '.join(known) or 'none'}, and "
                            f"take others that are a {' or '.join(takes) or 'method of no kind'}")  # fmt: skip


def _show(name: str, title: str, table: pl.DataFrame, json: bool, note: str | None = None) -> None:
    print_json({name: table.to_dicts()}) if json else print_table(title, table.columns, table.rows(), note)


def _as_dict(results: Results) -> dict[str, object]:
    return {
        "name": results.study.name, "number": results.study.number, "command": command_of(results),
        "missing": len(results.points) - len(results.finished), "absent": results.absent,
        "numbers": results.summary.to_dicts(), "claims": results.contrasts.to_dicts(),
    }  # fmt: skip


COMMAND = reproduce_command
