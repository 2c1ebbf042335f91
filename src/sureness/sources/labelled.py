"""The pairs of a source with labels from a log, matched by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from sureness._printing import fields_repr
from sureness._types import AnyArray, BoolArray, FloatArray, IntArray
from sureness.data.interactions import Interactions, check_log
from sureness.data.scored_pairs import ScoredPairs
from sureness.errors import DataError, EmptyError, IdError
from sureness.propensity.base import PropensityModel
from sureness.sources.base import SENTINEL, ScoreSource, checked_block, is_partial, named, user_blocks
from sureness.sources.matching import checked_seen, fitted_to, say_seen

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from sureness.sources.matching import Log


@dataclass(frozen=True, eq=False)
class LabelledSource:
    """A source and the labels of its pairs. Build it with `of`.

    Examples
    --------
    >>> from sureness.data.ids import IdMap
    >>> from sureness.sources.base import MatrixSource
    >>> source = MatrixSource(np.array([[1.0, 2.0]]), users=IdMap.of(["ann"]), items=IdMap.of(["film", "song"]))
    >>> labelled = LabelledSource.of(source, Interactions.of(["ann"], ["song"]))
    >>> pairs = labelled.pairs(np.array([0]))
    >>> pairs.items.tolist(), pairs.labels.tolist()
    (['film', 'song'], [False, True])
    """

    source: ScoreSource
    positives: csr_matrix  # (n_users, n_items) nonzero for held-out positives
    seen: csr_matrix | None  # (n_users, n_items) nonzero for pairs that are not shown again, usually the training log
    user_ids: AnyArray | None  # (n_users,) None: row numbers
    item_ids: AnyArray | None  # (n_items,) None: column numbers
    asked_by_id: bool  # whether the propensity model is called with ids, or with rows and columns

    __repr__ = fields_repr

    @classmethod
    def of(cls, source: ScoreSource, held_out: Log, seen: Log | Literal["nothing"] | None = None) -> Self:
        """Match logs to the source: Interactions by id, matrices by row and column.

        Held-out pairs that are also in `seen` are left out with a warning.
        """
        users, items = named(source, "users"), named(source, "items")
        known = _matrix(held_out, source, "held_out")
        if not known.nnz:
            raise EmptyError("held_out must hold at least one positive, got none; hold out a share of the log")
        log = checked_seen(seen, source, held_out=held_out)
        before = None if log is None else _matrix(log, source, "seen")
        positives = _unseen(known, before)
        return cls(
            source,
            positives,
            before,
            None if users is None else users.ids.to_numpy(),
            None if items is None else items.ids.to_numpy(),
            asked_by_id=isinstance(held_out, Interactions),
        )

    def pairs(
        self,
        users: IntArray,
        propensity: PropensityModel | None = None,
        sampling_rate: float = 1.0,
        rng: np.random.Generator | None = None,
    ) -> ScoredPairs:
        """The candidates of users with a known score: all of them, or a random share of those labelled 0."""
        flat, scores = self._known(users)
        labels = _among(self.positives[users], flat)
        keep = labels | (rng.random(len(labels)) < sampling_rate) if rng is not None else np.ones(len(labels), bool)
        if self.seen is not None:
            keep &= ~_among(self.seen[users], flat)
        kept = np.flatnonzero(keep)
        rows, columns = np.divmod(kept if flat is None else flat[kept], self.source.n_items)
        rows, labels = users[rows], labels[kept]
        named_users, named_items = _at(self.user_ids, rows), _at(self.item_ids, columns)
        omega = None
        if propensity is not None:
            asked = (named_users, named_items) if self.asked_by_id else (rows, columns)
            omega = np.ones(len(kept))
            omega[labels] = propensity.propensity(asked[0][labels], asked[1][labels])
        scores = scores[kept]
        _check_finite(scores, named_users, named_items)
        return ScoredPairs(scores=scores, labels=labels, users=named_users, items=named_items, propensity=omega)

    def counts(self) -> tuple[int, int]:
        """How many candidates are labelled 1, and how many 0."""
        if not is_partial(self.source):
            n_positive, n_seen = self.positives.nnz, 0 if self.seen is None else self.seen.nnz
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


def _matrix(log: Log, source: ScoreSource, name: str) -> csr_matrix:
    """A log as rows and columns of the source."""
    from scipy.sparse import csr_matrix  # slow to import, and not needed to apply a map

    if isinstance(log, Interactions):
        return fitted_to(source, log, name).matrix
    shape = (source.n_users, source.n_items)
    if not hasattr(log, "shape"):
        check_log(log, name)
    if log.shape != shape:
        raise IdError(f"{name} must have the shape of the source, {shape}, got {log.shape}")
    matrix = csr_matrix(log)
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _unseen(positives: csr_matrix, seen: csr_matrix | None) -> csr_matrix:
    """Held-out pairs that are no training pairs."""
    if seen is None:
        return positives
    held_out = positives.astype(bool)
    again = held_out.multiply(seen.astype(bool))
    if not again.nnz:
        return positives
    say_seen(again.nnz, held_out.nnz, "held_out")
    left: csr_matrix = (held_out > again).tocsr()
    return left


def _among(matrix: csr_matrix, flat: IntArray | None) -> BoolArray:
    """Which positions of a flattened block are in the matrix; None: all positions, in order."""
    if flat is None:
        return np.asarray(matrix.toarray().astype(bool).ravel())
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.isin(flat, rows * matrix.shape[1] + matrix.indices)


def _at(ids: AnyArray | None, rows: IntArray) -> AnyArray:
    return rows if ids is None else ids[rows]


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
