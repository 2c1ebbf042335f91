"""Every example runs from the outside, as a reader would run it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def started(name, folder, *arguments):
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def run(name, folder, *arguments, warned: str = ""):
    done = started(name, folder, *arguments)
    assert done.returncode == 0, done.stderr
    assert all(warned and warned in line for line in done.stderr.splitlines() if "Warning" in line), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def coat():
    """examples/coat.py as a module."""
    spec = importlib.util.spec_from_file_location("coat_example", EXAMPLES / "coat.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_every_example_is_run_here():
    elsewhere = {"spark_als.py"}  # tests/spark
    here = {"coat.py", "groups.py", "implicit_model.py", "language_model.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == here | elsewhere


def test_a_model_of_implicit_is_calibrated_in_five_lines(tmp_path):
    pytest.importorskip("implicit", reason="implicit is not installed")
    printed = run("implicit_model.py", tmp_path)
    stretched, calibrated = (float(error) for error in re.findall(r": ECE ([0-9.]+)", printed))
    assert calibrated < 0.01 < 0.1 < stretched
    text = (EXAMPLES / "implicit_model.py").read_text(encoding="utf-8")
    lines = re.search(r"# the five lines\n(.*?)\n\n", text, flags=re.DOTALL).group(1).splitlines()
    assert len(lines) == 5


def test_maps_that_know_the_groups_put_most_of_them_right(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SURENESS_DATA", str(data_folder))
    printed = run("groups.py", tmp_path, "ml-100k", "--figure", "groups.png", warned="rank the wrong way")
    before, _, after = (int(number) for number in re.findall(r": (\d+) of \d+ groups clearly off", printed))
    assert after < before
    assert (tmp_path / "groups.png").stat().st_size > 10_000


def test_scores_of_a_language_model_are_calibrated(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SURENESS_DATA", str(data_folder))
    printed = run("language_model.py", tmp_path, "ml-100k", "--epochs", "1", warned="rank the wrong way")
    for part in printed.split("ECE of the")[1:]:
        stretched, calibrated = (float(re.search(rf"{name} +([0-9.]+)", part).group(1)) for name in ("min-max", "all"))
        assert calibrated < stretched / 3


def test_coat_prints_a_table_of_every_metric(data_folder, tmp_path):
    printed = run("coat.py", tmp_path, str(data_folder), "--seeds", "1")
    assert "ECE on randomly drawn coats, mean over 1 seeds" in printed
    assert "NLL on randomly drawn coats, mean over 1 seeds" in printed


def test_coat_names_a_wrong_folder(tmp_path):
    done = started("coat.py", tmp_path, str(tmp_path))
    assert done.returncode == 2
    assert str(tmp_path) in done.stderr
    assert "Traceback" not in done.stderr


def test_coat_is_split_as_published(coat, data_folder):
    found = coat.read_coat(data_folder / "coat")
    assert found.train.shape == (290, 300)
    assert found.train.nnz + found.held_out.nnz == 1_905  # ratings above 3 among 6,960 chosen ones
    assert 4_640 - 366 <= found.uniform.height <= 4_640
    assert 0 < found.propensity.min() < found.propensity.max() <= 1


def test_propensities_and_an_anchor_each_help_on_coat(coat, data_folder):
    results = coat.compare(coat.read_coat(data_folder / "coat"), ("gaussian", "gamma"), n_factors=4)
    for method in ("gaussian", "gamma"):
        rows = {row["knowledge"]: row for row in results.filter(method=method).iter_rows(named=True)}
        assert rows["given propensities"]["high"] < rows["naive"]["low"]
        assert rows["popularity + base rate"]["high"] < rows["naive"]["low"]
        assert rows["popularity + anchor"]["ece"] < 0.05 < 0.1 < rows["naive"]["ece"]
