"""What is drawn at a refresh: both models score block after block, and no table of users x items is ever held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sureness._types import FloatArray, IntArray
from sureness.data.interactions import Interactions, union
from sureness.distillation.sampling import SCHEMES, weight_table
from sureness.distillation.settings import Direction, DistillationSettings
from sureness.evaluation.ranking import block_scores, blocks_of
from sureness.models.networks.batches import Batch
from sureness.numerics.ranking import top_k
from sureness.numerics.row_ranks import RowRanks, draw_by_ranks, exact_ranks, product_ranks, sketched_ranks
from sureness.sources.base import FactorSource, ScoreSource

Report = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Pool:
    """The items that a guide speaks of until the next refresh, in the order of the learner's pairs."""

    items: IntArray  # (rows, rounds, n) int32, -1 where there is none
    by_user: bool  # whether rows are users; else the learner's pairs
    scores: FloatArray | None = None  # (rows, rounds, n) of a guide that is no model of ours
    weights: FloatArray | None = None  # (rows, n)

    def take(self, batch: Batch, number: int) -> tuple[IntArray, FloatArray | None, FloatArray | None]:
        """Items, the guide's scores and their weights for the pairs of a batch, in the number-th epoch."""
        rows, turn = batch.users if self.by_user else batch.places, number % self.items.shape[1]
        return (
            self.items[rows, turn].astype(np.int64),
            None if self.scores is None else self.scores[rows, turn],
            None if self.weights is None else self.weights[rows],
        )


class Lesson(NamedTuple):
    """What one direction needs until the next refresh."""

    log: Interactions  # the learner's positives
    pool: Pool | None


@dataclass(frozen=True, eq=False)
class Side:
    """One direction of a refresh: who learns from whom, and what is kept of the guide."""

    direction: Direction
    learner: int  # 0: the teacher learns, 1: the student
    keep_scores: bool  # of a guide that cannot be asked later


def refresh(
    sources: tuple[ScoreSource, ScoreSource],
    train: Interactions,
    sides: Sequence[Side],
    settings: DistillationSettings,
    rng: np.random.Generator,
    report: Report | None = None,
    *,
    spoken: tuple[ScoreSource, ScoreSource] | None = None,
) -> list[Lesson]:
    """Rank all unseen items by both models and draw what each direction needs for the coming epochs.

    Draws follow the ranks as they are now, so they may be made now: what is kept are the drawn items, not the ranks.

    Parameters
    ----------
    sources : teacher and student
        With the rows of `train`; -inf where one knows nothing.
    train : Interactions
        What is seen, and never drawn.
    sides : the directions
    settings : DistillationSettings
    rng : numpy.random.Generator
    report : callable, optional
    spoken : teacher and student, optional
        What each says as a guide, if that differs from what it is as a learner.
    """
    desks = [_Desk(side, train, settings, rng) for side in sides]
    wanted = {
        "scores": any(desk.needs_scores for desk in desks),
        "ranks": any(desk.needs_ranks for desk in desks),
    }
    everyone = sources if spoken is None else (*sources, *spoken)
    for views in zip(*(_views(source, train, settings, **wanted) for source in everyone), strict=True):
        learners, guides = views[:2], views[-2:]
        for desk in desks:
            desk.fill(learner=learners[desk.side.learner], guide=guides[1 - desk.side.learner])
        if report is not None:
            report("ranking for the next epochs", int(views[0].users[-1]) + 1, train.n_users)
    return [desk.lesson() for desk in desks]


class _View(NamedTuple):
    """What one model says of a block of users, as far as it was asked."""

    users: IntArray
    scores: FloatArray | None  # of all items
    ranks: RowRanks | None  # among the unseen items; those that were seen do not count


def _views(
    source: ScoreSource, train: Interactions, settings: DistillationSettings, *, scores: bool, ranks: bool
) -> Iterator[_View]:
    """Block after block; where ranks are all that is asked of a product of factors, its scores are never held."""
    users = np.arange(train.n_users)
    factors = None
    if isinstance(source, FactorSource) and settings.ranks == "sketch" and not scores:
        factors = source.product()
    if factors is not None:
        for block in blocks_of(users, train.n_items):
            of_users, of_items = factors[0][block], factors[1]
            found = product_ranks(of_users, of_items, settings.quantiles, **_seen(block, train)) if ranks else None
            yield _View(block, None, found)
        return
    for block, known in block_scores(source, users):
        yield _View(block, known, _ranks(known, block, train, settings) if ranks else None)


def _ranks(scores: FloatArray, users: IntArray, train: Interactions, settings: DistillationSettings) -> RowRanks:
    if settings.ranks == "exact":
        return exact_ranks(scores, **_seen(users, train))
    return sketched_ranks(scores, settings.quantiles, **_seen(users, train))


def _seen(users: IntArray, train: Interactions) -> dict[str, IntArray]:
    return {"rows": users, "starts": train.row_starts, "seen": train.item_rows}


class _Desk:
    """Where one direction's items are collected while the blocks go by."""

    def __init__(self, side: Side, train: Interactions, settings: DistillationSettings, rng: np.random.Generator):
        self.side, self.train, self.rng = side, train, rng
        direction, n = side.direction, side.direction.items
        unseen = train.n_items - train.user_degree
        self.extra = np.minimum(unseen - 1, direction.positives).clip(min=0)  # one item at least stays unseen
        self.more = np.full((train.n_users, int(self.extra.max(initial=0))), -1, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(train.user_degree + self.extra)])
        self.by_user = direction.scheme == "top"
        rows = train.n_users if self.by_user else int(self.starts[-1])
        fitting = (settings.pool_megabytes << 20) // max(1, rows * n * (8 if side.keep_scores else 4))
        self.rounds = 1 if self.by_user else max(1, min(settings.refresh_every, fitting))
        self.items: IntArray = np.empty((rows if direction.draws else 0, self.rounds, n), dtype=np.int32)
        self.scores = np.empty(self.items.shape, dtype=np.float32) if side.keep_scores and direction.draws else None
        self.weights = np.empty((rows, n), dtype=np.float32) if direction.position_decay and direction.draws else None
        self.table = None if self.by_user else weight_table(direction.scheme, direction.rank_gap_scale, train.n_items)

    @property
    def n_tops(self) -> int:
        """How many of the guide's first items are needed, to be learned as they are or as positives."""
        direction = self.side.direction
        return max(self.more.shape[1], direction.items if direction.draws and self.by_user else 0)

    @property
    def needs_scores(self) -> bool:
        return self.n_tops > 0 or self.scores is not None

    @property
    def needs_ranks(self) -> bool:
        return self.side.direction.draws and (not self.by_user or self.weights is not None)

    def fill(self, learner: _View, guide: _View) -> None:
        """Take what is needed of one block."""
        block, direction = guide.users, self.side.direction
        tops = self._first_items(guide)
        self._add_positives(block, tops)
        if direction.draws and self.by_user:
            self._take_tops(tops[:, : direction.items], learner, guide)
        elif direction.draws:
            self._draw(learner, guide)

    def _first_items(self, guide: _View) -> IntArray:
        if not self.n_tops:
            return np.empty((len(guide.users), 0), dtype=np.int64)
        assert guide.scores is not None
        seen = {"rows": guide.users, "starts": self.train.row_starts, "seen": self.train.item_rows}
        return top_k(guide.scores.copy(), self.n_tops, **seen)[0]

    def _add_positives(self, block: IntArray, tops: IntArray) -> None:
        if self.more.shape[1]:
            within = np.arange(self.more.shape[1]) < self.extra[block][:, None]
            self.more[block] = np.where(within, tops[:, : self.more.shape[1]], -1)

    def _take_tops(self, tops: IntArray, learner: _View, guide: _View) -> None:
        rows, block = np.arange(len(tops))[:, None], guide.users
        self.items[block, 0] = tops
        if self.scores is not None:
            self.scores[block, 0] = _scores_at(guide, rows, tops)
        if self.weights is not None:
            assert learner.ranks is not None
            assert guide.ranks is not None
            gap = learner.ranks.at(rows, tops) - guide.ranks.at(rows, tops)
            self.weights[block] = position_weights(tops, gap, self.side.direction)

    def _draw(self, learner: _View, guide: _View) -> None:
        assert self.table is not None  # only "top" has none
        assert learner.ranks is not None
        assert guide.ranks is not None
        start, end = int(guide.users[0]), int(guide.users[-1]) + 1
        first, last = self.starts[start], self.starts[end]
        counts = np.diff(self.starts[start : end + 1]) * self.rounds * self.items.shape[2]
        scheme = SCHEMES[self.side.direction.scheme]
        drawn = draw_by_ranks(
            learner.ranks, guide.ranks, self.table, counts, self.rng,
            compared=scheme.compared, relative=scheme.relative,
        )  # fmt: skip
        self.items[first:last] = drawn.reshape(-1, *self.items.shape[1:])
        if self.scores is not None:
            owners = np.repeat(np.arange(end - start), counts)
            self.scores[first:last] = _scores_at(guide, owners, drawn).reshape(-1, *self.items.shape[1:])

    def lesson(self) -> Lesson:
        """The learner's log, with the guide's first items where they are asked for, and the pool."""
        log = self.train
        if self.more.shape[1]:
            user_rows, place = np.nonzero(self.more >= 0)
            added = Interactions(log.users, log.items, user_rows, self.more[user_rows, place])
            log = union([Interactions(log.users, log.items, log.user_rows, log.item_rows), added])
        return Lesson(log, self._pool(log) if self.side.direction.draws else None)

    def _pool(self, log: Interactions) -> Pool:
        items, scores = self.items, self.scores
        if not self.by_user and len(log) < len(items):  # the guide knew too few items for some users
            users = np.repeat(np.arange(log.n_users), np.diff(self.starts))
            kept = np.arange(len(items)) - self.starts[users] < log.user_degree[users]
            items, scores = items[kept], None if scores is None else scores[kept]
        return Pool(items, self.by_user, scores, self.weights)


def _scores_at(view: _View, rows: IntArray, items: IntArray) -> FloatArray:
    """The scores of some items, 0 where there is none."""
    assert view.scores is not None
    return np.where(items >= 0, view.scores[rows, items], np.float32(0.0))


def position_weights(tops: IntArray, gap: IntArray, direction: Direction) -> FloatArray:
    """Ranking distillation's weights: exp(-position / decay) times tanh of how much lower the learner ranks an item.

    They sum to one for each user; where the learner agrees on every item, the positions decide alone.
    """
    positions = np.exp(-np.arange(tops.shape[1]) / direction.position_decay)
    weights = positions * np.tanh(np.maximum(gap * direction.rank_gap_scale, 0.0))
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, positions) * (tops >= 0)
    return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12), dtype=np.float32)
