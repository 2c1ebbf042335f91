"""What a model costs: its number of parameters, and the time to compute all users' lists."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import polars as pl

from sureness.data.interactions import Interactions
from sureness.errors import EmptyError, SettingError
from sureness.sources.aligned import Seen, checked_seen, fitted_to
from sureness.sources.base import ScoreSource
from sureness.sources.blocks import top_blocks


def inference_table(
    models: Mapping[str, ScoreSource], *, length: int = 50, seen: Seen = None, repeats: int = 3
) -> pl.DataFrame:
    """Number of parameters of each model, and how long it takes to compute all users' lists.

    Parameters
    ----------
    models : mapping from name to ScoreSource
    length : int
        Number of items in each list.
    seen : Interactions or "nothing", optional
        Items that are not shown again.
    repeats : int
        Number of measurements; the fastest counts, because other load can only slow them down.

    Returns
    -------
    polars.DataFrame
        Columns model, parameters (null if unknown) and seconds (for the lists of all users).

    Examples
    --------
    >>> from sureness.sources.base import FactorSource
    >>> source = FactorSource(np.ones((20, 4), dtype=np.float32), np.ones((30, 4), dtype=np.float32))
    >>> inference_table({"small": source}, length=5).select("model", "parameters").rows()
    [('small', 200)]
    """
    if not models:
        raise EmptyError("expected at least one model to measure, got none; give {name: model}")
    if repeats < 1 or length < 1:
        raise SettingError(f"repeats and length must be at least 1, got {repeats} and {length}")
    log = checked_seen(seen)  # lists are only timed, so training pairs among them do no harm
    rows = [(name, n_parameters(model), _seconds(model, length, log, repeats)) for name, model in models.items()]
    return pl.DataFrame(rows, schema={"model": pl.String, "parameters": pl.Int64, "seconds": pl.Float64}, orient="row")


def n_parameters(model: ScoreSource) -> int | None:
    """The number of parameters of a model; None if it is unknown."""
    known: int | None = getattr(model, "n_parameters", None)
    return known


def _seconds(model: ScoreSource, length: int, seen: Interactions | None, repeats: int) -> float:
    seen = None if seen is None else fitted_to(model, seen, "seen")
    users, k = np.arange(model.n_users), min(length, model.n_items)
    for _ in top_blocks(model, users[:1], k, seen):  # kernels are compiled at the first call
        pass
    best = np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        for _ in top_blocks(model, users, k, seen):
            pass
        best = min(best, time.perf_counter() - started)
    return float(best)
