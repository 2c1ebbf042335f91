"""Filters of a log: minimum counts, k-core and a rating threshold; each notes what it removed.

Counts are those of the log that is given. Where it is to be split by time, cut it first and filter the training part,
as ``prepare(log, "time", per_user=...)`` does: a filter of the whole log has seen what comes later.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sureness._types import BoolArray
from sureness.data.interactions import Interactions, check_log
from sureness.errors import ColumnError, EmptyError
from sureness.numerics.checks import check_whole


def at_least(log: Interactions, *, per_user: int = 1, per_item: int = 1) -> Interactions:
    """Keep users and items with at least this many interactions, counted before filtering; see `k_core`.

    Examples
    --------
    >>> log = Interactions.of([1, 1, 1, 2, 2], [1, 2, 3, 1, 4])
    >>> at_least(log, per_user=3).notes
    ('at least 3 per user: 2 of 5 pairs, 1 of 2 users and 1 of 4 items removed',)
    """
    check_whole(per_user, "per_user", 1)
    check_whole(per_item, "per_item", 1)
    wanted = [f"{n} per {what}" for n, what in ((per_user, "user"), (per_item, "item")) if n > 1]
    return _kept(log, _enough(log, per_user, per_item), f"at least {' and '.join(wanted) or '1 per user'}")


def k_core(log: Interactions, k: int) -> Interactions:
    """The largest part of a log in which every user and every item has at least k interactions.

    Examples
    --------
    >>> log = Interactions.of([1, 1, 2, 2, 3], [1, 2, 1, 2, 3])
    >>> k_core(log, 2).shape
    (2, 2)
    """
    check_log(log)
    check_whole(k, "k", 1)
    places = np.arange(len(log))
    while len(places) and not (enough := _enough(log.keep(places), k, k)).all():
        places = places[enough]
    return _kept(log, np.isin(np.arange(len(log)), places, assume_unique=True), f"{k}-core")


def rating_above(log: Interactions, threshold: float) -> Interactions:
    """Keep pairs rated above the threshold; pairs without a rating are removed.

    Examples
    --------
    >>> rating_above(Interactions.of([1, 1, 2], [1, 2, 1], ratings=[3, 4, 5]), 3).notes
    ('ratings above 3: 1 of 3 pairs, 0 of 2 users and 0 of 2 items removed',)
    """
    return _compacted(log, positives(log, threshold), f"ratings above {threshold:g}")


def positives(log: Interactions, threshold: float) -> Interactions:
    """The pairs rated above the threshold, and of their older rows those that are; with the same id maps."""
    kept = log.keep(rated_above(log, threshold))
    if kept.older is None or kept.older.ratings is None:
        return kept
    return replace(kept, older=kept.older.keep(np.asarray(kept.older.ratings > threshold)))


def rated_above(log: Interactions, threshold: float) -> BoolArray:
    """Which pairs are rated above the threshold; shape (n,)."""
    if log.ratings is None:
        raise ColumnError("expected interactions with ratings, got none; read the column with the ratings")
    return np.asarray(log.ratings > threshold)


def _enough(log: Interactions, per_user: int, per_item: int) -> BoolArray:
    return (log.user_degree >= per_user)[log.user_rows] & (log.item_degree >= per_item)[log.item_rows]


def _kept(log: Interactions, chosen: BoolArray, what: str) -> Interactions:
    return _compacted(log, log.keep(chosen), what)


def _compacted(log: Interactions, kept: Interactions, what: str) -> Interactions:
    """What is kept with its users and items, and a note."""
    after = kept.compact()
    before = log.statistics()
    if not len(after):
        raise EmptyError(
            f"expected interactions that pass the filter ({what}), got none of {len(log):,}; no user has "
            f"more than {max(log.user_degree, default=0):,} and no item more than {max(log.item_degree, default=0):,}: "
            "ask for less"
        )
    counts = {"pairs": (len(after), len(log))}
    counts |= {"users": (after.n_users, int(before["users"])), "items": (after.n_items, int(before["items"]))}
    gone = [f"{old - new:,} of {old:,} {name}" for name, (new, old) in counts.items()]
    return after.noting(f"{what}: {gone[0]}, {gone[1]} and {gone[2]} removed")
