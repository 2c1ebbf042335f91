"""Names and the classes behind them: every entry resolves, others can be added, nothing is overwritten."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

import sureness as sn
from sureness import _registry
from sureness._registry import find, name_of, names

FAMILIES = list(_registry._TABLE)
ENTRIES = [(family, name) for family in FAMILIES for name in names(family)]


@pytest.fixture
def table(monkeypatch):
    """A copy of the table, so that what a test registers goes away with it."""
    monkeypatch.setattr(_registry, "_TABLE", {family: dict(own) for family, own in _registry._TABLE.items()})
    monkeypatch.setattr(_registry, "_from_entry_points", lambda family: {})


class Mine(sn.PlattCalibrator):
    pass


@pytest.mark.parametrize(("family", "name"), ENTRIES, ids=["/".join(entry) for entry in ENTRIES])
def test_every_entry_is_found_and_knows_its_name(family, name):
    found = find(family, name)
    assert found is not None
    if isinstance(found, type):
        assert name_of(family, found) == name


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(sn.errors.SettingError, match="platt"):
        find("calibrator", "plat")


def test_a_class_of_ones_own_is_made_listed_saved_and_opened(table, tmp_path):
    with pytest.raises(sn.errors.DataError, match="register"):
        Mine().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]).save(tmp_path / "mine.json")
    sn.register("calibrator", "mine", Mine)
    assert names("calibrator")[-1] == "mine"
    assert isinstance(sn.calibration.make_calibrator("mine"), Mine)
    Mine().fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]).save(tmp_path / "mine.json")
    assert isinstance(sn.load(tmp_path / "mine.json"), Mine)


def test_a_name_that_is_taken_is_refused(table):
    with pytest.raises(sn.errors.SettingError, match="platt"):
        sn.register("calibrator", "platt", Mine)
    sn.register("calibrator", "mine", Mine)
    sn.register("calibrator", "mine", Mine)  # the same again changes nothing


def test_another_package_adds_by_an_entry_point(monkeypatch):
    point = EntryPoint("theirs", "tests.test_registry:Mine", "sureness.calibrator")
    monkeypatch.setattr(_registry, "entry_points", lambda group: [point] if group == point.group else [])
    _registry._from_entry_points.cache_clear()
    try:
        assert find("calibrator", "theirs").__name__ == "Mine"
        assert "theirs" in names("calibrator")
    finally:
        _registry._from_entry_points.cache_clear()


def test_listing_names_imports_nothing_heavy():
    code = (
        "import sys; from sureness._registry import names; names('model'), names('calibrator');"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'torch', 'polars', 'numba')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
