"""The list of commands: text until one of them runs, and open to other distributions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from sureness.cli import _app, commands, print_json
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


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "sureness", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("sureness ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [(["li"], ["list-size"]), (["data", "f"], ["fetch"]), (["fit", "--held"], ["--held-out-share", "--held-out"])],
)
def test_shells_complete_commands_and_options(typed, offered, tmp_path, monkeypatch):
    asked = {"_SURENESS_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["sureness", *typed]),
             "COMP_CWORD": str(len(typed))}  # fmt: skip
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert run(cwd=tmp_path).stdout.split() == offered


def test_completion_can_be_installed(tmp_path):
    assert "--install-completion" in succeed("--help", cwd=tmp_path)


def test_a_misspelt_command_is_told_the_right_one(tmp_path):
    done = run("fti", cwd=tmp_path)
    assert done.returncode == 2
    assert "'fit'" in done.stderr


def test_other_distributions_add_commands(monkeypatch):
    class Distribution:
        metadata = {"Summary": "Greet the world."}  # noqa: RUF012

    point = EntryPoint("hello", "sureness.cli.inspect:inspect_file", "sureness.commands")
    vars(point)["dist"] = Distribution()
    monkeypatch.setattr(_app, "entry_points", lambda group: [point] if group == "sureness.commands" else [])
    found = _app.targets()
    assert found["hello"] == ("sureness.cli.inspect:inspect_file", "Greet the world.")
    assert commands()["hello"] is commands()["inspect"]


INTERRUPTED = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "numpy":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
sys.argv = ["sureness", "data", "list"]
from sureness.cli import main
main()
"""

ENDING = """
import atexit, os, signal, sys
atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv = ["sureness", "--version"]
from sureness.cli import main
main()
"""


def test_an_interrupt_during_an_import_is_said_in_one_sentence():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert done.stderr == "stopped; unfinished output was discarded\n"


def test_an_interrupt_after_everything_is_said_changes_nothing():
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sureness ")


def test_what_a_terminal_cannot_show_does_not_end_a_job(tmp_path):
    (tmp_path / "é.csv").write_text("user_id,item_id\n" + "".join(f"{n // 9},{n % 9}\n" for n in range(90)))
    code = "import sys; sys.argv[1:] = ['data', 'describe', '\\u00e9.csv']; from sureness.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert r"\xe9.csv" in done.stdout


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), np.float32("inf"), np.array([np.nan])])
def test_json_has_no_numbers_that_json_does_not_know(capsys, value):
    print_json({"a": value, "b": {"c": [value, 1.5]}})

    def refuse(name):
        raise AssertionError(name)

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["a"] in (None, [None])
    assert found["b"]["c"][1] == 1.5


def test_settings_are_named_as_they_are_typed(tmp_path):
    (tmp_path / "table.csv").write_text("user_id,item_id,probability\n1,2,0.5\n")
    done = run("list-size", "table.csv", "-o", "lists.csv", "--max-size", "0", cwd=tmp_path)
    assert done.error == "setting"
    assert "--max-size" in done.stderr
    assert "max_size" not in done.stderr


def test_an_interrupt_while_importing_gives_no_traceback():
    broken = "import builtins; real = builtins.__import__"
    raises = "def stop(name, *rest):\n    if name == 'typer': raise KeyboardInterrupt\n    return real(name, *rest)"
    script = f"{broken}\n{raises}\nbuiltins.__import__ = stop\nfrom sureness.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
