"""What users bring: logs in files; models, calibrators, policies, methods as "module:object" or "file.py:object"."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from sureness.calibration import make_calibrator
from sureness.data import recipe_names
from sureness.distillation import method_names
from sureness.errors import DataError, SettingError
from sureness.lists import ListSizePolicy
from sureness_reproduction import distillation  # noqa: F401 registers its methods

METHOD_KINDS = ("map", "policy", "function")  # what `--method` may be, see `kind_of`
_HOW = "give module:object or file.py:object"


def is_own(name: str) -> bool:
    """Whether a name is a file or an object of the user, not a name of the package.

    Examples
    --------
    >>> is_own("coat"), is_own("my_package.maps:Steep"), is_own("bpr")
    (False, True, False)
    """
    return ":" in name or (name not in recipe_names() and Path(name).is_file())


def load_own(name: str) -> Any:
    """The object behind "module:object" or "file.py:object"."""
    place, _, attribute = name.rpartition(":")
    try:
        return getattr(_module(place), attribute)
    except AttributeError:
        raise DataError(f"there is no {attribute!r} in {place}; {_HOW}") from None


@cache
def _module(place: str) -> Any:
    if place.endswith(".py") and not Path(place).is_file():
        raise DataError(f"there is no file {place}; {_HOW}")
    try:
        return _module_of_file(place) if place.endswith(".py") else import_module(place)
    except (Exception, SystemExit) as error:  # whatever the user's code raises
        raise DataError(f"cannot import {place} ({type(error).__name__}: {error}); {_HOW}") from error


def _module_of_file(path: str) -> Any:
    spec: Any = spec_from_file_location(f"sureness_own_{hashlib.sha256(path.encode()).hexdigest()[:8]}", path)
    sys.modules[spec.name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kind_of(name: str) -> str:
    """What a method is: a calibrator or another class ("map"), a policy, or a function; "" for what is none of them.

    Names of the package are calibrators, or distillation methods, which are functions here.

    Examples
    --------
    >>> kind_of("shape"), kind_of("bd"), kind_of("sureness.calibration:PlattCalibrator"), kind_of("math:floor")
    ('map', 'function', 'map', 'function')
    >>> kind_of("plat"), kind_of("math:pi")
    ('', '')
    """
    try:
        found = load_own(name) if is_own(name) else type(make_calibrator(name))
    except SettingError:
        return "function" if name in method_names() else ""
    if not isinstance(found, type):
        return "function" if callable(found) else ""
    return "policy" if issubclass(found, ListSizePolicy) else "map"


def digest_of_own(name: str) -> str:
    """A digest of the file that holds a log or an object; a cell of other content is another cell."""
    place = name.rpartition(":")[0] or name
    file = place if place.endswith(".py") or ":" not in name else getattr(_module(place), "__file__", None)
    if file is None or not Path(file).is_file():
        raise DataError(f"cannot find the file of {name}; give a log, module:object or file.py:object")
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]


def own_names(value: Any) -> list[str]:
    """Every name of the user's own among the parameters of a cell."""
    if isinstance(value, str):
        return [value] if is_own(value) else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [name for part in parts for name in own_names(part)]
