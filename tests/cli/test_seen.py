"""`--seen` is one option of all commands that need it; a run without its split says what is left among candidates."""

from __future__ import annotations

import polars as pl
import pytest

from sureness.errors import EmptyError
from tests.cli.runner import refused, run

ALONE = {  # commands for a source without a split, and the same with what was seen
    "evaluate": ["evaluate", "run.sureness/source", "--test", "log3.csv"],
    "apply": ["apply", "map.json", "run.sureness/source", "--top", 5, "-o", "new.parquet"],
    "fit": ["fit", "run.sureness/source", "--held-out", "log.csv", "-o", "new.json"],
    "fit lists": ["fit", "run.sureness/source", "--held-out", "log.csv", "--method", "lists", "-o", "n.json"],
    "list-size": ["list-size", "run.sureness/source", "--held-out", "log.csv", "--test", "log3.csv",
                  "-o", "new.parquet"],
    "list-size auto": ["list-size", "run.sureness/source", "--held-out", "log.csv", "--calibrator", "auto",
                       "-o", "new.parquet"],
}  # fmt: skip
EVERY = pytest.mark.parametrize("words", ALONE.values(), ids=ALONE)


@pytest.fixture
def folder(inputs, tmp_path):
    for each in ("run.sureness", "map.json", "log.csv", "log2.csv", "log3.csv"):
        (tmp_path / each).symlink_to(inputs / each)
    return tmp_path


def notes(words, folder):
    done = run(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return (done.stdout + done.stderr).count("seen is missing")


@EVERY
def test_a_missing_log_is_said_once(words, folder):
    assert notes(words, folder) == 1


@EVERY
@pytest.mark.parametrize("seen", [["log2.csv"], ["log2.csv", "log2.csv"], ["nothing"]], ids=["log", "two", "nothing"])
def test_a_log_or_the_word_nothing_is_taken_everywhere(words, seen, folder):
    given = [word for each in seen for word in ("--seen", each)]
    assert notes([*words, *given], folder) == 0


def test_nothing_lists_everything(folder):
    words = ("apply", "map.json", "run.sureness", "--top", 100)
    for name, more in {"usual": (), "all": ("--seen", "nothing")}.items():
        assert run(*words, *more, "-o", f"{name}.parquet", cwd=folder).returncode == 0
    usual, everything = (pl.read_parquet(folder / f"{name}.parquet").height for name in ("usual", "all"))
    assert usual < everything == 60 * 40


def test_popularity_needs_a_log(folder):
    words = (
        "fit",
        "run.sureness",
        "--set",
        "popularity_propensity=true",
        "--base-rate",
        0.1,
        "--seen",
        "nothing",
        "-o",
        "new.json",
    )
    refused(run(*words, cwd=folder), EmptyError, "seen")
