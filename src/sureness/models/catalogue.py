"""All models by their registered names."""

from __future__ import annotations

from typing import Any, cast

from sureness._registry import find, names
from sureness.models.base import Recommender
from sureness.models.settings import Setting

_ALIASES = {"ncf": "neumf"}  # as Kweon (2024) calls it


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
