"""Did what was shown keep its promise? Realised against promised hits, in total, by rank, probability and group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from sureness._types import BoolArray, FloatArray, IntArray
from sureness.calibration.maps import Segments
from sureness.calibration.pair_fields import Fields
from sureness.errors import EmptyError, SettingError
from sureness.lists.base import ListSizePolicy
from sureness.lists.groups import promise_by_group
from sureness.lists.lists import Lists
from sureness.numerics.checks import check_choice
from sureness.numerics.ratios import ratio_of_sums

By = Literal["rank", "probability"]

BANDS = ((1, 1), (2, 3), (4, 5), (6, 10), (11, 20))
"""Ranks that are judged together, first and last; those behind them, if any are shown, are one more band."""

PROBABILITY_BANDS = ((0.0, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 1.0))
"""Probabilities that are judged together, from the first up to the second."""

_COLUMNS = {"rank": "ranks", "probability": "probabilities"}


def promise(
    lists: Lists,
    policy: ListSizePolicy,
    *,
    by: By | Fields | Segments = "rank",
    bands: Sequence[tuple[float, float]] | None = None,
) -> pl.DataFrame:
    """Realised over promised hits of the shown items, in total and by ranks, probabilities or groups.

    The promise of a shown item is its probability, in the period that the hits are of. A ratio above 1 means that more
    came than was promised. Items of one user are not independent, so the intervals are those of users: by the spread of
    each user's realised minus promised hits. A user may have several lists, as in several splits of one log.

    Parameters
    ----------
    lists : Lists
        With probabilities and hits.
    policy : ListSizePolicy
        How many items of each list are shown.
    by : {"rank", "probability"}, Fields or Segments
        What the items are grouped by. Fields and segments are groups of users or of items; numbers with fractions or
        with more than 12 values are cut into five groups with about equally many candidates of the lists.
    bands : sequence of (first, last), optional
        Ranks that are judged together, both included, or probabilities, the last one not included unless it is 1.

    Returns
    -------
    table
        ranks ("all", "1", "2-3", ...) or probabilities ("all", "0-5%", ...), shown, promised, realised, ratio, low,
        high: one row in total and one for each band; the last three are missing where nothing was promised, the
        95% interval also where one user was shown items. By groups: one row in total and one for each group of each
        field that was shown anything, with field, group, lists (of its users; all lists for groups of items), list_size
        (mean number of its items in these), promised, realised, ratio, low, high, p_value (that the promise is right;
        corrected for the number of groups after Holm, but for the total), and the ECE of the shown items with its 95%
        interval (ece, ece_low, ece_high).

    Examples
    --------
    >>> from sureness.lists.policies import FixedSize
    >>> lists = Lists.of(probabilities=[[0.5, 0.4], [0.5, 0.4]], hits=[[1, 0], [1, 1]])
    >>> promise(lists, FixedSize(2), bands=[(1, 1)])["ratio"].round(3).to_list()  # 3 of 1.8 promised, 2 of 1 at the top
    [1.667, 2.0]
    >>> promise(lists, FixedSize(2), by="probability", bands=[(0.4, 0.5)])["realised"].to_list()
    [3, 1]
    >>> promise(lists, FixedSize(2), by=Segments(["old", "new"], of="users")).select("group", "ratio").rows()[1:]
    [('new', 2.2222222222222223), ('old', 1.1111111111111112)]
    """
    sizes = np.minimum(policy.sizes(lists), lists.lengths)
    if isinstance(by, Fields | Segments):
        if bands is not None:
            raise SettingError("bands are those of ranks or probabilities; leave them out where by= gives groups")
        return promise_by_group(lists, _some(sizes), by)
    check_choice(by, "by", tuple(_COLUMNS))
    shown = np.arange(1, lists.width + 1) <= _some(sizes)[:, None]
    probabilities, hits = lists.promises("a promise"), lists.needed("hits", "a promise")
    chosen = bands or (_rank_bands(int(sizes.max())) if by == "rank" else PROBABILITY_BANDS)
    everywhere = {"all": shown} | {name: shown & inside for name, inside in _inside(probabilities, by, chosen).items()}
    _, users = np.unique(lists.users, return_inverse=True)
    rows = [{_COLUMNS[by]: name, **_row(where, probabilities, hits, users)} for name, where in everywhere.items()]
    return pl.DataFrame(rows)


def _some(sizes: IntArray) -> IntArray:
    """The same, unless they are all 0."""
    if not sizes.any():
        raise EmptyError("no item is shown in these lists, so there is no promise to judge")
    return sizes


def _rank_bands(longest: int) -> Sequence[tuple[float, float]]:
    """Bands that hold every item of lists of up to this length."""
    behind = BANDS[-1][1] + 1
    return BANDS if longest < behind else (*BANDS, (behind, longest))


def _inside(probabilities: FloatArray, by: By, bands: Sequence[tuple[float, float]]) -> dict[str, BoolArray]:
    """Which items belong to each band, by its name."""
    if by == "rank":
        ranks = np.arange(1, probabilities.shape[1] + 1)
        return {_ranks(*band): (ranks >= band[0]) & (ranks <= band[1]) for band in bands}
    if not all(0 <= low < high <= 1 for low, high in bands):
        raise SettingError(f"bands of probabilities must rise within 0 to 1, got {list(bands)}")
    return {
        f"{100 * low:g}-{100 * high:g}%": (probabilities >= low) & ((probabilities < high) | (high == 1))
        for low, high in bands
    }


def _ranks(first: float, last: float) -> str:
    return f"{first:g}" if first == last else f"{first:g}-{last:g}"


def _row(
    where: BoolArray, probabilities: FloatArray, hits: FloatArray, users: IntArray
) -> dict[str, float | int | None]:
    promised = np.bincount(users, np.where(where, probabilities, 0.0).sum(axis=1))
    realised = np.bincount(users, (where & hits.astype(bool)).sum(axis=1))
    judged = np.bincount(users, where.sum(axis=1)) > 0
    ratio = ratio_of_sums(realised[judged], promised[judged])
    return {
        "shown": int(where.sum()),
        "promised": float(promised.sum()),
        "realised": int(realised.sum()),
        "ratio": ratio.value,
        "low": ratio.low,
        "high": ratio.high,
    }
