"""Packages whose names are loaded when they are first used, so that importing one stays light."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], packages: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package whose names live in its modules.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    homes : mapping of module, relative to the package, to the public names it holds
        `make stubs` writes the same table as an `__init__.pyi`, which type checkers read.
    packages : sequence of str
        Packages inside it that are its attributes as well, without being among its public names.
    """
    module_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def get(name: str) -> object:
        if name in packages:
            return import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(module_of)
    return get, lambda: names, names
