"""All experiments by name, in the order of the dissertation."""

from __future__ import annotations

from sureness.errors import DataError
from sureness_reproduction.experiment import Experiment

_CHAPTERS = ("calibration", "distillation", "list_size", "claims")
"""Modules with a tuple EXPERIMENTS."""


def experiments() -> dict[str, Experiment]:
    """Every experiment, in the order of the dissertation."""
    from importlib import import_module

    found: dict[str, Experiment] = {}
    for chapter in _CHAPTERS:
        found |= {each.name: each for each in import_module(f"sureness_reproduction.{chapter}").EXPERIMENTS}
    return found


def experiment(name: str) -> Experiment:
    """An experiment by its name."""
    known = experiments()
    if name not in known:
        raise DataError(f"there is no experiment {name!r}; there are {', '.join(known)}")
    return known[name]
