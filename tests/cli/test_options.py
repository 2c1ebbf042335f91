"""Options of a command that are the fields of a dataclass."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer.testing import CliRunner

from sureness.cli._options import Json, Spread, columns, spread
from sureness.jobs import OneOf, Usually
from sureness.tables.columns import Columns


@dataclass(frozen=True, kw_only=True)
class Options:
    needed: Annotated[str, "It must be given."]
    method: Annotated[str, "One of several.", OneOf(("utility",), others=("auto",))] = "auto"
    size: Annotated[int | None, "How many.", Usually(50)] = None
    paths: Annotated[tuple[Path, ...], "May repeat."] = ()
    quiet: Annotated[bool, "Off unless given."] = False
    sure: Annotated[bool, "On unless refused."] = True
    rate: Annotated[float | None, "A number or 'unknown'."] = 1.0


GIVEN = []


def rate(text):
    return None if text == "unknown" else float(text)


@spread
def command(
    *,
    table: Annotated[Path, typer.Argument(help="A table.")],
    options: Annotated[Options, Spread(panel="Special", named={"method": "--how"}, parsers={"rate": rate})],
    used: Annotated[Columns, columns("user_id", "score")],
    json: Json = False,
) -> None:
    """Do it."""
    GIVEN[:] = [table, options, used, json]


app = typer.Typer(add_completion=False)
app.command()(command)


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200", "TERM": "dumb"})


def test_a_dataclass_arrives_with_its_defaults():
    assert call("t.csv", "--needed", "x").exit_code == 0
    assert [Path("t.csv"), Options(needed="x"), Columns(), False] == GIVEN


def test_every_kind_of_field_can_be_given():
    words = ("--needed", "x", "--how", "ndcg", "--size", 3, "--paths", "a", "--paths", "b", "--quiet", "--no-sure")
    assert call("t.csv", *words, "--rate", "unknown", "--columns", "user_id=who", "--json").exit_code == 0
    expected = Options(
        needed="x", method="ndcg", size=3, paths=(Path("a"), Path("b")), quiet=True, sure=False, rate=None
    )  # fmt: skip
    assert GIVEN[1:] == [expected, Columns(user_id="who"), True]


def test_what_no_field_takes_is_wrong_usage():
    for words in ((), ("--needed", "x", "--how", "magic"), ("--needed", "x", "--size", "many"),
                  ("--needed", "x", "--rate", "half"), ("--needed", "x", "--columns", "item_id=i")):  # fmt: skip
        assert call("t.csv", *words).exit_code == 2, words


def test_the_help_is_that_of_the_fields():
    shown = " ".join(call("--help").output.split())
    for text in (
        "It must be given.",
        "(50)",
        "auto|ndcg|pdcg|f1",
        "--sure",
        "--no-sure",
        "Special",
        "Columns",
    ):
        assert text in shown
    assert "--no-quiet" not in shown
    assert "item_id" not in shown
    assert next(iter(inspect.signature(command).parameters)) == "table"
