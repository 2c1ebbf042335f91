"""Pure functions on arrays: no tables, no torch, no files.

The compiled loops of the `_*kernels` are loaded when one is first called: applying a map does not need them, and
loading the compiler takes longer than many an application.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("_kernels", "_counting_kernels", "_logistic_kernels", "_rank_kernels"):
        return import_module(f"sureness.numerics.{name}")
    raise AttributeError(f"module 'sureness.numerics' has no attribute {name!r}")
