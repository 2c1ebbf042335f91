"""Ranks of held-out pairs in one model or two, over the users and items that both models know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from sureness._printing import card, fields_repr
from sureness._progress import Progress, silent
from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.data.ids import IdMap
from sureness.data.interactions import Interactions, check_log
from sureness.errors import EmptyError, IdError, SettingError
from sureness.numerics.ranking import draw_by_ranks, exact_ranks, ranks_of
from sureness.sources.aligned import Seen, among, checked_seen, fitted_to, places_of, seen_of
from sureness.sources.base import ScoreSource, id_maps, named
from sureness.sources.blocks import block_scores, blocks_of


@dataclass(frozen=True, eq=False)
class CommonIds:
    """The ids that two models share, and the row of each in both models.

    If only one of the models has ids, the other must have the same users or items in the same order.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> large = MatrixSource(np.array([[1.0, 2.0, 3.0]]), items=IdMap.of(["a", "b", "c"]))
    >>> small = MatrixSource(np.array([[5.0, 4.0]]), items=IdMap.of(["b", "c"]))
    >>> for users, first, second in CommonIds.of(large, small).blocks(np.array([0])):
    ...     print(first, second)
    [[2. 3.]] [[5. 4.]]
    """

    sources: tuple[ScoreSource, ScoreSource]
    users: IdMap
    items: IdMap
    user_rows: tuple[IntArray | None, IntArray | None]  # rows of the common users in each model; None: the same
    item_rows: tuple[IntArray | None, IntArray | None]

    __repr__ = fields_repr

    @classmethod
    def of(cls, first: ScoreSource, second: ScoreSource) -> CommonIds:
        """Match the ids of two models."""
        (users, user_rows), (items, item_rows) = (_matched(first, second, side) for side in ("users", "items"))
        return cls((first, second), users, items, user_rows, item_rows)

    def fitted(self, log: Interactions, name: str) -> Interactions:
        """Re-index a log to the common ids, or to row numbers if neither model has ids."""
        check_log(log, name)
        if all(named(source, side) is None for source in self.sources for side in ("users", "items")):
            return fitted_to(self.sources[0], log, name)
        return log.aligned(self.users, self.items)

    def blocks(self, users: IntArray) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """Blocks of common users with their scores by both models, which may be overwritten; -inf: unknown."""
        for block in blocks_of(users, max(source.n_items for source in self.sources)):
            yield block, self._scores(0, block), self._scores(1, block)

    def _scores(self, place: int, block: IntArray) -> FloatArray:
        rows, columns = self.user_rows[place], self.item_rows[place]
        parts = [scores for _, scores in block_scores(self.sources[place], block if rows is None else rows[block])]
        scores = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return scores if columns is None else np.ascontiguousarray(scores[:, columns])


def _matched(
    first: ScoreSource, second: ScoreSource, side: str
) -> tuple[IdMap, tuple[IntArray | None, IntArray | None]]:
    place = ("users", "items").index(side)
    mine, other = id_maps(first)[place], id_maps(second)[place]
    if named(first, side) is None and named(second, side) is None:
        if len(mine) != len(other):
            raise IdError(
                f"two models without ids must have the same {side}, got {len(mine):,} and "
                f"{len(other):,}; give both their ids"
            )
        return mine, (None, None)
    if mine.same_as(other):
        return mine, (None, None)
    if named(first, side) is None or named(second, side) is None:
        raise IdError(
            f"one of the two models has no names for its {side}, so their ids are row numbers, and the other "
            "has others; give both their ids"
        )
    rows = other.rows(mine.ids)
    common = np.flatnonzero(rows >= 0)
    if not len(common):
        raise IdError(f"the two models have no {side} in common; check that both were fitted on the same data")
    return IdMap(mine.at(common)), (common, rows[common])


_ROLES = ("teacher", "student")
_BLOCK_PAIRS = 4_000_000  # comparisons made at a time


@dataclass(frozen=True, eq=False)
class RankComparison:
    """The rank of every test interaction in two models, 1 for the best unseen item.

    Examples
    --------
    >>> ranks = pl.DataFrame({"user_id": [1, 2], "item_id": [5, 5], "teacher_rank": [4.0, 1.0],
    ...                       "student_rank": [2.0, 1.0]})
    >>> RankComparison(ranks, n_items=10)
    RankComparison(2 interactions: student better 50.0%, equal 50.0%, average rank difference 0.1000)
    """

    ranks: pl.DataFrame  # user_id, item_id, teacher_rank, student_rank; one row per test interaction
    n_items: int  # that both models know
    n_left_out: int = 0  # test interactions that were seen, or whose user or item one of the models does not know

    def __len__(self) -> int:
        return self.ranks.height

    @property
    def teacher(self) -> FloatArray:
        """Ranks by the teacher; shape (n,)."""
        return self.ranks["teacher_rank"].to_numpy()

    @property
    def student(self) -> FloatArray:
        """Ranks by the student; shape (n,)."""
        return self.ranks["student_rank"].to_numpy()

    @property
    def difference(self) -> FloatArray:
        """The teacher's rank minus the student's; above 0 where the student ranks higher. Shape (n,)."""
        return np.asarray(self.teacher - self.student)

    @property
    def student_better(self) -> float:
        """Share of the test interactions that the student ranks higher than the teacher."""
        return float(np.mean(self.difference > 0))

    @property
    def equal(self) -> float:
        """Share of the test interactions with the same rank in both."""
        return float(np.mean(self.difference == 0))

    @property
    def average_difference(self) -> float:
        """Mean absolute rank difference, divided by the number of items.

        With one test interaction per user this is the dissertation's 1 / (n m) times the sum over the test set.
        Independent rankings give 1/3.
        """
        return float(np.mean(np.abs(self.difference)) / self.n_items)

    def curve(self, n_points: int = 1_000) -> FloatArray:
        """Rank differences in increasing order, divided by the number of items, at evenly spaced shares of them.

        All differences, if there are at most `n_points`.
        """
        rising = np.sort(self.difference) / self.n_items
        if len(rising) <= n_points:
            return rising
        return np.asarray(rising[np.linspace(0, len(rising) - 1, n_points).round().astype(np.int64)])

    def __repr__(self) -> str:
        return (
            f"RankComparison({counted(len(self), 'interaction')}: student better {self.student_better:.1%}, "
            f"equal {self.equal:.1%}, average rank difference {self.average_difference:.4f})"
        )

    def _repr_html_(self) -> str:
        facts = {
            "student better": f"{self.student_better:.1%}",
            "equal": f"{self.equal:.1%}",
            "average rank difference": f"{self.average_difference:.4f}",
        }
        return card(f"Ranks of {counted(len(self), 'interaction')}, teacher and student", facts)


def compare_ranks(
    teacher: ScoreSource,
    student: ScoreSource,
    test: Interactions,
    *,
    seen: Seen = None,
    progress: Progress = silent,
) -> RankComparison:
    """Rank every test interaction by both models among the items that its user has not seen.

    Ranks are exact: one plus the number of higher scores plus half the number of equal ones, so that items with equal
    scores share the mean of their ranks. Items that a model does not know share its last ranks. Where the models know
    different users or items, only the common ones count. Memory is bounded by a block of scores.

    Parameters
    ----------
    teacher, student : ScoreSource
    test : Interactions
        What should be ranked high. Interactions that are also in `seen` are left out.
    seen : Interactions or "nothing", optional
        Items that do not count: the training log, and the validation set when the test is judged.
    progress : Progress

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> test = Interactions.from_matrix(np.array([[0, 1, 0], [0, 0, 1]]))
    >>> large = MatrixSource(np.array([[0.3, 0.2, 0.1], [0.3, 0.2, 0.1]]))
    >>> small = MatrixSource(np.array([[0.1, 0.3, 0.2], [0.3, 0.2, 0.1]]))
    >>> compare_ranks(large, small, test).ranks.select("teacher_rank", "student_rank").rows()
    [(2.0, 1.0), (3.0, 3.0)]
    """
    common = CommonIds.of(teacher, student)
    judged = common.fitted(test, "test")
    log = checked_seen(seen, teacher, student, held_out=test)
    before = None if log is None else common.fitted(log, "seen")
    if before is not None:
        judged = judged.keep(~among(judged, before))
    if not len(judged):
        raise EmptyError(
            "no test interaction is left to rank; give interactions that were not seen, with ids that both models know"
        )
    ranks = _test_ranks(common, judged, before, progress)
    table = pl.DataFrame(
        {
            "user_id": common.users.at(judged.user_rows),
            "item_id": common.items.at(judged.item_rows),
            "teacher_rank": ranks[0],
            "student_rank": ranks[1],
        }
    )
    return RankComparison(table, n_items=len(common.items), n_left_out=len(test) - len(judged))


@dataclass(frozen=True, eq=False)
class RankScatter:
    """Unseen items that one of the models ranks high, with their ranks in both.

    Examples
    --------
    >>> points = pl.DataFrame({"drawn_by": ["teacher", "teacher"], "teacher_rank": [1, 2], "student_rank": [3, 90]})
    >>> RankScatter(points, n_items=100).known_to_other("teacher", 0.1)
    0.5
    """

    points: pl.DataFrame  # drawn_by ("teacher" or "student"), teacher_rank, student_rank
    n_items: int

    __repr__ = fields_repr

    def known_to_other(self, drawn_by: str, top: float = 0.1) -> float:
        """Share of one model's items that are in this top share of the other's ranking; NaN if it has no items."""
        other = {"teacher": "student_rank", "student": "teacher_rank"}.get(drawn_by)
        if other is None:
            raise SettingError(f"drawn_by must be teacher or student, got {drawn_by!r}")
        ranks = self.points.filter(drawn_by=drawn_by)[other].to_numpy()
        return float(np.mean(ranks <= top * self.n_items)) if len(ranks) else float("nan")


def rank_scatter(
    teacher: ScoreSource,
    student: ScoreSource,
    *,
    seen: Seen = None,
    n_points: int = 2_000,
    scale: float = 1e-2,
    seed: int = 0,
) -> RankScatter:
    """Draw unseen items that each model ranks high, and look up their ranks in both.

    Items are drawn by the rank-aware scheme of collaborative distillation, with chances in proportion to
    exp(-scale * rank), for users drawn with replacement.

    Parameters
    ----------
    teacher, student : ScoreSource
    seen : Interactions or "nothing", optional
        Items that are never drawn and do not count in ranks.
    n_points : int
        Drawn from the ranking of each model.
    scale : float
        How fast the chance of an item falls with its rank.
    seed : int

    Examples
    --------
    >>> from sureness.sources.base import FactorSource
    >>> rng = np.random.default_rng(0)
    >>> large = FactorSource(rng.normal(size=(30, 8)), rng.normal(size=(200, 8)))
    >>> small = FactorSource(large.user_factors[:, :2], large.item_factors[:, :2])
    >>> rank_scatter(large, small, n_points=50).points["drawn_by"].value_counts(sort=True)["count"].to_list()
    [50, 50]
    """
    if n_points < 1 or not scale > 0:
        raise SettingError(f"n_points must be at least 1 and scale above 0, got {n_points} and {scale}")
    common = CommonIds.of(teacher, student)
    log = checked_seen(seen, teacher, student)
    known = None if log is None else common.fitted(log, "seen")
    rng = np.random.default_rng(seed)
    n_users, n_items = len(common.users), len(common.items)
    counts = np.bincount(rng.integers(0, n_users, n_points), minlength=n_users)
    table = np.exp(scale * np.minimum(np.arange(-n_items, n_items + 1.0), -1.0))
    parts = []
    for block, *scores in common.blocks(np.flatnonzero(counts)):
        left_out = {} if known is None else {"rows": block, "starts": known.row_starts, "seen": known.item_rows}
        ranks = [exact_ranks(part, **left_out) for part in scores]
        parts += [_drawn(ranks, guide, table, counts[block], rng) for guide in (0, 1)]
    points = pl.concat(parts)
    return RankScatter(points.sort("drawn_by", descending=True, maintain_order=True), n_items=n_items)


def _test_ranks(
    common: CommonIds, test: Interactions, seen: Interactions | None, progress: Progress
) -> tuple[FloatArray, FloatArray]:
    users, done = np.flatnonzero(test.user_degree), 0
    ranks = np.empty(len(test)), np.empty(len(test))
    for block, *both in common.blocks(users):
        pairs = slice(test.row_starts[block[0]], test.row_starts[block[-1] + 1])
        owners = np.repeat(np.arange(len(block)), test.user_degree[block])
        for scores, found in zip(both, ranks, strict=True):
            if seen is not None:
                scores[places_of(seen, block)] = np.nan  # neither higher than anything nor equal to it
            found[pairs] = _middle_ranks(scores, owners, test.item_rows[pairs])
        done += len(block)
        progress("comparing ranks", done, len(users))
    return ranks


def _middle_ranks(scores: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """1 + the number of higher scores + half the number of equal ones, a few rows at a time."""
    ranks = np.empty(len(rows))
    size = max(1, _BLOCK_PAIRS // scores.shape[1])
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        mine = scores[rows[part], columns[part]][:, None]
        others = scores[rows[part]]
        higher = np.count_nonzero(others > mine, axis=1)
        ranks[part] = 0.5 + higher + np.count_nonzero(others == mine, axis=1) / 2  # it is equal to itself
    return ranks


def _drawn(
    ranks: list[IntArray], guide: int, table: FloatArray, counts: IntArray, rng: np.random.Generator
) -> pl.DataFrame:
    drawn = draw_by_ranks(ranks[1 - guide], ranks[guide], table, counts, rng, compared=False)
    rows = np.repeat(np.arange(len(counts)), counts)[drawn >= 0]
    found = {f"{name}_rank": ranks[place][rows, drawn[drawn >= 0]] for place, name in enumerate(_ROLES)}
    return pl.DataFrame(found).select(pl.lit(_ROLES[guide]).alias("drawn_by"), pl.all().cast(pl.Int64))


def held_out_ranks(
    source: ScoreSource, test: Interactions, *, seen: Seen = None, seen_score: float = -np.inf
) -> IntArray:
    """One more than the number of items of the user with a higher score, for every test pair in the order of the log.

    Parameters
    ----------
    source : ScoreSource
    test : Interactions
        What should be ranked high.
    seen : Interactions or "nothing", optional
        Items that are not shown again: the training log, and also the validation set when the test set is judged.
    seen_score : float
        What these items score instead. -inf masks them. The authors' code of bidirectional distillation multiplies
        them by 0, so that they stand before all items with a negative score.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> source = MatrixSource(np.array([[0.9, -0.3, -0.1]]))
    >>> log, test = Interactions.from_matrix(np.array([[1, 0, 0]])), Interactions.from_matrix(np.array([[0, 1, 0]]))
    >>> held_out_ranks(source, test, seen=log), held_out_ranks(source, test, seen=log, seen_score=0.0)
    (array([2]), array([3]))
    """
    test = fitted_to(source, test, "test")
    left_out = seen_of(source, seen, test)
    ranks = np.empty(len(test), dtype=np.int64)
    for block, scores in block_scores(source, np.flatnonzero(test.user_degree)):
        if left_out is not None:
            scores[places_of(left_out, block)] = seen_score
        pairs = slice(test.row_starts[block[0]], test.row_starts[block[-1] + 1])
        owners = np.repeat(np.arange(len(block)), test.user_degree[block])
        ranks[pairs] = ranks_of(scores, owners, test.item_rows[pairs])
    return ranks
