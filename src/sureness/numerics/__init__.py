"""Pure functions on arrays: no tables, no torch, no files.

The compiled loops of `_kernels` are loaded when one is first called: applying a map does not need them, and loading
the compiler takes longer than many an application.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "_kernels":
        return import_module("sureness.numerics._kernels")
    raise AttributeError(f"module 'sureness.numerics' has no attribute {name!r}")
