"""Options and results of jobs: what the annotation of an option says, and results in plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import PurePath
from typing import Any, Protocol

import numpy as np
import polars as pl

from sureness._registry import Family, names
from sureness._settings import written
from sureness.saving.packed import JSON
from sureness.tables.frames import HeldTable


@dataclass(frozen=True)
class OneOf:
    """The value is a registered name of these families, or one of the other words.

    Examples
    --------
    >>> OneOf(("utility",), others=("none",)).names()
    ('none', 'ndcg', 'pdcg', 'f1', 'tp', 'dcg')
    """

    families: tuple[Family, ...]
    others: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """All choices, also those that other packages have registered."""
        return (*self.others, *(name for family in self.families for name in names(family)))


@dataclass(frozen=True)
class Usually:
    """The value that None stands for."""

    value: Any


class Result(Protocol):
    """What every job returns: a frozen dataclass that can be written as JSON."""

    def plain(self) -> dict[str, JSON]:
        """One JSON object."""
        ...


def plain(value: Any) -> Any:
    """A value as JSON has it: no NaN, no infinity, tables as lists of rows.

    Examples
    --------
    >>> plain({"mean": np.float64(0.5), "p": float("nan"), "sizes": (1, 2)})
    {'mean': 0.5, 'p': None, 'sizes': [1, 2]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, PurePath | HeldTable):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, pl.DataFrame):
        return [plain(row) for row in value.to_dicts()]
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return written(value)
