"""What a study is: a declared grid, a measure of one cell, published numbers, claims, and the layout of its table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from sureness_reproduction.cells import Cell, Work
from sureness_reproduction.own import METHOD_KINDS, is_own, kind_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sureness_reproduction.results import Results

Scale = Literal["quick", "full"]
Axis = Sequence[Any] | Mapping[Scale, Sequence[Any]]
"""The values of an axis, the same for both scales or for each its own."""

Choice = Mapping[str, Any]
"""Rows of a study by their keys; a list of values allows each of them."""


@dataclass(frozen=True)
class Asked:
    """How much is run: the scale, and what replaces or joins the declared axes."""

    scale: Scale = "quick"
    seeds: int | None = None  # instead of the declared number
    data: tuple[str, ...] = ()  # names or logs of your own, instead of the declared ones
    model: tuple[str, ...] = ()  # names or models of your own, instead of the declared ones
    method: tuple[str, ...] = ()  # declared methods, instead of all of them, or others beside the declared ones


@dataclass(frozen=True)
class Claim:
    """A contrast and a sign: what the dissertation says is above or below what."""

    text: str
    metric: str
    first: Choice  # of several rows, the one with the best mean
    second: Choice | Sequence[Choice] | float  # the same, also of several choices; or a number
    sign: Literal["+", "-"] = "+"  # the first is above, or below, the second
    per: tuple[str, ...] = ("data", "model")  # tested for each of these apart
    claimed: bool = True  # whether the dissertation says so; otherwise a comparison of ours


@dataclass(frozen=True)
class Study:
    """A table or figure of the dissertation, or a study beside it."""

    name: str
    title: str
    grid: Mapping[str, Axis]  # one cell for each combination; "data" and "seed" are always there. An axis "methods"
    # holds groups of methods that one cell measures together
    measure: Work  # called with one value of each axis and with `settings`. It returns a table "numbers" (further keys,
    # metric, value), or "samples" (the same with a unit, such as a user) whose means are the numbers, or both
    settings: Callable[[Scale, Mapping[str, Any]], Mapping[str, Any] | None] = lambda scale, point: {}
    # from a scale and a point of the grid to further parameters; None leaves the point out
    parameters: Mapping[str, Any] = field(default_factory=dict)  # further ones that are the same at every point
    number: str = ""  # in the dissertation, such as "table-2.3"; several after commas
    published: str = ""  # the published table whose rows have the same keys
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)  # where published numbers stand
    claims: Sequence[Claim] = ()
    rows: Sequence[str] = ("method",)  # keys that are the rows of the table,
    columns: Sequence[str] = ("metric",)  # and its columns; the others make a table each
    metrics: Sequence[str] = ()  # what is shown of what is measured; by default everything
    where: Choice = field(default_factory=dict)  # what is shown, by key; by default everything
    average: Sequence[str] = ()  # keys over which the shown numbers are means
    samples: Literal["users", "draws"] = "users"  # units of the paired tests: users, or draws of users
    numbers: str = "numbers"  # the table of the cells that is shown
    digits: int = 4
    note: str = ""  # how to read the table
    draw: Callable[[Results], Axes | Figure] | None = None
    takes: Sequence[str] = METHOD_KINDS  # what `--method` may add
    uniform_test: bool = False  # whether it needs a test in which all pairs were shown with the same chance

    @property
    def tables_and_figures(self) -> list[str]:
        """What the dissertation calls it: "table-3.4" and "figure-3.6"."""
        return self.number.split(", ") if self.number else []

    def axes(self, asked: Asked) -> dict[str, Sequence[Any]]:
        """The values of every axis, as declared and as asked for."""
        axes = {name: values_of(axis, asked.scale) for name, axis in self.grid.items()}
        if asked.seeds is not None and len(axes["seed"]) > 1:  # what is declared for one seed shows single cases
            axes["seed"] = range(asked.seeds)
        for name, wanted in (("data", asked.data), ("model", asked.model)):
            if wanted and name in axes:
                axes[name] = [each for each in wanted if each in self.known(name) or is_own(each)]
        if "methods" in axes:
            declared = {name for group in axes["methods"] for name in group}
            chosen = [group for group in axes["methods"] if set(group) & set(asked.method)]
            added = [[each] for each in asked.method if each not in declared and kind_of(each) in self.takes]
            axes["methods"] = [*(chosen or axes["methods"]), *added]
        return axes

    def known(self, axis: str) -> list[Any]:
        """The declared values of an axis at any scale."""
        return list(dict.fromkeys([*values_of(self.grid[axis], "quick"), *values_of(self.grid[axis], "full")]))

    def points(self, asked: Asked) -> Iterator[tuple[dict[str, Any], Cell]]:
        """Every point of the grid with its cell."""
        axes = self.axes(asked)
        for values in product(*axes.values()):
            point = dict(zip(axes, values, strict=True))
            if (further := self.settings(asked.scale, {**self.parameters, **point})) is not None:
                yield point, self.measure.cell(**point, **self.parameters, **further)


def values_of(axis: Axis, scale: Scale) -> Sequence[Any]:
    """The values of an axis at a scale."""
    return axis[scale] if isinstance(axis, Mapping) else axis
