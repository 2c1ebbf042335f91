"""Lists without probabilities."""

from __future__ import annotations

import numpy as np

from sureness.data import Interactions
from sureness.sources import MatrixSource
from sureness_reproduction.list_size.runs import ranked_lists


def test_the_best_unseen_items_are_listed_with_hits_and_features():
    source = MatrixSource(np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]]))
    seen, labels = (
        Interactions.from_matrix(np.array(rows)) for rows in ([[0, 1, 0], [1, 1, 0]], [[1, 0, 0], [0, 0, 1]])
    )
    lists = ranked_lists(source, 2, seen=seen, labels=labels, item_features=np.array([[0.0], [1.0], [2.0]]))
    assert lists.items.tolist() == [[2, 0], [2, -1]]
    assert lists.hits.tolist() == [[False, True], [True, False]]
    assert (lists.lengths.tolist(), lists.n_relevant.tolist()) == ([2, 1], [1, 1])
    assert lists.features[0, :, 0].tolist() == [2.0, 0.0]
    assert ranked_lists(source, 9, seen=seen).width == 3
