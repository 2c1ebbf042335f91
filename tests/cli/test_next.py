"""What a command offers next can be run as it is printed."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.runner import succeed

FIRST = {
    "simulate": "data simulate --users 200 --items 60 -o world",
    "train": "train log.csv --factors 4 --set epochs=2 -o run.sureness",
    "distill": "distill log.csv --teacher bpr:4 --student bpr:2 --set epochs=2 --no-pretrain -o both.sureness",
}


def offered(printed: str) -> list[str]:
    """The commands in a text, without what is said about them."""
    return [line.partition("   #")[0].strip() for line in printed.splitlines() if line.startswith("  sureness ")]


@pytest.mark.parametrize("name", FIRST)
def test_every_hint_runs(log_folder, name):
    waiting, done = [f"sureness {FIRST[name]}"], []
    while waiting:
        command = waiting.pop(0)
        done.append(command.split()[1])
        waiting += [each for each in offered(succeed(*shlex.split(command)[1:], cwd=log_folder)) if each not in waiting]
    assert {"simulate": ["data", "fit", "apply"]}.get(name, [name, "fit", "apply", "list-size"]) == done


def test_what_is_fitted_to_a_run_is_not_sent_to_a_report(log_folder):
    """A report judges tables; a run is judged by its lists."""
    succeed(*FIRST["train"].split(), cwd=log_folder)
    printed = succeed("fit", "run.sureness", "--method", "lists", "-o", "map.json", cwd=log_folder)
    assert "report" not in printed
    assert offered(printed) == ["sureness list-size run.sureness --calibrator map.json -o lists.parquet"]
