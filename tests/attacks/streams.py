"""Close, fill and cut the streams of every command: what is done ends well, what cannot be printed is refused."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.attacks.commands import CASES, content, digests, make_inputs
from tests.attacks.outcome import Outcome

FAILURE = "a traceback, an output or a success that is missing, or a loss without a word"

SILENT = ("2>&-", "2>/dev/full", "0<&- 2>&-", "2>&- >&-", ">&-", ">/dev/full")
"""What a command that writes files must not mind; a full standard output may end it with a sentence, files whole."""

UNPRINTABLE = (">&-", ">/dev/full", "0<&- >&-", ">&- 2>&-", ">/dev/full 2>/dev/full")
"""Where a command that prints its result cannot; text for people may go into a closed stream."""

PRINTERS = {
    "inspect": ("inspect", "map.json"),
    "inspect --json": ("inspect", "run.sureness", "--json"),
    "sql": ("sql", "map.json", "--dialect", "duckdb"),
    "evaluate": ("evaluate", "run.sureness"),
    "evaluate --json": ("evaluate", "run.sureness", "--json"),
    "fit --json": ("fit", "pairs.parquet", "-o", "out.json", "--method", "platt", "--json"),
    "list-size --json": ("list-size", "lists.parquet", "-o", "out.parquet", "--json"),
    "data describe": ("data", "describe", "log.csv"),
    "data list": ("data", "list"),
    "--help": ("--help",),
    "fit --help": ("fit", "--help"),
    "--version": ("--version",),
}
"""Commands whose result is what they print."""

MACHINES = re.compile("--json|--version|^sql ")
"""What programs read: never lost without a word."""


def attack_streams(folder: Path, names: Iterable[str] | None = None) -> Outcome:
    """Every command with every stream closed, full, or read by nobody."""
    inputs = folder / "inputs"
    make_inputs(inputs)
    writers = {name: case for name, case in CASES.items() if case.served is None}
    wanted = {*writers, *PRINTERS} if names is None else set(names)
    tried, failures = 0, []
    for name in (name for name in writers if name in wanted):
        command, outputs = writers[name].command, writers[name].outputs
        usual = _Run(inputs, command)
        expected = {each: content(usual.folder / each) for each in outputs}
        for redirected in SILENT:
            tried += 1
            failures += _written(_Run(inputs, command, redirected, outputs), usual.code, expected)
        usual.forget()
    for name in (name for name in PRINTERS if name in wanted):
        usual = _Run(inputs, PRINTERS[name])
        for redirected in UNPRINTABLE:
            tried += 1
            failures += _refused(_Run(inputs, PRINTERS[name], redirected))
        for redirected in ("2>&-", "2>/dev/full", "0<&-", "| head -c 1", "| true"):
            tried += 1
            failures += _printed(_Run(inputs, PRINTERS[name], redirected), usual)
        usual.forget()
    return Outcome.of("closed, full and cut streams of every command", FAILURE, tried, failures)


class _Run:
    """A command with redirected streams in a fresh folder."""

    def __init__(self, inputs: Path, words: tuple[str, ...], redirected: str = "", outputs: Iterable[str] = ()) -> None:
        self.folder = Path(shutil.copytree(inputs, inputs.with_name("place"), dirs_exist_ok=True))
        if not redirected:
            self.folder = self.folder.rename(inputs.with_name("usual"))
        self.line = f"{shlex.join(words)} {redirected}".strip()
        before = {name: digest for name, digest in digests(self.folder).items() if name not in outputs}
        line = f"{shlex.quote(sys.executable)} -m sureness {self.line}"
        done = subprocess.run(["sh", "-c", line], cwd=self.folder, capture_output=True, text=True, check=False)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        after = digests(self.folder)
        self.changed = [name for name, digest in before.items() if after.get(name) != digest]

    def found(self, problem: str | None) -> list[str]:
        """The failures of this run; its folder is removed."""
        for word in ("Traceback", "Exception ignored", "BrokenPipe"):
            problem = f"said {word}" if word in self.out + self.err else problem
        problem = f"changed {self.changed[0]}" if self.changed else problem
        self.forget()
        return [f"{self.line}: {problem}; code {self.code}, {self.err[-200:]!r}"] if problem else []

    def forget(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self.folder)


def _written(run: _Run, code: int, expected: dict[str, str | None]) -> list[str]:
    wrong = [name for name, held in expected.items() if content(run.folder / name) != held]
    ended = run.code == code or (">/dev/full" in run.line and "error: " in run.err and "standard output" in run.err)
    return run.found(f"wrote {wrong[0]} otherwise" if wrong else None if ended else "ended otherwise")


def _refused(run: _Run) -> list[str]:
    lines = [line for line in run.err.splitlines() if line.startswith("error: ")]
    told = run.code == 1 and (len(lines) == 1 or "2>" in run.line)
    unwanted = ">&-" in run.line and run.code == 0 and not MACHINES.search(run.line)
    return run.found(None if told or unwanted else "lost its result without a word")


def _printed(run: _Run, usual: _Run) -> list[str]:
    cut = "|" in run.line
    same = (run.code, run.out) == (usual.code, usual.out) or (cut and usual.out.startswith(run.out))
    return run.found(None if same else "printed something else")
