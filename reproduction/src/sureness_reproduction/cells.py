"""Cells: pieces of work that are known by what goes into them, and computed once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from sureness_reproduction.own import digest_of_own, own_names

if TYPE_CHECKING:
    from sureness_reproduction.workbench import Workbench

Tables = Mapping[str, pl.DataFrame]
"""What a cell finds: tidy tables by name."""


@dataclass(frozen=True)
class Cell:
    """One piece of work: which, and with what parameters; equal cells are the same cell."""

    work: str  # module:function
    text: str  # the parameters as canonical JSON, so that a cell can be a key

    @property
    def parameters(self) -> dict[str, Any]:
        """What the work is called with; tuples come as lists."""
        return dict(json.loads(self.text))

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]

    @property
    def label(self) -> str:
        """The cell as people read it.

        Examples
        --------
        >>> Cell("sureness_reproduction.base_models:trained", '{"data": "coat", "model": "bpr"}').label
        'trained coat bpr'
        """
        values = (value for value in self.parameters.values() if isinstance(value, str | int | float) and value != "")
        named = (str(value) for value in values if not isinstance(value, bool))
        return " ".join([self.work.split(":")[1], *named])


@dataclass(frozen=True)
class Work:
    """A function whose results are kept: it gets a `Workbench` and the parameters of a cell, and returns tables."""

    function: Callable[..., Tables]
    needs: Callable[..., Iterable[Cell]] | None = None
    version: int = 1  # raised when the function finds something else from the same parameters
    judges: bool = False  # whether it may look at test labels; what does not judge cannot need what does
    cost: float = 1.0  # about how many seconds it takes, for the time left

    @property
    def name(self) -> str:
        """Where the function is found again, also by another process."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    def cell(self, **parameters: Any) -> Cell:
        """The cell of these parameters; nothing is computed."""
        return Cell(self.name, json.dumps(parameters, sort_keys=True, allow_nan=False))

    def needed_by(self, cell: Cell) -> tuple[Cell, ...]:
        """What has to be found before a cell."""
        return () if self.needs is None else tuple(self.needs(**cell.parameters))

    def run(self, bench: Workbench, cell: Cell) -> Tables:
        """Compute a cell."""
        return self.function(bench, **cell.parameters)


def work(
    *,
    needs: Callable[..., Iterable[Cell]] | None = None,
    version: int = 1,
    judges: bool = False,
    cost: float = 1.0,
) -> Callable[[Callable[..., Tables]], Work]:
    """Declare a function as work, see `Work`.

    Examples
    --------
    >>> @work()
    ... def doubled(bench, *, number: int):
    ...     return {"found": pl.DataFrame({"value": [2 * number]})}
    >>> doubled.cell(number=3).parameters
    {'number': 3}
    """
    return lambda function: Work(function, needs, version, judges, cost)


def work_of(cell: Cell) -> Work:
    """The declared function behind a cell."""
    module, name = cell.work.split(":")
    found = getattr(import_module(module), name)
    assert isinstance(found, Work)
    return found


def in_order(cells: Iterable[Cell], finished: Callable[[Cell], bool] = lambda cell: False) -> list[Cell]:
    """The cells and all they need, each once, what is needed first; what only a finished cell needs is left out."""
    ordered: dict[Cell, None] = {}
    for cell in cells:
        _add(cell, finished, ordered)
    return list(ordered)


def _add(cell: Cell, finished: Callable[[Cell], bool], ordered: dict[Cell, None]) -> None:
    if cell in ordered:
        return
    if not finished(cell):
        for needed in work_of(cell).needed_by(cell):
            _add(needed, finished, ordered)
    ordered[cell] = None


def key_of(cell: Cell, fingerprint: Callable[[str], str]) -> str:
    """The name of a cell by its content: work and version, parameters, the data they name, and the keys of its needs.

    Parameters
    ----------
    cell : Cell
    fingerprint : callable
        From the name of a data set to what is in it.
    """
    work = work_of(cell)
    data = cell.parameters.get("data")
    parts = [
        cell.work, work.version, cell.text, fingerprint(data) if isinstance(data, str) else "",
        [key_of(needed, fingerprint) for needed in work.needed_by(cell)],
        *(digest_of_own(name) for name in own_names(cell.parameters)),
    ]  # fmt: skip
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    return f"{cell.work.split(':')[1]}-{digest}"
