"""The public surface: every name loads, and importing the package stays light."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import sureness as sn


@pytest.mark.parametrize("name", sn.__all__)
def test_every_public_name_loads(name):
    assert getattr(sn, name) is not None


def test_dir_shows_the_public_names():
    assert dir(sn) == sn.__all__


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = sn.nonsense


@pytest.mark.parametrize("heavy", ["torch", "matplotlib", "pyspark", "fastapi", "jinja2", "numba", "sklearn", "polars"])
def test_importing_the_package_loads_nothing_heavy(heavy):
    code = f"import sureness, sys; sys.exit('{heavy}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_calibrating_loads_neither_torch_nor_matplotlib():
    code = (
        "import sureness as sn, sys; sn.GaussianCalibrator().fit([0., 1., 2., 3.], [0, 1, 0, 1]);"
        "sys.exit(any(m in sys.modules for m in ('torch', 'matplotlib', 'jinja2', 'sklearn', 'scipy.stats')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_torch_is_said_with_the_remedy():
    code = (
        "import sys; sys.modules['torch'] = None\nimport sureness as sn\n"
        "try:\n    sn.BPR().fit(None)\nexcept sn.errors.MissingExtraError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "pip install 'sureness[models]'" in told


def test_about_forty_names_are_at_the_top():
    assert len(sn.__all__) <= 48


@pytest.mark.parametrize("package", [m.name for m in pkgutil.iter_modules(sn.__path__) if m.ispkg])
def test_packages_for_users_are_attributes_of_the_top(package):
    """In a fresh process: here, everything that was ever imported is an attribute."""
    inside = ("cli", "expressions", "jobs", "numerics", "service", "spark", "tables", "text")
    code = f"import sureness as sn, sys; sys.exit(hasattr(sn, {package!r}) == {package in inside})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_public_class_name_is_used_twice():
    texts = [file.read_text(encoding="utf-8") for folder in sn.__path__ for file in Path(folder).rglob("*.py")]
    names = [name for text in texts for name in re.findall(r"^class ([A-Z]\w*)", text, flags=re.MULTILINE)]
    assert len(names) > 100
    assert not {name for name, times in Counter(names).items() if times > 1}


def test_errors_are_what_people_catch():
    assert issubclass(sn.errors.DataError, ValueError)
    assert issubclass(sn.errors.FileError, OSError)
    assert issubclass(sn.errors.MissingExtraError, ImportError)
    assert issubclass(sn.errors.NoMinimumError, sn.errors.DataError)


def test_every_error_has_a_code_of_its_own():
    every = [value for value in vars(sn.errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    codes = [error.code for error in every if issubclass(error, sn.errors.SurenessError)]
    assert len(codes) == len(set(codes)) >= 15
    assert all(f"{code} " in sn.errors.__doc__ for code in codes)


@pytest.mark.parametrize("package", [m.name for m in pkgutil.walk_packages(sn.__path__, "sureness.") if m.ispkg])
def test_no_public_name_is_that_of_a_module_beside_it(package):
    """Once such a module is imported, the package's attribute is the module, and the name means something else."""
    found = importlib.import_module(package)
    assert not set(getattr(found, "__all__", ())) & {module.name for module in pkgutil.iter_modules(found.__path__)}
