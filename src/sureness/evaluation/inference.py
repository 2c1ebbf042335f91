"""What a model costs: the numbers it has learned, and the time to make everybody's list."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import polars as pl

from sureness.data.interactions import Interactions
from sureness.errors import DataError
from sureness.evaluation.ranking import fitted_to, top_blocks
from sureness.sources.base import FactorSource, ScoreSource


def inference_table(
    models: Mapping[str, ScoreSource], *, length: int = 50, seen: Interactions | None = None, repeats: int = 3
) -> pl.DataFrame:
    """Size and speed of models: how many numbers each has learned, and how long it takes to make all users' lists.

    Parameters
    ----------
    models : mapping from name to ScoreSource
    length : int
        Items in each list.
    seen : Interactions, optional
        Items that are left out of the lists.
    repeats : int
        The fastest of so many measurements counts, since other work can only slow them down.

    Returns
    -------
    polars.DataFrame
        model, parameters (null where they are not known), seconds for the lists of all users.

    Examples
    --------
    >>> source = FactorSource(np.ones((20, 4), dtype=np.float32), np.ones((30, 4), dtype=np.float32))
    >>> inference_table({"small": source}, length=5).select("model", "parameters").rows()
    [('small', 200)]
    """
    if not models:
        raise DataError("expected at least one model to measure, got none; give {name: model}")
    if repeats < 1 or length < 1:
        raise DataError(f"repeats and length must be at least 1, got {repeats} and {length}")
    rows = [(name, n_parameters(model), _seconds(model, length, seen, repeats)) for name, model in models.items()]
    return pl.DataFrame(rows, schema={"model": pl.String, "parameters": pl.Int64, "seconds": pl.Float64}, orient="row")


def n_parameters(model: ScoreSource) -> int | None:
    """How many numbers a model has learned; None if it does not say."""
    if isinstance(model, FactorSource):
        tables = (model.user_factors, model.item_factors, model.user_bias, model.item_bias)
        return sum(np.size(table) for table in tables if table is not None)
    known = getattr(model, "n_parameters", None)
    return None if known is None else int(known)


def _seconds(model: ScoreSource, length: int, seen: Interactions | None, repeats: int) -> float:
    hidden = None if seen is None else fitted_to(model, seen, "seen")
    users, k = np.arange(model.n_users), min(length, model.n_items)
    for _ in top_blocks(model, users[:1], k, hidden):  # compiles what is compiled at the first call
        pass
    best = np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        for _ in top_blocks(model, users, k, hidden):
            pass
        best = min(best, time.perf_counter() - started)
    return float(best)
