"""The library as `pip install sureness` gives it, without extras; `make test-base` builds what these tests use.

The tests themselves run in the development environment and start commands of the other one, which holds nothing but
the wheel and its dependencies.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "build"


@dataclass(frozen=True)
class Environment:
    """An environment without extras, and the folder that its commands run in."""

    cwd: Path

    def run(self, *words) -> subprocess.CompletedProcess[str]:
        """Run `sureness` with these words."""
        return self._started("sureness", *words)

    def succeed(self, *words) -> str:
        """What a command prints that must not fail."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def result(self, *words):
        """What a command prints for machines."""
        return json.loads(self.succeed(*words, "--json"))

    def python(self, code: str) -> str:
        """What a piece of Python prints."""
        done = self._started("python", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _started(self, program: str, *words) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        return subprocess.run(
            [BUILD / "base-venv" / "bin" / program, *map(str, words)], cwd=self.cwd, env={**kept, "COLUMNS": "100"},
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip


@pytest.fixture(scope="session")
def wheels() -> Path:
    return BUILD / "wheels"


@pytest.fixture(scope="session")
def saved() -> Path:
    return BUILD / "base-saved"


@pytest.fixture
def base(tmp_path) -> Environment:
    return Environment(tmp_path)


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> Path:
    """A simulated world, a calibrator and a table with probabilities, all written without extras."""
    folder = tmp_path_factory.mktemp("world")
    here = Environment(folder)
    here.succeed("data", "simulate", "--users", 200, "--items", 60, "-o", "world")
    here.succeed("fit", "world/candidates.parquet", "--method", "platt", "-o", "platt.json")
    here.succeed("apply", "platt.json", "world/candidates.parquet", "-o", "probabilities.parquet")
    return folder
