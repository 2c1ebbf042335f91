"""What a type checker of users sees: the README's examples pass in strict mode, a slip does not.

`make check` runs these tests, because they start mypy.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_documents import blocks

ROOT = Path(__file__).parents[2]
STRICT = (
    "--strict", "--allow-redefinition-new", "--local-partial-types",  # the README reuses names
    "--disable-error-code", "import-untyped",  # implicit has no types
)  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def checked(code: str, folder: Path, cache: Path) -> str:
    file = folder / "example.py"
    file.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", *STRICT, "--cache-dir", str(cache), str(file)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def test_the_examples_of_the_readme_pass(tmp_path, cache):
    examples = "\n".join(block.text for block in blocks(ROOT / "README.md") if block.language == "python")
    assert checked(examples, tmp_path, cache).startswith("Success")


SLIPS = {
    "sn.BPR(n_factorz=3)": "call-arg",
    "sn.models.LightGCN(layers='two')": "arg-type",
    "sn.GaussianCalibrator(monoton=True)": "call-arg",
    "sn.BidirectionalDistillation(sn.BPR(), sn.BPR(), warmup=10)": "call-arg",
    "sn.calibration.PerUserPlatt(tops=3)": "call-arg",
    "sn.BPRR()": "attr-defined",
    "sn.load('map.json', sn.calibration.Calibrator).probabilities([0.5])": "attr-defined",
}


def test_every_slip_is_found(tmp_path, cache):
    found = checked("import sureness as sn\n" + "\n".join(SLIPS), tmp_path, cache)
    wrong = {int(line.split(":")[1]): line for line in found.splitlines() if ": error: " in line}
    missed = [
        code for line, (code, kind) in enumerate(SLIPS.items(), start=2) if f"[{kind}]" not in wrong.get(line, "")
    ]
    assert not missed, found
