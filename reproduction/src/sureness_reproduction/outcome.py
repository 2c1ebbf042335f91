"""What an experiment comes to: tables, figures, sentences, and verdicts on the claims of the dissertation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class ResultTable:
    """A table to be read, and the same in long form for machines."""

    name: str  # of its files
    title: str
    shown: pl.DataFrame  # what people see; text and numbers
    caption: str = ""
    tidy: pl.DataFrame | None = None  # one number a row; by default what is shown


@dataclass(frozen=True, eq=False)
class ResultFigure:
    """A figure of an experiment."""

    name: str
    caption: str
    draw: Callable[[], Axes | Figure]


@dataclass(frozen=True)
class Verdict:
    """Whether a claim of the dissertation holds here."""

    fact: str  # as `published("claims")` has it
    found: str  # our number, in words
    holds: bool | None  # None if it cannot be told from what was run
    scope: str = ""  # of the claim, where the same fact is claimed of several


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an experiment comes to."""

    tables: Sequence[ResultTable] = ()
    figures: Sequence[ResultFigure] = ()
    findings: Sequence[str] = ()  # sentences: what agrees with the dissertation, what does not
    notes: Sequence[str] = ()  # how it was measured; what was left out and why
    verdicts: Sequence[Verdict] = ()  # on the claims of the running text
