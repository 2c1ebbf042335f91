"""What users bring: logs in files; models, calibrators, policies, methods as "module:object" or "file.py:object"."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from sureness.calibration import Calibrator, make_calibrator
from sureness.data import RECIPES
from sureness.errors import DataError, SettingError
from sureness.list_size import ListSizePolicy

_HOW = "give module:object or file.py:object"


def is_own(name: str) -> bool:
    """Whether a name is a file or an object of the user, not a name of the package.

    Examples
    --------
    >>> is_own("coat"), is_own("my_package.maps:Steep"), is_own("bpr")
    (False, True, False)
    """
    return ":" in name or (name not in RECIPES and Path(name).is_file())


def load_own(name: str) -> Any:
    """The object behind "module:object" or "file.py:object"."""
    place, _, attribute = name.rpartition(":")
    try:
        return getattr(_module(place), attribute)
    except AttributeError:
        raise DataError(f"there is no {attribute!r} in {place}; {_HOW}") from None


@cache
def _module(place: str) -> Any:
    if not place.endswith(".py"):
        try:
            return import_module(place)
        except ModuleNotFoundError as error:
            raise DataError(f"cannot import {place} ({error}); {_HOW}") from error
    spec = spec_from_file_location(f"sureness_own_{hashlib.sha256(place.encode()).hexdigest()[:8]}", place)
    if spec is None or spec.loader is None or not Path(place).is_file():
        raise DataError(f"there is no file {place}; {_HOW}")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def kind_of(name: str) -> str:
    """What a method is: a calibrator or another class ("map"), a policy, or a function; names of the package as well.

    Examples
    --------
    >>> kind_of("shape"), kind_of("bd"), kind_of("sureness.calibration:PlattCalibrator"), kind_of("math:floor")
    ('map', 'function', 'map', 'function')
    """
    if is_own(name):
        found = load_own(name)
        if not isinstance(found, type):
            return "function"
        return "policy" if issubclass(found, ListSizePolicy) else "map"
    try:
        return "map" if isinstance(make_calibrator(name), Calibrator) else "function"
    except SettingError:
        return "function"


def digest_of_own(name: str) -> str:
    """A digest of the file that holds a log or an object; a cell of other content is another cell."""
    place = name.rpartition(":")[0] if ":" in name else name
    if ":" in name and not place.endswith(".py"):
        spec = find_spec(place)
        place = (spec.origin if spec is not None else None) or ""
    if not Path(place).is_file():
        raise DataError(f"cannot find the file of {name}; give a log, module:object or file.py:object")
    return hashlib.sha256(Path(place).read_bytes()).hexdigest()[:16]


def own_names(value: Any) -> Iterator[str]:
    """Every name of the user's own among the parameters of a cell."""
    if isinstance(value, str):
        if is_own(value):
            yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from own_names(each)
