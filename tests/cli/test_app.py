"""The list of commands: text until one of them runs, and open to other distributions."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from sureness.cli import _app, commands
from tests.cli.runner import run, succeed

HEAVY = ("polars", "numpy", "numba", "torch", "scipy", "sklearn", "matplotlib")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["data", "--help"], ["nonsense"], ["data", "nonsense"]])
def test_listing_commands_imports_nothing_heavy(words):
    code = (
        "import sys\nfrom sureness.cli import main\n"
        f"sys.argv = ['sureness', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    code = end.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], code, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == f"[] {2 if 'nonsense' in words else 0}"


def test_every_command_has_a_line_of_help_and_a_page_of_its_own(tmp_path):
    for words, function in commands().items():
        assert _app.targets()[words][1].endswith(".")
        assert function.__doc__
        assert "Usage" in succeed(*words.split(), "--help", cwd=tmp_path)


def test_a_misspelt_command_is_told_the_right_one(tmp_path):
    done = run("fti", cwd=tmp_path)
    assert done.returncode == 2
    assert "'fit'" in done.stderr


def test_other_distributions_add_commands(monkeypatch):
    class Distribution:
        metadata = {"Summary": "Greet the world."}  # noqa: RUF012

    point = EntryPoint("hello", "sureness.cli.inspect:COMMAND", "sureness.commands")
    vars(point)["dist"] = Distribution()
    monkeypatch.setattr(_app, "entry_points", lambda group: [point] if group == "sureness.commands" else [])
    found = _app.targets()
    assert found["hello"] == ("sureness.cli.inspect:COMMAND", "Greet the world.")
    assert commands()["hello"] is commands()["inspect"]
