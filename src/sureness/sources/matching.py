"""Logs in the rows and columns of a source, matched by id; and held-out pairs without those seen in training."""

from __future__ import annotations

import numpy as np

from sureness._types import BoolArray
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, check_log
from sureness.errors import DataError, EmptyError, IdError, warn
from sureness.sources.base import ScoreSource, id_maps, named


def fitted_to(source: ScoreSource, log: Interactions, name: str) -> Interactions:
    """Re-index a log to the rows and columns of a source, by id.

    A source without names has the ids 0 to n - 1, and refuses a log with others: that both have equally many rows says
    nothing about their order. Pairs that a source with names does not know are left out with a warning.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> source = MatrixSource(np.zeros((2, 2)), users=IdMap.of(["ann", "bob"]))
    >>> fitted_to(source, Interactions.of(["bob"], [1]), "test").matrix.toarray().tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    check_log(log, name)
    users, items = id_maps(source)
    try:
        for side, ids in (("users", users), ("items", items)):
            if named(source, side) is None:
                _refuse_others(getattr(log, side), ids, side)
        aligned = log.aligned(users, items)
    except DataError as error:
        raise IdError(f"{name} must have the ids of the source: {error}") from error
    if n_lost := len(log) - len(aligned):
        _say_lost(n_lost, len(log), name)
    return aligned


def unseen(held_out: Interactions, seen: Interactions | None, name: str = "held_out") -> Interactions:
    """Held-out pairs without those that are also in `seen`, which must have the same ids.

    What was seen in training is no candidate, so it can be neither a hit nor a miss.

    Examples
    --------
    >>> unseen(Interactions.of([0, 0, 1], [0, 1, 1]), None)
    Interactions(2 users, 2 items, 3 pairs)
    """
    if seen is None:
        return held_out
    again = among(held_out, seen)
    n_again = int(np.count_nonzero(again))
    if not n_again:
        return held_out
    say_seen(n_again, len(held_out), name)
    return held_out.keep(~again)


def among(log: Interactions, other: Interactions) -> BoolArray:
    """Which pairs of a log are also in another one with the same ids.

    Examples
    --------
    >>> log = Interactions.of([0, 0, 1], [0, 1, 1])
    >>> among(log, log.keep(np.array([1, 2])))
    array([False,  True,  True])
    """
    if not len(other):
        return np.zeros(len(log), dtype=bool)
    asked, known = (each.user_rows * log.n_items + each.item_rows for each in (log, other))  # pairs are sorted
    places = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.asarray(known[places] == asked)


def say_seen(n_seen: int, n_pairs: int, name: str) -> None:
    """Say how many held-out pairs were seen in training; if all were, nothing is left."""
    if n_seen == n_pairs:
        raise EmptyError(f"all {n_pairs:,} pairs of {name} are also in training, so none of them is a candidate; give "
                         "pairs that were held out of it")  # fmt: skip
    warn(
        f"{n_seen:,} of the {n_pairs:,} pairs of {name} are also in training, so they are no candidates, and were left "
        "out"
    )


def _refuse_others(ids: IdMap, numbers: IdMap, side: str) -> None:
    """Refuse ids that are not the numbers of the rows of a source."""
    known = numbers.rows(ids.ids) if len(ids) else np.empty(0, dtype=np.int64)
    others = np.flatnonzero(known < 0)
    if len(others):
        raise IdError(
            f"it has no names for its {len(numbers):,} {side}, so their ids are 0 to {len(numbers) - 1:,}, got "
            f"{len(others):,} others such as {ids.at(others[:1])[0]!r}; give the source the ids of its {side}"
        )


def _say_lost(n_lost: int, n_pairs: int, name: str) -> None:
    if n_lost == n_pairs:
        raise IdError(
            f"{name} must have ids of the source, but none of its {n_pairs:,} pairs has a user and an item that the "
            "source knows; check that both come from the same data"
        )
    if name != "shown":  # those are refused by the caller
        warn(
            f"{n_lost:,} of the {n_pairs:,} pairs of {name} have a user or an item that the source does not know, and "
            "were left out"
        )
