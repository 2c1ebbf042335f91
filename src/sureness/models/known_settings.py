"""The best settings found for the supported data sets, so that a first run is a good one.

Each was chosen on the validation set by a search with `tune`; docs/measured/recommenders.md says how many were tried.
Where a data set or a model is missing, the defaults were the best of the search, or no search has been run yet.
"""

from __future__ import annotations

from sureness.models.settings import Setting

_COAT: dict[str, Setting] = {"validate_every": 1, "patience": 30}

RECOMMENDED: dict[tuple[str, str], dict[str, Setting]] = {
    ("citeulike-bd", "bpr"): {"learning_rate": 0.005, "l2": 0.03, "popularity": 0.75, "metric": "hit@50"},
    ("citeulike-bd", "neumf"): {"learning_rate": 0.005, "l2": 0.03, "popularity": 0.5, "metric": "hit@50"},
    ("citeulike-bd", "cdae"): {"popularity": 0.75, "metric": "hit@50"},
    ("coat", "bpr"): {"learning_rate": 0.0005, "l2": 0.1, "batch_size": 256, "popularity": 0.5, **_COAT},
    ("coat", "ubpr"): {"learning_rate": 0.01, "l2": 0.05, "propensity_power": 0.25, **_COAT},
    ("coat", "neumf"): {"l2": 0.03, "batch_size": 512, **_COAT},
    ("coat", "cml"): {
        "learning_rate": 0.001, "margin": 2.0, "batch_size": 512, "popularity": 0.75, "radius": 2.0, **_COAT,
    },
    ("coat", "lightgcn"): _COAT,
    ("citeulike-a", "bpr"): {"popularity": 0.5, "epochs": 600},
    ("citeulike-a", "neumf"): {"learning_rate": 0.005, "l2": 0.03, "popularity": 0.5, "epochs": 120},
    ("citeulike-a", "lightgcn"): {"learning_rate": 0.02, "l2": 0.001, "batch_size": 8192},
    ("ml-1m", "lightgcn"): {"learning_rate": 0.02, "l2": 0.001, "batch_size": 8192},
}  # fmt: skip


def recommended(data: str, model: str) -> dict[str, Setting]:
    """Settings for a data set and a model; none where nothing better than the defaults is known.

    Examples
    --------
    >>> recommended("unheard-of", "bpr")
    {}
    """
    return dict(RECOMMENDED.get((data, model), {}))
