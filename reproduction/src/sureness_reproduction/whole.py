"""Run experiments from their grids to their pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sureness import Progress, silent
from sureness.errors import DataError, SurenessError
from sureness_reproduction.cells import Cell
from sureness_reproduction.experiment import Experiment, Plan, Scale
from sureness_reproduction.running import CellError, run_cells
from sureness_reproduction.store import CellStore
from sureness_reproduction.writing import Written, write_index, write_outcome


def reproduce(
    experiments: Sequence[Experiment],
    store: CellStore,
    folder: str | os.PathLike[str],
    *,
    scale: Scale = "quick",
    seeds: int | None = None,
    only: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress = silent,
) -> list[Written]:
    """Compute what is missing of some experiments, and write their tables, figures and pages.

    Parameters
    ----------
    experiments : sequence of Experiment
    store : CellStore
        What is finished there is not computed again.
    folder : path
        For the outcomes, a folder each, and a page that leads to all.
    scale : {"quick", "full"}
    seeds : int, optional
        Instead of each experiment's own number.
    only : sequence of str
        Data sets; by default all that an experiment has and that are there.
    jobs : int
    progress : callable, optional
    """
    plans = [(each, each.plan(scale, store, seeds, only)) for each in experiments]
    if not any(plan.data for _, plan in plans):
        missing = ", ".join(dict.fromkeys(name for _, plan in plans for name in plan.absent))
        raise DataError(f"nothing can be run: {missing} not found; set SURENESS_DATA to the folder of the data sets")
    plans = [(each, plan) for each, plan in plans if plan.data]  # pages of earlier runs with data stay
    grid: list[Cell] = [cell for each, plan in plans for cell in each.cells(plan)]
    write_index(Path(folder))  # a folder that cannot be written is known before anything is computed
    try:
        run_cells(grid, store, jobs=jobs, progress=progress)
    except CellError as error:  # what is whole is written all the same
        whole = [(each, plan) for each, plan in plans if all(map(store.has, each.cells(plan)))]
        try:
            _write(whole, store, folder, progress)
        except SurenessError as second:
            raise CellError(f"{error}; and what is finished could not be shown: {second}") from error
        raise
    return _write(plans, store, folder, progress)


def _write(
    plans: Sequence[tuple[Experiment, Plan]],
    store: CellStore,
    folder: str | os.PathLike[str],
    progress: Progress,
) -> list[Written]:
    written = []
    for number, (each, plan) in enumerate(plans):
        progress(f"writing {each.name}", number, len(plans))
        written.append(write_outcome(each, plan, each.outcome(plan, store.find), Path(folder)))
    write_index(Path(folder))
    return written
