"""What `fit` and `apply` do with a folder: a run, a saved model or a saved source."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.progress import Progress

from sureness.calibration.calibration_set import CalibrationSet
from sureness.cli._console import progress_bar
from sureness.data.columns import Columns
from sureness.data.interactions import Interactions, union
from sureness.data.scored_pairs import ScoredPairs
from sureness.data.tables import write_table
from sureness.errors import DataError, SurenessWarning
from sureness.evaluation.ranking import list_blocks
from sureness.models.runs import Run, load_run
from sureness.propensity.models import PopularityPropensity
from sureness.sources.base import id_maps


def set_of_run(
    folder: Path, held_out: Path | None, train: Path | None, columns: dict[str, str], popularity: bool,
    known: dict[str, Any], bar: Progress,
) -> tuple[CalibrationSet, int]:  # fmt: skip
    """All candidates of a folder, labelled by its held-out log, and how many they are."""
    run = load_run(folder)
    positives = run.validation if held_out is None else noted_log(run, held_out, columns)
    learned = run.train if train is None else noted_log(run, train, columns)
    if positives is None:
        raise DataError(
            f"{folder} has no validation part to calibrate on; give a log of held-out pairs with --held-out"
        )
    propensity = None
    if popularity:
        if learned is None:
            raise DataError(f"{folder} has no training log to count popularity in; give one with --train")
        propensity = PopularityPropensity().fit(items=learned.items.at(learned.item_rows).to_numpy())
        known = known | {"relative_propensity": True}
    data = CalibrationSet.from_source(run.source, positives, seen=learned, propensity=propensity, **known)
    n_pairs = run.source.n_users * run.source.n_items - (0 if learned is None else len(learned))
    return _counted(data, bar, n_pairs), n_pairs


def _counted(data: CalibrationSet, bar: Progress, n_pairs: int) -> CalibrationSet:
    """The same set, whose every pass moves the bar."""
    task = bar.add_task("scoring candidates", total=n_pairs)

    def chunks() -> Iterator[ScoredPairs]:
        bar.reset(task)
        for pairs in data.chunks():
            bar.advance(task, len(pairs))
            yield pairs

    return replace(data, chunks=chunks)


def write_lists(
    folder: Path, calibrator: Any, output: Path, length: int, seen: list[Path], columns: dict[str, str], name: str,
    quiet: bool,
) -> int:  # fmt: skip
    """The best unseen items of every user with their probabilities; returns how many rows were written."""
    run = load_run(folder)
    hidden = union([noted_log(run, path, columns) for path in seen]) if seen else run.seen()
    tables: list[pl.DataFrame] = []
    with progress_bar(quiet) as bar:
        task = bar.add_task("applying", total=run.source.n_users)
        for table, n_users in list_blocks(run.source, np.arange(run.source.n_users), length, hidden):
            probability = calibrator.probability(table["score"].to_numpy()) if table.height else np.empty(0)
            tables.append(table.with_columns(pl.Series(name, probability)))
            bar.advance(task, n_users)
        whole = pl.concat(tables)
        write_table(whole, output)
    return whole.height


def known_log(run: Run, path: Path, columns: dict[str, str]) -> Interactions:
    """A log with the rows of the run's source; what it does not know is dropped and noted."""
    wanted = {ours: theirs for ours, theirs in columns.items() if ours in ("user_id", "item_id", "domain")}
    return Interactions.read(path, Columns(**wanted)).aligned(
        *id_maps(run.source), of_text=path.suffix.lower() != ".parquet"
    )


def noted_log(run: Run, path: Path, columns: dict[str, str]) -> Interactions:
    """The same, and it is said what was dropped."""
    log = known_log(run, path, columns)
    for note in log.notes:
        warnings.warn(f"{path}: {note}", SurenessWarning, stacklevel=2)
    return log
