"""Logs in the rows and columns of a source, matched by id; what was seen, and held-out pairs without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np

from sureness._types import BoolArray
from sureness._wording import agreeing, counted
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, check_log
from sureness.errors import DataError, EmptyError, IdError, SettingError, warn
from sureness.sources.base import ScoreSource, id_maps, named, trained_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    Log: TypeAlias = Interactions | csr_matrix

Seen: TypeAlias = Interactions | Literal["nothing"] | None
"""What is no candidate any more, usually the training log; "nothing" says on purpose that every pair is one."""


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


@overload
def checked_seen(seen: Seen, *sources: ScoreSource, held_out: object = None) -> Interactions | None: ...
@overload
def checked_seen(
    seen: Log | Literal["nothing"] | None, *sources: ScoreSource, held_out: object = None
) -> Log | None: ...
def checked_seen(seen: Log | Literal["nothing"] | None, *sources: ScoreSource, held_out: object = None) -> Log | None:
    """What was seen; None where nothing is left out, with a warning if that was not said and leaves training pairs.

    They are known of a source that remembers how many pairs it was trained on, and of pairs that were held out by one
    of our splits. Training pairs among the candidates rank first, and all count as misses.

    Examples
    --------
    >>> log = Interactions.of([0, 0, 1], [0, 1, 1])
    >>> checked_seen(log), checked_seen("nothing")
    (Interactions(2 users, 2 items, 3 pairs), None)
    """
    if isinstance(seen, str):
        if seen != "nothing":
            raise SettingError(f"seen must be a log, or 'nothing' if every pair is a candidate, got {seen!r}")
        return None
    if seen is None:
        _say_missing(max((trained_pairs(source) or 0 for source in sources), default=0), held_out)
    return seen


def seen_of(source: ScoreSource, seen: Seen, held_out: Interactions | None = None) -> Interactions | None:
    """`checked_seen` with the rows and columns of a source."""
    log = checked_seen(seen, source, held_out=held_out)
    return None if log is None else fitted_to(source, log, "seen")


def settled(seen: Interactions | None) -> Seen:
    """What `seen_of` found, for the next function that asks: what was said once is not said again."""
    return "nothing" if seen is None else seen


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
        raise EmptyError(
            f"all {counted(n_pairs, 'pair')} of {name} are also in training, so none of them is a candidate; give "
            "pairs that were held out of it"
        )
    fate = agreeing(
        n_seen,
        "is also in training, so it is no candidate, and was left out",
        "are also in training, so they are no candidates, and were left out",
    )
    warn(f"{n_seen:,} of the {counted(n_pairs, 'pair')} of {name} {fate}")


def _refuse_others(ids: IdMap, numbers: IdMap, side: str) -> None:
    """Refuse ids that are not the numbers of the rows of a source."""
    known = numbers.rows(ids.ids) if len(ids) else np.empty(0, dtype=np.int64)
    others = np.flatnonzero(known < 0)
    if len(others):
        raise IdError(
            f"its {side} have no names, so their ids are 0 to {len(numbers) - 1:,}, got "
            f"{counted(len(others), 'other')} such as {ids.at(others[:1])[0]!r}; give the source the ids of its {side}"
        )


def _say_missing(n_trained: int, held_out: object) -> None:
    part = held_out.part if isinstance(held_out, Interactions) else None
    n_pairs = n_trained or (0 if part is None else part.n_training)
    if n_pairs:
        whose = "that the recommender was trained on" if n_trained else "of the training part of the same split"
        warn(
            f"seen is missing, so the {counted(n_pairs, 'pair')} {whose} are not left out of the candidates; give "
            "seen, usually the training log, or 'nothing' in its place if they are to stay"
        )


def _say_lost(n_lost: int, n_pairs: int, name: str) -> None:
    if n_lost == n_pairs:
        raise IdError(
            f"{name} must have ids of the source, but none of its {counted(n_pairs, 'pair')} has a user and an item "
            "that the source knows; check that both come from the same data"
        )
    if name != "shown":  # those are refused by the caller
        warn(
            f"{n_lost:,} of the {counted(n_pairs, 'pair')} of {name} {agreeing(n_lost, 'has', 'have')} a user or an "
            f"item that the source does not know, and {agreeing(n_lost, 'was', 'were')} left out"
        )
