"""Did what was shown keep its promise? Realised against promised hits, in total and by rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.errors import EmptyError
from sureness.list_size.base import ListSizePolicy
from sureness.list_size.lists import Lists

BANDS = ((1, 1), (2, 3), (4, 5), (6, 10), (11, 20))
"""Ranks that are judged together, first and last."""

_NORMAL = 1.959963984540054  # of a two-sided interval of 95%


def promise(lists: Lists, policy: ListSizePolicy, *, bands: Sequence[tuple[int, int]] = BANDS) -> pl.DataFrame:
    """Realised over promised hits of the shown items, in total and in bands of ranks.

    The promise of a shown item is its probability. A ratio above 1 means that more came than was promised. Items of one
    user are not independent, so the intervals are those of users: by the spread of each user's realised minus promised
    hits. A user may have several lists, as in several splits of one log.

    Parameters
    ----------
    lists : Lists
        With probabilities and hits.
    policy : ListSizePolicy
        How many items of each list are shown.
    bands : sequence of (first, last)
        Ranks that are judged together.

    Returns
    -------
    table
        ranks ("all", "1", "2-3", ...), shown, promised, realised, ratio, low, high: one row in total and one for each
        band; the last three are missing where nothing was promised, the interval also where one user was shown items.

    Examples
    --------
    >>> from sureness.list_size.policies import FixedSize
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> promise(lists, FixedSize(2), bands=[(1, 1)])["ratio"].round(3).to_list()  # 3 of 1.8 promised, 2 of 1 at the top
    [1.667, 2.0]
    """
    sizes = np.minimum(policy.sizes(lists), lists.lengths)
    ranks = np.arange(1, lists.width + 1)
    shown = ranks <= sizes[:, None]
    if not shown.any():
        raise EmptyError("no item is shown in these lists, so there is no promise to judge")
    everywhere: list[tuple[str, BoolArray]] = [("all", shown)]
    everywhere += [(_name(band), shown & (ranks >= band[0]) & (ranks <= band[1])) for band in bands]
    probabilities, hits = lists.needed("probabilities", "a promise"), lists.needed("hits", "a promise")
    _, users = np.unique(lists.users, return_inverse=True)
    return pl.DataFrame([_row(name, where, probabilities, hits, users) for name, where in everywhere])


def _name(band: tuple[int, int]) -> str:
    return str(band[0]) if band[0] == band[1] else f"{band[0]}-{band[1]}"


def _row(
    name: str, where: BoolArray, probabilities: FloatArray, hits: FloatArray, users: IntArray
) -> dict[str, str | float | int | None]:
    promised = np.bincount(users, np.where(where, probabilities, 0.0).sum(axis=1))
    realised = np.bincount(users, (where & hits.astype(bool)).sum(axis=1))
    judged = np.bincount(users, where.sum(axis=1)) > 0
    total, came, n = float(promised.sum()), int(realised.sum()), int(judged.sum())
    ratio = came / total if total > 0 else None
    margin = None
    if ratio is not None and n > 1:
        away = (realised - ratio * promised)[judged]
        margin = _NORMAL * float(np.sqrt(away @ away * n / (n - 1))) / total
    return {
        "ranks": name,
        "shown": int(where.sum()),
        "promised": total,
        "realised": came,
        "ratio": ratio,
        "low": None if ratio is None or margin is None else max(ratio - margin, 0.0),
        "high": None if ratio is None or margin is None else ratio + margin,
    }
