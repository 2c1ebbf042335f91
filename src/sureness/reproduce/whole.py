"""Run experiments from their grids to their pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sureness.reproduce.cells import Cell
from sureness.reproduce.experiment import Experiment, Scale
from sureness.reproduce.running import Progress, run_cells
from sureness.reproduce.store import CellStore
from sureness.reproduce.writing import Written, write_index, write_outcome


def reproduce(
    experiments: Sequence[Experiment],
    store: CellStore,
    folder: str | os.PathLike[str],
    *,
    scale: Scale = "quick",
    seeds: int | None = None,
    only: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress | None = None,
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
    grid: list[Cell] = [cell for each, plan in plans for cell in each.cells(plan)]
    run_cells(grid, store, jobs=jobs, progress=progress)
    written = []
    for number, (each, plan) in enumerate(plans):
        if progress is not None:
            progress(f"writing {each.name}", number, len(plans))
        written.append(write_outcome(each, plan, each.outcome(plan, store.find), Path(folder)))
    write_index(Path(folder))
    return written
