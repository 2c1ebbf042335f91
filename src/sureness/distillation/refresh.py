"""A refresh: rank all unseen items by both models, and draw what each direction needs until the next one.

Users are processed in blocks, so no table of users x items is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from sureness._printing import fields_repr
from sureness._progress import Progress, silent
from sureness._types import AnyArray, FloatArray, IntArray
from sureness.data.interactions import Interactions, union
from sureness.distillation.sampling import SCHEMES, weight_table
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.models.networks.batches import Batch
from sureness.numerics.ranking import draw_by_ranks, exact_ranks, top_k
from sureness.sources.base import ScoreSource
from sureness.sources.blocks import block_scores

_POOL_BYTES = 512 << 20  # for the drawn items of each direction; beyond it, epochs share draws

Sources = tuple[ScoreSource, ScoreSource]  # teacher and student


class DrawnItems(NamedTuple):
    """The drawn items of a batch, one row per pair."""

    items: IntArray  # (B, n), -1 where there is none
    scores: FloatArray | None  # (B, n) of the guide, where they were stored
    weights: FloatArray | None  # (B, n) of each item in the loss; None: all weigh the same

    def __repr__(self) -> str:
        return fields_repr(self)


@dataclass(frozen=True, eq=False)
class Pool:
    """The items that a guide labels until the next refresh, in the order of the learner's pairs or by user.

    Examples
    --------
    >>> pool = Pool(np.array([[[4, 7]], [[2, -1]]], dtype=np.int32), by_user=True)
    >>> batch = Batch(np.array([1, 0]), np.array([3, 3]), np.array([[5], [5]]), np.array([8, 2]))
    >>> pool.take(batch, 0).items.tolist()
    [[2, -1], [4, 7]]
    """

    items: IntArray  # (rows, rounds, n) int32, -1 where there is none; each epoch takes the next round
    by_user: bool  # whether rows are users; otherwise they are the learner's pairs
    scores: FloatArray | None = None  # (rows, rounds, n) of a guide that cannot score single pairs later
    weights: FloatArray | None = None  # (rows, n)

    __repr__ = fields_repr

    def take(self, batch: Batch, epoch: int) -> DrawnItems:
        """The drawn items of a batch in an epoch, counted from the last refresh."""
        rows = self.rows(batch, epoch)
        return DrawnItems(
            self.flat(self.items).take(rows, axis=0).astype(np.int64),
            None if self.scores is None else self.flat(self.scores).take(rows, axis=0),
            None if self.weights is None else self.weights[batch.users if self.by_user else batch.places],
        )

    def rows(self, batch: Batch, epoch: int) -> IntArray:
        """The row of each pair of a batch in a `flat` table."""
        rounds = self.items.shape[1]
        rows = batch.users if self.by_user else batch.places
        return rows if rounds == 1 else rows * rounds + epoch % rounds

    @staticmethod
    def flat(table: AnyArray) -> AnyArray:
        """A table of the pool as rows of items, round after round; whole rows are several times faster to take."""
        return table.reshape(-1, table.shape[2])


class Refreshed(NamedTuple):
    """What one direction trains on until the next refresh."""

    log: Interactions  # the learner's positives
    pool: Pool | None  # None: this direction draws nothing

    def __repr__(self) -> str:
        return fields_repr(self)


@dataclass(frozen=True, eq=False)
class Side:
    """One direction of a refresh, and which of the two models learns in it."""

    direction: Direction
    learner: Literal[0, 1]  # 0: the teacher learns, 1: the student
    keep_scores: bool  # whether the guide's scores are stored with the drawn items


class Block(NamedTuple):
    """What one model contributes for a block of users."""

    users: IntArray
    scores: FloatArray  # of all items
    ranks: IntArray | None  # of all items among unseen items, 0 for seen ones; None where no ranks are needed


class Collector:
    """Collects the drawn items of one direction, block by block."""

    def __init__(self, side: Side, train: Interactions, settings: DistillationSettings, rng: np.random.Generator):
        self.side, self.train, self.rng = side, train, rng
        direction = side.direction
        self._make_room_for_positives(direction)
        self.by_user = direction.scheme == "top"
        self._make_room_for_draws(direction, settings)
        scale = direction.rank_gap_scale
        self.table = None if self.by_user else weight_table(direction.scheme, scale, train.n_items)

    def _make_room_for_positives(self, direction: Direction) -> None:
        unseen = self.train.n_items - self.train.user_degree
        self.n_added = np.minimum(unseen - 1, direction.positives).clip(min=0)  # at least one item stays unseen
        self.added = np.full((self.train.n_users, int(self.n_added.max(initial=0))), -1, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.train.user_degree + self.n_added)])

    def _make_room_for_draws(self, direction: Direction, settings: DistillationSettings) -> None:
        rows = self.train.n_users if self.by_user else int(self.starts[-1])
        bytes_per_round = rows * direction.items * (8 if self.side.keep_scores else 4)
        affordable = _POOL_BYTES // max(1, bytes_per_round)
        self.rounds = 1 if self.by_user else max(1, min(settings.refresh_every, settings.epochs, affordable))
        draws = direction.draws
        self.items: IntArray = np.empty((rows if draws else 0, self.rounds, direction.items), dtype=np.int32)
        self.scores = np.empty(self.items.shape, dtype=np.float32) if self.side.keep_scores and draws else None
        weighted = direction.position_decay and draws
        self.weights = np.empty((rows, direction.items), dtype=np.float32) if weighted else None

    @property
    def n_top(self) -> int:
        """How many of the guide's best items are needed, as drawn items or as positives."""
        direction = self.side.direction
        return max(self.added.shape[1], direction.items if direction.draws and self.by_user else 0)

    @property
    def needs_ranks(self) -> bool:
        """Whether blocks must hold ranks."""
        return self.side.direction.draws and (not self.by_user or self.weights is not None)

    def add(self, learner: Block, guide: Block) -> None:
        """Collect the positives and the drawn items of one block of users."""
        direction = self.side.direction
        best = self._best_items(guide)
        self._add_positives(guide.users, best)
        if direction.draws and self.by_user:
            self._take_best(best[:, : direction.items], learner, guide)
        elif direction.draws:
            self._draw(learner, guide)

    def result(self) -> Refreshed:
        """The learner's log, with added positives where the direction has some, and the pool of drawn items."""
        log = self.train
        if self.added.shape[1]:
            user_rows, place = np.nonzero(self.added >= 0)
            added = Interactions(log.users, log.items, user_rows, self.added[user_rows, place])
            log = union([Interactions(log.users, log.items, log.user_rows, log.item_rows), added])
        return Refreshed(log, self._pool(log) if self.side.direction.draws else None)

    def _best_items(self, guide: Block) -> IntArray:
        if not self.n_top:
            return np.empty((len(guide.users), 0), dtype=np.int64)
        seen = {"rows": guide.users, "starts": self.train.row_starts, "seen": self.train.item_rows}
        return top_k(guide.scores.copy(), self.n_top, **seen)[0]

    def _add_positives(self, users: IntArray, best: IntArray) -> None:
        width = self.added.shape[1]
        if width:
            self.added[users] = np.where(np.arange(width) < self.n_added[users][:, None], best[:, :width], -1)

    def _take_best(self, best: IntArray, learner: Block, guide: Block) -> None:
        rows, users = np.arange(len(best))[:, None], guide.users
        self.items[users, 0] = best
        if self.scores is not None:
            self.scores[users, 0] = _scores_at(guide, rows, best)
        if self.weights is not None:
            assert learner.ranks is not None
            assert guide.ranks is not None
            gap = learner.ranks[rows, best] - guide.ranks[rows, best]
            self.weights[users] = position_weights(best, gap, self.side.direction)

    def _draw(self, learner: Block, guide: Block) -> None:
        assert self.table is not None  # only "top" has none
        assert learner.ranks is not None
        assert guide.ranks is not None
        start, end = int(guide.users[0]), int(guide.users[-1]) + 1
        first, last = self.starts[start], self.starts[end]
        counts = np.diff(self.starts[start : end + 1]) * self.rounds * self.items.shape[2]
        scheme = SCHEMES[self.side.direction.scheme]
        lower, higher = learner.ranks, guide.ranks
        if self.side.direction.ranked_higher_by == "learner":
            lower, higher = higher, lower
        drawn = draw_by_ranks(
            lower, higher, self.table, counts, self.rng, compared=scheme.compared, relative=scheme.relative
        )
        self.items[first:last] = drawn.reshape(-1, *self.items.shape[1:])
        if self.scores is not None:
            owners = np.repeat(np.arange(end - start), counts)
            self.scores[first:last] = _scores_at(guide, owners, drawn).reshape(-1, *self.items.shape[1:])

    def _pool(self, log: Interactions) -> Pool:
        items, scores = self.items, self.scores
        if not self.by_user and len(log) < len(items):  # the guide knew too few items to add for some users
            users = np.repeat(np.arange(log.n_users), np.diff(self.starts))
            kept = np.arange(len(items)) - self.starts[users] < log.user_degree[users]
            items, scores = items[kept], None if scores is None else scores[kept]
        return Pool(items, self.by_user, scores, self.weights)


def position_weights(best: IntArray, gap: IntArray, direction: Direction) -> FloatArray:
    """The weights of ranking distillation: exp(-position / decay) times tanh of how much lower the learner ranks.

    They sum to one for each user. Where the learner ranks no item lower than the guide, only the positions count.

    Parameters
    ----------
    best : array of shape (n_users, n)
        The guide's best items, -1 where there is none.
    gap : array of shape (n_users, n)
        The learner's rank of each less the guide's.
    direction : Direction

    Examples
    --------
    >>> direction = Direction(scheme="top", position_decay=1.0, rank_gap_scale=1.0)
    >>> position_weights(np.array([[5, 8]]), np.array([[0, 0]]), direction).round(3).tolist()
    [[0.731..., 0.268...]]
    """
    positions = np.exp(-np.arange(best.shape[1]) / direction.position_decay)
    weights = positions * np.tanh(np.maximum(gap * direction.rank_gap_scale, 0.0))
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, positions) * (best >= 0)
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12), dtype=np.float32)


def _scores_at(block: Block, rows: IntArray, items: IntArray) -> FloatArray:
    """The scores of some items, 0 where there is no item."""
    return np.where(items >= 0, block.scores[rows, items], np.float32(0.0))


def refresh(
    sources: Sources,
    train: Interactions,
    sides: Sequence[Side],
    settings: DistillationSettings,
    rng: np.random.Generator,
    progress: Progress = silent,
    *,
    guides: Sources | None = None,
) -> list[Refreshed]:
    """Rank all unseen items by both models and draw what each side needs for the coming epochs.

    Ranks do not change until the next refresh, so everything can be drawn now. The drawn items are kept, the ranks are
    not.

    Parameters
    ----------
    sources : teacher and student
        Current scores, with the rows and columns of `train`; -inf where a model knows nothing.
    train : Interactions
        What was seen, and is never drawn.
    sides : sequence of Side
        The directions that draw.
    settings : DistillationSettings
    rng : numpy.random.Generator
    progress : Progress
    guides : teacher and student, optional
        Scores of each model as a guide, where they differ from its current scores.

    Examples
    --------
    >>> from sureness.distillation.settings import Direction
    >>> rng = np.random.default_rng(0)
    >>> log = Interactions.from_matrix(rng.random((5, 20)) < 0.2)
    >>> from sureness.sources.base import FactorSource
    >>> models = [FactorSource(rng.normal(size=(5, 2)), rng.normal(size=(20, 2))) for _ in range(2)]
    >>> side = Side(Direction(items=3), learner=1, keep_scores=False)
    >>> (drawn,) = refresh((models[0], models[1]), log, [side], DistillationSettings(refresh_every=2), rng)
    >>> drawn.pool.items.shape == (len(log), 2, 3)
    True
    """
    collectors = [Collector(side, train, settings, rng) for side in sides]
    ranks = any(collector.needs_ranks for collector in collectors)
    everyone = sources if guides is None else (*sources, *guides)
    for blocks in zip(*(_blocks(source, train, ranks=ranks) for source in everyone), strict=True):
        learners, labellers = blocks[:2], blocks[-2:]
        for collector in collectors:
            place = collector.side.learner
            collector.add(learner=learners[place], guide=labellers[1 - place])
        progress("ranking for the next epochs", int(blocks[0].users[-1]) + 1, train.n_users)
    return [collector.result() for collector in collectors]


def _blocks(source: ScoreSource, train: Interactions, *, ranks: bool) -> Iterator[Block]:
    """One model, block after block."""
    for users, scores in block_scores(source, np.arange(train.n_users)):
        seen = {"rows": users, "starts": train.row_starts, "seen": train.item_rows}
        yield Block(users, scores, exact_ranks(scores, **seen) if ranks else None)
