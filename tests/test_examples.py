"""Every example runs, from the outside, as a reader would run it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, folder, *arguments):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return done.stdout


def test_every_example_is_run_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"coat.py", "implicit_model.py"}


def test_a_model_of_implicit_is_calibrated_in_five_lines(tmp_path):
    pytest.importorskip("implicit", reason="implicit is not installed")
    printed = run("implicit_model.py", tmp_path)
    stretched, calibrated = (float(error) for error in re.findall(r": ECE ([0-9.]+)", printed))
    assert calibrated < 0.01 < 0.1 < stretched
    text = (EXAMPLES / "implicit_model.py").read_text(encoding="utf-8")
    lines = re.search(r"# the five lines\n(.*?)\n\n", text, flags=re.DOTALL).group(1).splitlines()
    assert len(lines) == 5


def test_the_question_of_chapter_two_on_real_data(data_folder, tmp_path):
    printed = run("coat.py", tmp_path, str(data_folder), "--seeds", "1")
    assert "ECE on randomly drawn coats, mean over 1 seeds" in printed
