"""Lists of scores, for policies that need no probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from sureness.data.interactions import Interactions
from sureness.evaluation.ranking import top_blocks
from sureness.lists.lists import Lists
from sureness.numerics.ranking import members
from sureness.sources.aligned import Seen, fitted_to, seen_of
from sureness.sources.base import ScoreSource


def ranked_lists(
    source: ScoreSource,
    max_size: int = 50,
    *,
    seen: Seen = None,
    labels: Interactions | None = None,
    item_features: Any = None,
) -> Lists:
    """The best unseen items of every user with their scores, to fit or judge policies without a calibrator.

    Parameters
    ----------
    source : ScoreSource
    max_size : int
        Longest list.
    seen : Interactions or "nothing", optional
        Items that are not shown again.
    labels : Interactions, optional
        What turned out to be relevant, such as the validation set; the lists then have hits.
    item_features : array of shape (n_items, d), optional
        What else is known about the items, for policies that read it.

    Examples
    --------
    >>> from sureness.sources.base import MatrixSource
    >>> source, log = MatrixSource(np.array([[0.1, 0.3, 0.2]])), Interactions.from_matrix(np.array([[0, 1, 0]]))
    >>> lists = ranked_lists(source, 2, seen="nothing", labels=log)
    >>> lists.items.tolist(), lists.hits.tolist()
    ([[1, 2]], [[True, False]])
    """
    relevant = None if labels is None else fitted_to(source, labels, "labels")
    hidden, width, parts = seen_of(source, seen, labels), min(max_size, source.n_items), []
    for block, items, scores in top_blocks(source, np.arange(source.n_users), width, hidden):
        known, found = items >= 0, dict[str, Any]()
        if relevant is not None:
            found["hits"] = members(items, block, relevant.row_starts, relevant.item_rows) & known
            found["n_relevant"] = relevant.user_degree[block]
        if item_features is not None:
            found["features"] = item_features[np.maximum(items, 0)]
        lengths = known.sum(axis=1)
        parts.append(Lists(users=block, lengths=lengths, scores=scores.astype(np.float64), items=items, **found))
    return Lists.joined(parts)
