"""Quality of the rankings of a source, computed in blocks of users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._card import card
from sureness._progress import Progress, silent
from sureness._types import FloatArray, IntArray
from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.errors import DataError, EmptyError, IdError, SettingError
from sureness.metrics.ranking import judge_lists, longest, parse_measure
from sureness.numerics.checks import check_labels, same_length
from sureness.numerics.memory import check_memory
from sureness.numerics.ranking import members, top_k
from sureness.sources.aligned import Aligned, Seen, fitted_to, seen_of
from sureness.sources.base import PartialSource, ScoreSource, check_users, checked_block, id_maps, is_partial
from sureness.sources.precision import as_float32
from sureness.sources.tables import scores_of

BLOCK_SCORES = 4_000_000
"""How many scores are held in memory at a time."""

METRICS = ("hit@50", "ndcg@50", "recall@50")
"""What is measured by default."""


@dataclass(frozen=True, eq=False)
class RankingQuality:
    """Ranking metrics of every user with relevant items.

    Examples
    --------
    >>> quality = RankingQuality(pl.DataFrame({"user_id": [1, 2], "hit@1": [1.0, 0.0]}))
    >>> quality["hit@1"], quality
    (0.5, RankingQuality(2 users: hit@1 0.5000))
    """

    per_user: pl.DataFrame  # user_id and one column for each metric

    def __getitem__(self, metric: str) -> float:
        if metric not in self.per_user.columns:
            raise SettingError(f"{metric!r} was not measured; there are {', '.join(self.per_user.columns[1:])}")
        return float(self.per_user[metric].mean())  # type: ignore[arg-type]

    @property
    def n_users(self) -> int:
        return self.per_user.height

    @property
    def means(self) -> dict[str, float]:
        """The mean of every metric over the users."""
        return {name: self[name] for name in self.per_user.columns if name != "user_id"}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value:.4f}" for name, value in self.means.items())
        return f"RankingQuality({counted(self.n_users, 'user')}: {shown})"

    def _repr_html_(self) -> str:
        return card(
            f"Ranking quality, {counted(self.n_users, 'user')}",
            {name: f"{mean:.4f}" for name, mean in self.means.items()},
        )


def evaluate_ranking(
    source: ScoreSource,
    test: Interactions,
    *,
    seen: Seen = None,
    metrics: Sequence[str] = METRICS,
    users: ArrayLike | None = None,
    progress: Progress = silent,
) -> RankingQuality:
    """Rank all unseen items for every user with test items, and compare the top with them.

    With leave-one-out every user has one test item; hit@K is then H@K and ndcg@K is N@K. Only one block of scores is
    held in memory.

    Parameters
    ----------
    source : ScoreSource
    test : Interactions
        What should be ranked high.
    seen : Interactions or "nothing", optional
        Items that are not shown again: the training log, and also the validation set when the test set is judged.
        "nothing": all items are ranked.
    metrics : sequence of str
        hit@K, ndcg@K, recall@K, precision@K for any K.
    users : array of row numbers, optional
        Judge only these users.
    progress : Progress, optional
        Called after each block with the number of users judged.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> test = Interactions.from_matrix(np.array([[0, 1, 0], [0, 0, 1]]))
    >>> evaluate_ranking(MatrixSource(np.array([[0.3, 0.2, 0.1], [0.3, 0.2, 0.1]])), test, metrics=["hit@2", "ndcg@2"])
    RankingQuality(2 users: hit@2 0.5000, ndcg@2 0.3155)
    """
    length = min(longest(metrics), source.n_items)
    aligned = Aligned.of(source, test, seen, name="test")
    test = aligned.held_out
    judged = np.flatnonzero(test.user_degree) if users is None else check_users(users, source.n_users)
    judged = judged[test.user_degree[judged] > 0]
    if not len(judged):
        raise EmptyError(
            "no user has a test item, so there is nothing to judge; check that the ids are those of the source"
        )
    check_memory(
        len(judged) * longest(metrics),
        f"lists of {counted(longest(metrics), 'item')} for {counted(len(judged), 'user')}",
    )
    hits = np.zeros((len(judged), longest(metrics)), dtype=bool)
    done = 0
    for block, tops, _ in top_blocks(source, judged, length, aligned.seen):
        hits[done : done + len(block), :length] = members(tops, block, test.row_starts, test.item_rows)
        done += len(block)
        progress("ranking", done, len(judged))
    values = judge_lists(hits, test.user_degree[judged], list(metrics))
    return RankingQuality(pl.DataFrame({"user_id": test.users.at(judged), **values}))


def top_blocks(
    source: ScoreSource, users: IntArray, length: int, seen: Interactions | None, *, most: int | None = None
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Blocks of users, with the top unseen items of each user and their scores; shape (n, length), -1 if too few."""
    for block, scores in block_scores(source, users, most=most):
        left_out = {} if seen is None else {"rows": block, "starts": seen.row_starts, "seen": seen.item_rows}
        yield block, *top_k(scores, length, **left_out)


def block_scores(
    source: ScoreSource, users: IntArray, *, most: int | None = None
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Blocks of users with their scores, which may be overwritten; -inf for unknown scores."""
    for block in blocks_of(users, source.n_items, most=most):
        yield block, _known_scores(source, block) if is_partial(source) else _writeable(source, block)


def blocks_of(users: IntArray, n_items: int, *, most: int | None = None) -> Iterator[IntArray]:
    """Split users into blocks whose scores fit in memory, with at most `most` users each."""
    size = max(1, min(BLOCK_SCORES // n_items, len(users) if most is None else most))
    for start in range(0, len(users), size):
        yield users[start : start + size]


def _writeable(source: ScoreSource, users: IntArray) -> FloatArray:
    scores = np.ascontiguousarray(as_float32(checked_block(source, users)))
    highest = scores.max() if scores.size else 0.0  # NaN if any score is
    if np.isnan(highest) or highest == np.inf:
        raise DataError(
            f"scores of the source must be finite numbers, got {'NaN' if np.isnan(highest) else 'infinity'}; where it "
            "has no score, use a CandidateSource or a PartialFunctionSource"
        )
    return scores if scores.flags.writeable and scores.base is None else scores.copy()


def _known_scores(source: PartialSource, users: IntArray) -> FloatArray:
    """Scores of a partial source; unknown ones are -inf, so that those items are not shown."""
    known = source.known_block(users)
    scores = np.full((len(users), source.n_items), -np.inf, dtype=np.float32)
    scores[np.repeat(np.arange(len(users)), np.diff(known.starts)), known.items] = known.scores
    return scores


def best_items(source: ScoreSource, users: ArrayLike, n: int = 10, *, seen: Seen = None) -> pl.DataFrame:
    """The n best unseen items of users (given by id) as a table: user_id, rank, item_id, score.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> best_items(MatrixSource(np.array([[0.1, 0.3, 0.2]])), [0], 2).rows()
    [(0, 1, 1, 0.30000001192092896), (0, 2, 2, 0.20000000298023224)]
    """
    rows = id_maps(source)[0].known_rows(users, "users")
    if not len(rows):
        raise EmptyError("expected at least one user to list items for, got none")
    return pl.concat([table for table, _ in list_blocks(source, rows, n, seen_of(source, seen))])


def list_blocks(
    source: ScoreSource, users: IntArray, n: int, seen: Interactions | None
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Tables of the n best unseen items (user_id, rank, item_id, score), each with its number of users."""
    user_ids, item_ids = id_maps(source)
    for block, tops, scores in top_blocks(source, users, min(n, source.n_items), seen):
        there = tops >= 0
        place, rank = np.nonzero(there)
        columns = {"user_id": user_ids.at(block[place]), "rank": rank + 1, "item_id": item_ids.at(tops[there])}
        yield pl.DataFrame(columns | {"score": scores[there]}), len(block)


def evaluate_within(
    source: ScoreSource, shown: Interactions, relevant: ArrayLike, *, metrics: Sequence[str] = ("ndcg@5", "recall@5")
) -> RankingQuality:
    """Rank only the items that each user was shown.

    This is the ranking quality of chapter 2 of Kweon (2024), where test items are drawn uniformly and all of them have
    a label. Users without a relevant item are left out.

    Parameters
    ----------
    source : ScoreSource
    shown : Interactions
        The pairs that were shown.
    relevant : array of 0 and 1
        One label for each pair of `shown`, in the same order.
    metrics : sequence of str

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> shown = Interactions.from_matrix(np.array([[1, 1, 0], [1, 0, 1]]))
    >>> evaluate_within(MatrixSource(np.array([[2.0, 1, 3], [1, 9, 2]])), shown, [1, 0, 0, 1], metrics=["ndcg@1"])
    RankingQuality(2 users: ndcg@1 1.0000)
    """
    labels = check_labels(relevant, "relevant")
    same_length(labels, len(shown), "relevant")
    given = len(shown)
    shown = fitted_to(
        source, replace(shown, ratings=labels), "shown"
    )  # stored as ratings, so that labels stay with their pairs
    if len(shown) != given:
        raise IdError("shown pairs must all be known to the source; drop the others with their labels first")
    for name in metrics:
        parse_measure(name)
    scores = scores_of(source, shown.user_rows, shown.item_rows)
    order = np.lexsort((-scores, shown.user_rows))
    place = np.arange(len(shown)) - shown.row_starts[shown.user_rows]
    hits = np.zeros((shown.n_users, max(longest(metrics), int(shown.user_degree.max()))), dtype=bool)
    hits[shown.user_rows, place] = np.asarray(shown.ratings)[order]
    n_relevant = hits.sum(axis=1)
    some = np.flatnonzero(n_relevant)
    if not len(some):
        raise EmptyError("no user has a relevant item, so there is nothing to judge")
    values = judge_lists(hits[some], n_relevant[some], list(metrics))
    return RankingQuality(pl.DataFrame({"user_id": shown.users.at(some), **values}))
