"""What a command offers next can be run as it is printed."""

from __future__ import annotations

import json
import re
import shlex
import shutil

import polars as pl
import pytest

from sureness.cli._app import COMMANDS
from tests.cli.runner import succeed

EVERY = {
    "demo": "demo --users 300 --items 80 --recommender svd -o demo",
    "train": "train whole.csv --factors 4 --set epochs=2 -o new.sureness",
    "distill": "distill whole.csv --teacher bpr:4 --student bpr:2 --set epochs=2 --no-pretrain -o both.sureness",
    "evaluate": "evaluate run.sureness",
    "fit": "fit scores.parquet -o new.json",
    "apply": "apply lists.json run.sureness -o top.parquet",
    "report": "report t.parquet map.json -o page.html",
    "list-size": "list-size run.sureness -o lists.parquet --save saved.sureness",
    "backtest": "backtest timed.csv --window 10d --windows 2 --set n_factors=6",
    "allocate": "allocate t.parquet --budget 150 -o sizes.parquet",
    "sql": "sql map.json --dialect duckdb",
    "export": "export run.sureness -o factors",
    "inspect": "inspect run.sureness",
    "data list": "data list",
    "data describe": "data describe whole.csv",
    "data simulate": "data simulate --users 200 --items 60 -o world",
}
"""One way to call every command."""
LEFT_OUT = {"warm", "data fetch", "serve"}  # they compile, download and serve, and offer nothing
OF_A_RUN = ["fit", "apply", "list-size"]
FOLLOWERS = {"train": OF_A_RUN, "distill": OF_A_RUN, "data simulate": ["fit", "apply"], "fit": ["apply"]}
"""What is run after a command, if it offers anything; `serve`, which a demo offers, would not end."""


def offered(printed: str) -> list[str]:
    """The commands in a text, without what is said about them; a line that begins like one must be one."""
    lines = [line.strip() for line in printed.splitlines()]
    return [line.partition("   #")[0].strip() for line in lines if re.match("sureness (?!serve)", line)]


def texts(value: object) -> list[str]:
    """All texts in JSON."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in parts for text in texts(each)]


@pytest.fixture
def folder(inputs, log, tmp_path):
    """A folder with every kind of input, to write to."""
    shutil.copytree(inputs, tmp_path / "work")
    log.write_csv(tmp_path / "work" / "whole.csv")
    table = tmp_path / "work" / "scores.parquet"
    pl.read_parquet(tmp_path / "work" / "t.parquet").drop("probability").write_parquet(table)
    return tmp_path / "work"


def test_every_command_is_walked():
    assert EVERY.keys() | LEFT_OUT == COMMANDS.keys()


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("name", EVERY)
def test_every_hint_of_every_command_runs(folder, name, as_json):
    first = succeed(*shlex.split(EVERY[name]), *(["--json"] if as_json else []), cwd=folder)
    waiting, done = offered("\n".join(texts(json.loads(first))) if as_json else first), []
    assert waiting == [] or name in FOLLOWERS
    while waiting:
        command = waiting.pop(0)
        done.append(command.split()[1])
        found = offered(succeed(*shlex.split(command)[1:], cwd=folder))
        waiting += [each for each in found if each not in waiting]
    assert done == ([] if as_json else FOLLOWERS.get(name, []))


@pytest.mark.parametrize(
    "words",
    ["t.parquet", "t.parquet --columns segment=kind", "t.parquet --field kind", "'my table.parquet'",
     "named.csv --method lists --columns user_id=customer,score=logit --format separator=;",
     "named.csv --columns user_id=customer,score=logit --format separator=;"],
)  # fmt: skip
def test_the_hint_of_a_fit_reads_the_same_columns(folder, words):
    table = pl.read_parquet(folder / "t.parquet")
    table.write_parquet(folder / "my table.parquet")
    table.rename({"user_id": "customer", "score": "logit"}).write_csv(folder / "named.csv", separator=";")
    (hint,) = offered(succeed("fit", *shlex.split(words), "-o", "new map.json", cwd=folder))
    succeed(*shlex.split(hint)[1:], cwd=folder)
    assert pl.read_parquet(folder / "probabilities.parquet").height == table.height


def test_what_is_fitted_to_a_run_is_not_sent_to_a_report(folder):
    """A report judges tables; a run is judged by its lists."""
    printed = succeed("fit", "run.sureness", "--method", "lists", "-o", "map.json", cwd=folder)
    assert "report" not in printed
    assert offered(printed) == ["sureness list-size run.sureness --calibrator map.json -o lists.parquet"]
