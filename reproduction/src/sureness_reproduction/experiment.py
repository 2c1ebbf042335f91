"""What an experiment is: a grid of cells for each scale, and how tables and figures come of what they found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from sureness_reproduction.cells import Cell
from sureness_reproduction.outcome import Outcome
from sureness_reproduction.store import CellStore
from sureness_reproduction.workbench import Finished

Scale = Literal["quick", "full"]


@dataclass(frozen=True)
class Plan:
    """How much is run, and on what."""

    scale: Scale
    seeds: tuple[int, ...]
    data: tuple[str, ...]  # the data sets of the experiment that are there
    absent: tuple[str, ...] = ()  # and those that are not; the others were not asked for
    own_seeds: bool = True  # whether their number is the experiment's own


Finder = Callable[[Cell], Finished]


@dataclass(frozen=True)
class Experiment:
    """A named table or figure of the dissertation.

    Parameters
    ----------
    name : str
    chapter : int
    title : str
    shows : str
        Which table or figure of the dissertation it is.
    data : mapping of scale to names
        The data sets of each scale; those that are not there are named and left out.
    cells : callable
        The grid: from a plan to the cells whose results are wanted.
    outcome : callable
        From a plan and what was found to tables and figures; it computes nothing that takes long.
    seeds : mapping of scale to number
    """

    name: str
    chapter: int
    title: str
    shows: str
    data: Mapping[Scale, Sequence[str]]
    cells: Callable[[Plan], Sequence[Cell]]
    outcome: Callable[[Plan, Finder], Outcome]
    seeds: Mapping[Scale, int] = field(default_factory=lambda: {"quick": 2, "full": 5})
    claims: bool = False  # whether its outcome has verdicts on claims of the dissertation

    def plan(self, scale: Scale, store: CellStore, seeds: int | None = None, only: Sequence[str] = ()) -> Plan:
        """What can be run with the data that are there; `only` names the data sets that are wanted."""
        wanted = tuple(name for name in self.data[scale] if not only or name in only)
        here = tuple(name for name in wanted if store.shelf.has(name))
        absent = tuple(name for name in wanted if name not in here)
        return Plan(scale, tuple(range(seeds or self.seeds[scale])), here, absent, own_seeds=seeds is None)

    def part_of(self, plan: Plan) -> Plan:
        """The plan of a larger experiment as this one has it, with its own seeds unless others are wanted."""
        seeds = tuple(range(self.seeds[plan.scale])) if plan.own_seeds else plan.seeds
        here, absent = (tuple(name for name in self.data[plan.scale] if name in names)
                        for names in (plan.data, plan.absent))  # fmt: skip
        return replace(plan, seeds=seeds, data=here, absent=absent)
