"""Metrics of ranked lists (hit ratio, NDCG, recall, precision), and a source judged by them in blocks of users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from sureness._printing import card
from sureness._progress import Progress, silent
from sureness._types import BoolArray, FloatArray, IntArray
from sureness._wording import counted
from sureness.data.interactions import Interactions
from sureness.errors import EmptyError, IdError, SettingError
from sureness.numerics.checks import check_labels, check_memory, same_length
from sureness.numerics.ranking import members
from sureness.sources.aligned import Aligned, Seen, fitted_to, seen_of
from sureness.sources.base import ScoreSource, check_users, id_maps
from sureness.sources.blocks import list_blocks, scores_of, top_blocks

Measure = Callable[[BoolArray, IntArray], FloatArray]


def hit_ratio(hits: BoolArray, n_relevant: IntArray) -> FloatArray:
    """1 for each user with at least one relevant item in the list."""
    return np.asarray(hits.any(axis=1), dtype=np.float64)


def ndcg(hits: BoolArray, n_relevant: IntArray) -> FloatArray:
    """Discounted cumulative gain of each list, divided by that of the best list of the same length.

    Examples
    --------
    >>> ndcg(np.array([[False, True]]), np.array([1])).round(3)
    array([0.631])
    """
    discount = 1.0 / np.log2(np.arange(2, hits.shape[1] + 2))
    best = np.concatenate([[0.0], np.cumsum(discount)])[np.minimum(n_relevant, hits.shape[1])]
    return np.asarray(hits @ discount / np.maximum(best, discount[0]))


def recall(hits: BoolArray, n_relevant: IntArray) -> FloatArray:
    """Share of each user's relevant items that are in the list."""
    return np.asarray(hits.sum(axis=1) / np.maximum(n_relevant, 1))


def precision(hits: BoolArray, n_relevant: IntArray) -> FloatArray:
    """Share of each list that is relevant."""
    return np.asarray(hits.mean(axis=1))


_LONGEST = 1_000_000  # items of a list

MEASURES: dict[str, Measure] = {"hit": hit_ratio, "ndcg": ndcg, "recall": recall, "precision": precision}


def parse_measure(name: str) -> tuple[Measure, int]:
    """The function and the list length of a name such as "ndcg@50"."""
    word, _, length = name.lower().partition("@")
    if word not in MEASURES or not length.isdecimal() or not length.strip("0"):
        known = ", ".join(f"{measure}@50" for measure in MEASURES)
        raise SettingError(f"a ranking metric is a name and a length such as {known}, got {name!r}")
    if len(length) > 9 or int(length) > _LONGEST:
        raise SettingError(f"a ranking metric looks at {_LONGEST:,} items at most, got {name!r:.60}")
    return MEASURES[word], int(length)


def judge_lists(hits: BoolArray, n_relevant: IntArray, names: Sequence[str]) -> dict[str, FloatArray]:
    """Every named metric for every user.

    Parameters
    ----------
    hits : boolean array of shape (n_users, longest length)
        Whether the item at each rank is relevant.
    n_relevant : array of shape (n_users,)
        How many relevant items there are, in the list or not.
    names : sequence of str
        Such as "ndcg@50".

    Examples
    --------
    >>> judge_lists(np.array([[True, False, True]]), np.array([4]), ["hit@1", "recall@3"])
    {'hit@1': array([1.]), 'recall@3': array([0.5])}
    """
    results = {}
    for name in names:
        measure, length = parse_measure(name)
        results[name] = measure(hits[:, :length], n_relevant)
    return results


def longest(names: Sequence[str]) -> int:
    """The longest list that any of the metrics needs."""
    if not names:
        raise SettingError("expected at least one ranking metric such as ndcg@50, got none")
    return max(parse_measure(name)[1] for name in names)


DEFAULT_METRICS = ("hit@50", "ndcg@50", "recall@50")
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
    metrics: Sequence[str] = DEFAULT_METRICS,
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
    aligned = Aligned.of(source, test, seen, name="test")
    length, test = min(longest(metrics), source.n_items), aligned.held_out
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
    for found in top_blocks(source, judged, length, aligned.seen):
        n_more = len(found.users)
        hits[done : done + n_more, :length] = members(found.items, found.users, test.row_starts, test.item_rows)
        done += n_more
        progress("ranking", done, len(judged))
    values = judge_lists(hits, test.user_degree[judged], list(metrics))
    return RankingQuality(pl.DataFrame({"user_id": test.users.at(judged), **values}))


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
