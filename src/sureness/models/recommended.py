"""The best settings found for the shipped data sets, so that a newcomer's first run is a good one.

Each was chosen on the validation set by `sureness train --data NAME --model MODEL --tune N` (docs/recommenders.md).
"""

from __future__ import annotations

from typing import Any

_COAT = {"validate_every": 1, "patience": 30}

RECOMMENDED: dict[tuple[str, str], dict[str, Any]] = {
    ("citeulike-bd", "bpr"): {"learning_rate": 0.005, "l2": 0.03, "popularity": 0.75, "metric": "hit@50"},
    ("citeulike-a", "lightgcn"): {"learning_rate": 0.02, "l2": 0.001, "batch_size": 8192},
}


def recommended(data: str, model: str) -> dict[str, Any]:
    """Settings for a data set and a recommender; none where nothing better than the defaults is known.

    Examples
    --------
    >>> recommended("unheard-of", "bpr")
    {}
    """
    return dict(RECOMMENDED.get((data, model), {}))
