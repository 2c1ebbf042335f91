"""A source with what was seen and what was held out, matched once by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, overload

import numpy as np

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness._wording import agreeing, counted
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, check_log
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, EmptyError, IdError, SettingError, warn
from sureness.propensity import PropensityModel
from sureness.sources.base import SENTINEL, ScoreSource, checked_block, id_maps, is_partial, named, trained_pairs
from sureness.sources.blocks import user_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    Log: TypeAlias = Interactions | csr_matrix

Seen: TypeAlias = Interactions | Literal["nothing"] | None
"""What is not a candidate any more, usually the training log; "nothing": every pair is one."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """A source and two logs in its rows and columns. Build it with `of`.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> source = MatrixSource(np.array([[1.0, 2.0]]), users=IdMap.of(["ann"]), items=IdMap.of(["film", "song"]))
    >>> aligned = Aligned.of(source, Interactions.of(["ann"], ["song"]), "nothing")
    >>> pairs = aligned.pairs(np.array([0]))
    >>> pairs.items.tolist(), pairs.labels.tolist()
    (['film', 'song'], [False, True])
    """

    source: ScoreSource
    held_out: Interactions  # positives among the candidates
    seen: Interactions | None = None  # what is not a candidate; None: every pair is one

    __repr__ = fields_repr

    @classmethod
    def of(
        cls,
        source: ScoreSource,
        held_out: Log,
        seen: Log | Literal["nothing"] | None = None,
        *,
        name: str = "held_out",
    ) -> Self:
        """Match logs to the source: Interactions by id, matrices by row and column.

        Held-out pairs that are also in `seen` are left out with a warning, and so are pairs that the source does not
        know. `name` is what messages call the held-out pairs.
        """
        known = fitted_to(source, held_out, name)
        before = seen_of(source, seen, held_out)
        return cls(source, unseen(known, before, name), before)

    def pairs(
        self,
        users: IntArray,
        propensity: PropensityModel | None = None,
        sampling_rate: float = 1.0,
        rng: np.random.Generator | None = None,
    ) -> ScoredPairs:
        """The candidates of users with a known score: all of them, or a random share of those labelled 0."""
        flat, scores = self._known(users)
        labels = self._among(self.held_out, users, flat)
        keep = labels | (rng.random(len(labels)) < sampling_rate) if rng is not None else np.ones(len(labels), bool)
        if self.seen is not None:
            keep &= ~self._among(self.seen, users, flat)
        kept = np.flatnonzero(keep)
        rows, columns = np.divmod(kept if flat is None else flat[kept], self.source.n_items)
        labels, scores = labels[kept], scores[kept]
        user_ids, item_ids = self._ids("users", users[rows]), self._ids("items", columns)
        omega = None
        if propensity is not None:
            omega = np.ones(len(kept))
            omega[labels] = propensity.propensity(user_ids[labels], item_ids[labels])
        _check_finite(scores, user_ids, item_ids)
        return ScoredPairs(scores=scores, labels=labels, users=user_ids, items=item_ids, propensity=omega)

    def counts(self) -> tuple[int, int]:
        """How many candidates are labelled 1, and how many 0."""
        if not is_partial(self.source):
            n_positive, n_seen = len(self.held_out), 0 if self.seen is None else len(self.seen)
            return n_positive, self.source.n_users * self.source.n_items - n_positive - n_seen
        n_positive = n_pairs = 0
        for users in user_blocks(self.source):
            pairs = self.pairs(users)
            n_positive, n_pairs = n_positive + pairs.n_positive, n_pairs + len(pairs)
        return n_positive, n_pairs - n_positive

    def _known(self, users: IntArray) -> tuple[IntArray | None, FloatArray]:
        """Known scores, and their positions in the flattened block of users; None: all are known."""
        if not is_partial(self.source):
            return None, checked_block(self.source, users).ravel()
        known = self.source.known_block(users)
        return known.rows * self.source.n_items + known.items, known.scores

    def _among(self, log: Interactions, users: IntArray, flat: IntArray | None) -> BoolArray:
        """Which positions of the flattened block of users are pairs of a log; None: all positions in order."""
        rows, items = places_of(log, users)
        if flat is not None:
            return np.isin(flat, rows * self.source.n_items + items)
        block = np.zeros((len(users), self.source.n_items), dtype=bool)
        block[rows, items] = True
        return block.ravel()

    def _ids(self, side: str, rows: IntArray) -> AnyArray:
        ids = named(self.source, side)
        return rows if ids is None else ids.ids.to_numpy()[rows]


def places_of(log: Interactions, users: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs of some users of a log: the place of each one's user in `users`, and its item."""
    lengths = log.user_degree[users]
    starts = np.cumsum(lengths) - lengths
    places = np.repeat(log.row_starts[users] - starts, lengths) + np.arange(lengths.sum())
    return np.repeat(np.arange(len(users)), lengths), log.item_rows[places]


def fitted_to(source: ScoreSource, log: Log, name: str) -> Interactions:
    """Re-index a log to the rows and columns of a source, by id; a matrix must have its shape.

    A source without names has the ids 0 to n - 1, and refuses a log with others: that both have equally many rows does
    not tell their order. Pairs that a source with names does not know are left out with a warning.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> source = MatrixSource(np.zeros((2, 2)), users=IdMap.of(["ann", "bob"]))
    >>> fitted_to(source, Interactions.of(["bob"], [1]), "test").matrix.toarray().tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    users, items = id_maps(source)
    if not isinstance(log, Interactions):
        return _of_matrix(log, users, items, name)
    try:
        for side, ids in (("users", users), ("items", items)):
            if named(source, side) is None:
                _refuse_others(getattr(log, side), ids, side)
        aligned = log.aligned(users, items)
    except DataError as error:
        raise IdError(f"{name} must have the ids of the source: {error}") from error
    if n_lost := len(log) - len(aligned):
        _warn_lost(n_lost, len(log), name)
    return aligned


def _of_matrix(log: csr_matrix, users: IdMap, items: IdMap, name: str) -> Interactions:
    if not hasattr(log, "shape"):
        check_log(log, name)
    if log.shape != (len(users), len(items)):
        raise IdError(f"{name} must have the shape of the source, {(len(users), len(items))}, got {log.shape}")
    return Interactions.from_matrix(log, users, items)


@overload
def checked_seen(seen: Seen, *sources: ScoreSource, held_out: object = None) -> Interactions | None: ...
@overload
def checked_seen(
    seen: Log | Literal["nothing"] | None, *sources: ScoreSource, held_out: object = None
) -> Log | None: ...
def checked_seen(seen: Log | Literal["nothing"] | None, *sources: ScoreSource, held_out: object = None) -> Log | None:
    """What was seen; None where nothing is left out, with a warning if training pairs stay unasked.

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
        _warn_missing(max((trained_pairs(source) or 0 for source in sources), default=0), held_out)
    return seen


def seen_of(source: ScoreSource, seen: Log | Literal["nothing"] | None, held_out: object = None) -> Interactions | None:
    """`checked_seen` with the rows and columns of a source."""
    log = checked_seen(seen, source, held_out=held_out)
    return None if log is None else fitted_to(source, log, "seen")


def unseen(held_out: Interactions, seen: Interactions | None, name: str = "held_out") -> Interactions:
    """Held-out pairs without those that are also in `seen`, which must have the same ids.

    What was seen in training is not a candidate, so it can be neither a hit nor a miss.

    Examples
    --------
    >>> unseen(Interactions.of([0, 0, 1], [0, 1, 1]), None)
    Interactions(2 users, 2 items, 3 pairs)
    """
    if seen is None:
        return held_out
    again = among(held_out, seen)
    n_again, n_pairs = int(np.count_nonzero(again)), len(held_out)
    if not n_again:
        return held_out
    if n_again == n_pairs:
        raise EmptyError(
            f"all {counted(n_pairs, 'pair')} of {name} are also in training, so none of them is a candidate; give "
            "pairs that were held out of it"
        )
    fate = agreeing(
        n_again,
        "is also in training, so it is not a candidate, and was left out",
        "are also in training, so they are not candidates, and were left out",
    )
    warn(f"{n_again:,} of the {counted(n_pairs, 'pair')} of {name} {fate}")
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
    pairs, known = (each.user_rows * log.n_items + each.item_rows for each in (log, other))  # pairs are sorted
    places = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
    return np.asarray(known[places] == pairs)


def _refuse_others(ids: IdMap, numbers: IdMap, side: str) -> None:
    """Refuse ids that are not the numbers of the rows of a source."""
    known = numbers.rows(ids.ids) if len(ids) else np.empty(0, dtype=np.int64)
    others = np.flatnonzero(known < 0)
    if len(others):
        raise IdError(
            f"its {side} have no names, so their ids are 0 to {len(numbers) - 1:,}, got "
            f"{counted(len(others), 'other')} such as {ids.at(others[:1])[0]!r}; give the source the ids of its {side}"
        )


def _warn_missing(n_trained: int, held_out: object) -> None:
    part = held_out.part if isinstance(held_out, Interactions) else None
    n_pairs = n_trained or (0 if part is None else part.n_training)
    if n_pairs:
        whose = "that the recommender was trained on" if n_trained else "of the training part of the same split"
        warn(
            f"seen is missing, so the {counted(n_pairs, 'pair')} {whose} are not left out of the candidates; give "
            "seen=..., usually the training log, or 'nothing' in its place if they are to stay"
        )


def _warn_lost(n_lost: int, n_pairs: int, name: str) -> None:
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


def _check_finite(scores: FloatArray, users: AnyArray, items: AnyArray) -> None:
    if not len(scores) or (scores.min() > -SENTINEL and scores.max() < SENTINEL):  # NaN makes both false
        return
    strange = np.flatnonzero(~(np.abs(scores) < SENTINEL))
    first = strange[0]
    raise DataError(
        f"scores of the source must be finite numbers, got {len(strange):,} missing or infinite values, the first "
        f"({scores[first]}) for user {users[first]} and item {items[first]}; leave those pairs out with seen=, or "
        "give a CandidateSource of the known ones"
    )
