"""All models by their registered names, and the best settings found for public data sets."""

from __future__ import annotations

from typing import Any, cast

from sureness._registry import find, names
from sureness.models.base import Recommender
from sureness.models.settings import Setting

_ALIASES = {"ncf": "neumf"}  # as Kweon (2024) calls it

# Each was chosen on the validation set by a search with `tune` (docs/measured/recommenders.md).
# Where a data set or a model is missing, the defaults were the best of the search, or no search has been run yet.
_COAT: dict[str, Setting] = {"validate_every": 1, "patience": 30}

RECOMMENDED: dict[tuple[str, str], dict[str, Setting]] = {
    ("citeulike-bd", "bpr"): {"learning_rate": 0.005, "l2": 0.03, "popularity": 0.75, "metric": "hit@50"},
    ("citeulike-bd", "neumf"): {"learning_rate": 0.005, "l2": 0.03, "popularity": 0.5, "metric": "hit@50"},
    ("citeulike-bd", "cdae"): {"popularity": 0.75, "metric": "hit@50"},
    ("coat", "bpr"): {"learning_rate": 0.0005, "l2": 0.1, "batch_size": 256, "popularity": 0.5, **_COAT},
    ("coat", "ubpr"): {"learning_rate": 0.01, "l2": 0.05, "propensity_power": 0.25, **_COAT},
    ("coat", "neumf"): {"l2": 0.03, "batch_size": 512, **_COAT},
    ("coat", "cml"): {
        "learning_rate": 0.001,
        "margin": 2.0,
        "batch_size": 512,
        "popularity": 0.75,
        "radius": 2.0,
        **_COAT,
    },
    ("coat", "lightgcn"): _COAT,
    ("citeulike-a", "bpr"): {"popularity": 0.5, "epochs": 600},
    ("citeulike-a", "neumf"): {"learning_rate": 0.005, "l2": 0.03, "popularity": 0.5, "epochs": 120},
    ("citeulike-a", "lightgcn"): {"learning_rate": 0.02, "l2": 0.001, "batch_size": 8192},
    ("ml-1m", "lightgcn"): {"learning_rate": 0.02, "l2": 0.001, "batch_size": 8192},
}


def model_names() -> tuple[str, ...]:
    """The names of all models, those of other packages included.

    Examples
    --------
    >>> model_names()[:3]
    ('bpr', 'ubpr', 'neumf')
    """
    return names("model")


def model_type(name: str) -> type[Recommender]:
    """The class of a model by its name.

    Examples
    --------
    >>> model_type("bpr").__name__
    'BPR'
    """
    return cast(type[Recommender], find("model", _ALIASES.get(name.lower(), name.lower())))


def make_recommender(name: str, **settings: Setting) -> Recommender:
    """A model by its name.

    Examples
    --------
    >>> make_recommender("bpr", n_factors=8)
    BPR(n_factors=8)
    """
    return model_type(name)(**cast(dict[str, Any], settings))


def recommended(data: str, model: str) -> dict[str, Setting]:
    """Settings for a data set and a model; none where nothing better than the defaults is known.

    Examples
    --------
    >>> recommended("unheard-of", "bpr")
    {}
    """
    return dict(RECOMMENDED.get((data, model), {}))
