"""Ranks of the same items by two models that were trained on one log, and what the lists of each cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sureness.data import Interactions
from sureness.numerics import draw_by_ranks, exact_ranks, ranks_of
from sureness.sources import ScoreSource, among, block_scores, blocks_of, fitted_to, top_blocks

ROLES = ("teacher", "student")
_BLOCK_PAIRS = 4_000_000  # comparisons made at a time


class Ranks(NamedTuple):
    """The rank of every test interaction in two models, 1 for the best unseen item."""

    table: pl.DataFrame  # user_id, item_id, teacher_rank, student_rank; one row per test interaction
    n_items: int

    @property
    def difference(self) -> NDArray[Any]:
        """The teacher's rank minus the student's, divided by the number of items; above 0 where the student is better.

        The mean size is the average rank difference of the dissertation, 1/(|U||I|) sum over test pairs of
        |rank_T - rank_S| with one test item per user.
        """
        ranks = (self.table[f"{role}_rank"].to_numpy() for role in ROLES)
        teacher, student = ranks
        return np.asarray((teacher - student) / self.n_items)


def compare_ranks(teacher: ScoreSource, student: ScoreSource, test: Interactions, seen: Interactions) -> Ranks:
    """Rank every test interaction by both models among the items that its user has not seen.

    Equal scores share the mean of their ranks.
    """
    test, seen = fitted_to(teacher, test, "test"), fitted_to(teacher, seen, "seen")
    judged = test.keep(~among(test, seen))
    columns = {"user_id": test.users.at(judged.user_rows), "item_id": test.items.at(judged.item_rows)}
    for role, source in zip(ROLES, (teacher, student), strict=True):
        ranks = np.empty(len(judged))
        for pairs, owners, scores in _judged(source, judged, seen, np.nan):  # neither higher than anything nor equal
            ranks[pairs] = _middle_ranks(scores, owners, judged.item_rows[pairs])
        columns[f"{role}_rank"] = pl.Series(ranks)
    return Ranks(pl.DataFrame(columns), teacher.n_items)


def held_out_ranks(
    source: ScoreSource, test: Interactions, seen: Interactions, seen_score: float = -np.inf
) -> NDArray[Any]:
    """One more than the number of items of the user with a higher score, for every test pair in the order of the log.

    Parameters
    ----------
    source : ScoreSource
    test, seen : Interactions
    seen_score : float
        What seen items score instead. -inf masks them. The authors' code of bidirectional distillation multiplies
        them by 0, so that they stand before all items with a negative score.
    """
    test, seen = fitted_to(source, test, "test"), fitted_to(source, seen, "seen")
    ranks = np.empty(len(test), dtype=np.int64)
    for pairs, owners, scores in _judged(source, test, seen, seen_score):
        ranks[pairs] = ranks_of(scores, owners, test.item_rows[pairs])
    return ranks


def drawn_items(
    teacher: ScoreSource, student: ScoreSource, seen: Interactions, n_points: int, seed: int, scale: float = 1e-2
) -> pl.DataFrame:
    """Unseen items that one of the models ranks high: drawn_by ("teacher" or "student"), teacher_rank, student_rank.

    An item at rank r is drawn in proportion to exp(-scale * r).
    """
    seen, rng, n_items = fitted_to(teacher, seen, "seen"), np.random.default_rng(seed), teacher.n_items
    counts = np.bincount(rng.integers(0, teacher.n_users, n_points), minlength=teacher.n_users)
    table = np.exp(scale * np.minimum(np.arange(-n_items, n_items + 1.0), -1.0))
    parts = []
    for block in blocks_of(np.flatnonzero(counts), n_items):
        left_out = {"rows": block, "starts": seen.row_starts, "seen": seen.item_rows}
        scores = [np.concatenate([part for _, part in block_scores(each, block)]) for each in (teacher, student)]
        ranks = [exact_ranks(part, **left_out) for part in scores]
        for guide, role in enumerate(ROLES):
            drawn = draw_by_ranks(ranks[1 - guide], ranks[guide], table, counts[block], rng, compared=False)
            rows = np.repeat(np.arange(len(block)), counts[block])[drawn >= 0]
            found = {f"{name}_rank": ranks[place][rows, drawn[drawn >= 0]] for place, name in enumerate(ROLES)}
            parts.append(pl.DataFrame(found).select(pl.lit(role).alias("drawn_by"), pl.all().cast(pl.Int64)))
    return pl.concat(parts).sort("drawn_by", descending=True, maintain_order=True)


def known_to_other(points: pl.DataFrame, drawn_by: str, n_items: int, top: float = 0.1) -> float:
    """Share of the items of one model that are in this top share of the other's ranking; NaN if it has none."""
    other = "student_rank" if drawn_by == "teacher" else "teacher_rank"
    ranks = points.filter(drawn_by=drawn_by)[other].to_numpy()
    return float(np.mean(ranks <= top * n_items)) if len(ranks) else float("nan")


def seconds_of_lists(model: ScoreSource, seen: Interactions, length: int = 50, repeats: int = 2) -> float:
    """Processor seconds for the lists of all users, the shortest of several times."""
    seen, users, k = fitted_to(model, seen, "seen"), np.arange(model.n_users), min(length, model.n_items)
    for _ in top_blocks(model, users[:1], k, seen):  # kernels are compiled at the first call
        pass
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        for _ in top_blocks(model, users, k, seen):
            pass
        taken.append(time.process_time() - started)
    return min(taken)


def _judged(
    source: ScoreSource, test: Interactions, seen: Interactions, seen_score: float
) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any]]]:
    """The test pairs of a block of users, the row of each pair's user, and the scores of the block."""
    for block, scores in block_scores(source, np.flatnonzero(test.user_degree)):
        scores[seen.matrix[block].nonzero()] = seen_score
        pairs = slice(test.row_starts[block[0]], test.row_starts[block[-1] + 1])
        yield pairs, np.repeat(np.arange(len(block)), test.user_degree[block]), scores


def _middle_ranks(scores: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """1 + the number of higher scores + half the number of equal ones, a few rows at a time."""
    ranks = np.empty(len(rows))
    size = max(1, _BLOCK_PAIRS // scores.shape[1])
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        mine, others = scores[rows[part], columns[part]][:, None], scores[rows[part]]
        higher = np.count_nonzero(others > mine, axis=1)
        ranks[part] = 0.5 + higher + np.count_nonzero(others == mine, axis=1) / 2  # it is equal to itself
    return ranks
