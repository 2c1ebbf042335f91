"""No number breaks a command: every numeric option and setting, given numbers that nobody should give."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_args
from unittest import mock

import pytest

from sureness._registry import names
from sureness.cli import _console, commands
from sureness.distillation.settings import DistillationSettings
from sureness.errors import SurenessError
from sureness.models.catalogue import model_type
from tests.cli.parameters import parameters_of
from tests.cli.runner import run

NUMBERS = ("1000000000", "10000000000000", "9" * 40, "-1", "0", "nan", "inf", "-inf", "1e30", "1e308", "1e-308")
SECONDS = 0.3
"""Jobs that go on longer are stopped at their next step: they have passed all checks and allocations."""
LIMIT = 60
"""Seconds of computation after which a job is held to run for ever; compiling on first use is included."""

TRAIN = ("train", "log2.csv", "--set", "epochs=1", "--set", "n_factors=2", "--set", "validate_every=1",
         "-o", "{out}.sureness")  # fmt: skip
DISTILL = ("distill", "log2.csv", "--teacher", "bpr:3", "--student", "bpr:2", "--teacher-set", "epochs=1",
           "--student-set", "epochs=1", "--set", "epochs=1", "-o", "{out}.sureness")  # fmt: skip
CALLS = {
    "sql": [("sql", "map.json", "--dialect", "duckdb")],
    "backtest": [("backtest", "timed.csv", "--window", "10d", "--windows", "2", "--factors", "6")],
    "fit": [("fit", "t.parquet", "-o", "{out}.json"), ("fit", "run.sureness", "-o", "{out}.json")],
    "apply": [("apply", "map.json", "run.sureness", "-o", "{out}.parquet")],
    "report": [("report", "t.parquet", "map.json", "-o", "{out}.html")],
    "list-size": [("list-size", "t.parquet", "-o", "{out}.parquet"),
                  ("list-size", "run.sureness", "-o", "{out}.parquet")],
    "allocate": [("allocate", "t.parquet", "--columns", "domain=kind", "--slots", "5", "-o", "{out}.parquet"),
                 ("allocate", "t.parquet", "--budget", "50", "-o", "{out}.parquet")],
    "train": [TRAIN],
    "distill": [DISTILL],
    "demo": [("demo", "--recommender", "svd", "--users", "50", "--items", "30", "-o", "{out}")],
    "evaluate": [("evaluate", "run.sureness")],
    "data describe": [("data", "describe", "log.csv")],
    "data simulate": [("data", "simulate", "--users", "50", "--items", "30", "-o", "{out}")],
    "reproduce": [("reproduce", "--list")],
}  # fmt: skip
"""Calls of each command that has numeric options; some numbers matter only for a table, others only for a run."""

IN_TEXTS = [
    (("evaluate", "run.sureness"), "--metric", "ndcg@{}"),
    (("fit", "t.parquet", "--method", "auto", "-o", "{out}.json"), "--set", "by=ece@{}"),
    (DISTILL, "--teacher", "bpr:{}"),
    (TRAIN, "--set", "metric=ndcg@{}"),
]
"""Options that are text with a number in it."""


class EnoughError(SurenessError):
    """The job works; what follows would only take time."""


class ForEver(BaseException):
    """The job does not end, and it does not report either."""


def is_number(hint: Any) -> bool:
    return hint in (int, float) or any(map(is_number, get_args(hint)))


def numeric_options() -> list[tuple[str, str, str]]:
    """Each command with each of its numeric options."""
    return [
        (command, each.word, each.prefix)
        for command in commands()
        if command != "serve"  # it listens until it is stopped
        for each in parameters_of(command).values()
        if each.word is not None and (is_number(each.hint) or each.parsed)
    ]


def numeric_settings(settings: dict[str, Any]) -> list[str]:
    """Names of settings whose defaults are numbers."""
    kinds = (int, float, tuple)
    return [name for name, value in settings.items() if isinstance(value, kinds) and not isinstance(value, bool)]


def model_settings() -> list[tuple[str, str]]:
    defaults = {name: {each.name: each.default for each in fields(model_type(name).settings_type())}
                for name in names("model")}  # fmt: skip
    return [(model, setting) for model, known in defaults.items() for setting in numeric_settings(known)]


def method_settings() -> list[str]:
    plain = asdict(DistillationSettings())
    own = numeric_settings(plain)
    return own + [f"{way}__{name}" for way in ("to_teacher", "to_student") for name in numeric_settings(plain[way])]


@contextmanager
def stopped_early():
    """Stop jobs that report when they have gone on for long enough, and fail those that never do."""
    end = time.monotonic() + SECONDS

    def progress(*_: object) -> None:
        if time.monotonic() > end:
            raise EnoughError("the job goes on")

    def too_long(*_: object) -> None:
        raise ForEver

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        with mock.patch.object(_console, "steps_of", return_value=progress), \
             mock.patch("sureness.numerics.checks.physical_memory", return_value=2**31):  # fmt: skip
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def try_numbers(call: tuple[str, ...], option: str, text: str, folder: Path, inputs: Path) -> None:
    """Each number leads to a result, to one sentence, or to the usage of the command; never to a traceback."""
    for number in NUMBERS:
        words = [word.format(out=folder / "out") for word in call]
        with stopped_early():
            done = run(*words, option, text.format(number), cwd=inputs)
        said = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
        assert done.returncode in (0, 1, 2), (number, done)
        assert done.returncode != 1 or (len(said) == 1 and said[0].startswith("error: ")), (number, done.stderr)
        assert "Traceback" not in done.stderr


CASES = [
    pytest.param(call, option, f"{prefix}{{}}", id=f"{command} {option} {prefix}{number}")
    for command, option, prefix in numeric_options()
    for number, call in enumerate(CALLS[command])
]


@pytest.mark.parametrize(("call", "option", "text"), CASES)
def test_options(inputs, tmp_path, call, option, text):
    try_numbers(call, option, text, tmp_path, inputs)


@pytest.mark.parametrize(
    ("call", "option", "text"), IN_TEXTS, ids=[" ".join((call[0], *text)) for call, *text in IN_TEXTS]
)
def test_numbers_within_texts(inputs, tmp_path, call, option, text):
    try_numbers(call, option, text, tmp_path, inputs)


@pytest.mark.parametrize(("model", "setting"), model_settings())
def test_settings_of_models(inputs, tmp_path, model, setting):
    try_numbers((*TRAIN, "--model", model), "--set", f"{setting}={{}}", tmp_path, inputs)


@pytest.mark.parametrize("setting", method_settings())
def test_settings_of_distillation(inputs, tmp_path, setting):
    try_numbers(DISTILL, "--set", f"{setting}={{}}", tmp_path, inputs)
