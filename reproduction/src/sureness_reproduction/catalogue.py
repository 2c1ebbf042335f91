"""All studies by name and number, in the order of the dissertation."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from sureness.errors import DataError
from sureness_reproduction.study import Study

_CHAPTERS = ("calibration", "distillation", "list_size")
"""Packages with a tuple STUDIES."""


def studies() -> list[Study]:
    """Every study, in the order of the dissertation."""
    found: list[Study] = []
    for chapter in _CHAPTERS:
        found += import_module(f"sureness_reproduction.{chapter}").STUDIES
    return found


def find_studies(names: Sequence[str]) -> list[Study]:
    """Studies by name, by number ("table-2.3"), by the numbers of a chapter ("table-2"), or all.

    Examples
    --------
    >>> [each.name for each in find_studies(["table-2.3", "nll"])]
    ['ece', 'nll']
    """
    every = studies()
    found = [each for name in names for each in every if _is(each, name)]
    for name in names:
        if not any(_is(each, name) for each in every):
            known = ", ".join(each.name for each in every)
            raise DataError(f"there is no study {name!r}; there are {known}, numbers such as table-2.3, and all")
    return list({each.name: each for each in found}.values())


def _is(study: Study, name: str) -> bool:
    return name in ("all", study.name) or (study.number != "" and f"{study.number}.".startswith(f"{name}."))
