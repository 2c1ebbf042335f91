"""What is in the wheels."""

from __future__ import annotations

from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"sureness": ROOT / "src", "sureness_reproduction": ROOT / "reproduction" / "src"}
RESULTS = ROOT / "reproduction" / "results"
"""What the table of claims is made of."""


def opened(wheels: Path, name: str) -> ZipFile:
    (found,) = wheels.glob(f"{name}-*.whl")
    return ZipFile(found)


@pytest.mark.parametrize("name", SOURCES)
def test_a_wheel_holds_the_package_with_its_types_and_nothing_else(wheels, name):
    held = {file for file in opened(wheels, name).namelist() if ".dist-info/" not in file}
    source = SOURCES[name]
    there = {str(file.relative_to(source)) for file in (source / name).rglob("*") if file.is_file()}
    if name == "sureness_reproduction":
        there |= {f"{name}/results/{file.name}" for file in RESULTS.iterdir()}
    assert held == {file for file in there if "__pycache__" not in file}
    assert f"{name}/py.typed" in held


def test_the_library_ships_no_experiment_and_no_published_number(wheels):
    held = opened(wheels, "sureness").namelist()
    assert not [file for file in held if "reproduc" in file or "published" in file]
    shipped = opened(wheels, "sureness_reproduction").namelist()
    assert {
        f"sureness_reproduction/{name}" for name in ("published.json", "names.toml", "calibration/studies.toml")
    } <= {*shipped}


def test_the_library_needs_no_extra(wheels):
    about = _metadata(opened(wheels, "sureness"))
    needed = {line.split(";")[0].strip() for line in about.get_all("Requires-Dist") if "extra ==" not in line}
    assert not [line for line in needed if line.startswith(("torch", "matplotlib", "jinja2"))]


def test_the_reproduction_needs_the_library_with_its_extras_and_adds_a_command(wheels):
    wheel = opened(wheels, "sureness_reproduction")
    assert "sureness[models,plots]" in _metadata(wheel).get_all("Requires-Dist")
    (points,) = [file for file in wheel.namelist() if file.endswith("entry_points.txt")]
    assert "[sureness.commands]\nreproduce = " in wheel.read(points).decode()


def _metadata(wheel: ZipFile):
    (file,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return HeaderParser().parsestr(wheel.read(file).decode())
