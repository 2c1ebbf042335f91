"""The command line without extras: help, typing errors, and one sentence wherever an extra is needed."""

from __future__ import annotations

import pytest

COMMANDS = (
    "demo", "train", "distill", "evaluate", "fit", "apply", "report", "list-size", "allocate", "sql", "inspect",
    "serve",
    "data list", "data fetch", "data describe", "data simulate",
)  # fmt: skip


def test_the_library_is_the_installed_one_and_no_extra_is_there(base):
    found = base.python(
        "import importlib.util as util, sureness; print(sureness.__file__);"
        "print([name for name in ('torch', 'matplotlib', 'jinja2') if util.find_spec(name)])"
    )
    path, extras = found.splitlines()
    assert "base-venv" in path
    assert extras == "[]"


def test_these_are_all_commands(base):
    found = base.python("from sureness.cli import commands; print(*commands(), sep='\\n')")
    assert set(found.splitlines()) >= set(COMMANDS)
    assert "reproduce" not in found


@pytest.mark.parametrize("command", ["", "data", *COMMANDS])
def test_every_help_is_shown(base, command):
    assert "Usage: sureness" in base.succeed(*command.split(), "--help")


def test_the_version_is_shown(base):
    assert base.succeed("--version").startswith("sureness ")


@pytest.mark.parametrize("words", ["trian", "fit", "fit log.parquet --methd platt", "data lits", "train --model bprr"])
def test_a_typing_error_is_one_sentence(base, words):
    done = base.run(*words.split())
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Error" in done.stderr


NEEDING = [
    ("train log.parquet -o run.sureness", "models"),
    ("distill log.parquet --teacher bpr:8 --student bpr:2 -o distilled.sureness", "models"),
    ("report table.parquet platt.json", "plots"),
    ("demo --recommender svd", "plots"),
    ("demo", "plots"),
    ("serve recommender.sureness", "serve"),
    ("list-size run.sureness -o lists.parquet --report page.html", "plots"),
]


@pytest.mark.parametrize(("words", "extra"), NEEDING)
def test_a_missing_extra_is_said_before_anything_is_read_or_written(base, words, extra):
    """None of the input files exists, so a command that begins to work complains about those."""
    done = base.run(*words.split())
    assert done.returncode == 1
    *notes, error = done.stderr.strip().splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert error.startswith("error: ")
    assert f"pip install 'sureness[{extra}]'" in error
    assert not list(base.cwd.iterdir())
