"""The candidates that lists are made of: each user's best unseen items, and the scores that they are measured by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from sureness._printing import fields_repr
from sureness._types import FloatArray, IntArray
from sureness.data.interactions import Interactions
from sureness.numerics.ranking import top_k
from sureness.sources.base import ScoreSource
from sureness.sources.blocks import block_scores

LIST_ENTRIES = 1 << 16
"""How many entries of lists are gathered before anything is computed from them."""


class Candidates(NamedTuple):
    """The best unseen candidates of some users, best first."""

    users: IntArray  # (n,) rows, -1: unknown
    items: IntArray  # (n, width) rows, -1: there is none, or unknown
    scores: FloatArray  # (n, width) -inf: there is none
    best: FloatArray  # (n, n_best) scores of the best candidates, those taken since the training included
    places: IntArray | None = None  # (n, width) where each stands in live scores; None: the scores are the source's

    def __repr__(self) -> str:
        return fields_repr(self)


def candidate_blocks(
    source: ScoreSource,
    users: IntArray,
    width: int,
    *,
    seen: Interactions | None,
    later: Interactions | None,
    best: int,
) -> Iterator[Candidates]:
    """Blocks of users with their candidates.

    Parameters
    ----------
    source : ScoreSource
    users : array of rows
    width : int
        Candidates of each user, at least `best`.
    seen : Interactions, optional
        What is no candidate any more.
    later : Interactions, optional
        The part of it that the source was not trained on. When the map was fitted these were candidates, and among the
        best ones more often than others; the mean and spread of a user's scores would move if they went.
    best : int
        How many scores decide mean and spread.
    """
    return _gathered(_blocks(source, users, width, seen, later, best))


def _blocks(
    source: ScoreSource, users: IntArray, width: int, seen: Interactions | None, later: Interactions | None, best: int
) -> Iterator[Candidates]:
    for block, scores in block_scores(source, users):
        taken = None if later is None else scores_of_taken(scores, block, later)
        left_out = {} if seen is None else {"rows": block, "starts": seen.row_starts, "seen": seen.item_rows}
        items, found = top_k(scores, width, **left_out)
        yield Candidates(block, items, found, best_of(found, taken, best))


def scores_of_taken(scores: FloatArray, users: IntArray, later: Interactions) -> FloatArray | None:
    """The scores of items that users have taken since the training; -inf fills the rows. None: there are none."""
    counts = later.user_degree[users]
    longest = int(counts.max(initial=0))
    if not longest:
        return None
    there = np.arange(longest) < counts[:, None]
    places = np.where(there, later.row_starts[users][:, None] + np.arange(longest), 0)
    return np.where(there, scores[np.arange(len(users))[:, None], later.item_rows[places]], -np.inf)


def best_of(listed: FloatArray, taken: FloatArray | None, best: int) -> FloatArray:
    """The best scores of listed and taken candidates together, highest first."""
    width = min(best, listed.shape[1])  # the same for every block, so that sums do not depend on who else is asked for
    if taken is None:
        return listed[:, :width]
    together = np.concatenate([listed, taken.astype(listed.dtype)], axis=1)
    return -np.sort(-together, axis=1)[:, :width]


def _gathered(blocks: Iterable[Candidates]) -> Iterator[Candidates]:
    """Fewer and larger blocks: what is computed from lists should start seldom."""
    waiting: list[Candidates] = []
    for block in blocks:
        waiting.append(block)
        if sum(each.items.size for each in waiting) >= LIST_ENTRIES:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(blocks: list[Candidates]) -> Candidates:
    if len(blocks) == 1:
        return blocks[0]
    return Candidates(*(np.concatenate(columns) for columns in zip(*(block[:4] for block in blocks), strict=True)))
