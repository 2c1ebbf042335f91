"""No command replaces what it reads: every path option of every command, given the paths of all the others."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

from sureness.cli import commands
from sureness.errors import OutputError
from tests.cli.parameters import Parameter, parameters_of
from tests.cli.runner import refused, run

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
        arguments = [given[name] for name, each in named.items() if each.word is None and name in given]
        options = [
            word for name in given if (option := named[name].word)
            for word in (option, named[name].prefix + given[name])
        ]  # fmt: skip
        return [*self.command.split(), *arguments, *options, *self.others]


CALLS = [
    Call("fit", {"data": "t.parquet", "options_anchor": "u.parquet"}, {"output": "o.json"}),
    Call("fit", {"data": "run.sureness", "options_held_out": "log.csv", "options_seen": "log2.csv"},
         {"output": "o.json"}),
    Call("apply", {"calibrator": "map.json", "data": "t.parquet"}, {"output": "o.parquet"},
         ("--columns", "probability=chance")),
    Call("apply", {"calibrator": "map.json", "data": "run.sureness", "options_seen": "log.csv"},
         {"output": "o.parquet"}),
    Call("apply", {"calibrator": "segments.json", "data": "run.sureness", "options_segments": "segments.csv"},
         {"output": "o.parquet"}, ("--columns", "segment=kind")),
    Call("report", {"table": "t.parquet", "calibrators": "map.json", "options_items": "items.csv",
                    "options_seen": "log.csv"},
         {"output": "o.html", "options_figures": "figures"}, quick=False),
    Call("list-size", {"data": "t.parquet"}, {"output": "o.parquet"}),
    Call("list-size", {"data": "run.sureness", "calibration_calibrator": "map.json", "calibration_held_out": "log.csv",
                       "calibration_seen": "log2.csv", "calibration_test": "log3.csv", "page_items": "items.csv"},
         {"output": "o.parquet", "page_save": "o.sureness", "page_report": "o.html", "page_figures": "figures"},
         quick=False),
    Call("allocate", {"table": "t.parquet"}, {"output": "o.parquet"}, ("--budget", "100")),
    Call("evaluate", {"run": "run.sureness", "options_test": "log.csv", "options_seen": "log2.csv"},
         {"options_per_user": "o.csv"}),
    Call("train", {"data": "log.csv", "log_folder": "data"}, {"output": "o.sureness"}, quick=False),
    Call("distill", {"data": "log.csv", "options_teacher": "run.sureness", "options_student": "run2.sureness/source",
                     "log_folder": "data"}, {"output": "o.sureness"}, quick=False),
    Call("backtest", {"data": "timed.csv", "log_folder": "data"},
         {"options_save": "o.sureness", "options_report": "o.html"}, quick=False),
    Call("demo", {"data": "log.csv"}, {"output": "o"}, quick=False),
    Call("sql", {"calibrator": "map.json"}, {}, ("--dialect", "duckdb")),
    Call("export", {"run": "run.sureness"}, {"output": "o"}),
    Call("inspect", {"file": "run.sureness"}, {}),
    Call("data describe", {"data": "log.csv"}, {}),
    Call("data describe", {"data": "coat", "options_folder": "data"}, {}, quick=False),
    Call("data fetch", {"folder": "data"}, {"to": "o"}, ("coat",), quick=False, keeps=True),
    Call("data simulate", {}, {"output": "o"}, quick=False),
    Call("serve", {"recommender": "run.sureness", "calibrator": "map.json", "items": "items.csv",
                   "backtest": "log2.csv", "key_file": "log.csv"}, {}, quick=False),
    Call("reproduce", {"data_folder": "data"}, {"output": "o", "cells": "cells", "merge": "kept"},
         ("desiderata", "--full"), quick=False),
]  # fmt: skip


def parameters(command: str) -> dict[str, Parameter]:
    """The parameters of a command that take paths."""
    return {
        name: each
        for name, each in parameters_of(command).items()
        if is_path(each.hint) or (name in TEXTS and str in (each.hint, *get_args(each.hint)))
    }


def is_path(hint: Any) -> bool:
    return hint is Path or any(map(is_path, get_args(hint)))


@pytest.fixture
def folder(inputs, tmp_path):
    """The inputs under names of this test; writing to one of them makes a new file."""
    for path in inputs.rglob("*"):
        place = tmp_path / path.relative_to(inputs)
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
    new = set(contents(folder)) - set(before)
    assert {Path(path).parts[0] for path in new} == set(call.writes.values())  # a file, or a folder of files
    assert {path: digest for path, digest in contents(folder).items() if path in before} == before


def test_a_demo_does_not_replace_the_log_it_reads(folder):
    for name, kept in (("lists.parquet", "t.parquet"), ("report.html", "log.csv")):
        (folder / "o").mkdir(exist_ok=True)
        (folder / "o" / name).write_bytes((folder / kept).read_bytes())
        before = contents(folder)
        refused(run("demo", f"o/{name}", "-o", "o", cwd=folder), OutputError)
        assert contents(folder) == before
