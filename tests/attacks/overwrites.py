"""Name the inputs of every command as its outputs: refused before any work, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from tests.attacks.outcome import Outcome

ROOT = Path(__file__).parents[2]
FAILURE = "not refused, or an input has changed"


def overwrite_all() -> Outcome:
    """Every path option of every command with the paths of all others: the tests of tests/cli/test_paths.py."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = [sys.executable, "-m", "pytest", "tests/cli/test_paths.py", "-q", "-n", "0", f"--junitxml={report}"]
        subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
        cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed = [
        case.attrib["name"] for case in cases if case.find("failure") is not None or case.find("error") is not None
    ]
    return Outcome.of("outputs that are inputs, in every command", FAILURE, len(cases), failed)
