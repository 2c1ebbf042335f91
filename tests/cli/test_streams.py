"""Closed and full streams: a job that is done ends well, and one whose result cannot be printed says so."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

SURENESS = f"{shlex.quote(sys.executable)} -m sureness"
FIT = f"{SURENESS} fit {{t}} --method platt -o out.json"
SQL = f"{SURENESS} sql {{map}} --dialect duckdb"
INSPECT = f"{SURENESS} inspect {{map}} --json"


@pytest.fixture
def shell(inputs, tmp_path):
    def run(line: str) -> subprocess.CompletedProcess[str]:
        line = line.format(t=inputs / "t.parquet", map=inputs / "map.json")
        return subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False)

    return run


@pytest.mark.parametrize("redirected", ["2>&-", "2>&- >&-", "2>/dev/full", "0<&- 2>&-"])
def test_nobody_reads_what_a_job_reports(shell, tmp_path, redirected):
    """Unordered rows give a note, which has nowhere to go."""
    done = shell(f"{SURENESS} list-size {{t}} -o lists.csv {redirected}")
    assert done.returncode == 0, done
    assert (tmp_path / "lists.csv").read_text().startswith("user_id,")  # nothing else went into the file
    assert "Traceback" not in (tmp_path / "lists.csv").read_text()


@pytest.mark.parametrize("command", [SQL, INSPECT])
def test_a_result_that_cannot_be_printed_is_refused(shell, command):
    for redirected in (">&-", ">/dev/full"):
        done = shell(f"{command} {redirected}")
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
    assert shell(f"{command} >&- 2>&-").returncode == 1


def test_numbers_larger_than_a_machine_word_are_refused(shell):
    for option in ("--max-size", "--min-size"):
        done = shell(f"{SURENESS} allocate {{t}} --budget 50 {option} {'9' * 40} -o sizes.csv")
        assert (done.returncode, done.stderr.startswith("error: ")) == (1, True), done
