"""The rank of every held-out pair, from which hits can be counted in any way."""

from __future__ import annotations

import numpy as np

from sureness._types import IntArray
from sureness.data.interactions import Interactions
from sureness.evaluation.ranking import block_scores
from sureness.numerics.row_ranks import ranks_of
from sureness.sources.aligned import Seen, fitted_to, places_of, seen_of
from sureness.sources.base import ScoreSource


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
