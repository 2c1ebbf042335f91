"""The words of the command line: few options, one name for one idea, and messages in the words of the caller."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import sureness as sn
from sureness.cli import commands
from sureness.cli._app import as_typed
from sureness.data.interactions import Interactions
from sureness.errors import ColumnError, FileError
from sureness.jobs import cut_table
from sureness.jobs.listing import ListOptions
from tests.cli.parameters import options_of
from tests.cli.runner import refused, run

SHARED = {"--output", "--json", "--columns", "--group", "--format", "--from", "--option", "--seed", "--split"}
"""Options that mean the same wherever there is something to write, or a table or a log to read."""


def test_there_are_at_most_180_options():
    assert sum(len(options_of(command)) for command in commands()) <= 180


@pytest.mark.parametrize("command", list(commands()))
def test_a_command_has_at_most_12_options_of_its_own(command):
    if command == "reproduce":
        pytest.skip("a command of another distribution")
    assert len(set(options_of(command)) - SHARED) <= 12


def test_an_option_takes_the_same_kind_of_value_everywhere():
    """--users is a number or a file, not both."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for command in set(commands()) - {"reproduce"}:
        for word, kind in options_of(command).items():
            kinds[word].add(kind)
    more = {word: kind for word, kind in kinds.items() if len(kind) > 1}
    assert set(more) <= {"--items"}, more  # the items of a world are a number, a table elsewhere


# --- one mechanism for both kinds of callers ------------------------------------------------------------------------


def test_the_library_names_no_options():
    """Strings of the library have no words such as --user-column; only the command line knows these."""
    package = Path(sn.__file__).parent
    for path in package.rglob("*.py"):
        if path.is_relative_to(package / "cli") or path.name == "demo.py":  # the demo shows a command to go on with
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not re.search(r"(?<![\w-])--[a-z]", node.value), (path, node.value)


def test_a_missing_column_is_named_in_the_words_of_the_caller(tmp_path):
    (tmp_path / "log.csv").write_text("customer,article\n1,2\n")
    with pytest.raises(ColumnError, match=r"columns=Columns\(user_id=\.\.\., item_id=\.\.\.\)"):
        Interactions.read(tmp_path / "log.csv")
    done = run("data", "describe", "log.csv", cwd=tmp_path)
    refused(done, ColumnError, "name them with --columns user_id=... --columns item_id=...")
    assert "Columns(" not in done.stderr


def test_an_ambiguous_file_is_settled_in_the_words_of_the_caller(tmp_path):
    (tmp_path / "t.csv").write_text("score;label\n1,234;1\n2,345;0\n")
    semicolons = pytest.warns(sn.errors.SurenessWarning, match="semicolon")
    with semicolons, pytest.raises(FileError, match=r'Columns\(decimal="comma"\)'):
        sn.jobs.fit(tmp_path / "t.csv")
    refused(run("fit", "t.csv", cwd=tmp_path), FileError, "give --format decimal=comma or --format decimal=point")


def test_a_warning_is_in_the_words_of_the_caller(tmp_path):
    rows = "".join(f"{user},{user + item},0.4\n" for user in range(20) for item in range(5))
    (tmp_path / "t.csv").write_text("user_id,item_id,probability\n" + rows)
    with pytest.warns(sn.errors.SurenessWarning, match=r"expected_relevant=\.\.\."):
        cut_table(tmp_path / "t.csv", tmp_path / "o.csv", ListOptions(utility="ndcg"))
    done = run("list-size", "t.csv", "--utility", "ndcg", "-o", "p.csv", cwd=tmp_path)
    assert "--expected-relevant ..." in done.stderr
    assert "expected_relevant=" not in done.stderr


@pytest.mark.parametrize(
    ("sentence", "typed"),
    [
        ("give a log as held_out=...", "give a log as --held-out ..."),
        ('leave calibrator="auto" out', "leave --calibrator auto out"),
        ("give Columns(user_id=..., score=...)", "give --columns user_id=... --columns score=..."),
        ('as does protocol="time"', "as does --split time"),
        ("column user_id=3 is a value", "column user_id=3 is a value"),
        ('unknown="x"', 'unknown="x"'),
    ],
)
def test_arguments_are_written_as_they_are_typed(sentence, typed):
    words = {"held_out": "--held-out ", "calibrator": "--calibrator ", "user_id": "--columns user_id=",
             "score": "--columns score=", "protocol": "--split "}  # fmt: skip
    assert as_typed(sentence, words) == typed
