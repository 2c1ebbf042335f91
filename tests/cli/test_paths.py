"""No command replaces what it reads: every path option of every command, given the paths of all the others."""

from __future__ import annotations

import hashlib
import inspect
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl
import pytest
from typer.models import ArgumentInfo, OptionInfo

from sureness import workflows
from sureness.cli import commands
from sureness.data.interactions import Interactions
from sureness.data.simulator import SimulatorSettings, simulate
from sureness.data.splitting import by_ratio
from sureness.errors import OutputError
from sureness.pipeline.runs import Run
from sureness.sources.svd import svd_source
from tests.cli.runner import refused, run
from tests.conftest import draw_pairs

TEXTS = {"data", "options_teacher", "options_student"}
"""Options that are text, since they also take the names of data sets or models."""


@dataclass(frozen=True)
class Call:
    """A command with all its paths, by the names of its parameters."""

    command: str
    reads: dict[str, str]
    writes: dict[str, str]
    others: tuple[str, ...] = ()
    quick: bool = True  # whether the call as it is takes little time
    keeps: bool = False  # whether files that are there are kept, so that nothing has to be refused

    def words(self, **changed: str) -> list[str]:
        """The command line."""
        named = parameters(self.command)
        given = {**self.reads, **self.writes, **changed}
        arguments = [given[name] for name, option in named.items() if option is None and name in given]
        options = [word for name in given if (option := named[name]) for word in (option, given[name])]
        return [*self.command.split(), *arguments, *options, *self.others]


CALLS = [
    Call("fit", {"data": "t.parquet", "options_anchor": "u.parquet"}, {"output": "o.json"}),
    Call("fit", {"data": "run.sureness", "options_held_out": "log.csv", "options_train": "log2.csv"},
         {"output": "o.json"}),
    Call("apply", {"calibrator": "map.json", "data": "t.parquet"}, {"output": "o.parquet"}),
    Call("apply", {"calibrator": "map.json", "data": "run.sureness", "options_seen": "log.csv"},
         {"output": "o.parquet"}),
    Call("apply", {"calibrator": "segments.json", "data": "run.sureness", "options_segments": "segments.csv"},
         {"output": "o.parquet"}, ("--segment-column", "kind")),
    Call("report", {"table": "t.parquet", "calibrators": "map.json", "options_items": "items.csv",
                    "options_train": "log.csv", "options_candidates": "u.parquet", "options_lists": "run.sureness"},
         {"output": "o.html", "options_figures": "figures"}, quick=False),
    Call("list-size", {"table": "t.parquet"}, {"output": "o.parquet"}),
    Call("list-size", {"model": "run.sureness", "calibration_calibrator": "map.json", "calibration_held_out": "log.csv",
                       "calibration_train": "log2.csv", "calibration_test": "log3.csv", "page_items": "items.csv"},
         {"output": "o.parquet", "page_save": "o.sureness", "page_report": "o.html", "page_figures": "figures"},
         quick=False),
    Call("allocate", {"table": "t.parquet"}, {"output": "o.parquet"}, ("--budget", "100")),
    Call("evaluate", {"run": "run.sureness", "options_test": "log.csv", "options_seen": "log2.csv"},
         {"options_per_user": "o.csv"}),
    Call("train", {"data": "log.csv", "log_folder": "data"}, {"output": "o.sureness"}, quick=False),
    Call("distill", {"data": "log.csv", "options_teacher": "run.sureness", "options_student": "run2.sureness/source",
                     "log_folder": "data"}, {"output": "o.sureness", "options_report": "o.html"}, quick=False),
    Call("demo", {"data": "log.csv"}, {"output": "o"}, quick=False),
    Call("inspect", {"file": "run.sureness"}, {}),
    Call("data describe", {"data": "log.csv"}, {}),
    Call("data describe", {"data": "coat", "options_folder": "data"}, {}, quick=False),
    Call("data fetch", {"folder": "data"}, {"to": "o"}, ("coat",), quick=False, keeps=True),
    Call("data simulate", {}, {"output": "o"}, quick=False),
    Call("reproduce", {"data_folder": "data"}, {"output": "o", "cells": "cells"}, ("desiderata",), quick=False),
]  # fmt: skip


def parameters(command: str) -> dict[str, str | None]:
    """The parameters of a command that take paths, and the option of each; None for an argument."""
    function = commands()[command]
    hints = get_type_hints(function, include_extras=True)
    found: dict[str, str | None] = {}
    for name in inspect.signature(function).parameters:
        hint, *extra = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        if is_path(hint) or (name in TEXTS and str in (hint, *get_args(hint))):
            words = [word for each in extra if isinstance(each, OptionInfo) for word in option_words(each)]
            argument = any(isinstance(each, ArgumentInfo) for each in extra)
            found[name] = None if argument else words[0] if words else f"--{name.replace('_', '-')}"
    return found


def option_words(option: OptionInfo) -> list[str]:
    """The names of an option; the first stands where its default would, if that is in the signature."""
    return [word for word in (option.default, *(option.param_decls or ())) if isinstance(word, str)]


def is_path(hint: Any) -> bool:
    return hint is Path or any(map(is_path, get_args(hint)))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Every kind of input."""
    folder = tmp_path_factory.mktemp("paths")
    scores, labels = draw_pairs(1_000)
    table = pl.DataFrame({"user_id": np.arange(1_000) // 10, "item_id": np.arange(1_000) % 10, "score": scores,
                          "label": labels, "probability": 1 / (1 + np.exp(-scores)),
                          "kind": np.arange(1_000) % 2})  # fmt: skip
    table.write_parquet(folder / "t.parquet")
    table.write_parquet(folder / "u.parquet")
    pl.DataFrame({"item_id": range(40), "title": [f"item {n}" for n in range(40)]}).write_csv(folder / "items.csv")
    pl.DataFrame({"item_id": range(40), "kind": [n % 2 for n in range(40)]}).write_csv(folder / "segments.csv")
    world = simulate(SimulatorSettings(n_users=60, n_items=40, preference_rate=0.3, seed=3))
    log = Interactions.from_matrix((world.train + world.held_out).tocsr())
    split = by_ratio(log, (0.6, 0.2, 0.2), seed=0)
    for name, part in {"log": split.validation, "log2": split.train, "log3": split.test}.items():
        part.table().write_csv(folder / f"{name}.csv")
    run_ = Run(svd_source(split.train, n_factors=4), **split.parts, about={"protocol": "ratio"})
    for name in ("run", "run2"):
        run_.save(folder / f"{name}.sureness")
    workflows.fit(folder / "t.parquet", output=folder / "map.json")
    columns = workflows.fitting.Columns(segment="kind")
    workflows.fit(folder / "t.parquet", columns=columns, output=folder / "segments.json")
    (folder / "data").mkdir()
    (folder / "data" / "interactions.tsv").write_text("user\titem\trating\tsplit\n1\t1\t5\ttrain\n")
    return folder


@pytest.fixture
def folder(original, tmp_path):
    """The inputs under names of this test; whoever writes to one of them makes a new file."""
    for path in original.rglob("*"):
        place = tmp_path / path.relative_to(original)
        place.mkdir() if path.is_dir() else place.write_bytes(path.read_bytes())
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_path_of_every_command_is_listed_here():
    listed: dict[str, set[str]] = {}
    for call in CALLS:
        listed.setdefault(call.command, set()).update(call.reads, call.writes)
    found = {command: set(parameters(command)) for command in commands()}
    assert {command: names for command, names in found.items() if names} == listed


CASES = [
    pytest.param(call, output, other, id=f"{call.command} {output} {other} {number}")
    for number, call in enumerate(CALLS)
    for output in call.writes
    for other in {**call.reads, **call.writes}
    if other != output
]


@pytest.mark.parametrize("how", ["itself", "link", "hard link", "below"])
@pytest.mark.parametrize(("call", "output", "other"), CASES)
def test_an_output_is_neither_an_input_nor_another_output(folder, call, output, other, how):
    taken, ending = {**call.reads, **call.writes}[other], Path(call.writes[output]).suffix
    name = {"itself": taken, "below": f"{taken}/x{ending}"}.get(how, f"same{ending}")
    target = folder / taken.removesuffix("/source")
    if how == "link":
        (folder / name).symlink_to(target)
    elif how == "hard link":
        if not target.is_file():
            pytest.skip("only a file has hard links")
        os.link(target, folder / name)
    if how == "below" and not Path(taken).suffix and (ending or other in call.writes):
        pytest.skip("a file may lie in a folder")
    before = contents(folder)
    done = run(*call.words(**{output: name}), cwd=folder)
    assert {path: digest for path, digest in contents(folder).items() if path in before} == before
    if not call.keeps:
        refused(done, OutputError)
        assert contents(folder) == before


@pytest.mark.parametrize("call", [call for call in CALLS if call.quick], ids=lambda call: " ".join(call.words()))
def test_other_names_are_accepted(folder, call):
    """Otherwise the refusals above would prove nothing."""
    before = contents(folder)
    done = run(*call.words(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert set(contents(folder)) - set(before) == set(call.writes.values())
    assert {path: digest for path, digest in contents(folder).items() if path in before} == before


def test_a_demo_does_not_replace_the_log_it_reads(folder):
    for name, kept in (("lists.parquet", "t.parquet"), ("report.html", "log.csv")):
        (folder / "o").mkdir(exist_ok=True)
        (folder / "o" / name).write_bytes((folder / kept).read_bytes())
        before = contents(folder)
        refused(run("demo", "--data", f"o/{name}", "-o", "o", cwd=folder), OutputError)
        assert contents(folder) == before
